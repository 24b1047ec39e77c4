"""Ranks of the models that cover all tasks of a benchmark: by the mean over tasks, and task by task."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from shiftbench.leaderboard.board.ranks import INTERVALS, BoardRanks, Replicates

LEVEL = 0.95
BESIDE = ("mean_rank", "win_rate")
"""Figures that depend on the other submissions: shown with intervals, but never used for the order."""
OVERALL_RANKS = pl.Schema(
    {**INTERVALS, **{f"{name}{part}": pl.Float64() for name in BESIDE for part in ("", ".low", ".high")}}
)
"""Of each line that covers all tasks ``INTERVALS`` for the mean over tasks (``id`` names the line), and beside it:

- ``mean_rank``: mean over tasks of its rank among these lines, equal scores sharing the mean of their places.
- ``win_rate``: share of comparisons with another line on a task that it wins, an equal score counting a half.

Their ends hold at 95% for all tasks at once: each task's ranks have the level 1 - 0.05 / n_tasks (Bonferroni). All null
of a line without replicates on some task; ``win_rate`` also null of a single line.
"""


class OverallRanks:
    """Ranks of one benchmark's lines. Lines can be added, which is much quicker than starting again.

    Args:
        tasks: the benchmark's named tasks.
    """

    def __init__(self, tasks: Sequence[str]) -> None:
        self.entries: dict[str, tuple[str, ...]] = {}
        self._mean = BoardRanks()
        self._by_task = {task: BoardRanks() for task in tasks}
        self._scores: dict[str, list[float]] = {}

    def add(
        self, entries: Mapping[str, tuple[str, ...]], replicates: Mapping[str, Sequence[Replicates | None]]
    ) -> None:
        """Add lines.

        Args:
            entries: the ids of each line's entries, a task each, in the order of the tasks.
            replicates: the same entries' replicates; None where there are none to be had.
        """
        self.entries |= entries
        whole = {
            line: [each for each in drawn if each is not None] if None not in drawn else None
            for line, drawn in replicates.items()
        }
        self._mean.add({line: None if drawn is None else mean_over_tasks(drawn) for line, drawn in whole.items()})
        for number, ranks in enumerate(self._by_task.values()):
            ranks.add({line: None if drawn is None else drawn[number] for line, drawn in whole.items()})
        for line, drawn in whole.items():
            if drawn is not None:
                self._scores[line] = [float(each.values[0]) for each in drawn]

    def intervals(self) -> pl.DataFrame:
        """Return the lines' ranks as ``OVERALL_RANKS``."""
        intervals = self._mean.intervals(LEVEL)
        lines, n = list(self._scores), len(self.entries)
        if not lines:
            return pl.concat([pl.DataFrame(schema=OVERALL_RANKS), intervals], how="diagonal")
        level = 1 - (1 - LEVEL) / len(self._by_task)
        ends = np.zeros((2, len(lines)))
        for ranks in self._by_task.values():
            by_line = {row["id"]: row for row in ranks.intervals(level).iter_rows(named=True)}
            ends += [[by_line[line][end] for line in lines] for end in ("rank_low", "rank_high")]
        scores = pl.DataFrame(np.array(list(self._scores.values())), orient="row")
        point = scores.select(pl.all().rank("average", descending=True)).mean_horizontal().to_numpy()
        low, high = ends / len(self._by_task)
        columns = {"id": lines, "mean_rank": point, "mean_rank.low": low, "mean_rank.high": high}
        if n > 1:  # a line's share of wins falls as its rank rises
            names = ("win_rate", "win_rate.low", "win_rate.high")
            columns |= dict(zip(names, ((n - each) / (n - 1) for each in (point, high, low)), strict=True))
        beside = pl.DataFrame(columns)
        placed = intervals.join(beside, on="id", how="left", maintain_order="left")
        return pl.concat([pl.DataFrame(schema=OVERALL_RANKS), placed], how="diagonal")


def mean_over_tasks(drawn: Sequence[Replicates]) -> Replicates:
    """Return the replicates of the mean over tasks, whose test sets and training runs are independent."""
    n = len(drawn)
    values = np.stack([each.values for each in drawn]).astype(np.float64)
    return Replicates(
        np.asarray(values.mean(axis=0), dtype=np.float32),
        training=sum(each.training for each in drawn) / n**2,
        per_df=sum(each.per_df for each in drawn) / n**4,
        n_runs=min(each.n_runs for each in drawn),
    )
