"""An entry's place on its board."""

import polars as pl

from shiftbench.leaderboard.board.places import BoardPlace, place_of
from shiftbench.leaderboard.pages.shell import macro


def board(*rows: tuple[str, str, int | None]) -> pl.DataFrame:
    frame = pl.DataFrame(rows, schema={"id": pl.String, "date": pl.String, "rank": pl.Int64}, orient="row")
    low = pl.when(pl.col("rank").is_not_null()).then(1)
    return frame.with_columns(rank_low=low, rank_high=low + 2)


def test_partial_entries_move_no_rank() -> None:
    rows = board(
        ("first", "2026-05-01", 3), ("best", "2026-05-04", 1), ("tied", "2026-05-02", 3), ("weak", "2026-05-04", 5),
        ("partial", "2026-05-03", None), ("second", "2026-06-01", 2),
    )  # fmt: skip
    place = place_of(rows, "first")
    assert place is not None
    assert (place.rank, place.low, place.high, place.n_ranked) == (3, 1, 3, 5)
    assert place_of(rows, "partial") is None
    assert place_of(rows, "nobody") is None


def test_a_rank_in_words() -> None:
    assert macro("entry_words.html", "place_words", BoardPlace(1, None, None, 3)) == "Rank 1 of 3"
    assert macro("entry_words.html", "place_words", BoardPlace(1, 1, 1, 3)) == "Rank 1 of 3 (95%: 1)"
    place = BoardPlace(2, 1, 4, 9)
    assert macro("entry_words.html", "place_words", place) == "Rank 2 of 9 (95%: 1 to 4)"
