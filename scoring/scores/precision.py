"""Precision of each score of a task: its effective number of examples, and its interval.

Scores that are means over examples take their spread from the examples: one correlation of examples of a group, pooled
over the task's cells, since one test set with few groups or few errors knows too little of it. Other scores (macro-F1,
span F1) take theirs from replicates, in units of what the smallest classes' gold examples would give, pooled likewise,
but only over test sets with groups of like size: a document of 200 sentences tells more than one sentence does.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shiftbench.metrics.wilson import (
    MIN_CLASS_GROUPS,
    MIN_GROUPS,
    Moments,
    effective_n,
    intraclass_correlation,
    relative_square,
    wilson_interval,
)
from shiftbench.scoring.scores.intervals import MAX_UNDEFINED, SCORE, Figure, Reason
from shiftbench.scoring.scores.replicates import Cell, Floats, TaskValues

LIKE_SIZE = 4.0
"""How many times as many texts a group may have on one test set as on another whose variance a group it shares."""


class Precision:
    """Intervals of one task's scores, averaged over the seeds of ``gaps.averaged_seeds``.

    Args:
        values: the task's scores.
    """

    def __init__(self, values: TaskValues) -> None:
        self.values = values
        self._runs = _averaged_runs(values)
        self._means: dict[tuple[str, Cell], Floats] = {}
        self._figures: dict[tuple[str, Cell], Figure] = {}
        self._moments = {cell: sums.of(self.averaged_runs(*cell)) for cell, sums in sorted(values.run_moments.items())}
        self._correlation = intraclass_correlation(list(self._moments.values()))
        self._dispersion = _pooled_dispersion(list(self._moments.values()))
        self._group_sizes = {cell[1]: rows / values.effective_groups[cell[1]] for cell, rows in values.rows.items()}

    def averaged_runs(self, source: str, target: str) -> list[int]:
        """List the runs of a cell that its mean is over."""
        return self._runs[source, target]

    def mean(self, metric: str, cell: Cell) -> Floats:
        """Return a score averaged over runs, first on the test set itself, then on its replicates."""
        if (metric, cell) not in self._means:
            scores = self.values.scores[metric][cell]
            runs = self.averaged_runs(self._trained_on(metric, cell), cell[1])
            self._means[metric, cell] = scores[runs[0]] if len(runs) == 1 else scores[runs].mean(axis=0)
        return self._means[metric, cell]

    def figure(self, metric: str, cell: Cell) -> Figure:
        """Return a score with its interval.

        Args:
            metric: the primary metric, or a depth-weighted one as ``TaskValues.scores`` names it.
            cell: source and target; there must be predictions.
        """
        if (metric, cell) not in self._figures:
            self._figures[metric, cell] = self._figure(metric, cell)
        return self._figures[metric, cell]

    def _figure(self, metric: str, cell: Cell) -> Figure:
        scores = self.mean(metric, cell)
        n_texts, n_groups = self._sizes(metric, cell)
        reason = self._refusal(metric, cell, scores, n_groups)
        if reason or np.isnan(scores[0]):
            return Figure(scores, n_groups, no_interval=reason)
        score = float(np.clip(scores[0], *SCORE))
        if self.values.formulas[metric] == self.values.example_metric:
            moments = self._moments[self._trained_on(metric, cell), cell[1]]
            # A cell's graded scores may be closer to 0 and 1 than those of other cells, so its own dispersion counts.
            dispersion = max(self._dispersion, moments.dispersion)
            n, df = effective_n(n_texts, n_groups, self._correlation, dispersion), n_groups - 1
        else:
            base = self._base(metric, cell, n_groups)
            ratio = max(self._pooled_ratio(cell[1]), _ratio(scores, base, n_groups))
            n, df = base / ratio, min(base, n_groups) - 1
        square = relative_square(n, df)
        low, high = wilson_interval(score, square)
        return Figure(scores, n_groups, low=low, high=high, square=square, own_df=df)

    def _refusal(self, metric: str, cell: Cell, scores: Floats, n_groups: float) -> Reason | None:
        if len(scores) == 1:
            return Reason.NO_REPLICATES
        if n_groups < MIN_GROUPS:
            return Reason.FEW_GROUPS
        gold = self._gold_groups(metric, cell)
        if gold is not None and gold.size and gold.min() < (MIN_CLASS_GROUPS if gold.size > 1 else MIN_GROUPS):
            return Reason.RARE_CLASS if gold.size > 1 else Reason.FEW_GROUPS
        return Reason.UNDEFINED if np.isnan(scores).mean() > MAX_UNDEFINED else None

    def _sizes(self, metric: str, cell: Cell) -> tuple[float, float]:
        """Return the effective numbers of texts and of groups."""
        key = metric.partition("@")[2]
        if key:
            return self.values.effective_n[cell][key], self.values.depth_groups[cell][key]
        return float(self.values.rows[cell]), self.values.effective_groups[cell[1]]

    def _gold_groups(self, metric: str, cell: Cell) -> NDArray[np.float64] | None:
        return self.values.gold_groups.get((self.values.formulas[metric], cell, metric.partition("@")[2]))

    def _base(self, metric: str, cell: Cell, n_groups: float) -> float:
        """Return the size that a mean over classes, each as precise as its gold examples allow, would have."""
        gold = self._gold_groups(metric, cell)
        return n_groups if gold is None or not gold.size else float(gold.size**2 / (1 / gold).sum())

    def _pooled_ratio(self, domain: str) -> float:
        """Average the variance over replicates, in units of that of ``_base`` examples, over cells like a domain's."""
        like = [(most, ratio) for target, most, ratio in self._ratios if self._is_like(target, domain)]
        over = sum(most * ratio for most, ratio in like)
        return over / sum(most for most, _ in like) if over > 0 else 1.0

    def _is_like(self, one: str, other: str) -> bool:
        sizes = self._group_sizes[one], self._group_sizes[other]
        return max(sizes) <= LIKE_SIZE * min(sizes)

    @cached_property
    def _ratios(self) -> list[tuple[str, float, float]]:
        """List the target, the most that a score's variance can be, and the ratio of each cell that has replicates."""
        metric = self.values.info.metric
        ratios: list[tuple[str, float, float]] = []
        if self.values.formulas.get(metric) == self.values.example_metric:
            return ratios
        for cell in sorted(self.values.scores.get(metric, {})):
            scores = self.mean(metric, cell)
            n_groups = self._sizes(metric, cell)[1]
            if self._refusal(metric, cell, scores, n_groups) is None:
                most = float(scores[0] * (1 - scores[0]))
                ratios.append((cell[1], most, _ratio(scores, self._base(metric, cell, n_groups), n_groups)))
        return ratios

    def _trained_on(self, metric: str, cell: Cell) -> str:
        return cell[1] if metric.startswith("tt_") else cell[0]


