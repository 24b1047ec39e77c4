"""One task's scores by metric, source and target, with their precision."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.builders.encoder import Encoder
from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.metrics.depth import LAMBDAS, DepthSlope, depth_slope, depth_weights, effective_size, least_deep
from shiftbench.metrics.ledger import FlipLedger, flip_counts, flip_ledger
from shiftbench.metrics.precision import (
    class_df,
    class_size,
    effective_groups,
    effective_n,
    group_influences,
    sum_by_group,
)
from shiftbench.scoring.scores.figures import UNKNOWN, Figure, Runs, Score, refusal, single
from shiftbench.scoring.scores.outcomes import TargetRuns, target_runs
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.vocabulary import source_parts

Floats = NDArray[np.float64]
Cell = tuple[str, str]
"""Source and target."""
OWN = "tt_"
"""Prefix of depth-weighted scores of the target's own runs."""


@dataclass
class TaskValues:
    """One task's scores.

    Attributes:
        name, info, domains: the task and its domains with test rows in the subset.
        scores: score of each run, by metric, then by source and target, shape (n_runs,). Depth metrics end in
            ``@<lambda>``; ``tt_depth_...`` is the target's own runs, weighted by the depths in the source.
        targets: the runs' outcomes on each target.
        weights: depth weights of a shift's texts, one row per lambda of ``LAMBDAS``, if there are depths.
        seeds, rows: seeds of the runs, and number of test rows, by source and target.
        texts_left: number of test texts retained under depth weights, by source and target, then by lambda.
        effective_n: effective number of these texts.
        flips: transfer loss and gain of each shift, by source and target, if both domains have runs.
        depth_slopes: slopes of example scores on depth in the source, by source and target, if there are depths.
        formulas: the formula of each metric whose precision is computed.
        pool_deepest: depth of a joined source's deepest text, looked up once for all its targets; None if the folder's
            depth tables lack it.
        unrepeated: the primary metric only, on the test rows that repeat no train text of their domain; None if no row
            repeats one, or the folder does not list them.
    """

    name: str
    info: TaskInfo
    domains: tuple[str, ...]
    scores: dict[str, dict[Cell, Floats]] = field(default_factory=dict)
    targets: dict[str, TargetRuns] = field(default_factory=dict)
    weights: dict[Cell, Floats] = field(default_factory=dict)
    seeds: dict[Cell, tuple[int, ...]] = field(default_factory=dict)
    rows: dict[Cell, int] = field(default_factory=dict)
    texts_left: dict[Cell, dict[str, int]] = field(default_factory=dict)
    effective_n: dict[Cell, dict[str, float]] = field(default_factory=dict)
    flips: dict[Cell, FlipLedger] = field(default_factory=dict)
    depth_slopes: dict[Cell, DepthSlope] = field(default_factory=dict)
    formulas: dict[str, str] = field(default_factory=dict)
    pool_deepest: dict[str, float | None] = field(default_factory=dict)
    unrepeated: "TaskValues | None" = None
    _averaged: dict[str, set[int]] = field(default_factory=dict)
    _figures: dict[tuple[str, Cell], Figure] = field(default_factory=dict)

    @property
    def sources(self) -> list[str]:
        """List the sources with predictions."""
        return sorted({source for source, _ in self.rows})

    @property
    def shift_cells(self) -> list[Cell]:
        """List the shifts with predictions: cells whose target is not part of the source."""
        return [cell for cell in sorted(self.rows) if cell[1] not in source_parts(cell[0])]

    def put(self, metric: str, cell: Cell, scores: Floats) -> None:
        """Store the scores of all runs of a cell, shape (n_runs,)."""
        self.scores.setdefault(metric, {})[cell] = scores

    def averaged_runs(self, source: str, target: str) -> list[int]:
        """List the runs that a cell's mean is over, as indices into its runs; all targets must have been added."""
        if not self._averaged:
            self._averaged.update(averaged_seeds(self))
        return [run for run, seed in enumerate(self.seeds[source, target]) if seed in self._averaged[source]]

    def runs_of(self, cell: Cell) -> list[int]:
        """List the runs that a cell's mean is over, as indices into all runs on the target."""
        runs = self.targets[cell[1]].of_source(cell[0])
        return [runs[run] for run in self.averaged_runs(*cell)]

    def mean(self, metric: str, cell: Cell) -> float:
        """Return a score averaged over runs; NaN without predictions."""
        scores = self.scores.get(metric, {}).get(cell)
        if scores is None:
            return float("nan")
        return float(scores[self.averaged_runs(_trained_on(metric, cell), cell[1])].mean())

    def figure(self, metric: str, cell: Cell) -> Figure:
        """Return a score averaged over runs, with its precision; unknown without predictions.

        Args:
            metric: the primary metric, or a depth-weighted one as ``scores`` names it.
            cell: source and target.
        """
        if cell not in self.scores.get(metric, {}):
            return UNKNOWN
        if (metric, cell) not in self._figures:
            self._sample(metric, cell)
        return self._figures[metric, cell]

    def _sample(self, metric: str, cell: Cell) -> None:
        """Compute and cache a score's precision, for a depth-weighted score at all lambdas at once."""
        name, _, lambda_ = metric.partition("@")
        source = _trained_on(metric, cell)
        weights = self.weights[cell] if lambda_ else None
        runs = self.runs_of((source, cell[1]))
        sampled = sampled_scores(self.targets[cell[1]], runs, self.formulas[metric], weights)
        names = [f"{name}@{each}" for each in LAMBDAS] if lambda_ else [name]
        self._figures |= {(each, cell): single(score) for each, score in zip(names, sampled, strict=True)}

    def weighted(self, cell: Cell, weights: Floats) -> Figure:
        """Return the primary score under text weights, averaged over runs; unknown without predictions.

        Args:
            cell: source and target.
            weights: non-negative weights of the target's texts in id order, shape (n,).
        """
        if cell not in self.rows:
            return UNKNOWN
        runs = self.runs_of(cell)
        return single(sampled_scores(self.targets[cell[1]], runs, self.info.metric, weights[None])[0])

    def run_influences(self, cell: Cell) -> Floats:
        """Return the influence of each group on the primary score of each run, shape (n_groups, n_runs)."""
        target = self.targets[cell[1]]
        runs = target.of_source(cell[0])
        if runs == self.runs_of(cell):
            ((_, score, _),) = self.figure(self.info.metric, cell).parts
        else:
            (score,) = sampled_scores(target, runs, self.info.metric)
        assert score.runs is not None
        return score.runs.influences


