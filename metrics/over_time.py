"""Scores over ordered periods: a trend and a single change point, both with a variance between periods.

Periods differ by more than the sampling of their texts, so a test that ignores this finds spurious trends. The variance
of a period's score is its sampling variance, pooled over periods so that weights do not depend on the score, plus a
variance between periods estimated from residuals (Paule and Mandel 1982). Standard errors of the trend are scaled by
the residuals (but are never smaller than those due to the sampling of texts), with Student's t and periods - 2 degrees
of freedom (Knapp and Hartung 2003, for meta-regression). The change point's test compares the largest studentised step
over all positions with simulated normal series. The confidence set contains a position unless, with a step there, the
residuals show a further step at another position (Worsley 1986, conditional on the two means). Neither test nor set
assumes a minimum size of the step.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftbench.metrics.precision import Floats, student

LEAST_FOR_TREND = 3
"""Minimum number of periods for a trend (with residual degrees of freedom)."""
LEAST_FOR_CHANGE = 12
"""Minimum number of periods for a change point."""
_SIDE = 2
"""Minimum number of periods on either side of a change: a single outlying period is not a change."""
_HALVINGS = 30
"""Bisection steps, which determine a variance in [0, 1] to 1e-9."""
_ALIKE = 0.1
"""Correlation within groups assumed if it cannot be estimated."""


class Groups(NamedTuple):
    """Groups of texts by period; groups of equal size and score are stored once with their count.

    Attributes:
        sizes: number of texts per group, above 0 where ``counts`` is, shape (..., n_periods, n_kinds).
        means: mean score of the group, in [0, 1], same shape.
        counts: number of such groups, at least 0, same shape.
    """

    sizes: Floats
    means: Floats
    counts: Floats


class PeriodMeans(NamedTuple):
    """Mean score of each period over its texts, and its sampling variance over groups, shape (..., n_periods)."""

    means: Floats
    variances: Floats


class Trend(NamedTuple):
    """A straight line through periods' scores.

    Attributes:
        slope: change of the score per period, a fraction.
        low, high: its 95% interval.
        p: two-sided p value of no trend.
        jitter: standard deviation between periods in excess of sampling variation, at least 0.
    """

    slope: Floats
    low: Floats
    high: Floats
    p: Floats
    jitter: Floats


class Change(NamedTuple):
    """A single change point.

    Attributes:
        place: number of periods before the step.
        step: mean after the step minus mean before it, a fraction.
        p: p value of no step at any position.
        places: 95% confidence set of ``place``; empty if the residuals show more than one step.
        unexplained: sum of squared residuals relative to the sum without a step, in [0, 1].
    """

    place: int
    step: float
    p: float
    places: tuple[int, ...]
    unexplained: float


def period_means(groups: Groups) -> PeriodMeans:
    """Compute the mean score of each period over texts, and its sampling variance over groups.

    The variance between groups is pooled over periods, so that it does not depend on a period's score. If every period
    has a single group, a correlation of 0.1 within groups is assumed.

    Args:
        groups: groups of the periods; every period needs at least one.
    Returns: means and variances, each of shape (..., n_periods).
    """
    weights = groups.counts * groups.sizes
    whole = weights.sum(axis=-1)
    means = (weights * groups.means).sum(axis=-1) / whole
    n = groups.counts.sum(axis=-1)
    scatter = (groups.counts * (groups.sizes * (groups.means - means[..., None])) ** 2).sum(axis=-1)
    squares = (groups.counts * groups.sizes**2).sum(axis=-1)
    correction = np.where(n > 1, n / np.maximum(n - 1, 1), 0.0)
    known = np.where(n > 1, squares, 0.0).sum(axis=-1, keepdims=True)
    pooled = (correction * scatter).sum(axis=-1, keepdims=True) / np.where(known > 0, known, 1.0)
    # Add half an error and half a correct answer, so that periods without an error have a positive variance.
    middle = ((weights * groups.means).sum(axis=(-1, -2)) + 0.5) / (whole.sum(axis=-1) + 1)
    assumed = (middle * (1 - middle))[..., None] * variance_of_texts(groups) / whole**2
    variances = np.where(known > 0, pooled * squares / whole**2, assumed)
    return PeriodMeans(means, np.maximum(variances, (middle * (1 - middle) / 4)[..., None] / whole))


def variance_of_texts(groups: Groups) -> Floats:
    """Compute the variance of the sum of each period's scores, in units of the variance of one score.

    Scores are assumed to have a correlation of 0.1 within groups and none between groups.

    Args:
        groups: groups of the periods; only sizes and counts are used.
    Returns: variance ratios, the number of texts or more, shape (..., n_periods).
    """
    return np.asarray((groups.counts * groups.sizes * (1 + (groups.sizes - 1) * _ALIKE)).sum(axis=-1))


def weighted_fit(values: ArrayLike, weights: ArrayLike, design: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Fit periods' scores by weighted least squares.

    Args:
        values: shape (..., k).
        weights: above 0, shape (..., k).
        design: design matrix, shape (..., k, p).
    Returns: coefficients (..., p), the inverse of X'WX (..., p, p), and the weighted sum of squared residuals (...).
    """
    y, w, x = (np.asarray(each, dtype=np.float64) for each in (values, weights, design))
    weighted = np.swapaxes(x * w[..., None], -1, -2)
    inverse = np.linalg.inv(weighted @ x)
    fitted = (inverse @ (weighted @ y[..., None]))[..., 0]
    rest = y - (x @ fitted[..., None])[..., 0]
    return fitted, np.asarray(inverse, dtype=np.float64), np.asarray((w * rest**2).sum(axis=-1))


