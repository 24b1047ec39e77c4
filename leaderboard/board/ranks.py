"""Replicates of the score that a board ranks by, and the intervals of ranks computed from them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.metrics.precision import MIN_RUNS, satterthwaite
from shiftbench.metrics.ranking import RankedReplicates, run_spread
from shiftbench.scoring.comparing.shape import RECIPES, TRAINED_MODELS
from shiftbench.scoring.scores.score import N_STORED
from shiftbench.scoring.scores.shape import OUTSIDE_BASES

INTERVALS = pl.Schema(
    {
        "id": pl.String(),
        "rank_low": pl.Int64(),
        "rank_high": pl.Int64(),
        "rank_about": pl.String(),
        "with_leader": pl.Boolean(),
        "corrected": pl.Float64(),
    }
)
"""Interval of the rank of each complete entry of a board (1 is best); both ends null without replicates. The intervals
of a board are simultaneous: with probability 95%, no two equal entries are declared different.

- ``rank_about``: 'recipes' if the entry has at least ``MIN_RUNS`` runs per source, so that its interval includes
variation over training runs; else 'these trained models'. Null without replicates.
- ``with_leader``: whether it is not significantly different from the leading entry (max-t over all pairs).
- ``corrected``: the leader's score minus its estimated selection bias (winner's curse); null for others.
"""


@dataclass(frozen=True)
class Replicates:
    """The ranked score of one entry.

    Attributes:
        values: the observed score, then ``N_STORED`` replicates, averaged over runs; (1 + n,).
        df: degrees of freedom of its variance over test texts.
        training: variance of the mean over training runs, net of sampling variance over test texts; 0 if not measured.
        per_df: sum over sources of squared variance over degrees of freedom (Satterthwaite); 0 if not measured.
        n_runs: smallest number of runs per source.
    """

    values: NDArray[np.float32]
    df: float
    training: float
    per_df: float
    n_runs: int


def ranked_replicates(table: pl.DataFrame, row: Mapping[str, Any], info: TaskInfo) -> Replicates | None:
    """Return the replicates of an entry's mean ST: the mean over runs, then over the shifts that the board averages.

    ``table`` is the entry's long table (``SCORE_COLUMNS``); ``row`` is its row on the board, of which
    task, basis and trained_on are used. Returns None if there are no replicates, or if they are undefined.
    """
    task = table.filter(pl.col("task") == row["task"], pl.col("metric") == info.metric)
    shifts = _shifts(_whole_runs(task), row, info)
    if shifts.is_empty() or shifts["replicates"].has_nulls():
        return None
    if (shifts["replicates"].list.len() != N_STORED).any():
        return None
    drawn = np.array(shifts["replicates"].to_list()).astype(np.float64)
    values = np.hstack([shifts["value"].to_numpy()[:, None], drawn])
    if not np.isfinite(values).all():
        return None
    in_cell = shifts.select(pl.len().over("source", "target"))["len"].to_numpy()
    n_cells = shifts.select("source", "target").n_unique()
    weighted = values / (in_cell[:, None] * n_cells)
    runs = _run_means(shifts, values)
    n_runs = min(len(each) for each in runs) if _are_whole(shifts) else 0
    training, per_df = run_spread(runs) if n_runs >= MIN_RUNS else (0.0, 0.0)
    mean = np.asarray(weighted.sum(axis=0), dtype=np.float32)
    return Replicates(mean, _text_df(shifts, weighted), training, per_df, n_runs)


def _text_df(shifts: pl.DataFrame, weighted: NDArray[np.float64]) -> float:
    """Compute the Satterthwaite degrees of freedom of a score over test sets, from each row's contribution to it."""
    variances, dfs = [], []
    for target in shifts["target"].unique(maintain_order=True):
        rows = np.flatnonzero((shifts["target"] == target).to_numpy())
        moved = weighted[rows].sum(axis=0)
        variances.append(((moved[1:] - moved[0]) ** 2).mean())
        dfs.append(shifts["df"].to_numpy()[rows].min())
    return float(satterthwaite(variances, dfs))


