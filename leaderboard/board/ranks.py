"""Replicates of the figure that a board ranks by, and the intervals of ranks made from them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from builders.folder.manifest import TaskManifest
from leaderboard.metrics.comparison import RankedReplicates
from leaderboard.scoring.score import N_STORED

Replicates = NDArray[np.float32]
"""The ranked figure of one entry: first on the test sets themselves, then on ``N_STORED`` replicates of them."""
INTERVALS = pl.Schema({"id": pl.String(), "rank_low": pl.Int64(), "rank_high": pl.Int64()})
"""95% interval of the rank of each complete entry of a board, 1 the best; both ends null without replicates."""


def ranked_replicates(table: pl.DataFrame, row: Mapping[str, Any], info: TaskManifest) -> Replicates | None:
    """Give the replicates of an entry's mean ST: the mean over runs, then over the shifts that it averages.

    Args:
        table: the entry's long table (see ``leaderboard.scoring.score.SCORE_COLUMNS``).
        row: its row on the board: task, basis and trained_on.
        info: the task's facts.
    Returns: shape (1 + N_STORED,); None without replicates, or where they are undefined.
    """
    task = table.filter(pl.col("task") == row["task"], pl.col("metric") == info.metric)
    shifts = _shifts(_whole_runs(task), row, info)
    if shifts.is_empty() or shifts["replicates"].has_nulls():
        return None
    if (shifts["replicates"].list.len() != N_STORED).any():
        return None
    drawn = np.array(shifts["replicates"].to_list()).astype(np.float64)
    values = np.hstack([shifts["value"].to_numpy()[:, None], drawn])
    cells = shifts.select(cell=pl.struct("source", "target").rank("dense"))["cell"].to_numpy() - 1
    means = np.zeros((int(cells.max()) + 1, values.shape[1]))
    np.add.at(means, cells, values)
    mean = (means / np.bincount(cells)[:, None]).mean(axis=0)
    undefined = ~np.isfinite(mean)
    if undefined[0] or undefined.mean() > 0.5:
        return None
    mean[undefined] = mean[1:][~undefined[1:]][: undefined.sum()]  # the first defined ones
    return np.asarray(mean, dtype=np.float32)


class BoardRanks:
    """Intervals of the ranks of one board's entries; entries can be added, which is much quicker than to begin anew."""

    def __init__(self) -> None:
        self._known: list[str] = []
        self._unknown: list[str] = []
        self._ranked = RankedReplicates()

    @property
    def ids(self) -> list[str]:
        """The entries that were added."""
        return [*self._known, *self._unknown]

    def add(self, replicates: Mapping[str, Replicates | None]) -> None:
        """Add entries with their replicates, by id; None where there are none to be had."""
        drawn = {name: values for name, values in replicates.items() if values is not None}
        if drawn:
            table = np.stack(list(drawn.values())).astype(np.float64)
            self._ranked.add(table[:, 0], table[:, 1:])
        self._known += drawn
        self._unknown += [name for name, values in replicates.items() if values is None]

    def intervals(self) -> pl.DataFrame:
        """Give the interval of ranks of each entry (see ``metrics.comparison.rank_intervals``).

        An entry without replicates has none, and may be better than any other one.
        """
        low, high = self._ranked.intervals()
        nothing = [None] * len(self._unknown)
        columns = {
            "id": self.ids,
            "rank_low": [*low.tolist(), *nothing],
            "rank_high": [*(high + len(nothing)).tolist(), *nothing],
        }
        return pl.DataFrame(columns, schema=INTERVALS)


def _whole_runs(task: pl.DataFrame) -> pl.DataFrame:
    """Keep each source's seeds that are on all of its targets; all of them where none is."""
    n_targets = pl.col("target").n_unique()
    counted = task.with_columns(of_seed=n_targets.over("source", "seed"), of_source=n_targets.over("source"))
    whole = pl.col("of_seed") == pl.col("of_source")
    return counted.filter(whole | ~whole.any().over("source"))


def _shifts(task: pl.DataFrame, row: Mapping[str, Any], info: TaskManifest) -> pl.DataFrame:
    """Keep the shifts that the ranked figure averages."""
    if info.id_domain is not None:
        return task.filter(pl.col("source") == row["trained_on"], pl.col("target") != info.id_domain)
    if info.joined_source is not None:
        return task.filter(pl.col("source") == info.joined_source)
    here = pl.col("source").is_in(list(info.domains)) & pl.col("target").is_in(list(info.domains))
    return task.filter(here, pl.col("source") != pl.col("target"))
