"""One task's scores by metric, source and target: on the test sets, on resampled ones, on halves.

One draw of weights over a domain's groups serves every score on its test set: the TT, each ST into it, all runs, and
all entries, because the generator is seeded by task and domain alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.builders.encoder import Encoder
from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.metrics.depth import LAMBDAS, depth_weights, effective_size, least_deep
from shiftbench.metrics.ledger import FlipLedger, flip_counts, flip_ledger
from shiftbench.metrics.resampling import half_weights, replicate_counts
from shiftbench.metrics.slopes import DepthSlope, depth_slope
from shiftbench.metrics.wilson import RunMoments, run_moments
from shiftbench.scoring.scores.outcomes import TargetRuns, target_runs
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.vocabulary import source_parts

Floats = NDArray[np.float64]
Cell = tuple[str, str]
"""Source and target."""

N_DRAWS = 1_000
"""Replicates behind every interval."""
N_SPLITS = 50
"""Random splits of the groups into halves, behind the worst drops."""
_REPLICATES, _HALVES = 0, 1


@dataclass
class TaskValues:
    """One task's scores. Arrays are (n_runs, 1 + n_draws): first on the test set itself, then on its replicates.

    Attributes:
        name, info, domains: the task and its domains with test rows in the subset.
        scores: by metric, then by source and target. Metrics without replicates have n_draws = 0. Depth metrics end
            in ``@<lambda>``; ``tt_depth_...`` is the target's own runs, weighted by the depths in the source.
        halves: the primary metric on halves of the groups, by source and target, shape (n_runs, n_splits, 2).
        seeds, rows: seeds of the runs, and number of test rows, by source and target.
        texts_left: number of test texts left under depth weights, by source and target, then by lambda.
        effective_n: the effective number of them.
        flips: transfer loss and gain of each shift, by source and target, where there are runs of both domains.
        effective_groups: effective number of groups of each target's test set.
        depth_groups: the same under depth weights, by source and target, then by lambda.
        depth_slopes: slopes of example scores on depth in the source, by source and target, where there are depths.
        gold_groups: effective number of groups with gold of each class, shape (n_classes,), of metrics that are no mean
            over examples: by formula, cell and lambda ("" without weights).
        run_moments: moments of example scores, by source and target.
        example_metric: the metric that is the mean of example scores; None without one.
        formulas: by metric the formula that makes it; only of metrics with replicates.
        pool_deepest: depth of a joined source's deepest text, found once for all its targets; None where the folder's
            depth tables do not hold it.
        unrepeated: the primary metric alone, on the test rows that repeat no train text of their domain; None where no
            row does, or the folder does not list them.
    """

    name: str
    info: TaskInfo
    domains: tuple[str, ...]
    scores: dict[str, dict[Cell, Floats]] = field(default_factory=dict)
    halves: dict[Cell, Floats] = field(default_factory=dict)
    seeds: dict[Cell, tuple[int, ...]] = field(default_factory=dict)
    rows: dict[Cell, int] = field(default_factory=dict)
    texts_left: dict[Cell, dict[str, int]] = field(default_factory=dict)
    effective_n: dict[Cell, dict[str, float]] = field(default_factory=dict)
    flips: dict[Cell, FlipLedger] = field(default_factory=dict)
    effective_groups: dict[str, float] = field(default_factory=dict)
    depth_groups: dict[Cell, dict[str, float]] = field(default_factory=dict)
    depth_slopes: dict[Cell, DepthSlope] = field(default_factory=dict)
    gold_groups: dict[tuple[str, Cell, str], Floats] = field(default_factory=dict)
    run_moments: dict[Cell, RunMoments] = field(default_factory=dict)
    example_metric: str | None = None
    formulas: dict[str, str] = field(default_factory=dict)
    pool_deepest: dict[str, float | None] = field(default_factory=dict)
    unrepeated: "TaskValues | None" = None

    @property
    def sources(self) -> list[str]:
        """List the sources that there are predictions of."""
        return sorted({source for source, _ in self.rows})

    @property
    def shift_cells(self) -> list[Cell]:
        """List the shifts that there are predictions of: the target is no part of the source."""
        return [cell for cell in sorted(self.rows) if cell[1] not in source_parts(cell[0])]

    def put(self, metric: str, cell: Cell, scores: Floats) -> None:
        """Add the scores of a metric's runs."""
        self.scores.setdefault(metric, {})[cell] = scores


