"""Scores with their precision, and figures: weighted sums of scores with one interval, whose inversion is the test.

A ``Score`` is one model's (or the mean of one recipe's runs') score on one test set. A ``Figure`` adds scores up: a
drop, a mean over domains, the difference of two entries. Its limits join the scores' own (``metrics.precision``), its p
values are the levels at which a limit meets what is tested, so an interval without 0 never stands beside p above 0.05.
Claims about recipes add the variance between training runs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

import numpy as np

from shiftbench.metrics.power import Variance, minimum_detectable
from shiftbench.metrics.precision import (
    MIN_GROUPS,
    MIN_RUNS,
    Floats,
    effective_groups,
    influence_correlation,
    residual_variance,
    satterthwaite,
    student,
    unknown_share,
    wilson_limits,
)
from shiftbench.scoring.scores.shape import DetectableDrop, Estimate, Interval

SCORE, DROP = (0.0, 1.0), (-1.0, 1.0)
"""Bounds of a score and of a drop."""
LEVEL = 0.95
_USUAL = 1.959964
"""The quantile at which the parts of a variance are weighed; degrees of freedom hardly depend on it."""
_FURTHEST = 1e3
"""Quantile beyond which a p value counts as that of this one."""
Scale = Callable[[Floats], Floats]
"""A rising function of scores, such as the logit."""
Limits = Callable[[float], tuple[float, float]]


class Reason(StrEnum):
    """The reason why a figure has no interval, in the words that scores use; of a score only the test set decides."""

    FEW_GROUPS = "fewer than 5 effective groups"
    RARE_CLASS = "a class has fewer than 5 effective gold groups"
    FEW_ERRORS = "fewer than 5 groups hold an error, or a right answer"
    NO_LOGARITHM = "a score of 0 or 1 has no logarithm or logit"


def refusal(groups: float, class_groups: Sequence[float] = ()) -> Reason | None:
    """Return why a test set allows no interval; None where it does.

    Args:
        groups: its effective number of groups.
        class_groups: of each class's gold; a single class (spans, say) counts as groups do.
    """
    if groups < MIN_GROUPS or (len(class_groups) == 1 and class_groups[0] < MIN_GROUPS):
        return Reason.FEW_GROUPS
    return Reason.RARE_CLASS if len(class_groups) and min(class_groups) < MIN_GROUPS else None


class Runs(NamedTuple):
    """The runs of one recipe on one test set.

    Attributes:
        recipe: what was trained, and on which source: runs of one recipe are the same on all of its test sets.
        seeds: of the runs; none of a model that is meant as it is, whatever other trainings would give.
        values: the score of each, shape (n_runs,).
        influences: of each group on each, shape (n_groups, n_runs).
    """

    recipe: object
    seeds: tuple[int, ...]
    values: Floats
    influences: Floats


@dataclass(frozen=True, eq=False)
class Score:
    """A score, averaged over runs, with its precision.

    Attributes:
        value: in [0, 1]; NaN where there is none.
        n: effective number of texts (``metrics.precision.effective_n``).
        df: degrees of freedom.
        test_set: its name; scores of one test set share its groups.
        influences: of each group, shape (n_groups,); their squares sum to the variance.
        right: summed scores of each group's texts as a share of all, shape (n_groups,): where two models differ. Empty
            where differences on the same texts are not of models.
        groups: effective number of groups.
        no_interval: why the test set allows no interval.
        runs: the runs that it is the mean of; None where they are not kept.
        limits: from a quantile of Student's t, where Wilson's at ``n`` are not its limits.
    """

    value: float
    n: float = np.inf
    df: float = np.inf
    test_set: object = None
    influences: Floats = field(default_factory=lambda: np.zeros(0))
    right: Floats = field(default_factory=lambda: np.zeros(0))
    groups: float = np.inf
    no_interval: Reason | None = None
    runs: Runs | None = None
    limits: Limits | None = None


class Part(NamedTuple):
    """A score in a sum: its weight, and the scale that it is added up on (None: as it is)."""

    weight: float
    score: Score
    scale: Scale | None = None


class Training(NamedTuple):
    """What other training runs would change: a variance and its degrees of freedom."""

    variance: float
    df: float


class _Terms(NamedTuple):
    """A figure's scores as arrays, shape (k,) each."""

    weights: Floats
    values: Floats
    n: Floats
    df: Floats