def _trained_on(metric: str, cell: Cell) -> str:
    return cell[1] if metric.startswith(OWN) else cell[0]


def averaged_seeds(values: TaskValues) -> dict[str, set[int]]:
    """Choose each source's seeds to average: those available on all of its targets, so that drops do not mix runs.

    If no seed is available on all of them, each score is the mean over the available seeds.
    """
    by_source: dict[str, list[set[int]]] = {}
    for (source, _), seeds in values.seeds.items():
        by_source.setdefault(source, []).append(set(seeds))
    return {source: set.intersection(*seeds) or set.union(*seeds) for source, seeds in by_source.items()}


def sampled_scores(
    target: TargetRuns, runs: Sequence[int], metric: str, weights: Floats | None = None, recipe: object = ""
) -> list[Score]:
    """Compute the mean score of runs on a test set, with its precision (``metrics.precision``).

    Args:
        target: outcomes of all runs on the test set.
        runs: indices of the averaged runs, at least one, all of one source.
        metric: name of a formula.
        weights: text weights, one row per requested score, shape (n_weights, n). Default: one row of ones.
        recipe: distinguishes recipes with the same source, such as those of two entries.

    Returns: a score for each row of weights; NaN if all weights are 0.
    """
    outcomes, groups = target.outcomes, target.groups
    rows = np.ones((1, groups.size)) if weights is None else weights
    totals = [outcomes.totals(run, rows) for run in runs]
    values = np.stack([outcomes.score(metric, total) for total in totals])  # (n_runs, n_weights)
    texts = [outcomes.influences(metric, run, rows, total) for run, total in zip(runs, totals, strict=True)]
    by_group = np.stack(
        [group_influences(each, groups, rows) for each in texts], axis=-1
    )  # (n_weights, n_groups, n_runs)
    scores = outcomes.example_scores[list(runs)].mean(axis=0)
    gold = None if metric == outcomes.example_metric else outcomes.gold
    weighted_gold = rows[:, None] * (np.ones((1, groups.size)) if gold is None else gold)  # (n_weights, n_classes, n)
    sizes = effective_groups(sum_by_group(rows, groups))
    by_class = effective_groups(sum_by_group(weighted_gold, groups))
    # Groups with errors, or with correct answers, of the class where they are fewest.
    holding = effective_groups(sum_by_group(weighted_gold[:, :, None] * np.stack([scores, 1 - scores]), groups))
    means, moved = values.mean(axis=0), by_group.mean(axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):  # in rows that get no interval below
        n = effective_n(
            np.clip(means, 0.0, 1.0),
            (moved**2).sum(axis=1),
            (np.mean(texts, axis=0) ** 2).sum(axis=1),
            class_size(by_class),
            holding.min(axis=(1, 2)),
        )
        df = np.minimum(sizes - 1, class_df(by_class))
        right = sum_by_group(rows * scores, groups) / rows.sum(axis=1)[:, None]
    seeds = tuple(target.runs[run][1] for run in runs)
    name = (recipe, target.runs[runs[0]][0])
    sampled = []
    for row, value in enumerate(means.tolist()):
        if np.isnan(value):
            sampled.append(Score(value))
            continue
        reason = refusal(float(sizes[row]), by_class[row].tolist())
        sampled.append(
            Score(
                value,
                1.0 if reason else float(n[row]),
                1.0 if reason else float(df[row]),
                target.target,
                moved[row],
                right[row],
                float(sizes[row]),
                reason,
                Runs(name, seeds, values[:, row], by_group[row]),
            )
        )
    return sampled


