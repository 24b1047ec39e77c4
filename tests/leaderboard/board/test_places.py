"""An entry's place on its board, now and on earlier days."""

import polars as pl

from shiftbench.leaderboard.board.places import BoardPlace, place_of
from shiftbench.leaderboard.pages.entry_page import EntryPage, EntryQuery
from shiftbench.leaderboard.pages.shell import macro
from tests.leaderboard.conftest import Visible


def board(*rows: tuple[str, str, int | None]) -> pl.DataFrame:
    frame = pl.DataFrame(rows, schema={"id": pl.String, "date": pl.String, "rank": pl.Int64}, orient="row")
    low = pl.when(pl.col("rank").is_not_null()).then(1)
    return frame.with_columns(rank_low=low, rank_high=low + 2)


def test_later_entries_move_a_rank_and_partial_ones_do_not() -> None:
    rows = board(
        ("first", "2026-05-01", 3), ("best", "2026-05-04", 1), ("tied", "2026-05-02", 3), ("weak", "2026-05-04", 5),
        ("partial", "2026-05-03", None), ("second", "2026-06-01", 2),
    )  # fmt: skip
    place = place_of(rows, "first")
    assert place is not None
    assert (place.rank, place.low, place.high, place.n_ranked) == (3, 1, 3, 5)
    assert place.history == (("2026-05-01", 1, 1), ("2026-05-02", 1, 2), ("2026-05-04", 2, 4), ("2026-06-01", 3, 5))
    assert place_of(rows, "second").history == (("2026-06-01", 2, 5),)  # type: ignore[union-attr]
    assert place_of(rows, "partial") is None
    assert place_of(rows, "nobody") is None


def test_a_rank_in_words_and_over_time() -> None:
    assert macro("entry_words.html", "place_words", BoardPlace(1, None, None, 3, ())) == "Rank 1 of 3"
    assert macro("entry_words.html", "place_words", BoardPlace(1, 1, 1, 3, ())) == "Rank 1 of 3 (95%: 1)"
    place = BoardPlace(2, 1, 4, 9, (("2026-05-01", 1, 1), ("2026-06-01", 2, 9)))
    assert macro("entry_words.html", "place_words", place) == "Rank 2 of 9 (95%: 1 to 4)"
    drawn = EntryPage(EntryQuery("0" * 16), None, None, place=place).ranks_over_time
    assert drawn is not None
    assert "Rank 1 of 1 on 2026-05-01, 2 of 9 on 2026-06-01." in Visible(drawn.drawn).text
    alone = BoardPlace(2, 1, 4, 9, (("2026-05-01", 1, 1),))
    assert EntryPage(EntryQuery("0" * 16), None, None, place=alone).ranks_over_time is None
