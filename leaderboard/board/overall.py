"""A benchmark's overall board: one line per submitter and model, over the benchmark's main tasks.

Models that cover all tasks are ordered by the mean over tasks, so no rank changes because somebody else submitted
another task. Mean rank and win rate depend on the other submissions: they are only shown, with intervals.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.board.boards import Board
from shiftbench.leaderboard.board.ranks import INTERVALS, BoardRanks, Replicates
from shiftbench.leaderboard.board.rows import CARD_LINKS
from shiftbench.metrics.precision import satterthwaite
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean

LEVEL = 0.95
BESIDE = ("mean_rank", "win_rate")
"""Metrics that depend on the other submissions: shown with intervals, but never used for the order."""
OVERALL_RANKS = pl.Schema(
    {**INTERVALS, **{f"{name}{part}": pl.Float64() for name in BESIDE for part in ("", ".low", ".high")}}
)
"""Ranks of the lines that cover all tasks: ``INTERVALS`` for the mean over tasks (``id`` identifies the line), and:

- ``mean_rank``: mean over tasks of the line's rank among these lines; ties get the average rank.
- ``win_rate``: share of pairwise comparisons (with another line, on a task) that it wins; a tie counts one half.

Their bounds have simultaneous 95% coverage over tasks: each task's ranks have level 1 - 0.05 / n_tasks (Bonferroni).
All are null for a line without replicates on some task; ``win_rate`` is also null for a single line.
"""


class OverallRanks:
    """Ranks of one benchmark's lines. Adding lines is much faster than recomputing all."""

    def __init__(self, tasks: Sequence[str]) -> None:
        self.entries: dict[str, tuple[str, ...]] = {}
        self._mean = BoardRanks()
        self._by_task = {task: BoardRanks() for task in tasks}
        self._scores: dict[str, list[float]] = {}

    def add(
        self, entries: Mapping[str, tuple[str, ...]], replicates: Mapping[str, Sequence[Replicates | None]]
    ) -> None:
        """Add lines: for each, its entries' ids in task order, and their replicates (None if an entry has none)."""
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
        if n > 1:  # the win rate falls as the mean rank rises
            names = ("win_rate", "win_rate.low", "win_rate.high")
            columns |= dict(zip(names, ((n - each) / (n - 1) for each in (point, high, low)), strict=True))
        beside = pl.DataFrame(columns)
        placed = intervals.join(beside, on="id", how="left", maintain_order="left")
        return pl.concat([pl.DataFrame(schema=OVERALL_RANKS), placed], how="diagonal")


def mean_over_tasks(drawn: Sequence[Replicates]) -> Replicates:
    """Return the replicates of the mean over tasks; test sets and training runs are independent between tasks."""
    n = len(drawn)
    values = np.stack([each.values for each in drawn]).astype(np.float64)
    return Replicates(
        np.asarray(values.mean(axis=0), dtype=np.float32),
        df=float(satterthwaite(((values[:, 1:] - values[:, :1]) ** 2).mean(axis=1), [each.df for each in drawn])),
        training=sum(each.training for each in drawn) / n**2,
        per_df=sum(each.per_df for each in drawn) / n**4,
        n_runs=min(each.n_runs for each in drawn),
    )


VARIANTS = frozenset({"qa_imbalanced"})
"""Tasks that repeat another one with other class proportions: they have boards, but are excluded from the mean."""
LINE = ("submitter", "model")
"""Columns that identify a line of the overall board: submitter and model."""
MEANS = ("mean_st", "mean_ss", "average_drop")
"""Scores whose mean over tasks the overall board shows."""
CELL = ("id", "mean_st", "mean_st.low", "mean_st.high", "rank", "with_leader")
"""Columns per task in a line, as ``<task>:<name>``."""
NO_RANKS = pl.DataFrame(schema=OVERALL_RANKS)
_FACTS = ("date", "submitted_at", "paradigm", "base_model", "family", "parameters", "cost_usd", *CARD_LINKS)


@dataclass(frozen=True)
class Benchmark:
    """One version of a benchmark: the boards of its main tasks, on their full test sets."""

    name: str
    folder: DatasetFolder
    boards: tuple[Board, ...]

    @property
    def tasks(self) -> tuple[str, ...]:
        """List the main tasks."""
        return tuple(board.task for board in self.boards)


def benchmarks_of(boards: Sequence[Board]) -> list[Benchmark]:
    """List the benchmarks of boards, each with the boards of its main tasks.

    Names are those of the boards without the task: ``dr``, or ``dr@0123abcd`` if there are several versions.
    """
    by_data: dict[str, list[Board]] = {}
    for board in boards:
        if board.subset == "all" and board.task not in VARIANTS:
            by_data.setdefault(board.folder.content_hash, []).append(board)
    benchmarks = []
    for named in by_data.values():
        benchmark, _, rest = named[0].name.partition("/")
        version = rest.partition("@")[2]
        benchmarks.append(Benchmark(benchmark + (f"@{version}" if version else ""), named[0].folder, tuple(named)))
    return benchmarks


def find_benchmark(name: str, choices: Sequence[Benchmark]) -> Benchmark:
    """Find a benchmark by its name; InvalidInput suggests the nearest one."""
    for benchmark in choices:
        if benchmark.name == name:
            return benchmark
    cure = did_you_mean(name[:80], [each.name for each in choices]) if choices else "this server has no dataset"
    raise InvalidInput(Problem("there is no such benchmark", "leaderboard", f"'{name[:80]}'", cure))


def newest_entries(rows: pl.DataFrame) -> pl.DataFrame:
    """Return, for each model and task, the newest complete entry among the rows of any boards."""
    return one_entry_per_model(rows.filter("complete"))


