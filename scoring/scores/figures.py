"""Scores with their precision, and figures: weighted sums of scores, with an interval and the tests that invert it.

A ``Score`` is one model's score on one test set, or the mean over one recipe's runs. A ``Figure`` is a weighted sum of
scores: a drop, a mean over domains, the difference of two entries. Its limits combine those of its scores
(``metrics.precision``). Its p values invert the interval: a 95% interval excludes 0 exactly if p is below 0.05. Claims
about recipes add the variance between training runs.
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
"""The quantile at which variance components are compared for Satterthwaite's formula, which hardly depends on it."""
_FURTHEST = 1e3
"""Largest quantile tried when a limit is inverted into a p value."""
Scale = Callable[[Floats], Floats]
"""An increasing function of scores, such as the logit."""
Limits = Callable[[float], tuple[float, float]]


class Reason(StrEnum):
    """Why a figure has no interval, as printed with scores. For a single score it depends on the test set only."""

    FEW_GROUPS = "fewer than 5 effective groups"
    RARE_CLASS = "a class has fewer than 5 effective gold groups"
    FEW_ERRORS = "fewer than 5 groups contain an error, or a correct answer"
    NO_LOGARITHM = "a score of 0 or 1 has no logarithm or logit"


def refusal(groups: float, class_groups: Sequence[float] = ()) -> Reason | None:
    """Return why a test set allows no interval; None if it does.

    Args:
        groups: its effective number of groups.
        class_groups: effective number of groups with gold examples of each class. A single class (such as spans) below
            the minimum is reported as too few groups, not as a rare class.
    """
    if groups < MIN_GROUPS or (len(class_groups) == 1 and class_groups[0] < MIN_GROUPS):
        return Reason.FEW_GROUPS
    return Reason.RARE_CLASS if len(class_groups) and min(class_groups) < MIN_GROUPS else None


class Runs(NamedTuple):
    """The runs of one recipe on one test set.

    Attributes:
        recipe: identifies method and source; runs of one recipe are the same on all of its test sets.
        seeds: seeds of the runs; empty for a model treated as fixed, without training variance.
        values: score of each run, shape (n_runs,).
        influences: influence of each group on each run's score, shape (n_groups, n_runs).
    """

    recipe: object
    seeds: tuple[int, ...]
    values: Floats
    influences: Floats


@dataclass(frozen=True, eq=False)
class Score:
    """A score, averaged over runs, with its precision.

    Attributes:
        value: in [0, 1]; NaN if undefined.
        n: effective number of texts (``metrics.precision.effective_n``).
        df: degrees of freedom.
        test_set: its name; scores on the same test set share its groups.
        influences: influence of each group, shape (n_groups,); their squares sum to the variance.
        right: each group's summed text scores divided by the number of texts, shape (n_groups,); used to find the
            groups on which two models differ. Empty: differences on this test set are not treated as paired.
        groups: effective number of groups.
        no_interval: why the test set allows no interval.
        runs: the runs that it averages; None if they are not stored.
        limits: function from a quantile of Student's t to limits; None for Wilson's limits at ``n``.
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
    """A score in a sum: its weight, and the scale on which it is added (None: untransformed)."""

    weight: float
    score: Score
    scale: Scale | None = None


class Training(NamedTuple):
    """Variance over training runs, and its degrees of freedom."""

    variance: float
    df: float


class _Terms(NamedTuple):
    """A figure's scores as arrays, shape (k,) each."""

    weights: Floats
    values: Floats
    n: Floats
    df: Floats


