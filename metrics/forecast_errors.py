"""Quality of forecasts: errors, interval scores, skill against a floor, and a test over target domains."""

from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

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