def _are_whole(shifts: pl.DataFrame) -> bool:
    """Return whether each source's runs cover all of its targets."""
    by_cell = shifts.group_by("source", "target").agg(pl.col("seed").sort()).group_by("source")
    return bool(by_cell.agg(pl.col("seed").n_unique())["seed"].max() == 1)


def _run_means(shifts: pl.DataFrame, values: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Return, by source, each run's contribution to the mean over all shifts, shape (n_runs, 1 + n_draws)."""
    n_cells = shifts.select("source", "target").n_unique()
    means = []
    for source in shifts["source"].unique(maintain_order=True):
        rows = np.flatnonzero((shifts["source"] == source).to_numpy())
        seeds = shifts["seed"].to_numpy()[rows]
        means.append(np.stack([values[rows[seeds == seed]].sum(axis=0) for seed in np.unique(seeds)]) / n_cells)
    return means


class BoardRanks:
    """Intervals of the ranks of one board's entries.

    Adding entries is much faster than recomputing all.
    """

    def __init__(self) -> None:
        self._known: list[str] = []
        self._unknown: list[str] = []
        self._runs: list[int] = []
        self._ranked = RankedReplicates()

    @property
    def ids(self) -> list[str]:
        """Return the entries that were added."""
        return [*self._known, *self._unknown]

    def add(self, replicates: Mapping[str, Replicates | None]) -> None:
        """Add entries with their replicates, by id; None for an entry without replicates."""
        drawn = {name: values for name, values in replicates.items() if values is not None}
        if drawn:
            table = np.stack([each.values for each in drawn.values()]).astype(np.float64)
            known = np.array([(each.df, each.training, each.per_df) for each in drawn.values()])
            df, training, per_df = known.T
            self._ranked.add(table[:, 0], table[:, 1:], df=df, training=training, per_df=per_df)
        self._known += drawn
        self._runs += [each.n_runs for each in drawn.values()]
        self._unknown += [name for name, values in replicates.items() if values is None]

    def intervals(self, level: float = 0.95) -> pl.DataFrame:
        """Return the interval of ranks of each entry (see ``metrics.ranking.rank_intervals``), as ``INTERVALS``.

        An entry without replicates has no interval. It could have any rank, which raises ``rank_high`` of all others.
        """
        low, high = self._ranked.intervals(level)
        leader = self._ranked.leader(level)
        nothing = [None] * len(self._unknown)
        corrected = [leader.corrected if each == leader.entry else None for each in range(len(self._known))]
        columns = {
            "id": self.ids,
            "rank_low": [*low.tolist(), *nothing],
            "rank_high": [*(high + len(nothing)).tolist(), *nothing],
            "rank_about": [*(RECIPES if n >= MIN_RUNS else TRAINED_MODELS for n in self._runs), *nothing],
            "with_leader": [*leader.tied.tolist(), *nothing],
            "corrected": [*corrected, *nothing],
        }
        return pl.DataFrame(columns, schema=INTERVALS)


def _whole_runs(task: pl.DataFrame) -> pl.DataFrame:
    """Return each source's seeds that cover all of its targets; all seeds if none does."""
    n_targets = pl.col("target").n_unique()
    counted = task.with_columns(of_seed=n_targets.over("source", "seed"), of_source=n_targets.over("source"))
    whole = pl.col("of_seed") == pl.col("of_source")
    return counted.filter(whole | ~whole.any().over("source"))


def _shifts(task: pl.DataFrame, row: Mapping[str, Any], info: TaskInfo) -> pl.DataFrame:
    """Select the shifts that the ranked score averages."""
    if info.id_domain is not None:
        return task.filter(pl.col("source") == row["trained_on"], pl.col("target") != info.id_domain)
    if info.joined_source is not None and row["basis"] not in OUTSIDE_BASES.values():
        return task.filter(pl.col("source") == info.joined_source)
    outside = next((source for source, basis in OUTSIDE_BASES.items() if basis == row["basis"]), None)
    if outside is not None:
        return task.filter(pl.col("source") == outside, pl.col("target").is_in(list(info.domains)))
    here = pl.col("source").is_in(list(info.domains)) & pl.col("target").is_in(list(info.domains))
    return task.filter(here, pl.col("source") != pl.col("target"))