def task_values(
    task: str,
    predictions: pl.DataFrame,
    folder: DatasetFolder,
    subset: str = "all",
    *,
    encoder: Encoder | None = None,
    n_draws: int = N_DRAWS,
) -> TaskValues:
    """Score one task's checked predictions.

    Args:
        task: its name.
        predictions: rows of this task, as ``shiftbench.validation.predictions.CHECKED_PREDICTIONS`` has them.
        folder: the dataset.
        subset: the subset of test ids that the predictions cover.
        encoder: needed for BERTScore alone.
        n_draws: replicates; 0 leaves intervals out.
    Returns: the scores by metric, source and target, shape (n_runs, 1 + n_draws) each: first on the test set, then on
        resampled ones.
    """
    info = folder.task(task)
    covered = set(folder.test(task, subset, ["id", "domain"])["domain"].unique())
    domains = tuple(domain for domain in info.domains if domain in covered)
    values = TaskValues(task, info, domains)
    repeated = folder.repeated_tests(task)
    if repeated is not None and len(repeated):
        values.unrepeated = TaskValues(task, info, domains)
    for target in target_runs(task, predictions, folder, subset, encoder=encoder):
        score_target(values, target, folder, n_draws)
        if values.unrepeated is not None and repeated is not None:
            fresh = ~target.ids.is_in(repeated["id"].implode()).to_numpy()
            if fresh.any():
                _Target(values.unrepeated, target.of_rows(fresh), folder, n_draws).fill_primary()
    return values


def score_target(values: TaskValues, target: TargetRuns, folder: DatasetFolder, n_draws: int) -> None:
    """Add the scores of all runs on one target.

    Args:
        values: the task's scores, which it adds to.
        target: what the runs predicted there.
        folder: the dataset, for its depth tables.
        n_draws: replicates; 0 leaves intervals out.
    """
    _Target(values, target, folder, n_draws).fill()


@dataclass
class _Block:
    """Counts by group that one draw of weights replicates together: runs, weightings, and which metrics they make."""

    counts: Floats  # (n_groups, n_runs, n_weightings, k)
    metrics: dict[str, str]  # name to keep -> formula
    cell: Cell
    suffixes: Sequence[str]  # of the weightings