class _Paired(NamedTuple):
    """A test set on which weights cancel: a difference of models on the same texts.

    Attributes:
        rows: which terms, shape (k,), booleans.
        weight: sum of the weights above 0.
        difference: of the scores, in [-1, 1].
        n: effective number of texts (``metrics.precision.effective_n``), by the groups that tell them apart.
        variance: of the weighted sum, by what groups move it by.
        unknown: weight of the scores' own limits in it, as few groups tell the models apart.
    """

    rows: Floats
    weight: float
    difference: float
    n: float
    variance: float
    unknown: float


@dataclass(frozen=True)
class Figure:
    """A weighted sum of scores.

    Attributes:
        parts: its scores; none are of a figure that is unknown.
        bounds: lowest and highest value that it can have.
    """

    parts: tuple[Part, ...] = ()
    bounds: tuple[float, float] = SCORE

    @cached_property
    def value(self) -> float:
        """Return the sum; NaN where a score is unknown."""
        if not self.parts:
            return float("nan")
        return float(sum(part.weight * float(_scaled(part.scale, part.score.value)) for part in self.parts))

    @property
    def is_known(self) -> bool:
        """Return whether all of its scores are known."""
        return bool(np.isfinite(self.value))

    @property
    def no_interval(self) -> Reason | None:
        """Return why there is no interval; None where there is one, or no value."""
        reason = next((part.score.no_interval for part in self.parts if part.score.no_interval), None)
        if reason is None and not self.is_known and self._is_scaled:
            return Reason.NO_LOGARITHM
        return reason

    @property
    def has_interval(self) -> bool:
        """Return whether the figure has an interval."""
        return self.is_known and self.no_interval is None

    @cached_property
    def _terms(self) -> _Terms:
        scores = [part.score for part in self.parts]
        return _Terms(
            np.array([part.weight for part in self.parts]),
            np.array([score.value if score.limits else min(max(score.value, 0.0), 1.0) for score in scores]),
            np.array([score.n for score in scores]),
            np.array([score.df for score in scores]),
        )

    @cached_property
    def _is_scaled(self) -> bool:
        return any(part.scale for part in self.parts)

    @cached_property
    def _scaled_values(self) -> Floats:
        """Return the scores on their scales, shape (k,)."""
        if not self._is_scaled:
            return self._terms.values
        return np.array([_scaled(part.scale, part.score.value) for part in self.parts])

    @cached_property
    def _joint(self) -> Floats:
        """Return the correlation of the scores over test texts, shape (k, k)."""
        scores = [part.score for part in self.parts]
        return influence_correlation([score.influences for score in scores], [score.test_set for score in scores])

    @cached_property
    def _paired(self) -> list[_Paired]:
        """List the test sets on which the figure is a difference of models."""
        found: list[_Paired] = []
        if self._is_scaled or not any(part.weight < 0 for part in self.parts):
            return found
        test_sets = [part.score.test_set for part in self.parts]
        for test_set in dict.fromkeys(test_sets):
            rows = np.array([each == test_set for each in test_sets])
            weights = self._terms.weights[rows]
            above = float(weights[weights > 0].sum())
            if above <= 0 or abs(weights.sum()) > 1e-9:
                continue
            scores = [part.score for part, row in zip(self.parts, rows, strict=True) if row]
            if any(not score.right.size for score in scores):
                continue
            apart = weights @ np.stack([score.right for score in scores])
            moved = weights @ np.stack([score.influences for score in scores])
            unknown = float(unknown_share(effective_groups(np.abs(apart))))
            n = 1 / ((1 - unknown) / float(self._terms.n[rows].min()) + unknown / scores[0].groups)
            difference = float(weights @ self._terms.values[rows]) / above
            found.append(_Paired(rows, above, difference, n, float((moved**2).sum()), unknown))
        return found

    @cached_property
    def df(self) -> float:
        """Return Satterthwaite's degrees of freedom over test sets."""
        if len({part.score.test_set for part in self.parts}) == 1:
            return float(self._terms.df.min())
        return float(satterthwaite(*self._variances))

    @cached_property
    def _variances(self) -> tuple[list[float], list[float]]:
        """Return the variance that each test set adds, and its degrees of freedom."""
        terms = self._terms
        low, high = self._limits_of_scores(_USUAL)
        # A scale without a value below chance: the upper side counts for both.
        low = np.where(np.isfinite(low), low, 2 * self._scaled_values - high)
        spread = terms.weights * (high - low) / (2 * _USUAL)
        test_sets = [part.score.test_set for part in self.parts]
        variances, dfs = [], []
        for test_set in dict.fromkeys(test_sets):
            rows = [row for row, each in enumerate(test_sets) if each == test_set]
            variances.append(max(float(spread[rows] @ self._joint[np.ix_(rows, rows)] @ spread[rows]), 0.0))
            dfs.append(float(terms.df[rows].min()))
        return variances, dfs

    @cached_property
    def training(self) -> Training | None:
        """Return the variance over training runs; None where a recipe has fewer than 5 runs, or others by test set."""
        by_recipe: dict[object, list[tuple[float, Score]]] = {}
        for part in self.parts:
            runs = part.score.runs
            if runs is not None and not runs.seeds:
                continue
            if runs is None or len(runs.seeds) < MIN_RUNS:
                return None
            by_recipe.setdefault(runs.recipe, []).append(
                (part.weight * _slope(part.scale, part.score.value), part.score)
            )
        if not by_recipe:
            return None
        between, residual = [], 0.0
        for scores in by_recipe.values():
            runs_of = [score.runs for _, score in scores if score.runs is not None]
            if len({runs.seeds for runs in runs_of}) > 1:
                return None
            n_runs = len(runs_of[0].seeds)
            moved = sum(weight * runs.values for (weight, _), runs in zip(scores, runs_of, strict=True))
            between.append((float(np.var(moved, ddof=1)) / n_runs, n_runs - 1.0))
            by_set: dict[object, Floats] = {}
            for (weight, score), runs in zip(scores, runs_of, strict=True):
                by_set[score.test_set] = by_set.get(score.test_set, 0.0) + weight * runs.influences
            residual += sum(residual_variance(each) for each in by_set.values())
        variances, dfs = zip(*between, strict=True)
        total, df = float(sum(variances)), float(satterthwaite(variances, dfs))
        variance = max(total - residual, 0.0)
        # What is left is as uncertain as the whole was.
        return Training(variance, df * (variance / total) ** 2 if variance > 0 else df)

    def _limits_of_scores(self, quantile: float) -> tuple[Floats, Floats]:
        terms = self._terms
        low, high = wilson_limits(terms.values, quantile**2 / terms.n)
        for row, part in enumerate(self.parts):
            if part.score.limits:
                low[row], high[row] = part.score.limits(quantile)
        if self._is_scaled:
            low = np.array([_scaled(part.scale, end) for part, end in zip(self.parts, low, strict=True)])
            high = np.array([_scaled(part.scale, end) for part, end in zip(self.parts, high, strict=True)])
        return low, high

    def _reach(self, quantile: float) -> tuple[float, float]:
        """Return how far the limits lie below and above the figure over test texts."""
        terms, values = self._terms, self._scaled_values
        low, high = self._limits_of_scores(quantile)
        down, up = terms.weights * (values - low), terms.weights * (high - values)
        rises = terms.weights > 0
        ways = []
        for sign in (1, -1):
            moved = np.where(rises, down, up) if sign > 0 else np.where(rises, up, down)
            if not np.isfinite(moved).all():
                ways.append(np.inf)
                continue
            square = float(moved @ self._joint @ moved)
            for paired in self._paired:
                least = paired.weight * _least_reach(sign * paired.difference, quantile**2 / paired.n)
                rows = moved[paired.rows]
                joined = float(rows @ self._joint[np.ix_(paired.rows, paired.rows)] @ rows)
                own = (1 - paired.unknown) * quantile**2 * paired.variance + paired.unknown * joined
                square += max(least**2, own) - joined
            ways.append(float(np.sqrt(max(square, 0.0))))
        return ways[0], ways[1]

    def limits(self, level: float = LEVEL, *, recipes: bool = False) -> tuple[float, float]:
        """Return the ends of the interval.

        Args:
            level: two-sided coverage, in (0, 1); each end is a one-sided bound of level ``(1 + level) / 2``.
            recipes: whether other training runs count, too; ``training`` must be there.
        """
        down, up = self._reach(float(student(self.df, level)))
        if recipes:
            quantile = float(student(self.total_df, level))
            down, up = (
                max(way, float(np.hypot(wide, quantile * np.sqrt(self._run_variance))))
                for way, wide in zip((down, up), self._reach(quantile), strict=True)
            )
        low, high = np.clip([self.value - down, self.value + up], *self.bounds)
        return float(low), float(high)

    @property
    def _run_variance(self) -> float:
        assert self.training is not None
        return self.training.variance

    @cached_property
    def total_df(self) -> float:
        """Return Satterthwaite's degrees of freedom over test sets and training runs; ``training`` must be there."""
        assert self.training is not None
        variances, dfs = self._variances
        return float(satterthwaite([*variances, self.training.variance], [*dfs, self.training.df]))

    def p_above(self, limit: float, *, recipes: bool = False) -> float:
        """Return the one-sided p value against the true figure's being at most a limit; NaN without an interval."""
        if not self.has_interval:
            return float("nan")
        apart = self.value - limit
        if apart == 0:
            return 0.5
        side = 0 if apart > 0 else 1
        beyond = self._tail(side, abs(apart), self.df, 0.0)
        if recipes:
            beyond = max(beyond, self._tail(side, abs(apart), self.total_df, self._run_variance))
        return beyond if apart > 0 else 1 - beyond

    def _tail(self, side: int, apart: float, df: float, training: float) -> float:
        """Return the probability beyond the quantile at which the limit on one side lies ``apart`` from the figure."""
        from scipy.special import stdtr

        def beyond(quantile: float) -> float:
            return float(np.hypot(self._reach(quantile)[side], quantile * np.sqrt(training))) - apart

        quantile = _root(beyond, -apart)
        return float(stdtr(min(df, 1e9), -quantile))

    def p_value(self, null: float = 0.0, *, recipes: bool = False) -> float:
        """Return the two-sided p value against the true figure's being ``null``; NaN without an interval."""
        above = self.p_above(null, recipes=recipes)
        return float(min(1.0, 2 * min(above, 1 - above))) if np.isfinite(above) else above

    def p_within(self, margin: float, *, recipes: bool = False) -> float:
        """Return the p value against the true figure's lying outside ``margin`` on either side (TOST)."""
        return float(max(self.p_above(-margin, recipes=recipes), 1 - self.p_above(margin, recipes=recipes)))

    @property
    def low(self) -> float | None:
        """Return the lower end of the 95% interval over test texts; None without one."""
        return self._ends[0] if self._ends else None

    @property
    def high(self) -> float | None:
        """Return the upper end of the 95% interval over test texts; None without one."""
        return self._ends[1] if self._ends else None

    @cached_property
    def _ends(self) -> tuple[float, float] | None:
        return self.limits() if self.has_interval else None

    @cached_property
    def se(self) -> float:
        """Return the standard error over test texts: half the interval over its quantile, before it is cut."""
        quantile = float(student(self.df))
        return sum(self._reach(quantile)) / 2 / quantile


