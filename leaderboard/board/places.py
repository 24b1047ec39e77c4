"""An entry's position on its board: its rank, the interval of its rank, and its rank on each later day."""

from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True)
class BoardPlace:
    """An entry's rank among the complete entries of a board.

    Attributes:
        rank: 1 is the best; equal scores share a rank.
        low: the best rank that other test texts may give it, at 95%; None without an interval.
        high: the worst one.
        n_ranked: number of complete entries.
        history: day (ISO, UTC), rank and number of complete entries on it; from the entry's own day on, a row for each
            day on which the board got a complete entry.
    """

    rank: int
    low: int | None
    high: int | None
    n_ranked: int
    history: tuple[tuple[str, int, int], ...]


def place_of(rows: pl.DataFrame, identity: str) -> BoardPlace | None:
    """Find an entry's place on a board.

    Entries that were withdrawn since are not on the board, so they do not count on earlier days either.

    Args:
        rows: the board, as ``Index.frame`` returns it.
        identity: the entry's id.
    Returns: None for an entry that is not ranked there.
    """
    ranked = rows.filter(pl.col("rank").is_not_null())
    own = ranked.filter(pl.col("id") == identity)
    if own.is_empty():
        return None
    facts = own.row(0, named=True)
    days = (
        ranked.group_by("date")
        .agg(better=(pl.col("rank") < facts["rank"]).sum(), n_ranked=pl.len())
        .sort("date")
        .select("date", pl.col("better").cum_sum() + 1, pl.col("n_ranked").cum_sum())
        .filter(pl.col("date") >= facts["date"])
    )
    return BoardPlace(facts["rank"], facts["rank_low"], facts["rank_high"], ranked.height, tuple(days.iter_rows()))
