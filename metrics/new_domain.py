"""Prediction for the next domain: an interval for one more draw; other intervals are for the domains at hand.

Intervals around forecasts whose errors come in domains: conformal prediction for hierarchical data.

Shifts into one domain err alike, so the unit that must be exchangeable is the domain, not the shift. Each of k domains
with known errors counts 1 / (k + 1), its shifts share that, and the domain to come counts the rest, at infinity. With
few domains no high level can hold: the most is k / (k + 1).

Quality of forecasts: errors, interval scores, skill against a floor, and a test over target domains.
"""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftbench.metrics.precision import student, wilson_limits


class NextDomain(NamedTuple):
    """The mean over k target domains, and the interval for one more; ends are NaN for a single domain."""

    mean: float
    low: float
    high: float


def next_domain(by_domain: ArrayLike, *, level: float = 0.95, bounds: tuple[float, float] | None = None) -> NextDomain:
    """Predict a figure of one more target domain: ``mean -+ t(k - 1) s sqrt(1 + 1 / k)``.

    It holds the next value as often as ``level`` says where domains are drawn alike and the figure is about normal
    over them. A test set as large as those at hand is part of the draw. Benchmarks choose their domains, so a domain
    of another kind may lie outside more often.

    Args:
        by_domain: the figure for each target domain, shape (k,), k >= 1, finite.
        level: nominal coverage, in (0, 1).
        bounds: lowest and highest value that the figure can have; the interval is cut there.
    Returns: mean and ends, in the figure's unit.
    Raises: ValueError when there is no domain, a value is not finite, or level is out of range.
    Source: the usual prediction interval of one normal draw (e.g. Hahn and Meeker 1991, sec. 4.7).

    >>> [round(end, 3) for end in next_domain([0.70, 0.75, 0.80, 0.85])]
    [0.775, 0.545, 1.005]
    """
    values = np.asarray(by_domain, dtype=np.float64)
    if values.ndim != 1 or values.size == 0 or not np.all(np.isfinite(values)):
        raise ValueError(f"by_domain must hold a finite figure for each domain, shape (k,), got {values.shape}")
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
"""Fewest domains with known errors, and the level that intervals then have; none with fewer."""
_SLACK = 1e-9


def interval_level(n_domains: int) -> float | None:
    """Compute the level that intervals set on so many domains have; None where there are too few.

    >>> interval_level(3), interval_level(4), interval_level(9)
    (None, 0.8, 0.9)
    """
    return next((level for least, level in LEVELS if n_domains >= least), None)


def domain_quantile(errors: Sequence[ArrayLike], level: float) -> float:
    """Compute the size that the error of a shift into one more domain stays within, with probability ``level``.

    Args:
        errors: absolute errors of the shifts into each domain, k arrays of at least one error.
        level: in (0, 1), at most k / (k + 1).
    Returns: the least q for which the domains' shares of errors up to q add up to ``level * (k + 1)``. A random shift
        into a domain that is exchangeable with these errs by at most q with probability ``level`` or more.
    Raises: ValueError when the level is higher than so many domains allow, or a domain has no error.
    Source: Dunn, Wasserman, Ramdas, "Distribution-free prediction sets for two-layer hierarchical models" (2023), the
        pooled distribution function; with the mass at infinity of Lee, Barber, Willett, "Distribution-free inference
        with hierarchical data" (2023), which makes it hold for any number of domains.

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
    """Number of domains in which intervals held, and the share of shifts inside, averaged over domains.

    Attributes:
        held: domains in which at least the intervals' level of the shifts lay inside.
        n_domains: domains counted.
        share: mean over domains of the share of shifts inside.
        low: lower end of the 95% interval of the share: Wilson's, with domains as the examples.
        high: its upper end.
    """

    held: int
    n_domains: int
    share: float
    low: float
    high: float


def coverage_by_domain(inside: Sequence[ArrayLike], level: ArrayLike) -> Coverage:
    """Count coverage in domains.

    Args:
        inside: for each domain whether each of its shifts lay in its interval, k >= 1 arrays.
        level: of the intervals, in (0, 1): one, or one for each domain, shape (k,).
    Raises: ValueError without a domain, or where one has no shift.

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
"""Target domains below which no test can be significant: 5 signs have 32 patterns, and 2 / 32 is above 0.05."""
_EXACT = 14
"""Domains up to which all patterns of signs are counted."""
_DRAWS = 20_000


def mean_by_domain(values: ArrayLike, domains: ArrayLike) -> Floats:
    """Average values within each domain.

    Args:
        values: of each shift, shape (n,).
        domains: the target of each, any values that compare equal, shape (n,).
    Returns: means in the order of the domains' names, shape (n_domains,).
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
    """Compute Winkler's interval score: the width, plus ``2 / (1 - level)`` times the distance of a value outside.

    Args:
        low: lower ends, shape (n,).
        high: upper ends, same shape.
        truth: what came, same shape.
        level: of the intervals, in (0, 1).
    Returns: scores in the unit of the ends, >= 0, lower is better, shape (n,).
    Raises: ValueError when an interval is upside down or the level is out of range.
    Source: Winkler, "A decision-theoretic approach to interval estimation" (1972).

    >>> interval_score([0.5, 0.5], [0.7, 0.7], [0.6, 0.75], 0.8).round(6).tolist()
    [0.2, 0.7]
    """
    bottom, top, y = (np.asarray(each, dtype=np.float64) for each in (low, high, truth))
    if not 0 < level < 1:
        raise ValueError(f"level must lie in (0, 1), got {level:g}; 80% is 0.8")
    if np.any(top < bottom):
        raise ValueError("an interval's upper end lies below its lower one")
    return np.asarray(top - bottom + 2 / (1 - level) * (np.maximum(bottom - y, 0) + np.maximum(y - top, 0)))


def skill(error: float, floor_error: float) -> float:
    """Compute the share of a floor's error that a method saves: ``1 - error / floor_error``.

    Args:
        error: mean absolute error of the method, >= 0.
        floor_error: that of the floor, >= 0.
    Returns: at most 1; 0 is no better than the floor, below 0 worse; NaN where the floor makes no error.

    >>> skill(0.02, 0.04)
    0.5
    """
    return 1 - error / floor_error if floor_error > 0 else float("nan")


def paired_test(differences: ArrayLike, rng: np.random.Generator) -> float:
    """Test whether a method errs less or more than another one, with target domains as the units.

    Under the null hypothesis the sign of each domain's difference is as likely + as -. Signs are flipped in all ways
    up to 14 domains, in 20,000 random ways (and the one observed) beyond.

    Args:
        differences: error of the one less that of the other, a mean for each target domain, shape (n_domains,).
        rng: draws signs where there are many domains.
    Returns: two-sided p in (0, 1]; NaN with fewer than ``MIN_DOMAINS`` domains: then the test cannot tell.

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