def _averaged_runs(values: TaskValues) -> dict[Cell, list[int]]:
    averaged = averaged_seeds(values)
    return {
        (source, target): [run for run, seed in enumerate(seeds) if seed in averaged[source]]
        for (source, target), seeds in values.seeds.items()
    }


def _pooled_dispersion(cells: Sequence[Moments]) -> float:
    """Pool the variance of example scores in units of that of right or wrong ones."""
    most = [cell.total / cell.n * (1 - cell.total / cell.n) for cell in cells]
    over = sum(part * cell.dispersion for part, cell in zip(most, cells, strict=True))
    return over / sum(most) if over > 0 else 1.0


def _ratio(scores: Floats, base: float, n_groups: float) -> float:
    """Return the variance over replicates, made unbiased, in units of that of ``base`` examples; 0 at 0 and 1."""
    most = float(scores[0] * (1 - scores[0]))
    drawn = scores[1:]
    variance = float(drawn.var()) if not np.isnan(drawn).any() else float(np.nanvar(drawn))
    variance *= n_groups / (n_groups - 1)
    return variance * base / most if most > 1e-12 else 0.0


def averaged_seeds(values: TaskValues) -> dict[str, set[int]]:
    """Choose each source's seeds that are averaged: those on all of its targets, so that its drops do not mix runs.

    Where no seed is on all of them, each score is the mean over what is there.
    """
    by_source: dict[str, list[set[int]]] = {}
    for (source, _), seeds in values.seeds.items():
        by_source.setdefault(source, []).append(set(seeds))
    return {source: set.intersection(*seeds) or set.union(*seeds) for source, seeds in by_source.items()}
