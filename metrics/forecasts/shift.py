"""Forecasts from the shares of classes, or of texts, that the target is estimated to have.

Black-box shift estimation (BBSE): the target's class shares from what is predicted there, then its accuracy.

The confusion table to expect: what calibrated probabilities say of gold labels, given what was predicted.

Class shares of the target by expectation maximisation over its probabilities.

Importance weighting: source texts count by how much they look like the target's.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from shiftbench.metrics.classification import macro_f1
from shiftbench.metrics.depth import effective_size
from shiftbench.metrics.forecasts._checks import Floats, NoForecastError, class_codes, probability_table, shares

MAX_CONDITION = 1e3
"""Condition number of the confusion table above which its inverse is noise."""


def black_box_shares(
    source_labels: ArrayLike, source_predicted: ArrayLike, target_predicted: ArrayLike, n_classes: int
) -> Floats:
    """Estimate the target's class shares: those under which the source's errors give the target's predictions.

    With ``C[j, k] = Pr(predicted j, label k)`` at home and ``mu[j] = Pr(predicted j)`` in the target, the ratios of
    shares are ``w = C^-1 mu``; ratios below 0 are set to 0.

    Args:
        source_labels: gold codes of held-out source texts, shape (n_source,), in [0, n_classes).
        source_predicted: predicted codes, same shape; n_classes stands for unusable output, which takes no part.
        target_predicted: predicted codes in the target, shape (n_target,).
        n_classes: number of classes.
    Returns: shares, shape (n_classes,), summing to 1.
    Raises: NoForecastError when the confusion table has no inverse, as with one class predicted only.
    Source: Lipton, Wang, Smola, "Detecting and correcting for label shift with black box predictors" (2018), BBSE with
        predicted labels (hard).
    """
    counts = joint_counts(source_labels, source_predicted, n_classes) / np.size(source_labels)
    prior, table = counts.sum(axis=1), counts[:, :n_classes]
    away = class_codes("target_predicted", target_predicted, np.size(target_predicted), n_classes + 1)
    predicted = np.bincount(away, minlength=n_classes + 1)[:n_classes] / away.size
    if np.any(prior == 0) or np.linalg.cond(table) > MAX_CONDITION:
        raise NoForecastError(
            "the confusion table at home has no inverse: some class is hardly ever predicted or labelled"
        )
    ratios = np.maximum(np.linalg.solve(table.T, predicted), 0.0)
    shares = ratios * prior
    if shares.sum() <= 0:
        raise NoForecastError("no class shares give the predictions of the target")
    return np.asarray(shares / shares.sum())


def accuracy_at_shares(source_labels: ArrayLike, source_predicted: ArrayLike, target_shares: ArrayLike) -> float:
    """Forecast accuracy with the recalls at home and the target's class shares: ``sum_k q_k recall_k``.

    It assumes label shift: texts of a class are alike in both domains.

    Args:
        source_labels: gold codes, shape (n_source,).
        source_predicted: predicted codes, same shape.
        target_shares: share of each class in the target, shape (n_classes,), summing to 1.
    Returns: a fraction in [0, 1].
    Raises: NoForecastError when a class with a share has no label at home.

    >>> round(accuracy_at_shares([0, 0, 1, 1], [0, 0, 0, 1], [0.2, 0.8]), 6)
    0.6
    """
    q = np.asarray(target_shares, dtype=np.float64)
    table = joint_counts(source_labels, source_predicted, q.size)
    sizes = table.sum(axis=1)
    if np.any((sizes == 0) & (q > 0)):
        raise NoForecastError("a class of the target has no label among the source's held-out texts")
    recalls = np.divide(np.diag(table[:, : q.size]), sizes, out=np.zeros(q.size), where=sizes > 0)
    return float(np.clip(q @ recalls, 0.0, 1.0))  # shares sum to 1 up to rounding


def joint_counts(labels: ArrayLike, predicted: ArrayLike, n_classes: int) -> Floats:
    """Count texts by gold class and predicted class, shape (n_classes, n_classes + 1)."""
    n = np.size(labels)
    gold = class_codes("source_labels", labels, n, n_classes)
    flat = gold * (n_classes + 1) + class_codes("source_predicted", predicted, n, n_classes + 1)
    return np.bincount(flat, minlength=n_classes * (n_classes + 1)).reshape(n_classes, -1).astype(np.float64)


def expected_confusion(target: ArrayLike, predicted: ArrayLike) -> Floats:
    """Sum each text's probabilities as if they were its share of gold labels.

    It assumes probabilities that are calibrated in the target, class by class.

    Args:
        target: calibrated probabilities, shape (n, n_classes).
        predicted: predicted codes, shape (n,); n_classes stands for unusable output.
    Returns: expected counts by gold and predicted class, shape (n_classes, n_classes + 1), summing to n.
    Raises: ValueError when a shape does not fit.

    >>> expected_confusion([[0.75, 0.25], [0.5, 0.5]], [0, 1]).tolist()
    [[0.75, 0.5, 0.0], [0.25, 0.5, 0.0]]
    """
    table = probability_table("target", target)
    n, n_classes = table.shape
    codes = class_codes("predicted", predicted, n, n_classes + 1)
    counts = np.zeros((n_classes, n_classes + 1))
    np.add.at(counts.T, codes, table)
    return counts


def expected_macro_f1(target: ArrayLike, predicted: ArrayLike) -> float:
    """Forecast macro-F1: that of the expected confusion table.

    F1 of expected counts is not the expected F1; the difference shrinks with the number of texts.

    Args:
        target: as for ``expected_confusion``.
        predicted: likewise.
    Returns: a fraction in [0, 1].
    Source: as average confidence, cell by cell of the table; this project's.
    """
    return float(macro_f1(expected_confusion(target, predicted)))


_ROUNDS, _CLOSE = 10_000, 1e-8


def shares_by_em(target: ArrayLike, source_prior: ArrayLike) -> Floats:
    """Estimate the target's class shares: those that make its texts most likely.

    Each round adjusts the probabilities to the shares so far, ``p_k q_k / prior_k``, and averages them to new shares.
    It assumes label shift, and probabilities that are calibrated at home.

    Args:
        target: probabilities of the target texts under the source's shares, shape (n, n_classes).
        source_prior: share of each class that the probabilities hold for, shape (n_classes,), summing to 1.
    Returns: shares, shape (n_classes,), summing to 1; a class without a share at home has none.
    Raises: NoForecastError when the rounds do not settle; ValueError when a shape does not fit.
    Source: Saerens, Latinne, Decaestecker, "Adjusting the outputs of a classifier to new a priori probabilities"
        (2002), eq. 2.9.

    >>> shares_by_em([[0.9, 0.1], [0.9, 0.1], [0.1, 0.9], [0.1, 0.9]], [0.5, 0.5]).round(4).tolist()
    [0.5, 0.5]
    """
    table, prior = probability_table("target", target), np.asarray(source_prior, dtype=np.float64)
    if prior.shape != table.shape[1:] or np.any(prior < 0) or abs(prior.sum() - 1) > 1e-6:
        raise ValueError(f"source_prior must be {table.shape[1]} shares that sum to 1, got {prior.tolist()}")
    ratios = np.divide(table, prior, out=np.zeros_like(table), where=prior > 0)
    shares = prior
    for _ in range(_ROUNDS):
        weighted = ratios * shares
        totals = weighted.sum(axis=1, keepdims=True)
        if not np.all(totals > 0):
            raise NoForecastError("a target text has probability 0 for every class of the source")
        after = (weighted / totals).mean(axis=0)
        if np.abs(after - shares).max() < _CLOSE:
            return np.asarray(after)
        shares = after
    raise NoForecastError(f"the target's class shares did not settle in {_ROUNDS:,} rounds")


MIN_EFFECTIVE = 30
"""Effective source texts below which the weighted mean is a handful of texts."""


class Weighted(NamedTuple):
    """A weighted mean, and the number of equally weighted texts that would be as precise."""

    value: float
    effective_size: float


def importance_weights(target_probability: ArrayLike, n_target: int) -> Floats:
    """Return the density of the target over that of the source at each source text.

    Args:
        target_probability: as for ``importance_weighted``, shape (n_source,).
        n_target: likewise.
    Returns: weights >= 0, not all 0, shape (n_source,); ``metrics.depth.effective_size`` is their effective number.
    Raises: NoForecastError where all are 0; ValueError when a probability is not in [0, 1).

    >>> importance_weights([0.5, 0.2], 2).tolist()
    [1.0, 0.25]
    """
    odds = shares("target_probability", target_probability)
    if np.any(odds >= 1) or n_target < 1:
        raise ValueError("probabilities must be below 1, and there must be target texts")
    weights = odds / (1 - odds) * odds.size / n_target
    if not weights.any():
        raise NoForecastError("no source text looks like a target text")
    return np.asarray(weights)


def importance_weighted(correct: ArrayLike, target_probability: ArrayLike, n_target: int) -> Weighted:
    """Forecast the source score weighted by the density of the target over that of the source.

    A classifier tells source from target texts by their embeddings; of a source text x its odds, with the sizes taken
    off, are the ratio of densities: ``w(x) = p(T|x) / p(S|x) * n_source / n_target``. It assumes covariate shift: the
    chance to be right given a text does not change, and the source has texts like all of the target's.

    Args:
        correct: score of each held-out source text in [0, 1], shape (n_source,).
        target_probability: the classifier's probability, on rows that it was not fitted to, that each comes from the
            target, shape (n_source,), in [0, 1).
        n_target: target texts that the classifier was fitted to.
    Returns: the weighted mean in [0, 1], and the effective sample size.
    Raises: NoForecastError when fewer than ``MIN_EFFECTIVE`` texts are effectively left; ValueError when shapes differ.
    Source: Shimodaira, "Improving predictive inference under covariate shift" (2000); weights from a classifier,
        Bickel, Bruckner, Scheffer, "Discriminative learning under covariate shift" (2009).

    >>> importance_weighted([1, 0] * 40, [0.5, 0.2] * 40, 80).value
    0.8
    """
    right, weights = shares("correct", correct), importance_weights(target_probability, n_target)
    if right.shape != weights.shape:
        raise ValueError(f"correct and target_probability must share a shape, got {right.shape} and {weights.shape}")
    size = effective_size(weights)
    if size < MIN_EFFECTIVE:
        raise NoForecastError(f"{size:.0f} source texts are effectively left, fewer than {MIN_EFFECTIVE}")
    return Weighted(float((weights * right).sum() / weights.sum()), size)