class _Target:
    """Scoring of all runs on one target."""

    def __init__(self, values: TaskValues, target: TargetRuns, folder: DatasetFolder, n_draws: int) -> None:
        self.values, self.target, self.folder, self.n_draws = values, target, folder, n_draws
        self.sources = sorted({source for source, _ in target.runs})
        self.n_groups = int(target.groups.max()) + 1
        # Without a primary metric (BERTScore, no encoder) its place is left empty.
        self.primary = values.info.metric if values.info.metric in target.outcomes.formulas else None

    def fill(self) -> None:
        target, values = self.target, self.values
        sizes = np.bincount(target.groups)
        values.effective_groups[target.target] = effective_size(sizes)
        blocks = [self._plain(source) for source in self.sources]
        shifted = [source for source in self.sources if self._has_depth(source)]
        parts = sorted({part for source in shifted for part in self._depth_sources(source)})
        if parts:
            tables = self.folder.depths(target.task, parts, target.target)
            for source in shifted:
                blocks += self._depth(source, tables)
        replicates = self._replicates(blocks)
        for block, drawn in zip(blocks, replicates, strict=True):
            self._score(block, drawn)

    def fill_primary(self) -> None:
        """Score the primary metric alone, without depths."""
        self.values.effective_groups[self.target.target] = effective_size(np.bincount(self.target.groups))
        blocks = [self._counts(source) for source in self.sources]
        for block, drawn in zip(blocks, self._replicates(blocks), strict=True):
            self._score(block, drawn)

    def _has_depth(self, source: str) -> bool:
        """Return whether a shift into the target has depth tables: they need two train texts of every part."""
        parts = source_parts(source)
        texts = [n_train(self.values.info, part) for part in self._depth_sources(source)]
        tables = self.folder.has_depth and all(n_texts >= 2 for n_texts in texts)
        return bool(parts) and tables and self.target.target not in parts

    def _depth_sources(self, source: str) -> tuple[str, ...]:
        """List the sources whose depth tables make up a source's: its parts, but for the joined source of a pairing."""
        return (source,) if source == self.values.info.joined_source else source_parts(source)

    def _counts(self, source: str) -> _Block:
        """Count a source's runs, and collect what is known of the cell beside its scores."""
        target, values, outcomes = self.target, self.values, self.target.outcomes
        runs = target.of_source(source)
        cell = (source, target.target)
        values.seeds[cell] = tuple(target.runs[run][1] for run in runs)
        values.rows[cell] = len(target.ids)
        values.example_metric = outcomes.example_metric
        values.run_moments[cell] = run_moments(outcomes.example_scores[runs], target.groups)
        counts = np.stack([outcomes.by_group(run, target.groups) for run in runs], axis=1)
        return _Block(counts, {self.primary: self.primary} if self.primary else {}, cell, ("",))

    def _plain(self, source: str) -> _Block:
        """Count a source's runs; its secondary metrics, which have no replicates, are scored at once."""
        block = self._counts(source)
        target, values, outcomes = self.target, self.values, self.target.outcomes
        runs, cell, counts = target.of_source(source), block.cell, block.counts
        totals = counts.sum(axis=0)[:, 0]
        for metric in outcomes.formulas:
            if metric != self.primary:
                values.put(metric, cell, outcomes.score(metric, totals)[:, None])
        for metric, scores in outcomes.unweighted.items():
            values.put(metric, cell, scores[runs][:, None])
        values.put("unparsed", cell, outcomes.unparsed[runs].mean(axis=1)[:, None])
        if self.primary:
            values.halves[cell] = self._halves(counts[:, :, 0])
        at_home = target.of_source(target.target)
        if at_home and target.target not in source_parts(source):
            rows = flip_counts(outcomes.example_scores[at_home], outcomes.example_scores[runs])
            values.flips[cell] = flip_ledger(rows.sum(axis=0))
        return block

    @cached_property
    def _half_weights(self) -> Floats:
        return half_weights(self.n_groups, N_SPLITS, self._rng(_HALVES))

    def _halves(self, counts: Floats) -> Floats:
        if self.n_groups < 2:
            return np.full((counts.shape[1], N_SPLITS, 2), np.nan)
        sums = np.tensordot(self._half_weights, counts, axes=1)  # (n_splits, 2, n_runs, k)
        assert self.primary
        return np.moveaxis(self.target.outcomes.score(self.primary, sums), -1, 0)

    def _depth(self, source: str, tables: Mapping[str, pl.DataFrame]) -> Iterator[_Block]:
        """Count with depth weights: a shift into the target, and the target's own runs under the same weights."""
        target, values, outcomes = self.target, self.values, self.target.outcomes
        parts = self._depth_sources(source)
        depth = depth_in(parts, target, tables, self.folder)
        slope = depth_slope(outcomes.example_scores[target.of_source(source)], depth, target.groups)
        if slope is not None:
            values.depth_slopes[source, target.target] = slope
        if len(parts) > 1 and source not in values.pool_deepest:
            values.pool_deepest[source] = self.folder.deepest_of_pool(target.task, parts)
        deepest = values.pool_deepest.get(source)
        if deepest is None:
            deepest = deepest_of_parts(parts, target, tables, self.folder)
        if not (depth < deepest).any():
            return
        least = np.stack([least_deep(depth, lambda_) for lambda_ in LAMBDAS])
        weights = depth_weights(depth, deepest) * least
        cell = (source, target.target)
        names = [str(lambda_) for lambda_ in LAMBDAS]
        values.texts_left[cell] = dict(zip(names, map(int, least.sum(axis=1)), strict=True))
        values.effective_n[cell] = dict(zip(names, map(effective_size, weights), strict=True))
        by_group = [np.bincount(target.groups, weights=row) for row in weights]
        values.depth_groups[cell] = dict(zip(names, map(effective_size, by_group), strict=True))
        metrics = {"depth_f1": outcomes.micro} | ({f"depth_{self.primary}": self.primary} if self.primary else {})
        for trained_on, prefix in ((source, ""), (target.target, "tt_")):
            runs = target.of_source(trained_on)
            if runs:
                counts = np.stack([outcomes.by_group(run, target.groups, weights) for run in runs], axis=1)
                block_metrics = {prefix + name: formula for name, formula in metrics.items()}
                yield _Block(counts, block_metrics, cell, [f"@{name}" for name in names])

    def _replicates(self, blocks: Sequence[_Block]) -> Sequence[Floats | None]:
        """Compute the replicates of all blocks under shared weights, shape (n_draws, n_runs, n_weightings, k) each."""
        if not self.n_draws or self.n_groups < 2:
            return [None] * len(blocks)
        shapes = [block.counts.shape[1:] for block in blocks]
        flat = np.concatenate([block.counts.reshape(self.n_groups, -1) for block in blocks], axis=1)
        drawn = replicate_counts(flat, self.n_draws, self._rng(_REPLICATES))
        parts = np.split(drawn, np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1], axis=1)
        return [part.reshape(self.n_draws, *shape) for part, shape in zip(parts, shapes, strict=True)]

    def _score(self, block: _Block, drawn: Floats | None) -> None:
        outcomes = self.target.outcomes
        sums = block.counts.sum(axis=0)[None]
        by_formula: dict[str, Floats] = {}
        for formula in set(block.metrics.values()):
            point = outcomes.score(formula, sums)
            unknown = np.full((self.n_draws, *point.shape[1:]), np.nan)
            by_formula[formula] = np.concatenate([point, unknown if drawn is None else outcomes.score(formula, drawn)])
        for name, formula in block.metrics.items():
            for number, suffix in enumerate(block.suffixes):
                self.values.formulas[name + suffix] = formula
                if formula != outcomes.example_metric and outcomes.gold is not None:
                    # Shape (n_groups, n_classes); gold is the same in all runs.
                    gold = outcomes.gold(block.counts[:, 0, number])
                    key = (formula, block.cell, suffix.removeprefix("@"))
                    self.values.gold_groups[key] = _effective_sizes(gold)
                self.values.put(name + suffix, block.cell, by_formula[formula][:, :, number].T)

    def _rng(self, purpose: int) -> np.random.Generator:
        return np.random.default_rng([purpose, *f"{self.target.task}/{self.target.target}".encode()])


