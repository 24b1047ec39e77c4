"""An entry's rank on its board, and its effective robustness (distance above the line fitted to other entries)."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.leaderboard.board.rows import trained_outside
from shiftbench.metrics.correlation import one_against_others
from shiftbench.scoring.reports.task_page import AboveLine
from shiftbench.scoring.scores.shape import Estimate


@dataclass(frozen=True)
class BoardPlace:
    """An entry's rank among the complete entries of a board (ties share a rank), with its 95% interval, if any."""

    rank: int
    low: int | None
    high: int | None
    n_ranked: int


def place_of(rows: pl.DataFrame, identity: str) -> BoardPlace | None:
    """Find an entry's rank on a board (a frame of ``Index.frame``); None if it is not ranked."""
    ranked = rows.filter(pl.col("rank").is_not_null())
    own = ranked.filter(pl.col("id") == identity)
    if own.is_empty():
        return None
    facts = own.row(0, named=True)
    return BoardPlace(facts["rank"], facts["rank_low"], facts["rank_high"], ranked.height)


_PAIRS = (("id_score", "mean_ood"), ("mean_ss", "mean_st"))


def effective_robustness_of(frame: pl.DataFrame, identity: str) -> AboveLine | None:
    """Compare an entry with the line fitted to the other complete entries of its board that are above chance.

    Returns: None if the entry is partial, at chance or trained on none of the domains, or if there are fewer than
    three others.
    """
    mine = frame.filter(pl.col("complete") & ~pl.col("at_floor").fill_null(value=False) & ~trained_outside())
    own, away = next((pair for pair in _PAIRS if mine[pair[0]].null_count() < mine.height), _PAIRS[0])
    place = mine["id"].index_of(identity)
    if place is None:
        return None
    comparison = one_against_others(_with_ends(mine, own), _with_ends(mine, away), place)
    if comparison is None:
        return None
    line, (value, low, high) = comparison
    ends = (None, None) if np.isnan(low) else (low, high)
    at_home = float(mine[own][place])
    return AboveLine(
        Estimate(value=value, low=ends[0], high=ends[1]),
        expected=line.expected(at_home),
        n_others=line.n,
        is_extended=not line.lowest <= at_home <= line.highest,
    )


def _with_ends(frame: pl.DataFrame, figure: str) -> NDArray[np.float64]:
    return frame.select(figure, f"{figure}.low", f"{figure}.high").cast(pl.Float64).fill_null(np.nan).to_numpy()