class _Paired(NamedTuple):
    """A test set on which the weights sum to 0: a difference of models on the same texts.

    Attributes:
        rows: mask of the terms on this test set, shape (k,).
        weight: sum of the positive weights.
        difference: difference of the scores, in [-1, 1].
        n: effective number of texts (``metrics.precision.effective_n``), from the groups on which the models differ.
        variance: variance of the weighted sum, from the groups' influences on it.
        unknown: weight of the scores' own limits against ``variance``, larger if the models differ on few groups.
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
        parts: its scores; empty if the figure is unknown.
        bounds: its lowest and highest possible value.
    """

    parts: tuple[Part, ...] = ()
    bounds: tuple[float, float] = SCORE

    @cached_property
    def value(self) -> float:
        """Return the sum; NaN if a score is unknown."""
        if not self.parts:
            return float("nan")
        return float(sum(part.weight * float(_scaled(part.scale, part.score.value)) for part in self.parts))

    @property
    def is_known(self) -> bool:
        """Return whether all of its scores are known."""
        return bool(np.isfinite(self.value))

    @property
    def no_interval(self) -> Reason | None:
        """Return why there is no interval; None if there is one, or if the value is unknown."""
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
            # Only weights that cancel, up to rounding, make a difference of models.
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
        """Return the variance contributed by each test set, and its degrees of freedom."""
        terms = self._terms
        low, high = self._limits_of_scores(_USUAL)
        # On a scale that is infinite below chance, the upper half-width is used for both sides.
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
        """Return the variance over runs; None if a recipe has fewer than 5 runs, or different runs per test set."""
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
        # The residual is treated as known, so the remaining variance has the standard error of the total.
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
        """Return the distances from the figure to its lower and upper limit, over test texts."""
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
            recipes: whether to include training variance; ``training`` must not be None.
        """
        down, up = self._reach(float(student(self.df, level)))
        if recipes:
            # The total degrees of freedom may be larger, but training variance must never make the interval shorter.
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
        """Return Satterthwaite's degrees of freedom over test sets and training runs; ``training`` must not be None."""
        assert self.training is not None
        variances, dfs = self._variances
        return float(satterthwaite([*variances, self.training.variance], [*dfs, self.training.df]))

    def p_above(self, limit: float, *, recipes: bool = False) -> float:
        """Return the one-sided p value for the true figure being at most ``limit``; NaN without an interval."""
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
        """Return the tail probability at the quantile whose limit on one side is ``apart`` from the figure."""
        from scipy.special import stdtr

        def beyond(quantile: float) -> float:
            return float(np.hypot(self._reach(quantile)[side], quantile * np.sqrt(training))) - apart

        quantile = _root(beyond, -apart)
        return float(stdtr(min(df, 1e9), -quantile))

    def p_value(self, null: float = 0.0, *, recipes: bool = False) -> float:
        """Return the two-sided p value for the true figure being ``null``; NaN without an interval."""
        above = self.p_above(null, recipes=recipes)
        return float(min(1.0, 2 * min(above, 1 - above))) if np.isfinite(above) else above

    def p_within(self, margin: float, *, recipes: bool = False) -> float:
        """Return the TOST p value for the null hypothesis that the true figure is outside [-margin, margin]."""
        return float(max(self.p_above(-margin, recipes=recipes), 1 - self.p_above(margin, recipes=recipes)))

    @property
    def low(self) -> float | None:
        """Return the lower end of the 95% interval over test texts; None without an interval."""
        return self._ends[0] if self._ends else None

    @property
    def high(self) -> float | None:
        """Return the upper end of the 95% interval over test texts; None without an interval."""
        return self._ends[1] if self._ends else None

    @cached_property
    def _ends(self) -> tuple[float, float] | None:
        return self.limits() if self.has_interval else None

    @cached_property
    def se(self) -> float:
        """Return the standard error over test texts: the half-width before clipping, divided by the quantile."""
        quantile = float(student(self.df))
        return sum(self._reach(quantile)) / 2 / quantile


def _root(rising: Callable[[float], float], at_zero: float) -> float:
    """Find the root of an increasing function in [0, ``_FURTHEST``], by bracketed secant steps.

    Args:
        rising: function of a quantile.
        at_zero: its value at 0, negative.
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
        # A secant step outside the bracket is replaced by bisection. Until a limit above the root is known, the middle
        # of the bracket is far off, so steps grow eightfold at most.
        here = following if low < following < high else min((low + high) / 2, 8 * max(low, 1.0))
    return here


UNKNOWN = Figure()
"""The figure of a score without predictions."""


def _scaled(scale: Scale | None, value: float) -> float:
    if scale is None:
        return float(value)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(scale(np.asarray(value, dtype=np.float64)))


def _slope(scale: Scale | None, value: float) -> float:
    step = 1e-6
    return 1.0 if scale is None else (_scaled(scale, value + step) - _scaled(scale, value - step)) / (2 * step)


def _least_reach(difference: float, square: float) -> float:
    """Return the smallest distance from a paired difference down to its limit.

    If the true difference is L, models differ on at least a share L of the texts, so the variance of a text's
    difference is at least L (1 - L) (Tango 1998). The result is 0 if this gives no limit below 0.
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
    """Add figures up; a score that several figures share is merged, with the sum of its weights.

    Args:
        figures: at least one; the sum is unknown if one of them is.
        weights: one per figure.
        bounds: bounds of the sum. Default: those of a score if all weights are positive, else those of a drop.
    """
    merged: dict[tuple[Score, Scale | None], float] = {}
    for figure, weight in zip(figures, weights, strict=True):
        for part in figure.parts:
            key = (part.score, part.scale)
            merged[key] = merged.get(key, 0.0) + weight * part.weight
    # A score that cancels, up to rounding, must not contribute to intervals and degrees of freedom.
    kept = tuple(Part(weight, score, scale) for (score, scale), weight in merged.items() if abs(weight) > 1e-12)
    least = min((part.weight for part in kept), default=0.0)
    if any(not figure.parts for figure in figures):
        kept = ()
    return Figure(kept, bounds or (SCORE if least > 0 else DROP))