def between_variance(values: ArrayLike, variances: ArrayLike, design: ArrayLike, target: float) -> Floats:
    """Find the variance between periods for which the standardised squared residuals sum to ``target``.

    Args:
        values: scores of the periods, shape (..., k).
        variances: their sampling variances, above 0, shape (..., k).
        design: design matrix, shape (k, p).
        target: ``k - p`` for an estimate (Paule and Mandel); a chi-square quantile with k - p degrees of freedom
            for a confidence limit (Viechtbauer 2007, the Q-profile).
    Returns: at least 0, shape (...).

    >>> float(between_variance([0.8, 0.9], [1e-3, 1e-3], [[1.0], [1.0]], 1.0).round(4))
    0.004
    """
    y, own = np.broadcast_arrays(np.asarray(values, dtype=np.float64), np.asarray(variances, dtype=np.float64))
    x = np.asarray(design, dtype=np.float64)
    low, high = np.zeros(y.shape[:-1]), np.ones(y.shape[:-1])
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        is_large = weighted_fit(y, 1 / (own + middle[..., None]), x)[2] > target
        low, high = np.where(is_large, middle, low), np.where(is_large, high, middle)
    return np.asarray(np.where(weighted_fit(y, 1 / own, x)[2] > target, high, 0.0))


def trend(values: ArrayLike, variances: ArrayLike, positions: ArrayLike) -> Trend:
    """Fit a straight line and test its slope.

    Args:
        values: scores of k periods, fractions, shape (..., k).
        variances: their sampling variances, above 0, shape (..., k).
        positions: position of each period on the time axis, one unit per period, shape (k,).
    Returns: the trend, arrays of shape (...).
    Raises: ValueError with fewer than 3 periods, or a variance that is not above 0.

    >>> found = trend([0.86, 0.80, 0.74, 0.67, 0.58], [6e-4] * 5, range(5))
    >>> float(found.slope.round(3)), bool(found.p < 0.01)
    (-0.069, True)
    """
    from scipy.special import stdtr

    y, own = np.broadcast_arrays(np.asarray(values, dtype=np.float64), np.asarray(variances, dtype=np.float64))
    at = np.asarray(positions, dtype=np.float64)
    k = y.shape[-1]
    if k < LEAST_FOR_TREND or not (own > 0).all():
        raise ValueError(f"a trend needs 3 periods or more and variances above 0, found {k} periods")
    design = np.stack([np.ones(k), at - at.mean()], axis=-1)
    between = between_variance(y, own, design, k - 2)
    fitted, inverse, rest = weighted_fit(y, 1 / (own + between[..., None]), design)
    slope = fitted[..., 1]
    se = np.sqrt(inverse[..., 1, 1] * np.maximum(rest / (k - 2), 1.0))
    reach = student(k - 2) * se
    return Trend(slope, slope - reach, slope + reach, 2 * stdtr(k - 2, -np.abs(slope) / se), np.sqrt(between))


