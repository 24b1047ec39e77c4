"""Calibration of confidences: overconfidence, squared calibration error without its bias, Brier score.

A confidence is the probability that a model gives to its own prediction. Everything here is made of *additive
counts*, summed by group. The usual expected calibration error takes absolute
differences within bins, which are above 0 by chance alone, the more so the fewer examples a bin has; test sets of
different sizes cannot be compared by it. The squared difference has a known bias, which is taken off.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

N_BINS = 15
"""Bins of equal mass, where there are groups enough."""
MIN_BIN_GROUPS = 10
"""With fewer groups a bin there are fewer bins."""


def overconfidence(confidence: ArrayLike, correct: ArrayLike) -> Floats:
    """Compute mean confidence less accuracy.

    Args:
        confidence: probability given to each prediction, in [0, 1], shape (..., n), n > 0.
        correct: whether it was right (0 or 1), same shape.
    Returns: a difference in [-1, 1], shape (...,). Above 0: more sure than right; 0 does not mean calibrated.
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
        n_bins: number of bins, at least 1; ties may leave fewer.
    Returns: codes from 0 in the order of confidence, without a gap, shape (n,).
    Raises: ValueError when there is no example or no bin.

    >>> equal_mass_bins([0.5, 0.9, 0.9, 0.6], 2).tolist()
    [0, 1, 1, 0]
    """
    sure = np.asarray(confidence, dtype=np.float64)
    if sure.ndim != 1 or not sure.size or n_bins < 1:
        raise ValueError(f"confidence must have shape (n,), n > 0, and n_bins be above 0; got {sure.shape}, {n_bins}")
    _, level, counts = np.unique(sure, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - 0.5 * counts  # the mean rank of equal confidences
    codes = (middle * n_bins / sure.size).astype(np.int64)[level]
    return np.asarray(np.unique(codes, return_inverse=True)[1], dtype=np.int64)


def bin_counts(
    confidence: ArrayLike, correct: ArrayLike, bins: ArrayLike, groups: ArrayLike | None = None
) -> tuple[Floats, Floats]:
    """Count examples, and sum confidence less correctness, by group and bin.

    Args:
        confidence: shape (n,), in [0, 1].
        correct: 0 or 1, same shape.
        bins: codes from 0, same shape.
        groups: codes from 0 without a gap, same shape. Default: each example is a group of its own.
    Returns: numbers of examples, and sums of the differences, shape (n_groups, n_bins) each: what
        ``squared_calibration_error`` takes.
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
    """A squared calibration error, and how it varies.

    Attributes:
        value: squared differences in [-1, 1], lower is better; below 0 by chance where calibration is perfect; NaN
            where no bin has two groups.
        influences: what each group moves it by, shape (n_groups,), summing to 0.
        chance: its variance were calibration perfect.
    """

    value: float
    influences: Floats
    chance: float


def squared_calibration_error(sizes: ArrayLike, differences: ArrayLike) -> CalibrationError:
    """Compute the squared L2 calibration error over bins, without bias under perfect calibration.

    The square of a bin's mean difference is above 0 by chance. Products of two examples' differences are not: so the
    square is replaced by the mean product over all pairs of examples from different groups,
    ``e_b = ((sum_g d_gb)^2 - sum_g d_gb^2) / ((sum_g n_gb)^2 - sum_g n_gb^2)``, and the error is the mean of ``e_b``
    weighted by the bins' sizes. With groups of one example that is the squared mean difference less its sampling
    variance. Bins whose examples are all of one group take no part.

    Args:
        sizes: examples of each group and bin, shape (n_groups, n_bins), from ``bin_counts``.
        differences: their summed confidence less correctness, same shape.
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
    chance = 2 * float((np.outer(share, share) * (apart.T @ apart) ** 2).sum())
    return CalibrationError(value, influences, chance)


def calibration_limits(value: float, variance: float, chance: float, quantile: float) -> tuple[float, float]:
    """Compute the limits of a squared calibration error, at each of which the variance is that of a true error there.

    The variance is ``chance`` where calibration is perfect, and grows with the true error by a slope that influences
    show, ``variance / max(value, sqrt(chance))``; limits solve ``(value - limit)^2 = t^2 (slope limit + chance)``.

    Args:
        value: squared error, in [-1, 1].
        variance: sum of the squares of the groups' influences.
        chance: ``CalibrationError.chance``, at least 0.
        quantile: of Student's t.

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
        probabilities: of every class, shape (..., n, n_classes), in [0, 1].
        labels: class codes, broadcasting with shape (..., n).
    Returns: squared differences in [0, 2], lower is better, shape (..., n).
    Raises: ValueError when a label is no class or a probability out of range.
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
    """Compute the least and the most that Brier scores can be where part of the probability is not known.

    The true probabilities are ``p + u q`` for some q of the simplex. The squared error is convex in q: its most is at a
    corner; its least levels the differences ``p_k - [label = k]`` from below (a projection on the simplex).

    Args:
        probabilities: the known part of every class, shape (n, n_classes); rows add up to 1 - ``unlisted``.
        unlisted: u, what is not known of any class, shape (n,), in [0, 1].
        labels: class codes, shape (n,).
    Returns: lowest and highest scores, in [0, 2], shape (n,) each.
    Raises: ValueError when shapes differ or rows do not add up.

    >>> [limit.round(3).tolist() for limit in brier_limits([[0.6, 0.0]], [0.4], [0])]
    [[0.0], [0.32]]
    """
    table, free = np.asarray(probabilities, dtype=np.float64), np.asarray(unlisted, dtype=np.float64)
    if table.ndim != 2 or free.shape != table.shape[:1]:
        raise ValueError(f"probabilities (n, n_classes) and unlisted (n,) must fit, got {table.shape}, {free.shape}")
    if not np.allclose(table.sum(axis=1) + free, 1.0) or np.any(free < 0):
        raise ValueError("the known part and what is unlisted must add up to 1 in each row")
    known = brier_scores(table, labels)
    gaps = np.sort(table - (np.asarray(labels)[:, None] == np.arange(table.shape[1])), axis=1)
    most = known + 2 * free * gaps[:, -1] + free**2
    # The j smallest gaps are raised to one level; the least of these levels uses up exactly what is free.
    counts = np.arange(1, table.shape[1] + 1)
    level = ((free[:, None] + np.cumsum(gaps, axis=1)) / counts).min(axis=1)
    least = (np.maximum(gaps, level[:, None]) ** 2).sum(axis=1)
    return np.where(free > 0, least, known), most


def top_label_brier_scores(confidence: ArrayLike, correct: ArrayLike) -> Floats:
    """Compute the Brier score of each prediction's own confidence: ``(confidence - correct)^2``.

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
