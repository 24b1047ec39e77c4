"""An entry's effective robustness: its score under shift above the line through the board's other entries."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.leaderboard.board.rows import trained_outside
from shiftbench.metrics.above_line import one_against_others
from shiftbench.scoring.reports.above_line_part import AboveLine
from shiftbench.scoring.scores.estimate import Estimate

_PAIRS = (("id_score", "mean_ood"), ("mean_ss", "mean_st"))


def effective_robustness_of(frame: pl.DataFrame, identity: str) -> AboveLine | None:
    """Compare an entry with the line through the other complete entries of its board that are above chance.

    Args:
        frame: the board's rows (``shiftbench.leaderboard.board.boards.PLACES``).
        identity: the entry's id.
    Returns: None where the entry is partial, at chance or trained on no domain, or has fewer than three others to
        compare with.
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