def change_point(values: ArrayLike, variances: ArrayLike, rng: np.random.Generator, n_draws: int = 999) -> Change:
    """Estimate the position of a single change point, test it, and compute a confidence set of the position.

    Args:
        values: scores of k periods in order, fractions, shape (k,).
        variances: their sampling variances, above 0, shape (k,).
        rng: samples the null distribution.
        n_draws: number of draws; p is at least 1 / (n_draws + 1).
    Raises: ValueError with fewer than 12 periods.

    >>> found = change_point([0.9] * 8 + [0.8] * 8, [1e-4] * 16, np.random.default_rng(0))
    >>> found.place, found.places, round(found.step, 2), found.p
    (8, (8,), -0.1, 0.001)
    """
    y, own = np.asarray(values, dtype=np.float64), np.asarray(variances, dtype=np.float64)
    k = y.size
    if k < LEAST_FOR_CHANGE:
        raise ValueError(f"a change point needs 12 periods or more, found {k}")
    # Rows are scaled by the roots of their weights, so that the fits below are ordinary least squares.
    roots = np.sqrt(1 / (own + between_variance(y, own, np.ones((k, 1)), k - 1)))
    steps = (np.arange(k)[:, None] >= np.arange(1, k)).astype(np.float64) * roots[:, None]  # one column per position
    inner = np.arange(_SIDE - 1, k - _SIDE)
    draws = np.vstack([y * roots, rng.standard_normal((n_draws, k))])  # row 0 is observed, the others are null draws
    shares = _explained(draws, roots[:, None], steps[:, inner])
    best = int(shares[0].argmax())
    largest = shares.max(axis=1)
    places = []
    for column in inner:
        further = _explained(draws, np.stack([roots, steps[:, column]], axis=1), np.delete(steps, column, axis=1))
        if _p_of_first(further.max(axis=1)) > 0.05:
            places.append(int(column) + 1)
    place = int(inner[best]) + 1
    design = np.stack([np.ones(k), (np.arange(k) >= place).astype(np.float64)], axis=1)
    step = weighted_fit(y, roots**2, design)[0][1]
    return Change(place, float(step), _p_of_first(largest), tuple(places), float(1 - largest[0]))


def _explained(draws: Floats, model: Floats, more: Floats) -> Floats:
    """Compute the fraction of a model's residual sum of squares that each candidate column explains.

    Args:
        draws: one or more series, shape (n, k).
        model: design matrix, shape (k, p).
        more: candidate columns, shape (k, m).
    Returns: fractions in [0, 1], shape (n, m).
    """
    basis = np.linalg.qr(model)[0]
    rest, further = draws - draws @ basis @ basis.T, more - basis @ (basis.T @ more)
    lengths = np.sqrt((further**2).sum(axis=0))
    along = rest @ np.where(lengths > 1e-9, further / np.where(lengths > 1e-9, lengths, 1.0), 0.0)
    whole = (rest**2).sum(axis=1, keepdims=True)
    return np.asarray(along**2 / np.where(whole > 0, whole, 1.0))


def _p_of_first(largest: NDArray[np.float64]) -> float:
    """Return the fraction of values at least as large as the first (the observed one, included)."""
    return float((largest >= largest[0] - 1e-12).mean())