def task_values(
    task: str,
    predictions: pl.DataFrame,
    folder: DatasetFolder,
    subset: str = "all",
    *,
    encoder: Encoder | None = None,
) -> TaskValues:
    """Score one task's checked predictions.

    Args:
        task: its name.
        predictions: rows of this task, with the columns of ``shiftbench.validation.predictions.CHECKED_PREDICTIONS``.
        folder: the dataset.
        subset: the subset of test ids that the predictions cover.
        encoder: needed only for BERTScore.
    Returns: the scores by metric, source and target.
    """
    info = folder.task(task)
    covered = set(folder.test(task, subset, ["id", "domain"])["domain"].unique())
    domains = tuple(domain for domain in info.domains if domain in covered)
    values = TaskValues(task, info, domains)
    repeated = folder.repeated_tests(task)
    if repeated is not None and len(repeated):
        values.unrepeated = TaskValues(task, info, domains)
    for target in target_runs(task, predictions, folder, subset, encoder=encoder):
        score_target(values, target, folder)
        if values.unrepeated is not None and repeated is not None:
            fresh = ~target.ids.is_in(repeated["id"].implode()).to_numpy()
            if fresh.any():
                _Target(values.unrepeated, target.of_rows(fresh), folder).fill_primary()
    return values


def score_target(values: TaskValues, target: TargetRuns, folder: DatasetFolder) -> None:
    """Add the scores of all runs on one target.

    Args:
        values: the task's scores, extended in place.
        target: the runs' outcomes there.
        folder: the dataset, for its depth tables.
    """
    _Target(values, target, folder).fill()


