"""Prediction intervals for a new domain, and the quality of forecasts.

``next_domain`` predicts a statistic on a new domain; intervals in other modules are for the given domains.

``domain_quantile`` calibrates intervals around forecasts by conformal prediction for hierarchical data. Errors of
shifts into the same domain are correlated, so the exchangeable units are domains, not shifts. Each of k domains with
known errors has mass 1 / (k + 1), divided among its shifts, and the new domain has the remaining mass at infinity. The
highest possible level is therefore k / (k + 1).

Quality of forecasts: coverage, interval scores, skill relative to a baseline, and a test over target domains.
"""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftbench.metrics.precision import student, wilson_limits


class NextDomain(NamedTuple):
    """The mean over k target domains with a prediction interval for a new one; NaN ends if k = 1."""

    mean: float
    low: float
    high: float


def next_domain(by_domain: ArrayLike, *, level: float = 0.95, bounds: tuple[float, float] | None = None) -> NextDomain:
    """Predict a statistic on a new target domain: ``mean -+ t(k - 1) s sqrt(1 + 1 / k)``.

    Coverage is nominal if domains are independent draws from one population, test sets are of similar size, and the
    statistic is approximately normal over domains. Benchmarks choose their domains, so coverage may be lower for other
    kinds of domains.

    Args:
        by_domain: the statistic on each target domain, shape (k,), k >= 1, finite.
        level: nominal coverage, in (0, 1).
        bounds: lowest and highest possible value of the statistic, to which the interval is clipped.
    Returns: mean and interval, in the unit of the statistic.
    Raises: ValueError when there is no domain, a value is not finite, or level is out of range.
    Source: the usual prediction interval of one normal draw (e.g. Hahn and Meeker 1991, sec. 4.7).

    >>> [round(end, 3) for end in next_domain([0.70, 0.75, 0.80, 0.85])]
    [0.775, 0.545, 1.005]
    """
    values = np.asarray(by_domain, dtype=np.float64)
    if values.ndim != 1 or values.size == 0 or not np.all(np.isfinite(values)):
        raise ValueError(f"by_domain must contain a finite value per domain, shape (k,), got {values.shape}")
    if not 0 < level < 1:
        raise ValueError(f"level must lie in (0, 1), got {level}; 95% is 0.95")
    mean, k = float(values.mean()), values.size
    if k == 1:
        return NextDomain(mean, float("nan"), float("nan"))
    from scipy.special import stdtrit

    reach = float(stdtrit(k - 1, 0.5 + level / 2)) * float(values.std(ddof=1)) * float(np.sqrt(1 + 1 / k))
    ends = np.array([mean - reach, mean + reach])
    low, high = ends if bounds is None else np.clip(ends, *bounds)
    return NextDomain(mean, float(low), float(high))


Floats = NDArray[np.float64]

LEVELS = ((9, 0.9), (4, 0.8))
"""Pairs (minimum number of domains with known errors, level of the intervals)."""
_SLACK = 1e-9
"""Tolerance for rounding errors."""


def interval_level(n_domains: int) -> float | None:
    """Return the level of intervals calibrated on a number of domains; None if there are too few.

    >>> interval_level(3), interval_level(4), interval_level(9)
    (None, 0.8, 0.9)
    """
    return next((level for least, level in LEVELS if n_domains >= least), None)


def domain_quantile(errors: Sequence[ArrayLike], level: float) -> float:
    """Compute the conformal quantile of the absolute error of a shift into a new domain.

    Args:
        errors: absolute errors of the shifts into each domain, k arrays of at least one error.
        level: in (0, 1), at most k / (k + 1).
    Returns: the smallest q such that the fractions of errors up to q, summed over domains, reach ``level * (k + 1)``. A
        random shift into a domain exchangeable with these has an error of at most q with probability >= ``level``.
    Raises: ValueError when the level exceeds k / (k + 1), or a domain has no error.
    Source: Dunn, Wasserman, Ramdas, "Distribution-free prediction sets for two-layer hierarchical models" (2023), the
        pooled distribution function; with the mass at infinity of Lee, Barber, Willett, "Distribution-free inference
        with hierarchical data" (2023), which makes it valid for any number of domains.

    >>> domain_quantile([[0.01, 0.03], [0.02], [0.05], [0.04]], 0.8)
    0.05
    >>> domain_quantile([[0.01, 0.03], [0.02], [0.05], [0.04]], 0.4)
    0.03
    """
    groups = [np.abs(np.asarray(group, dtype=np.float64)).ravel() for group in errors]
    k = len(groups)
    if not k or any(not group.size for group in groups):
        raise ValueError("every domain needs at least one known error")
    if not 0 < level <= k / (k + 1) + _SLACK:
        raise ValueError(f"{k} domains allow levels up to {k / (k + 1):.3f}, got {level:g}")
    values = np.concatenate(groups)
    masses = np.concatenate([np.full(group.size, 1 / group.size) for group in groups])
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(masses[order]) >= level * (k + 1) - _SLACK
    return float(values[order][int(np.argmax(reached))])


class Coverage(NamedTuple):
    """Observed coverage of intervals, with domains as the units.

    Attributes:
        held: number of domains in which the fraction of covered shifts is at least the intervals' level.
        n_domains: number of domains.
        share: fraction of covered shifts, averaged over domains.
        low: lower end of the 95% Wilson interval of ``share``, with n = ``n_domains``.
        high: upper end.
    """

    held: int
    n_domains: int
    share: float
    low: float
    high: float