def _root(rising: Callable[[float], float], at_zero: float) -> float:
    """Find where a rising function is 0, at most ``_FURTHEST``: by secant steps that stay between known sides.

    Args:
        rising: of a quantile.
        at_zero: its value at 0, below 0.
    """
    low, high = 0.0, _FURTHEST
    before, value_before, here = 0.0, at_zero, _USUAL
    for _ in range(60):
        value = rising(here)
        low, high = (here, high) if value < 0 else (low, here)
        if abs(value) < 1e-12 or high - low < 1e-9:
            break
        slope = (value - value_before) / (here - before)
        following = here - value / slope if slope > 0 else low
        before, value_before = here, value
        here = following if low < following < high else min((low + high) / 2, 8 * max(low, 1.0))
    return here


UNKNOWN = Figure()
"""A score without predictions."""


def _scaled(scale: Scale | None, value: float) -> float:
    if scale is None:
        return float(value)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(scale(np.asarray(value, dtype=np.float64)))


def _slope(scale: Scale | None, value: float) -> float:
    step = 1e-6
    return 1.0 if scale is None else (_scaled(scale, value + step) - _scaled(scale, value - step)) / (2 * step)


def _least_reach(difference: float, square: float) -> float:
    """Return how far below a paired difference the limit lies at least.

    Were the true difference L, at least a share L of the texts would tell the models apart, so the variance of a text's
    difference is at least L (1 - L) (Tango 1998). 0 where the limit that follows is not on the other side of 0.
    """
    middle = square - 2 * difference
    root = middle**2 - 4 * (1 + square) * difference**2
    if middle <= 0 or root < 0:
        return 0.0
    return difference + (middle + float(np.sqrt(root))) / (2 * (1 + square))