def one_entry_per_model(rows: pl.DataFrame) -> pl.DataFrame:
    """Return, for each model and task, the newest complete entry, or the newest one if none is complete."""
    ordered = rows.sort("complete", "submitted_at", "id")
    return ordered.unique([*LINE, "task"], keep="last", maintain_order=True)


def line_key() -> pl.Expr:
    """Return the expression that identifies a line: submitter and model joined by a line break, which neither has."""
    return pl.concat_str(LINE, separator="\n")


def overall_frame(benchmark: Benchmark, frames: Mapping[str, pl.DataFrame], ranks: pl.DataFrame) -> pl.DataFrame:
    """Build the overall board: one line per submitted model, over all tasks.

    Args:
        benchmark: the benchmark.
        frames: the rows of its boards (``shiftbench.leaderboard.board.boards.PLACES``), by task.
        ranks: ranks of the lines that cover all tasks (``OVERALL_RANKS``), as far as they are computed.
    Returns: one row per line: ranked ones, then others by coverage and mean distance to the best scores. Columns:
    ``LINE``; facts of its newest entry; ``words`` (the searched text); ``n_tasks``; ``complete`` (covers all tasks);
    ``MEANS`` with ``.low`` and ``.high`` and ``average_drop.placebo``, null unless the line is complete and has the
    score on every task; ``rank`` (equal means share it) and the columns of ``OVERALL_RANKS``, null if incomplete;
    ``CELL`` for each task, null without a complete entry; and ``<task>:partial``, whether it has a partial entry.
    """
    whole = [*LINE, *_FACTS, *CELL, "task", "complete"]
    figures = [f"{figure}{part}" for figure in MEANS for part in ("", ".low", ".high")]
    wanted = list(dict.fromkeys([*whole, *figures, "average_drop.placebo"]))
    every = pl.concat([frames[board.task].select(wanted) for board in benchmark.boards])
    lines = every.sort("submitted_at", "id").group_by(LINE, maintain_order=True).agg(pl.col(_FACTS).last())
    newest, partial = newest_entries(every), every.filter(~pl.col("complete"))
    for board in benchmark.boards:
        cells = newest.filter(pl.col("task") == board.task)
        lines = lines.join(
            cells.select(*LINE, *(pl.col(name).alias(f"{board.task}:{name}") for name in CELL)),
            on=LINE, how="left", maintain_order="left",
        )  # fmt: skip
        some = partial.filter(pl.col("task") == board.task).select(LINE).unique()
        lines = lines.join(
            some.with_columns(pl.lit(value=True).alias(f"{board.task}:partial")),
            on=LINE, how="left", maintain_order="left",
        )  # fmt: skip
    lines = lines.join(_means(newest, benchmark), on=LINE, how="left", maintain_order="left")
    lines = lines.with_columns(
        pl.col("n_tasks").fill_null(0),
        complete=pl.col("n_tasks").fill_null(0) == len(benchmark.boards),
        words=pl.concat_str(
            [pl.col(name).fill_null("") for name in ("model", "base_model", "family", "submitter")], separator="\n"
        ).str.to_lowercase(),
    )
    # Tasks have different metrics, so lines without a rank are ordered by their distance from each task's best score.
    scores = [pl.col(f"{board.task}:mean_st") for board in benchmark.boards]
    behind = [score.max() - score for score in scores]
    placed = lines.with_columns(line_key().alias("id")).join(ranks, on="id", how="left", maintain_order="left")
    return placed.with_columns(
        rank=pl.when("complete").then("mean_st").rank("min", descending=True).cast(pl.Int64)
    ).sort(
        "rank", "n_tasks", pl.mean_horizontal(behind), pl.col("model").str.to_lowercase(), "submitter",
        descending=[False, True, False, False, False], nulls_last=True,
    )  # fmt: skip


def _means(newest: pl.DataFrame, benchmark: Benchmark) -> pl.DataFrame:
    """Return each line's coverage and, for complete lines, the means over tasks with their intervals."""
    n = len(benchmark.boards)
    parts = ("", ".low", ".high")
    listed = [pl.col(f"{figure}{part}") for figure in MEANS for part in parts]
    by_line = newest.group_by(LINE, maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("n_tasks"), *listed, pl.col("average_drop.placebo")
    )
    rows = []
    for row in by_line.filter(pl.col("n_tasks") == n).iter_rows(named=True):
        line = {name: row[name] for name in LINE}
        for figure in MEANS:
            line |= dict(
                zip((f"{figure}{part}" for part in parts), _mean(*(row[f"{figure}{p}"] for p in parts)), strict=True)
            )
        placebo = row["average_drop.placebo"]
        line["average_drop.placebo"] = None if None in placebo else float(np.mean(placebo))
        rows.append(line)
    names = [f"{figure}{part}" for figure in MEANS for part in parts]
    schema = {**dict.fromkeys(LINE, pl.String()), **dict.fromkeys([*names, "average_drop.placebo"], pl.Float64())}
    means = pl.DataFrame(rows, schema=schema, orient="row")
    return by_line.select(*LINE, "n_tasks").join(means, on=LINE, how="left", maintain_order="left")


def _mean(
    values: Sequence[float | None], lows: Sequence[float | None], highs: Sequence[float | None]
) -> tuple[float | None, float | None, float | None]:
    """Return the mean over tasks with its interval; test sets differ by task, so errors are independent."""
    if None in values:
        return None, None, None
    mean = float(np.mean(np.array(values, dtype=np.float64)))
    if None in lows or None in highs:
        return mean, None, None
    n = len(values)
    points, bottoms, tops = (np.array(each, dtype=np.float64) for each in (values, lows, highs))
    low, high = mean - np.linalg.norm(points - bottoms) / n, mean + np.linalg.norm(tops - points) / n
    return mean, float(low), float(high)
