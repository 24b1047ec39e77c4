"""Scores over ordered periods: a trend, and one change point, with the variance between periods in both.

Months differ by more than their texts alone would make them, so a test on texts finds trends in what merely jitters. A
period's score varies by its sampling variance, pooled over periods so that no period weighs more for being scored high,
and by a variance between periods, which residuals tell (Paule and Mandel 1982). Errors of the trend are scaled by the
residuals, never below what texts alone give, with Student's t of periods - 2 degrees of freedom (Knapp and Hartung
2003, for meta-regression). The change point's test and its confidence set are of the largest studentised step among all
places, against normal draws of as many periods: a place is in the set unless residuals show a further step beside it
(Worsley 1986, by conditioning on the two means). Both ask nothing of the size of the step.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftbench.metrics.precision import Floats, student

LEAST_FOR_TREND = 3
"""Periods below which a trend has no residuals."""
LEAST_FOR_CHANGE = 12
"""Periods below which a change point is not looked for."""
_SIDE = 2
"""Periods that a change leaves on either side at least: a single one is jitter."""
_HALVINGS = 30
_ALIKE = 0.1
"""Correlation within groups that is supposed where their scatter is not known."""


class Groups(NamedTuple):
    """Groups of texts by period; those with equal size and score stand once.

    Attributes:
        sizes: texts of each kind of group, above 0 where there are any, shape (..., n_periods, n_kinds).
        means: their mean scores, in [0, 1], same shape.
        counts: number of such groups, at least 0, same shape.
    """

    sizes: Floats
    means: Floats
    counts: Floats


class PeriodMeans(NamedTuple):
    """Periods' mean scores over texts and their variances over other groups, shape (..., n_periods)."""

    means: Floats
    variances: Floats


class Trend(NamedTuple):
    """A straight line through periods' scores.

    Attributes:
        slope: change of the score from one period to the next, a fraction.
        low, high: its 95% interval.
        p: two-sided, against no trend.
        jitter: standard deviation between periods beside what their texts explain, at least 0.
    """

    slope: Floats
    low: Floats
    high: Floats
    p: Floats
    jitter: Floats


class Change(NamedTuple):
    """One step between periods.

    Attributes:
        place: number of periods before the step.
        step: mean after it less mean before it, a fraction.
        p: against no step at any place.
        places: 95% confidence set of ``place``; empty where residuals show more than one step.
        unexplained: sum of squared residuals over the sum without a step, in [0, 1].
    """

    place: int
    step: float
    p: float
    places: tuple[int, ...]
    unexplained: float


def period_means(groups: Groups) -> PeriodMeans:
    """Compute periods' means over texts, and their variances over groups, pooled over periods.

    Periods of single groups alone have the variance of texts that correlate by 0.1.
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
    # Half an error and half a right answer more: periods without an error have a variance, too.
    middle = ((weights * groups.means).sum(axis=(-1, -2)) + 0.5) / (whole.sum(axis=-1) + 1)
    assumed = (middle * (1 - middle))[..., None] * variance_of_texts(groups) / whole**2
    variances = np.where(known > 0, pooled * squares / whole**2, assumed)
    return PeriodMeans(means, np.maximum(variances, (middle * (1 - middle) / 4)[..., None] / whole))


def variance_of_texts(groups: Groups) -> Floats:
    """Compute by period the variance of its texts' sum over that of one text, if those of a group correlate by 0.1.

    Returns: shape (..., n_periods).
    """
    return np.asarray((groups.counts * groups.sizes * (1 + (groups.sizes - 1) * _ALIKE)).sum(axis=-1))


def weighted_fit(values: ArrayLike, weights: ArrayLike, design: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Fit periods' scores by weighted least squares.

    Args:
        values: shape (..., k).
        weights: above 0, shape (..., k).
        design: columns of the model, shape (..., k, p).
    Returns: coefficients (..., p), the inverse of X'WX (..., p, p), and the weighted sum of squared residuals (...).
    """
    y, w, x = (np.asarray(each, dtype=np.float64) for each in (values, weights, design))
    weighted = np.swapaxes(x * w[..., None], -1, -2)
    inverse = np.linalg.inv(weighted @ x)
    fitted = (inverse @ (weighted @ y[..., None]))[..., 0]
    rest = y - (x @ fitted[..., None])[..., 0]
    return fitted, np.asarray(inverse, dtype=np.float64), np.asarray((w * rest**2).sum(axis=-1))


def between_variance(values: ArrayLike, variances: ArrayLike, design: ArrayLike, target: float) -> Floats:
    """Find the variance between periods at which squared residuals, over their variances, sum to a target.

    Args:
        values: of the periods, shape (..., k).
        variances: over other texts of each, above 0, shape (..., k).
        design: columns of the model, shape (k, p).
        target: ``k - p`` for an estimate (Paule and Mandel); a quantile of chi-square with as many degrees of freedom
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
    """Fit a straight line, and test whether it rises or falls.

    Args:
        values: scores of k periods, fractions, shape (..., k).
        variances: over other texts of each, above 0, shape (..., k).
        positions: of the periods on the line of time, one unit a period, shape (k,).
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
    """Find the place of one step between periods, test it, and bound its place.

    Args:
        values: scores of k periods in order, fractions, shape (k,).
        variances: over other texts of each, above 0, shape (k,).
        rng: draws what steps chance makes.
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
    roots = np.sqrt(1 / (own + between_variance(y, own, np.ones((k, 1)), k - 1)))
    steps = (np.arange(k)[:, None] >= np.arange(1, k)).astype(np.float64) * roots[:, None]  # one column a place
    inner = np.arange(_SIDE - 1, k - _SIDE)
    draws = np.vstack([y * roots, rng.standard_normal((n_draws, k))])
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
    """Compute which share of the squared residuals of a model each further column explains.

    Args:
        draws: one or more series, shape (n, k).
        model: its columns, shape (k, p).
        more: further columns, shape (k, m).
    Returns: shares in [0, 1], shape (n, m).
    """
    basis = np.linalg.qr(model)[0]
    rest, further = draws - draws @ basis @ basis.T, more - basis @ (basis.T @ more)
    lengths = np.sqrt((further**2).sum(axis=0))
    along = rest @ np.where(lengths > 1e-9, further / np.where(lengths > 1e-9, lengths, 1.0), 0.0)
    whole = (rest**2).sum(axis=1, keepdims=True)
    return np.asarray(along**2 / np.where(whole > 0, whole, 1.0))


def _p_of_first(largest: NDArray[np.float64]) -> float:
    """Return the share of draws that are as large as the first one, itself counted."""
    return float((largest >= largest[0] - 1e-12).mean())