def single(score: Score) -> Figure:
    """Return a score as a figure."""
    return Figure((Part(1.0, score),))


def weighted_sum(
    figures: Sequence[Figure], weights: Sequence[float], bounds: tuple[float, float] | None = None
) -> Figure:
    """Add figures up; a score that several hold counts once, with the sum of its weights.

    Args:
        figures: at least one; unknown where one of them is.
        weights: as many.
        bounds: of the sum. Default: those of a score where no weight is below 0, else those of a drop.
    """
    merged: dict[tuple[Score, Scale | None], float] = {}
    for figure, weight in zip(figures, weights, strict=True):
        for part in figure.parts:
            key = (part.score, part.scale)
            merged[key] = merged.get(key, 0.0) + weight * part.weight
    kept = tuple(Part(weight, score, scale) for (score, scale), weight in merged.items() if abs(weight) > 1e-12)
    least = min((part.weight for part in kept), default=0.0)
    if any(not figure.parts for figure in figures):
        kept = ()
    return Figure(kept, bounds or (SCORE if least > 0 else DROP))


def mean(figures: Sequence[Figure]) -> Figure:
    """Average figures, at least one."""
    return figures[0] if len(figures) == 1 else weighted_sum(figures, [1 / len(figures)] * len(figures))


def difference(one: Figure, other: Figure) -> Figure:
    """Return one figure less another; of two drops it lies in [-2, 2]."""
    bounds = (one.bounds[0] - other.bounds[1], one.bounds[1] - other.bounds[0])
    return weighted_sum([one, other], [1.0, -1.0], bounds)


