"""Selective prediction: how well confidence ranks correct predictions above errors.

*Failure AUROC*: the probability that a correct prediction has a higher confidence than a wrong one. *AURC*: the error
rate among the most confident predictions, averaged over all coverages; *excess* AURC subtracts the AURC of the optimal
ranking of the same errors, so that it does not penalise low accuracy again.

Both include the *influence* of each example, the derivative with respect to its weight. Sums of influences by group
give the variance.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Ranked:
    """A statistic with the influence of each example, shape (n,), mean 0; NaN if undefined."""

    value: float
    influence: Floats


def failure_auroc(confidence: ArrayLike, correct: ArrayLike) -> Ranked:
    """Compute failure AUROC, the area under the ROC curve of confidence as a predictor of correctness; ties count half.

    Args:
        confidence: shape (n,), any finite scores.
        correct: 0 or 1, same shape.
    Returns: the area in [0, 1], higher is better, 0.5 by chance; NaN if all are correct or all are wrong. Influences
        are those of DeLong, DeLong and Clarke-Pearson (1988).
    Raises: ValueError when shapes differ, a value is not finite or there is no example.
    Source: Hendrycks and Gimpel, "A baseline for detecting misclassified and out-of-distribution examples" (2017).

    >>> failure_auroc([0.9, 0.8, 0.7], [1, 0, 1]).value
    0.5
    """
    sure, right = _checked(confidence, correct)
    n_right, n = right.sum(), right.size
    if n_right in (0, n):
        return Ranked(float("nan"), np.full(n, np.nan))
    _, level, sizes = np.unique(sure, return_inverse=True, return_counts=True)
    rights = np.bincount(level, weights=right)
    wrongs = sizes - rights
    # Fraction of wrong predictions below each confidence level, and of correct ones above it.
    wrong_below = (np.cumsum(wrongs) - 0.5 * wrongs) / wrongs.sum()
    right_above = 1 - (np.cumsum(rights) - 0.5 * rights) / n_right
    value = float(rights @ wrong_below / n_right)
    share = n_right / n
    influence = np.where(right == 1, (wrong_below[level] - value) / share, (right_above[level] - value) / (1 - share))
    return Ranked(value, influence)


def risk_coverage(confidence: ArrayLike, correct: ArrayLike) -> Floats:
    """Compute the error rate among the k most confident predictions, for every k.

    Args:
        confidence: shape (n,), any finite scores.
        correct: 0 or 1, same shape.
    Returns: fractions, shape (n,): element k - 1 is the error rate of the k most confident. Ties are averaged over all
        orders.
    Raises: ValueError as ``failure_auroc``.

    >>> risk_coverage([0.9, 0.8, 0.7], [1, 0, 1]).round(3).tolist()
    [0.0, 0.5, 0.333]
    """
    sure, right = _checked(confidence, correct)
    errors = _in_order(sure, right)
    return np.asarray(np.cumsum(errors) / np.arange(1, errors.size + 1))


def excess_aurc(confidence: ArrayLike, correct: ArrayLike) -> Ranked:
    """Compute the area under the risk-coverage curve minus that of the optimal ranking of the same errors.

    ``AURC = mean over k of risk(k)``; the optimal ranking puts all correct predictions first.

    Args:
        confidence: shape (n,), any finite scores.
        correct: 0 or 1, same shape.
    Returns: the area in [0, 1], lower is better, 0 for the optimal ranking (and if all are correct or all are wrong).
        Influences are those of the large-sample limit, where r is the error rate:
        ``E[error x -ln(fraction at least as confident)] - (r + (1 - r) ln(1 - r))``.
    Raises: ValueError as ``failure_auroc``.
    Source: Geifman, Uziel, El-Yaniv, "Bias-reduced uncertainty estimation for deep neural classifiers" (2019), sec. 5.

    >>> round(excess_aurc([0.9, 0.8, 0.7], [1, 0, 1]).value, 4)
    0.1667
    """
    sure, right = _checked(confidence, correct)
    n = right.size
    best = np.sort(1 - right)
    counts = np.arange(1, n + 1)
    value = float((risk_coverage(sure, right) - np.cumsum(best) / counts).mean())
    return Ranked(value, _aurc_influence(sure, right) - _best_influence(right))


def _aurc_influence(sure: Floats, right: Floats) -> Floats:
    """Compute the influence on AURC: an example's error at its rank, and its effect on all lower ranks."""
    _, level, sizes = np.unique(sure, return_inverse=True, return_counts=True)
    n = right.size
    above = np.cumsum(sizes[::-1])[::-1] / n  # fraction at least as confident
    middle = above - 0.5 * sizes / n  # half of the ties count as ranked before
    errors = np.bincount(level, weights=1 - right) / n
    at_place = (1 - right) * -np.log(middle)[level]
    pushed = np.cumsum(errors / middle) - 0.5 * errors / middle
    influence = at_place - pushed[level]
    return np.asarray(influence - influence.mean())


def _best_influence(right: Floats) -> Floats:
    """Compute the influence on the optimal AURC, whose derivative in the error rate r is -ln(1 - r); 0 if r = 1."""
    share = right.mean()
    return np.asarray((right.mean() - right) * -np.log(share) if share > 0 else np.zeros(right.size))


def _in_order(sure: Floats, right: Floats) -> Floats:
    """Sort errors by decreasing confidence; ties get their mean error."""
    _, level, sizes = np.unique(sure, return_inverse=True, return_counts=True)
    means = np.bincount(level, weights=1 - right) / sizes
    return np.asarray(np.repeat(means[::-1], sizes[::-1]))


def _checked(confidence: ArrayLike, correct: ArrayLike) -> tuple[Floats, Floats]:
    sure, right = np.asarray(confidence, dtype=np.float64), np.asarray(correct, dtype=np.float64)
    if sure.ndim != 1 or not sure.size or sure.shape != right.shape or not np.isfinite(sure).all():
        raise ValueError(f"confidence and correct must be finite and have the same shape (n,), n > 0, got {sure.shape}")
    if not np.all((right == 0) | (right == 1)):
        raise ValueError("correct must be 0 or 1; did you pass labels?")
    return sure, right