def mean(figures: Sequence[Figure]) -> Figure:
    """Average figures, at least one."""
    return figures[0] if len(figures) == 1 else weighted_sum(figures, [1 / len(figures)] * len(figures))


def difference(one: Figure, other: Figure) -> Figure:
    """Return one figure minus another: in [-1, 1] for two scores, in [-2, 2] for two drops."""
    bounds = (one.bounds[0] - other.bounds[1], one.bounds[1] - other.bounds[0])
    return weighted_sum([one, other], [1.0, -1.0], bounds)


def on_scale(figure: Figure, scale: Scale) -> Figure:
    """Return a figure whose scores are transformed by ``scale`` before they are added up."""
    return Figure(tuple(part._replace(scale=scale) for part in figure.parts), (-np.inf, np.inf))


def largest_limits(figures: Sequence[Figure]) -> tuple[float, float]:
    """Return an interval for the largest of several true figures, at least one; all must have intervals.

    Each figure's limits have level 1 - .05 / k, so they cover simultaneously (Bonferroni). The largest true figure is
    then above the largest lower end and below the largest upper end.
    """
    level = 1 - (1 - LEVEL) / len(figures)
    low, high = zip(*(figure.limits(level) for figure in figures), strict=True)
    return max(low), max(high)


def estimate(figure: Figure, *, recipes: bool = False) -> Estimate:
    """Convert a figure to the score schema's ``Estimate``.

    Args:
        figure: the figure.
        recipes: whether its interval includes training variance; without measured training variance it has no interval.
    """
    total = total_interval(figure) if recipes else None
    low, high = (figure.low, figure.high) if not recipes else (total.low, total.high) if total else (None, None)
    return Estimate(value=none_if_nan(figure.value), low=low, high=high, no_interval=figure.no_interval)


def estimates(figures: Mapping[str, Figure]) -> dict[str, Estimate]:
    """Convert figures to the score schema's ``Estimate``, by name."""
    return {name: estimate(figure) for name, figure in figures.items()}


def total_interval(figure: Figure) -> Interval | None:
    """Return the interval that includes training variance; None if that is not known (see ``Figure.training``)."""
    if not figure.has_interval or figure.training is None:
        return None
    low, high = figure.limits(recipes=True)
    return Interval(low=low, high=high)


def total_intervals(figures: Mapping[str, Figure]) -> dict[str, Interval]:
    """Return the intervals that include training variance, for the figures that have one."""
    totals = {name: total_interval(figure) for name, figure in figures.items()}
    return {name: total for name, total in totals.items() if total is not None}


def detectable_drop(drop: Figure, n_tests: int = 1) -> DetectableDrop | None:
    """Return the smallest true drop that a two-sided test at 5% detects with 80% power.

    The observed drop itself is not used, since power computed from it is only a transformed p value (Hoenig & Heisey
    2001).

    Args:
        drop: the estimated drop, with its variance.
        n_tests: number of such drops in the task, for the Bonferroni correction.

    Returns: detectable drops as fractions, without and with correction; None if the drop has no interval.
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
    """Return the smallest detectable drop of each figure that has an interval, by name (see ``detectable_drop``)."""
    detectable = {name: detectable_drop(drop, n_tests) for name, drop in drops.items()}
    return {name: each for name, each in detectable.items() if each is not None}


def none_if_nan(value: float | Floats) -> float | None:
    """Return a number as a Python float; None for NaN.

    Args:
        value: a number; NaN if undefined.
    Returns: the number; None for NaN.
    """
    return None if np.isnan(value) else float(value)


def with_model_fixed(figure: Figure) -> Figure:
    """Return a figure without training variance (the model is fixed), also in sums with figures that have it."""
    return _with_runs(figure, lambda _: Runs(None, (), np.zeros(0), np.zeros((0, 0))))


def add_training_text_variance(figure: Figure, shared: float) -> Figure:
    """Add the variance over training texts to a figure whose runs each resampled their texts from the same pool.

    Runs that sample n of N texts with replacement vary like samples of n texts. Another pool of N texts would add n / N
    of that variance, common to all runs. So the mean of k runs has 1 + k n / N times the variance observed among the k
    runs, and the runs' deviations are scaled by its root (to first order; Efron 1979, the bootstrap).

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
