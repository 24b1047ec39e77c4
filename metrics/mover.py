"""Intervals of sums and differences, from the intervals of their parts (MOVER: variance estimates recovery).

A score near 1 has a long way down and a short one up, and so has a drop made of it. MOVER keeps that: the lower end of
a difference comes from the lower end of what is added and the upper end of what is taken away.
"""

from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def combined_interval(
    coefficients: ArrayLike, points: ArrayLike, lows: ArrayLike, highs: ArrayLike, correlation: ArrayLike
) -> tuple[float, float]:
    """Compute the interval of a weighted sum of estimates: ``sum c x``.

    Args:
        coefficients: c, shape (k,); a difference has 1 and -1.
        points: the estimates x, shape (k,), any unit.
        lows: lower ends of their own intervals, all of the level that is wanted, shape (k,).
        highs: the upper ends.
        correlation: of the estimates over test sets, shape (k, k); those on different test sets have 0.
    Returns: lower and upper end.
    Raises: ValueError when shapes differ or an estimate lies outside its interval.
    Source: Newcombe, "Interval estimation for the difference between independent proportions" (1998); with
        correlation Zou, "Toward using confidence intervals to compare correlations" (2007), eqs. 8-9.

    >>> low, high = combined_interval([1, -1], [0.9, 0.8], [0.8, 0.7], [0.95, 0.87], np.eye(2))
    >>> round(low, 3), round(high, 3)
    (-0.022, 0.212)
    """
    c, x, low, high = (np.asarray(values, dtype=np.float64) for values in (coefficients, points, lows, highs))
    together = np.asarray(correlation, dtype=np.float64)
    if c.ndim != 1 or not c.shape == x.shape == low.shape == high.shape or together.shape != (c.size, c.size):
        raise ValueError(
            "coefficients, points, lows and highs need one shape (k,) and correlation (k, k), got "
            f"{c.shape}, {x.shape}, {low.shape}, {high.shape} and {together.shape}"
        )
    below, above = x - low, high - x
    if min(below.min(), above.min()) < -1e-9:  # more than rounding
        raise ValueError("an estimate lies outside its own interval")
    below, above = np.maximum(below, 0.0), np.maximum(above, 0.0)
    down, up = c * np.where(c > 0, below, above), c * np.where(c > 0, above, below)
    total = float(c @ x)
    lower, upper = (float(np.sqrt(np.maximum(reach @ together @ reach, 0.0))) for reach in (down, up))
    return total - lower, total + upper


def replicate_correlation(replicates: ArrayLike) -> Floats:
    """Compute the correlation of estimates over the same resampled test sets.

    Args:
        replicates: shape (k, n_draws), finite.
    Returns: shape (k, k), 1 on the diagonal; an estimate that never moves goes with no other one.

    >>> replicate_correlation([[0.1, 0.2], [0.3, 0.2], [0.5, 0.5]]).round(3).tolist()
    [[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    drawn = np.asarray(replicates, dtype=np.float64)
    moved = drawn - drawn.mean(axis=1, keepdims=True)
    moved[np.abs(moved) < 1e-12] = 0.0  # rounding errors of a score that never varies
    lengths = np.sqrt(np.einsum("ij,ij->i", moved, moved))
    moved /= np.where(lengths > 0, lengths, 1.0)[:, None]
    correlation = moved @ moved.T
    np.fill_diagonal(correlation, 1.0)
    return np.asarray(correlation)


def worst_interval(
    points: ArrayLike, lows: ArrayLike, highs: ArrayLike, replicates: ArrayLike, *, level: float = 0.95
) -> tuple[float, float]:
    """Compute the interval of the largest of several drops.

    The largest of several noisy drops is not where the noise of one drop says. But when all true drops lie in their
    intervals at once, the largest true one lies between the largest lower end and the largest upper end. So each
    interval is stretched until they hold at once: by the ``level`` quantile, over replicates, of the largest deviation
    in units of its standard deviation, over the normal's. The result is therefore wider than the interval of the
    shift that is worst.

    Args:
        points: the drops, shape (k,), at least one.
        lows: lower ends of their own intervals of that level, shape (k,).
        highs: the upper ends.
        replicates: of the drops on the same resampled test sets, shape (k, n_draws), finite.
        level: nominal coverage, in (0, 1); the interval errs on the wide side.
    Returns: lower and upper end.
    Raises: ValueError when level is out of range, shapes differ or there is no shift.
    """
    if not 0 < level < 1:
        raise ValueError(f"level must lie in (0, 1), got {level}; 95% is 0.95")
    x, low, high = (np.asarray(values, dtype=np.float64) for values in (points, lows, highs))
    drawn = np.asarray(replicates, dtype=np.float64)
    if x.size == 0:
        raise ValueError("the worst of no drops is undefined")
    if not x.shape == low.shape == high.shape or drawn.shape[:1] != x.shape or drawn.ndim != 2:
        raise ValueError(
            "points, lows and highs need one shape (k,) and replicates (k, n_draws), got "
            f"{x.shape}, {low.shape}, {high.shape} and {drawn.shape}"
        )
    deviations = np.abs(drawn - x[:, None])
    sd = drawn.std(axis=1)
    normal = NormalDist()
    one = normal.inv_cdf(0.5 + level / 2)
    if np.any(sd < 1e-12):  # a drop that never varies has no correlation: all count as independent
        multiple = normal.inv_cdf(0.5 + level ** (1 / x.size) / 2)
    else:
        multiple = float(np.quantile((deviations / sd[:, None]).max(axis=0), level, method="weibull"))
    stretch = max(multiple / one, 1.0)
    return float((x - stretch * (x - low)).max()), float((x + stretch * (high - x)).max())


def p_of_interval(value: float, low: float, high: float, dof: float, *, level: float = 0.95) -> float:
    """Compute the two-sided p value of 'the true value is 0' that an estimate's interval stands for.

    The half of the interval that points at 0, over Student's quantile, is taken for the standard error: so p is below
    ``1 - level`` exactly when the interval excludes 0.

    Args:
        value: the estimate.
        low: lower end of its interval, at most ``value``.
        high: upper end.
        dof: degrees of freedom of its standard error, > 0.
        level: of the interval.
    Returns: in [0, 1]; 1 where the value is 0, NaN where something is NaN.
    Raises: ValueError when the value lies outside its interval, or level or dof is out of range.

    >>> round(p_of_interval(0.1, 0.0, 0.2, 1e9), 4), p_of_interval(0.0, -0.1, 0.1, 10)
    (0.05, 1.0)
    """
    from scipy.special import stdtr, stdtrit

    if not (0 < level < 1 and (dof > 0 or np.isnan(dof))):
        raise ValueError(f"level must lie in (0, 1) and dof above 0, got {level:g} and {dof:g}")
    if np.isnan([value, low, high, dof]).any():
        return float("nan")
    if not low - 1e-9 <= value <= high + 1e-9:
        raise ValueError("an estimate lies outside its own interval")
    reach = value - low if value > 0 else high - value
    if value == 0:
        return 1.0
    if reach <= 0:
        return 0.0
    return float(2 * stdtr(dof, -abs(value) / reach * stdtrit(dof, 0.5 + level / 2)))
