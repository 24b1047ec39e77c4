"""Calibration of confidences: overconfidence, debiased squared calibration error, Brier score.

A confidence is the probability that a model assigns to its prediction. All statistics are computed from *additive
counts*, summed by group. The usual expected calibration error averages absolute differences within bins, which are
positive by chance, more so with fewer examples per bin, so test sets of different sizes are not comparable. The squared
difference has a known bias, which is subtracted here.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

N_BINS = 15
"""Number of equal-mass bins if there are enough groups."""
MIN_BIN_GROUPS = 10
"""Minimum number of groups per bin; with fewer, the number of bins is reduced."""


def overconfidence(confidence: ArrayLike, correct: ArrayLike) -> Floats:
    """Compute overconfidence: mean confidence minus accuracy.

    Args:
        confidence: probability assigned to each prediction, in [0, 1], shape (..., n), n > 0.
        correct: whether it is correct (0 or 1), same shape.
    Returns: a difference in [-1, 1], shape (...,). Positive: overconfident; 0 does not mean calibrated.
    Raises: ValueError when shapes differ, a value is out of range or there is no example.

    >>> float(overconfidence([0.9, 0.7], [1, 0]).round(3))
    0.3
    """
    sure, right = _checked(confidence, correct)
    return np.asarray((sure - right).mean(axis=-1))


def equal_mass_bins(confidence: ArrayLike, n_bins: int) -> NDArray[np.int64]:
    """Split examples into bins of about equal size by their confidence; equal confidences share a bin.

    Args:
        confidence: shape (n,), n > 0.
        n_bins: number of bins, at least 1; with ties the result may have fewer.
    Returns: bin of each example, consecutive codes from 0 by increasing confidence, shape (n,).
    Raises: ValueError when there is no example or no bin.

    >>> equal_mass_bins([0.5, 0.9, 0.9, 0.6], 2).tolist()
    [0, 1, 1, 0]
    """
    sure = np.asarray(confidence, dtype=np.float64)
    if sure.ndim != 1 or not sure.size or n_bins < 1:
        raise ValueError(
            f"confidence must have shape (n,), n > 0, and n_bins must be above 0; got {sure.shape}, {n_bins}"
        )
    _, level, counts = np.unique(sure, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - 0.5 * counts  # the mean rank of equal confidences
    codes = (middle * n_bins / sure.size).astype(np.int64)[level]
    return np.asarray(np.unique(codes, return_inverse=True)[1], dtype=np.int64)


def bin_counts(
    confidence: ArrayLike, correct: ArrayLike, bins: ArrayLike, groups: ArrayLike | None = None
) -> tuple[Floats, Floats]:
    """Count examples, and sum confidence minus correctness, by group and bin.

    Args:
        confidence: shape (n,), in [0, 1].
        correct: 0 or 1, same shape.
        bins: bin codes from 0, same shape.
        groups: consecutive codes from 0, same shape. Default: each example is its own group.
    Returns: numbers of examples and sums of differences, each of shape (n_groups, n_bins), the input of
        ``squared_calibration_error``.
    Raises: ValueError when shapes differ or a value is out of range.
    """
    sure, right = _checked(confidence, correct)
    cells, owners = np.asarray(bins), np.arange(sure.size) if groups is None else np.asarray(groups)
    if cells.shape != sure.shape or owners.shape != sure.shape:
        raise ValueError(f"bins and groups must have shape {sure.shape}, got {cells.shape} and {owners.shape}")
    n_groups, n_bins = int(owners.max()) + 1, int(cells.max()) + 1
    flat = owners * n_bins + cells
    shape = (n_groups, n_bins)
    sizes = np.bincount(flat, minlength=n_groups * n_bins).reshape(shape).astype(np.float64)
    differences = np.bincount(flat, weights=sure - right, minlength=n_groups * n_bins)
    return sizes, np.asarray(differences.reshape(shape), dtype=np.float64)


class CalibrationError(NamedTuple):
    """A squared calibration error with its sampling variation.

    Attributes:
        value: squared error in [-1, 1], lower is better; can be negative by chance if calibration is perfect; NaN
            if no bin has two groups.
        influences: influence of each group on the value, shape (n_groups,), summing to 0.
        chance: variance of the value under perfect calibration.
    """

    value: float
    influences: Floats
    chance: float


def squared_calibration_error(sizes: ArrayLike, differences: ArrayLike) -> CalibrationError:
    """Compute the squared L2 calibration error over bins, unbiased under perfect calibration.

    The square of a bin's mean difference is positively biased. It is replaced by the mean product of differences over
    all pairs of examples from different groups, which is not:
    ``e_b = ((sum_g d_gb)^2 - sum_g d_gb^2) / ((sum_g n_gb)^2 - sum_g n_gb^2)``. The error is the mean of ``e_b``
    weighted by bin size. With one example per group this is the squared mean difference minus its sampling variance.
    Bins with examples of only one group are ignored.

    Args:
        sizes: number of examples per group and bin, shape (n_groups, n_bins), from ``bin_counts``.
        differences: sums of confidence minus correctness, same shape.
    Raises: ValueError when shapes differ.
    Source: Kumar, Liang, Ma, "Verified Uncertainty Calibration" (2019), sec. 4 (debiased estimator, equal-mass bins);
        pairs over groups instead of examples, and the variance, are this project's.

    >>> squared_calibration_error([[1], [1]], [[0.5], [-0.5]]).value
    -0.25
    """
    n, d = np.asarray(sizes, dtype=np.float64), np.asarray(differences, dtype=np.float64)
    if n.ndim != 2 or n.shape != d.shape:
        raise ValueError(f"sizes and differences must share a shape (n_groups, n_bins), got {n.shape} and {d.shape}")
    total, summed = n.sum(axis=0), d.sum(axis=0)
    pairs = total**2 - (n**2).sum(axis=0)
    usable = pairs > 0.5
    if not usable.any():
        return CalibrationError(float("nan"), np.full(len(n), np.nan), float("nan"))
    n, d, total, summed, pairs = n[:, usable], d[:, usable], total[usable], summed[usable], pairs[usable]
    errors = (summed**2 - (d**2).sum(axis=0)) / pairs
    value = float(errors @ total / total.sum())
    share = total / total.sum() / pairs
    apart = d - n * (summed / total)
    influences = 2 * apart @ (share * summed) + n @ (errors - value) / total.sum()
    # Under perfect calibration the value is a sum over pairs of groups with mean 0 (a degenerate U-statistic).
    chance = 2 * float((np.outer(share, share) * (apart.T @ apart) ** 2).sum())
    return CalibrationError(value, influences, chance)


def calibration_limits(value: float, variance: float, chance: float, quantile: float) -> tuple[float, float]:
    """Compute the confidence limits of a squared calibration error (score-type interval).

    The variance is modelled as linear in the true error: ``chance`` under perfect calibration, plus the error times the
    slope ``variance / max(value, sqrt(chance))``. The limits solve
    ``(value - limit)^2 = t^2 (slope limit + chance)``.

    Args:
        value: squared error, in [-1, 1].
        variance: sum of the squared influences of the groups.
        chance: ``CalibrationError.chance``, at least 0.
        quantile: t, the quantile of Student's t.
    Returns: lower and upper limit, in the unit of ``value``.

    >>> [round(end, 4) for end in calibration_limits(0.01, 0.00004, 0.00001, 2.0)]
    [0.0018, 0.0342]
    """
    largest = max(value, chance**0.5)
    if largest == 0:
        return value, value
    half, square = quantile**2 * variance / largest / 2, quantile**2 * chance
    reach = max(half**2 + 2 * half * value + square, 0.0) ** 0.5
    return value + half - reach, value + half + reach


def brier_scores(probabilities: ArrayLike, labels: ArrayLike) -> Floats:
    """Compute the multi-class Brier score of each example: ``sum_k (p_k - [label = k])^2``.

    Args:
        probabilities: probability of every class, shape (..., n, n_classes), in [0, 1].
        labels: class codes, broadcasting with shape (..., n).
    Returns: squared differences in [0, 2], lower is better, shape (..., n).
    Raises: ValueError when a label or a probability is out of range.
    Source: Brier, "Verification of forecasts expressed in terms of probability" (1950), eq. 2.

    >>> brier_scores([[1.0, 0.0], [0.5, 0.5]], [0, 0]).tolist()
    [0.0, 0.5]
    """
    table, gold = np.asarray(probabilities, dtype=np.float64), np.asarray(labels)
    if table.ndim < 2 or not np.all((table >= 0) & (table <= 1)):
        raise ValueError("probabilities must have shape (..., n, n_classes) and lie in [0, 1]; did you pass logits?")
    if gold.size and (gold.min() < 0 or gold.max() >= table.shape[-1]):
        raise ValueError(f"labels must be codes from 0 to {table.shape[-1] - 1}")
    gold = np.broadcast_to(gold, table.shape[:-1])
    right = np.take_along_axis(table, gold[..., None], axis=-1)[..., 0]
    return np.asarray((table**2).sum(axis=-1) - 2 * right + 1)


def brier_limits(probabilities: ArrayLike, unlisted: ArrayLike, labels: ArrayLike) -> tuple[Floats, Floats]:
    """Compute lower and upper bounds of Brier scores if part of the probability mass is unknown.

    The true probabilities are ``p + u q`` for some q in the simplex. The squared error is convex in q: its maximum is
    at a vertex, its minimum raises the smallest differences ``p_k - [label = k]`` to one level (a projection onto the
    simplex).

    Args:
        probabilities: known probability mass per class, shape (n, n_classes); rows sum to 1 - ``unlisted``.
        unlisted: u, the mass not assigned to a class, shape (n,), in [0, 1].
        labels: class codes, shape (n,).
    Returns: lowest and highest scores, in [0, 2], shape (n,) each.
    Raises: ValueError when shapes differ or rows do not add up.

    >>> [limit.round(3).tolist() for limit in brier_limits([[0.6, 0.0]], [0.4], [0])]
    [[0.0], [0.32]]
    """
    table, free = np.asarray(probabilities, dtype=np.float64), np.asarray(unlisted, dtype=np.float64)
    if table.ndim != 2 or free.shape != table.shape[:1]:
        raise ValueError(
            f"probabilities (n, n_classes) and unlisted (n,) must share n, got {table.shape}, {free.shape}"
        )
    if not np.allclose(table.sum(axis=1) + free, 1.0) or np.any(free < 0):
        raise ValueError("known and unlisted probability must add up to 1 in each row")
    known = brier_scores(table, labels)
    gaps = np.sort(table - (np.asarray(labels)[:, None] == np.arange(table.shape[1])), axis=1)
    most = known + 2 * free * gaps[:, -1] + free**2
    # Raising the j smallest gaps to a common level uses the mass u; the minimum over j is the level of the projection.
    counts = np.arange(1, table.shape[1] + 1)
    level = ((free[:, None] + np.cumsum(gaps, axis=1)) / counts).min(axis=1)
    least = (np.maximum(gaps, level[:, None]) ** 2).sum(axis=1)
    return np.where(free > 0, least, known), most


def top_label_brier_scores(confidence: ArrayLike, correct: ArrayLike) -> Floats:
    """Compute the Brier score of each prediction's confidence: ``(confidence - correct)^2``.

    Args:
        confidence: shape (..., n), in [0, 1].
        correct: 0 or 1, same shape.
    Returns: squared differences in [0, 1], lower is better, same shape. It is not comparable with ``brier_scores``.
    Raises: ValueError when shapes differ or a value is out of range.

    >>> top_label_brier_scores([1.0, 0.5], [1, 0]).tolist()
    [0.0, 0.25]
    """
    sure, right = _checked(confidence, correct)
    return np.asarray((sure - right) ** 2)


def _checked(confidence: ArrayLike, correct: ArrayLike) -> tuple[Floats, Floats]:
    sure, right = np.asarray(confidence, dtype=np.float64), np.asarray(correct, dtype=np.float64)
    if sure.shape != right.shape or sure.ndim < 1 or not sure.shape[-1]:
        raise ValueError(
            f"confidence and correct must share a shape (..., n), n > 0, got {sure.shape} and {right.shape}"
        )
    if not np.all((sure >= 0) & (sure <= 1)):
        raise ValueError("confidences must lie in [0, 1]; did you pass percent or logits?")
    if not np.all((right == 0) | (right == 1)):
        raise ValueError("correct must be 0 or 1; did you pass labels?")
    return sure, right