class _Target:
    """Scoring of all runs on one target."""

    def __init__(self, values: TaskValues, target: TargetRuns, folder: DatasetFolder) -> None:
        self.values, self.target, self.folder = values, target, folder
        self.sources = sorted({source for source, _ in target.runs})
        # The primary metric may be missing (BERTScore without an encoder).
        self.primary = values.info.metric if values.info.metric in target.outcomes.formulas else None
        values.targets[target.target] = target

    def fill(self) -> None:
        target = self.target
        for source in self.sources:
            self._plain(source)
        shifted = [source for source in self.sources if self._has_depth(source)]
        parts = sorted({part for source in shifted for part in self._depth_sources(source)})
        if parts:
            tables = self.folder.depths(target.task, parts, target.target)
            for source in shifted:
                self._depth(source, tables)

    def fill_primary(self) -> None:
        """Score only the primary metric, without depths."""
        for source in self.sources:
            self._primary(source)

    def _has_depth(self, source: str) -> bool:
        """Return whether a shift has depth tables, which need two train texts in every part of the source."""
        parts = source_parts(source)
        texts = [n_train(self.values.info, part) for part in self._depth_sources(source)]
        tables = self.folder.has_depth and all(n_texts >= 2 for n_texts in texts)
        return bool(parts) and tables and self.target.target not in parts

    def _depth_sources(self, source: str) -> tuple[str, ...]:
        """List the sources whose depth tables are combined: a source's parts, or a pairing's joined source itself."""
        return (source,) if source == self.values.info.joined_source else source_parts(source)

    def _primary(self, source: str) -> Floats:
        """Score a source's runs by the primary metric; return their counts, shape (n_runs, k)."""
        target, values, outcomes = self.target, self.values, self.target.outcomes
        runs = target.of_source(source)
        cell = (source, target.target)
        values.seeds[cell] = tuple(target.runs[run][1] for run in runs)
        values.rows[cell] = len(target.ids)
        ones = np.ones((1, len(target.ids)))
        totals = np.stack([outcomes.totals(run, ones)[0] for run in runs])
        if self.primary:
            values.formulas[self.primary] = self.primary
            values.put(self.primary, cell, outcomes.score(self.primary, totals))
        return totals

    def _plain(self, source: str) -> None:
        """Score a source's runs without depth weights."""
        target, values, outcomes = self.target, self.values, self.target.outcomes
        totals = self._primary(source)
        runs, cell = target.of_source(source), (source, target.target)
        for metric in outcomes.formulas:
            if metric != self.primary:
                values.put(metric, cell, outcomes.score(metric, totals))
        for metric, scores in outcomes.unweighted.items():
            values.put(metric, cell, scores[runs])
        values.put("unparsed", cell, outcomes.unparsed[runs].mean(axis=1))
        at_home = target.of_source(target.target)
        if at_home and target.target not in source_parts(source):
            rows = flip_counts(outcomes.example_scores[at_home], outcomes.example_scores[runs])
            values.flips[cell] = flip_ledger(rows.sum(axis=0))

    def _depth(self, source: str, tables: Mapping[str, pl.DataFrame]) -> None:
        """Score with depth weights: a shift into the target, and the target's own runs under the same weights."""
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
        values.weights[cell] = weights
        values.texts_left[cell] = dict(zip(names, map(int, least.sum(axis=1)), strict=True))
        values.effective_n[cell] = dict(zip(names, map(effective_size, weights), strict=True))
        metrics = {"depth_f1": outcomes.micro} | ({f"depth_{self.primary}": self.primary} if self.primary else {})
        for trained_on, prefix in ((source, ""), (target.target, OWN)):
            runs = target.of_source(trained_on)
            if not runs:
                continue
            totals = np.stack([outcomes.totals(run, weights) for run in runs], axis=1)  # (n_weights, n_runs, k)
            for name, formula in metrics.items():
                for number, lambda_ in enumerate(names):
                    metric = f"{prefix}{name}@{lambda_}"
                    values.formulas[metric] = formula
                    values.put(metric, cell, outcomes.score(formula, totals[number]))


def n_train(info: TaskInfo, source: str) -> int:
    """Return the number of a source's train rows; 0 for a domain of another task."""
    splits_of_parts = [info.domains[part].splits for part in source_parts(source) if part in info.domains]
    return sum(splits["train"].rows for splits in splits_of_parts if "train" in splits)


def depth_in(
    parts: Sequence[str], target: TargetRuns, tables: Mapping[str, pl.DataFrame], folder: DatasetFolder
) -> Floats:
    """Return the depth of the target's texts in a source.

    The depth in a joined source is the mean over its parts, weighted by their train sizes. A pairing's joined source is
    passed as a single part, because the folder has a depth table for it.
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
    """Return the depth of a source's deepest train text.

    For a joined source it is the mean over its parts, because the depths of the pooled texts are not known.
    """
    sizes = [n_train(folder.task(target.task), part) for part in parts]
    deepest = [float(tables[part]["depth"][:size].to_numpy().max()) for part, size in zip(parts, sizes, strict=True)]
    # np.average of a single value may differ from it in the last digit.
    return deepest[0] if len(parts) == 1 else float(np.average(deepest, weights=sizes))
