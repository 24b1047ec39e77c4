"""Black-box shift estimation (BBSE): the target's class shares from what is predicted there, then its accuracy."""

import numpy as np
from numpy.typing import ArrayLike

from shiftbench.metrics.forecasts._checks import Floats, NoForecastError, class_codes

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