def on_scale(figure: Figure, scale: Scale) -> Figure:
    """Return a figure whose scores are added up on a scale."""
    return Figure(tuple(part._replace(scale=scale) for part in figure.parts), (-np.inf, np.inf))


def largest_limits(figures: Sequence[Figure]) -> tuple[float, float]:
    """Return the ends of an interval of the largest of several true figures, at least one, which have intervals.

    Each figure's limits hold at 1 - .05 / k, so all hold together; the largest true figure lies above the largest lower
    end and below the largest upper end.
    """
    level = 1 - (1 - LEVEL) / len(figures)
    low, high = zip(*(figure.limits(level) for figure in figures), strict=True)
    return max(low), max(high)


def estimate(figure: Figure, *, recipes: bool = False) -> Estimate:
    """Return a figure as the shape of scores has it.

    Args:
        figure: the figure.
        recipes: whether its interval is over training runs, too; it has none where these were not measured.
    """
    total = total_interval(figure) if recipes else None
    low, high = (figure.low, figure.high) if not recipes else (total.low, total.high) if total else (None, None)
    return Estimate(value=none_if_nan(figure.value), low=low, high=high, no_interval=figure.no_interval)


def estimates(figures: Mapping[str, Figure]) -> dict[str, Estimate]:
    """Return figures as the shape of scores has them, by name."""
    return {name: estimate(figure) for name, figure in figures.items()}