def _effective_sizes(counts: Floats) -> Floats:
    """Return the effective number of groups of each column's counts, shape (n_groups, k); 0 of a column without any."""
    squares = (counts**2).sum(axis=0)
    return np.asarray(counts.sum(axis=0) ** 2 / np.where(squares > 0, squares, 1.0))


def n_train(info: TaskInfo, source: str) -> int:
    """Return the number of a source's train rows; 0 for a domain of another task."""
    splits_of_parts = [info.domains[part].splits for part in source_parts(source) if part in info.domains]
    return sum(splits["train"].rows for splits in splits_of_parts if "train" in splits)


def depth_in(
    parts: Sequence[str], target: TargetRuns, tables: Mapping[str, pl.DataFrame], folder: DatasetFolder
) -> Floats:
    """Return the depth of the target's texts in a source.

    The depth in a joined source is the mean over its parts, weighted by their train sizes. The joined source of a
    pairing has a table of its own, so it comes as one part.
    """
    depth = np.zeros(len(target.ids))
    total = 0
    for part in parts:
        table = tables[part]
        # A table lists the source's train texts first, each once, then the target's test texts, then its train texts.
        n_own = n_train(folder.task(target.task), part)
        texts = table[n_own : n_own + len(target.ids)]
        if not texts["id"].equals(target.ids):  # a subset
            texts = table[n_own:]
            texts = pl.DataFrame({"id": target.ids}).join(texts, on="id", how="left", maintain_order="left")
        if texts["depth"].null_count():
            what = f"the depth table {part}--{target.target} lacks test ids"
            raise InvalidInput(Problem(what, str(folder.path), cure="build the folder again"))
        depth += n_own * texts["depth"].to_numpy()
        total += n_own
    return depth / total


def deepest_of_parts(
    parts: Sequence[str], target: TargetRuns, tables: Mapping[str, pl.DataFrame], folder: DatasetFolder
) -> float:
    """Return the depth of one part's deepest text, or the mean over several in place of the unknown pooled one."""
    sizes = [n_train(folder.task(target.task), part) for part in parts]
    deepest = [float(tables[part]["depth"][:size].to_numpy().max()) for part, size in zip(parts, sizes, strict=True)]
    return deepest[0] if len(parts) == 1 else float(np.average(deepest, weights=sizes))  # a mean of one may round
