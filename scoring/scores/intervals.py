"""Figures with their intervals: sums and differences of scores whose intervals are known.

A figure's first value is the point, the others are its replicates on resampled test sets. Replicates say how figures
go together; how far each score may be off its own interval says (``shiftbench.scoring.scores.precision``).
An interval also says which true drop a test would have detected.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shiftbench.metrics.bootstrap import (
    Spread,
    interval,
    sampling_spread,
    scenario_support,
    training_spread,
)
from shiftbench.metrics.crossed import MIN_RUNS
from shiftbench.metrics.in_domain_advantage import Scale, on_scale
from shiftbench.metrics.mover import combined_interval, replicate_correlation
from shiftbench.metrics.power import Variance, minimum_detectable
from shiftbench.metrics.robustness import SCENARIOS
from shiftbench.metrics.wilson import MIN_GROUPS, square_of_mean, wilson_interval
from shiftbench.scoring.scores.estimate import Estimate
from shiftbench.scoring.scores.replicates import Floats, TaskValues
from shiftbench.scoring.scores.shape import DetectableDrop

SCORE, DROP = (0.0, 1.0), (-1.0, 1.0)
"""Bounds of a score and of a drop."""
FIGURES = ("st", "ss", "tt", "sd", "td", "idd")
"""Figures of a shift."""
MEANS = ("mean_ss", "mean_st", "average_drop", "mean_sd", "mean_td")
"""Figures of a task that are means over its domains or shifts."""
MAX_UNDEFINED = 0.01
"""Share of replicates that may be undefined; with more a figure has no interval."""


class Reason(StrEnum):
    """The reason why a figure has no interval, in the words that scores use."""

    FEW_GROUPS = "fewer than 5 effective groups"
    RARE_CLASS = "a class has fewer than 10 effective gold groups"
    UNDEFINED = "undefined on resampled test sets"
    NO_REPLICATES = "no resampled test sets"
    NO_LOGARITHM = "a score of 0 or 1 has no logarithm or logit"


@dataclass(frozen=True)
class Figure:
    """A figure with its replicates and its interval.

    Attributes:
        values: the figure, then its replicates, shape (1 + n_draws,); a replicate may be undefined (NaN): one that
            draws no weighted text, say.
        effective_groups: of the test set with the fewest, of those that the figure uses.
        bounds: lowest and highest value that it can have.
        low, high: ends of its 95% test-sampling interval; None without one.
        square: of a score, ``t^2 / n`` of its Wilson interval (see ``metrics.wilson``); None of a drop.
        no_interval: why there is none; None where there is one, or no value.
        own_df: degrees of freedom of its interval where these are fewer than its groups tell (see ``df``).
    """

    values: Floats
    effective_groups: float
    bounds: tuple[float, float] = SCORE
    low: float | None = None
    high: float | None = None
    square: float | None = None
    no_interval: Reason | None = None
    own_df: float | None = None

    @property
    def df(self) -> float:
        """Return the degrees of freedom of the interval, the least of its parts'.

        Groups less 1, or what the rarest class leaves: macro-F1 is as sure as its fewest gold examples, however many
        groups there are. Other levels, and standard errors, must be taken off the interval at this same number.
        """
        return self.effective_groups - 1 if self.own_df is None else self.own_df

    @property
    def has_interval(self) -> bool:
        """Return whether the figure has an interval."""
        return self.low is not None and self.high is not None

    @classmethod
    def of_percentiles(cls, values: Floats, effective_groups: float, bounds: tuple[float, float]) -> "Figure":
        """Return a figure with the percentile interval of its replicates, for figures that are not sums of scores.

        Args:
            values: the figure, then its replicates, shape (1 + n_draws,).
            effective_groups: of the test set with the fewest, of those that the figure uses.
            bounds: lowest and highest value that it can have.
        """
        plain = cls(values, effective_groups, bounds)
        if np.isnan(values[0]):
            return plain
        if len(values) == 1:
            return replace(plain, no_interval=Reason.NO_REPLICATES)
        if effective_groups < MIN_GROUPS:
            return replace(plain, no_interval=Reason.FEW_GROUPS)
        if np.isnan(values).mean() > MAX_UNDEFINED:
            return replace(plain, no_interval=Reason.UNDEFINED)
        low, high = (float(end[0]) for end in interval(_spread(plain), bounds=bounds))
        return replace(plain, low=low, high=high)


UNKNOWN = Figure(np.array([np.nan]), np.inf)
"""A score without predictions."""


def mean(figures: Sequence[Figure], bounds: tuple[float, float] = SCORE) -> Figure:
    """Average figures, at least one, replicate by replicate.

    The interval of a mean of scores is Wilson's again: near the ends, where most parts have hardly any way up, their
    ways up would add to too little. That of a mean of drops is made of theirs.
    """
    if len(figures) == 1:
        return figures[0]
    table = np.stack(broadcast_replicates(*(figure.values for figure in figures)))
    return _combined(figures, [1 / len(figures)] * len(figures), bounds, table, table.mean(axis=0))


def difference(one: Figure, other: Figure) -> Figure:
    """Compute the difference of two figures, replicate by replicate, with its interval (``metrics.mover``).

    Returns: the difference; unknown where one is, and without interval, for the first reason, where one has none.
    """
    table = np.stack(broadcast_replicates(one.values, other.values))
    return _combined([one, other], [1.0, -1.0], DROP, table, table[0] - table[1])


def _combined(
    figures: Sequence[Figure],
    coefficients: Sequence[float],
    bounds: tuple[float, float],
    table: Floats,
    total: Floats,
) -> Figure:
    groups, df = min(figure.effective_groups for figure in figures), min(figure.df for figure in figures)
    reason = next((figure.no_interval for figure in figures if figure.no_interval), None)
    if np.isnan(total[0]):
        return Figure(total, groups, bounds)
    if reason is None and np.isnan(total).mean() > MAX_UNDEFINED:
        reason = Reason.UNDEFINED
    if reason or not all(figure.has_interval for figure in figures):
        return Figure(total, groups, bounds, no_interval=reason or Reason.NO_REPLICATES)
    correlation = replicate_correlation(table[:, ~np.isnan(total)][:, 1:])
    squares = [figure.square for figure in figures if figure.square is not None]
    if min(coefficients) > 0 and len(squares) == len(figures):
        square = square_of_mean(coefficients, squares, correlation)
        low, high = wilson_interval(float(np.clip(total[0], *bounds)), square)
        return Figure(total, groups, bounds, low=low, high=high, square=square, own_df=df)
    lows, highs = ([getattr(figure, end) for figure in figures] for end in ("low", "high"))
    ends = combined_interval(coefficients, table[:, 0], lows, highs, correlation)
    low, high = (float(end) for end in np.clip(ends, *bounds))
    return Figure(total, groups, bounds, low=low, high=high, own_df=df)


def broadcast_replicates(*arrays: Floats) -> list[Floats]:
    """Return replicates of equal length: a score without any (an unknown one) is repeated."""
    return [np.asarray(array) for array in np.broadcast_arrays(*arrays)]


def estimate(figure: Figure) -> Estimate:
    """Return a figure as the shape of scores has it: without replicates."""
    return Estimate(
        value=none_if_nan(figure.values[0]), low=figure.low, high=figure.high, no_interval=figure.no_interval or None
    )


def estimates(figures: Mapping[str, Figure]) -> dict[str, Estimate]:
    """Return figures as the shape of scores has them, by name."""
    return {name: estimate(figure) for name, figure in figures.items()}


def support_of_scenarios(sd: Figure, td: Figure) -> dict[str, float]:
    """Count in what share of replicates each scenario of a shift holds; empty where a drop has no interval."""
    if not (sd.has_interval and td.has_interval):
        return {}
    shares = scenario_support(*(_spread(drop) for drop in (sd, td)))[0]
    names = SCENARIOS[: len(shares)]
    return {name: float(share) for name, share in zip(names, shares, strict=True) if share > 0}


def bounds_of(name: str) -> tuple[float, float]:
    """Return the lowest and highest value that a figure can have."""
    return SCORE if name in ("st", "ss", "tt", "mean_ss", "mean_st") else DROP


class TotalBounds(NamedTuple):
    """Ends of a total interval, with the interval over training runs alone; NaN where there is none."""

    low: float
    high: float
    training_variance: float
    training_df: float


Key = tuple[str | None, str | None, str]
"""Source, target and figure; None and None of a figure of the task."""


def total_intervals(
    values: TaskValues, counted: Sequence[str], figures: Mapping[Key, Figure]
) -> dict[Key, TotalBounds]:
    """Find the total intervals of a grid's figures, where training variance was measured.

    Args:
        values: the task's scores.
        counted: the domains that means are over.
        figures: the figures with their test-sampling intervals; ``(domain, domain, "ss")`` is an in-domain score.
    """
    domains = [domain for domain in values.domains if (domain, domain) in values.rows]
    if len(domains) < 2:
        return {}
    pairs = [(row, column) for row in range(len(domains)) for column in range(len(domains)) if row != column]
    rows, columns = np.array(pairs).T
    keys: list[Key] = [(domain, domain, "ss") for domain in domains]
    keys += [(domains[row], domains[column], figure) for figure in FIGURES for row, column in pairs]
    # Task figures are those of the whole grid or none.
    whole = len(domains) == len(values.domains) and len(counted) > 1
    meant = [place for place, domain in enumerate(domains) if domain in counted]
    inside = np.isin(rows, meant) & np.isin(columns, meant)
    keys += [(None, None, name) for name in MEANS] if whole else []

    def statistic(matrix: Floats) -> Floats:
        own = np.diagonal(matrix, axis1=-2, axis2=-1)
        st, ss, tt = matrix[..., rows, columns], own[..., rows], own[..., columns]
        parts = [own, st, ss, tt, ss - st, tt - st, ss - tt]
        if whole:
            mean_ss, mean_st = own[..., meant].mean(axis=-1), st[..., inside].mean(axis=-1)
            drop = mean_ss - mean_st
            parts.append(np.stack([mean_ss, mean_st, drop, drop, drop], axis=-1))
        return np.concatenate(parts, axis=-1)

    # A cell that the grid lacks leaves its figures out of ``found``; then there are no total intervals at all.
    bounds = total_bounds(values, domains, domains, statistic, [figures.get(key, UNKNOWN) for key in keys])
    return dict(zip(keys, bounds, strict=True)) if bounds is not None else {}


def total_bounds(
    values: TaskValues,
    sources: Sequence[str],
    targets: Sequence[str],
    statistic: Callable[[Floats], Floats],
    figures: Sequence[Figure],
) -> list[TotalBounds] | None:
    """Find the ends of the total interval of several figures of a task.

    What other test sets and what other training runs would change is independent of each other, so the reach of the
    test-sampling interval and that of the runs (Student's, with Satterthwaite's degrees of freedom) add as squares.

    Args:
        values: the task's scores.
        sources: the rows of the score matrix.
        targets: its columns; every score must be there, with one set of at least 5 runs a source.
        statistic: score matrices (..., n_sources, n_targets) -> figures (..., n_figures).
        figures: the same figures with their test-sampling intervals.
    Returns: lower and upper end of each figure, NaN where it has no test-sampling interval; None where training
        variance was not measured.
    """
    scores = values.scores.get(values.info.metric, {})
    cells = [[(source, target) for target in targets] for source in sources]
    if not sources or not targets or any(cell not in scores for row in cells for cell in row):
        return None
    if any(len({values.seeds[cell] for cell in row}) > 1 for row in cells):
        return None
    by_source = [np.stack([scores[cell] for cell in row], axis=-1) for row in cells]  # (n_runs, 1 + n_draws, d)
    if by_source[0].shape[1] == 1 or min(len(table) for table in by_source) < MIN_RUNS:
        return None
    training = training_spread(
        statistic, [table[:, 0] for table in by_source], [table[:, 1:].swapaxes(0, 1) for table in by_source]
    )
    assert training is not None
    return [_with_runs(*each) for each in zip(figures, training.variance, training.df, strict=True)]


def none_if_nan(value: float | NDArray[np.float64]) -> float | None:
    """Return a number as a Python float; None for NaN.

    Args:
        value: a number; NaN where it is undefined.
    Returns: the number; None for NaN.
    """
    return None if np.isnan(value) else float(value)


def _with_runs(figure: Figure, variance: float, df: float) -> TotalBounds:
    from scipy.special import stdtrit

    if figure.low is None or figure.high is None:
        return TotalBounds(np.nan, np.nan, np.nan, np.nan)
    point, reach = float(figure.values[0]), float(stdtrit(df, 0.975) * np.sqrt(variance))
    low, high = point - np.hypot(point - figure.low, reach), point + np.hypot(figure.high - point, reach)
    bottom, top = np.clip([low, high], *figure.bounds)
    return TotalBounds(float(bottom), float(top), float(variance), float(df))


def _spread(drop: Figure) -> Spread:
    table = _defined(drop.values)[:, None]
    return sampling_spread(table[0], table[1:], n_groups=drop.effective_groups)


def _defined(values: Floats) -> Floats:
    """Return replicates in which the first defined ones replace the few undefined ones."""
    undefined = np.isnan(values)
    if not undefined.any():
        return values
    filled = values.copy()
    filled[undefined] = values[1:][~undefined[1:]][: undefined.sum()]
    return filled


ANY = (-np.inf, np.inf)
"""Bounds of a difference of logarithms."""


def weighted_sum(figures: Sequence[Figure], coefficients: Sequence[float], scale: Scale = "raw") -> Figure:
    """Add up scores on a scale, with the interval that their own make (``metrics.mover``).

    A scale bends an interval's ends; how scores go together over test sets it hardly changes, so that is taken raw.

    Args:
        figures: scores with their intervals, at least one.
        coefficients: what each counts for, as many; they add up to 0.
        scale: raw, log or logit.
    Returns: the sum, without replicates; without interval, for the first reason, where a score has none.
    """
    groups = min(figure.effective_groups for figure in figures)
    points = on_scale([float(np.clip(figure.values[0], 0, 1)) for figure in figures], scale)
    if not np.isfinite(points).all():
        return Figure(np.array([np.nan]), groups, ANY, no_interval=None if scale == "raw" else Reason.NO_LOGARITHM)
    value = Figure(np.array([float(np.dot(coefficients, points))]), groups, ANY)
    reason = next((figure.no_interval for figure in figures if figure.no_interval), None)
    lows, highs = ([getattr(figure, end) for figure in figures] for end in ("low", "high"))
    if reason or not all(figure.has_interval for figure in figures):
        return Figure(value.values, groups, ANY, no_interval=reason or Reason.NO_REPLICATES)
    low_ends, high_ends = on_scale(lows, scale), on_scale(highs, scale)
    drawn = np.stack([figure.values for figure in figures])[:, 1:]
    correlation = replicate_correlation(drawn[:, ~np.isnan(drawn).any(axis=0)])
    low, high = combined_interval(coefficients, points, low_ends, high_ends, correlation)
    return Figure(value.values, groups, DROP if scale == "raw" else ANY, low=low, high=high)


def detectable_drop(drop: Figure, total: TotalBounds | None = None, n_tests: int = 1) -> DetectableDrop | None:
    """Find the smallest true drop that a two-sided test at 5% finds in four studies of five.

    The standard error is half of the interval over Student's quantile, at the interval's own degrees of freedom; the
    drop's own value has no part in it, since a power that is computed from the observed drop is its p value by another
    name (Hoenig & Heisey 2001).

    Args:
        drop: with its 95% test-sampling interval.
        total: its total interval, where training variance was measured.
        n_tests: drops of its kind in the task, which the corrected figures share the level with.
    Returns: fractions; None where the drop has no interval.
    """
    from scipy.special import stdtrit

    if drop.low is None or drop.high is None:
        return None
    se = (drop.high - drop.low) / 2 / float(stdtrit(drop.df, 0.975))
    models = Variance(se**2, drop.df)
    recipe = None
    if total is not None and not np.isnan(total.training_variance):
        recipe = Variance(se**2, drop.df, total.training_variance, total.training_df)
    return smallest_drop(models, recipe, n_tests)


def smallest_drop(models: Variance, recipe: Variance | None, n_tests: int) -> DetectableDrop:
    """Find the smallest detectable drop of two variances, alone and corrected.

    Args:
        models: variance over other test texts.
        recipe: variance over other training runs as well; None where training is not measured.
        n_tests: drops of its kind in the task, which the corrected figures share the level with.
    """
    return DetectableDrop(
        models=_smallest(models, 1),
        models_corrected=_smallest(models, n_tests),
        recipe=_smallest(recipe, 1) if recipe else None,
        recipe_corrected=_smallest(recipe, n_tests) if recipe else None,
    )


def _smallest(variance: Variance, n_tests: int) -> float:
    return float(minimum_detectable(variance.se, variance.dof, n_tests))


def detectable_drops(
    drops: Mapping[str, Figure], totals: Mapping[str, TotalBounds | None] | None = None, n_tests: int = 1
) -> dict[str, DetectableDrop]:
    """Find the smallest detectable drop of each figure that has an interval, by its name (see ``detectable_drop``)."""
    detectable = {name: detectable_drop(drop, (totals or {}).get(name), n_tests) for name, drop in drops.items()}
    return {name: each for name, each in detectable.items() if each is not None}


class Drops(NamedTuple):
    """One shift's figures by name with their replicates, depth-weighted ones as ``<figure>@<lambda>``."""

    source: str
    target: str
    figures: dict[str, Figure]
    depth: dict[str, Figure]
    scenario: str
    resolved: bool
    support: dict[str, float]


def available_figures(drops: Sequence[Drops], name: str) -> list[Figure]:
    """List a figure of each shift where it is known."""
    return [shift.figures[name] for shift in drops if not np.isnan(shift.figures[name].values[0])]