def total_interval(figure: Figure) -> Interval | None:
    """Return the interval over training runs, too; None where training variance was not measured."""
    if not figure.has_interval or figure.training is None:
        return None
    low, high = figure.limits(recipes=True)
    return Interval(low=low, high=high)


def total_intervals(figures: Mapping[str, Figure]) -> dict[str, Interval]:
    """Return the intervals over training runs, too, of the figures that have one."""
    totals = {name: total_interval(figure) for name, figure in figures.items()}
    return {name: total for name, total in totals.items() if total is not None}


def detectable_drop(drop: Figure, n_tests: int = 1) -> DetectableDrop | None:
    """Find the smallest true drop that a two-sided test at 5% finds in four studies of five.

    The drop's own value has no part in it, since a power that is computed from the observed drop is its p value by
    another name (Hoenig & Heisey 2001).

    Args:
        drop: a figure.
        n_tests: drops of its kind in the task, which the corrected figures share the level with.
    Returns: fractions; None where the drop has no interval.
    """
    if not drop.has_interval:
        return None

    def smallest(variance: Variance, n: int) -> float:
        return float(minimum_detectable(variance.se, variance.dof, n))

    models, training = Variance(drop.se**2, drop.df), drop.training
    recipe = None if training is None else Variance(models.texts, models.texts_dof, *training)
    return DetectableDrop(
        models=smallest(models, 1),
        models_corrected=smallest(models, n_tests),
        recipe=None if recipe is None else smallest(recipe, 1),
        recipe_corrected=None if recipe is None else smallest(recipe, n_tests),
    )


def detectable_drops(drops: Mapping[str, Figure], n_tests: int = 1) -> dict[str, DetectableDrop]:
    """Find the smallest detectable drop of each figure that has an interval, by its name (see ``detectable_drop``)."""
    detectable = {name: detectable_drop(drop, n_tests) for name, drop in drops.items()}
    return {name: each for name, each in detectable.items() if each is not None}


def none_if_nan(value: float | Floats) -> float | None:
    """Return a number as a Python float; None for NaN.

    Args:
        value: a number; NaN where it is undefined.
    Returns: the number; None for NaN.
    """
    return None if np.isnan(value) else float(value)


def as_it_is(figure: Figure) -> Figure:
    """Return a figure that is of the trained model as it is, in sums with recipes too."""
    return _with_runs(figure, lambda _: Runs(None, (), np.zeros(0), np.zeros((0, 0))))


def runs_of_other_texts(figure: Figure, shared: float) -> Figure:
    """Return a figure whose training variance is over other train texts, of runs that each drew theirs from the same.

    Runs that draw n of N texts with replacement differ as if by n texts each, and what the N texts themselves are moves
    them all alike by n / N of that variance. So the mean of k runs has 1 + k n / N times the variance that k runs show,
    and the runs are moved apart by the root of it (to first order; Efron 1979, the bootstrap).

    Args:
        figure: scores of runs.
        shared: n / N, above 0.
    """

    def moved_apart(runs: Runs | None) -> Runs | None:
        if runs is None or not runs.seeds:
            return runs
        root = np.sqrt(1 + len(runs.seeds) * shared)
        middle, groups = runs.values.mean(), runs.influences.mean(axis=1, keepdims=True)
        values, influences = middle + root * (runs.values - middle), groups + root * (runs.influences - groups)
        return runs._replace(values=values, influences=influences)

    return _with_runs(figure, moved_apart)


def _with_runs(figure: Figure, changed: Callable[[Runs | None], Runs | None]) -> Figure:
    parts = (part._replace(score=replace(part.score, runs=changed(part.score.runs))) for part in figure.parts)
    return Figure(tuple(parts), figure.bounds)