def coverage_by_domain(inside: Sequence[ArrayLike], level: ArrayLike) -> Coverage:
    """Compute the observed coverage over domains.

    Args:
        inside: per domain, whether the interval of each of its shifts covers the true score, k >= 1 arrays.
        level: nominal level of the intervals, in (0, 1), a scalar or one per domain, shape (k,).
    Raises: ValueError without a domain, or if one has no shift.

    >>> found = coverage_by_domain([[True], [True], [True], [False]], 0.8)
    >>> found.held, found.n_domains, found.share, round(found.low, 2), round(found.high, 2)
    (3, 4, 0.75, 0.3, 0.95)
    """
    shares = np.array([np.mean(np.asarray(each, dtype=np.float64)) if np.size(each) else np.nan for each in inside])
    if not shares.size or np.isnan(shares).any():
        raise ValueError("coverage needs domains, each with at least one shift")
    share = float(shares.mean())
    low, high = wilson_limits(share, float(student(np.inf)) ** 2 / shares.size)
    held = int((shares >= np.asarray(level) - _SLACK).sum())
    return Coverage(held, shares.size, share, float(low), float(high))


MIN_DOMAINS = 6
"""Minimum number of target domains for a significant sign-flip test: with 5 the smallest p is 2 / 32, above 0.05."""
_EXACT = 14
"""Maximum number of domains for which all sign patterns are enumerated."""
_DRAWS = 20_000
"""Number of random sign patterns if there are more domains."""


def mean_by_domain(values: ArrayLike, domains: ArrayLike) -> Floats:
    """Average values within each domain.

    Args:
        values: value of each shift, shape (n,).
        domains: target domain of each shift, shape (n,).
    Returns: means in sorted order of the domains, shape (n_domains,).
    Raises: ValueError when shapes differ.

    >>> mean_by_domain([1.0, 3.0, 5.0], ["a", "a", "b"]).tolist()
    [2.0, 5.0]
    """
    x, names = np.asarray(values, dtype=np.float64), np.asarray(domains)
    if x.ndim != 1 or x.shape != names.shape:
        raise ValueError(f"values and domains must share a shape (n,), got {x.shape} and {names.shape}")
    codes = np.unique(names, return_inverse=True)[1]
    return np.asarray(np.bincount(codes, weights=x) / np.bincount(codes))


def interval_score(low: ArrayLike, high: ArrayLike, truth: ArrayLike, level: float) -> Floats:
    """Compute Winkler's interval score: the width, plus ``2 / (1 - level)`` times the distance of an uncovered value.

    Args:
        low: lower ends, shape (n,).
        high: upper ends, same shape.
        truth: observed values, same shape.
        level: nominal level of the intervals, in (0, 1).
    Returns: scores in the unit of the ends, >= 0, lower is better, shape (n,).
    Raises: ValueError when an upper end is below its lower end or the level is out of range.
    Source: Winkler, "A decision-theoretic approach to interval estimation" (1972).

    >>> interval_score([0.5, 0.5], [0.7, 0.7], [0.6, 0.75], 0.8).round(6).tolist()
    [0.2, 0.7]
    """
    bottom, top, y = (np.asarray(each, dtype=np.float64) for each in (low, high, truth))
    if not 0 < level < 1:
        raise ValueError(f"level must lie in (0, 1), got {level:g}; 80% is 0.8")
    if np.any(top < bottom):
        raise ValueError("an interval's upper end is below its lower end")
    return np.asarray(top - bottom + 2 / (1 - level) * (np.maximum(bottom - y, 0) + np.maximum(y - top, 0)))


def skill(error: float, floor_error: float) -> float:
    """Compute the skill score relative to a baseline: ``1 - error / floor_error``.

    Args:
        error: mean absolute error of the method, >= 0.
        floor_error: mean absolute error of the baseline, >= 0.
    Returns: at most 1; 0 is as good as the baseline, negative is worse; NaN if the baseline's error is 0.

    >>> skill(0.02, 0.04)
    0.5
    """
    return 1 - error / floor_error if floor_error > 0 else float("nan")


def paired_test(differences: ArrayLike, rng: np.random.Generator) -> float:
    """Test whether the errors of two methods differ, by sign flips with target domains as the units.

    Under the null hypothesis the sign of each domain's difference is random. All sign patterns are enumerated for up
    to 14 domains; with more, 20,000 random patterns and the observed one are used.

    Args:
        differences: error of one method minus that of the other, averaged per target domain, shape (n_domains,).
        rng: samples signs if there are more than 14 domains.
    Returns: two-sided p value in (0, 1]; NaN with fewer than ``MIN_DOMAINS`` domains.

    >>> paired_test([0.01, 0.02, 0.01, 0.03, 0.02, 0.01], np.random.default_rng(0))
    0.03125
    """
    d = np.asarray(differences, dtype=np.float64)
    if d.size < MIN_DOMAINS:
        return float("nan")
    if d.size <= _EXACT:
        sums = np.array(list(product((-1.0, 1.0), repeat=d.size))) @ d
    else:
        sums = np.append(rng.choice([-1.0, 1.0], (_DRAWS, d.size)) @ d, d.sum())
    return float((np.abs(sums) >= abs(d.sum()) - 1e-12).mean())
