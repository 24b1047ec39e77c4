"""Difference of confidences (DoC): accuracy falls by as much as the mean confidence does."""

import numpy as np
from numpy.typing import ArrayLike

from shiftbench.metrics.forecasts._checks import probability_table, shares


def difference_of_confidences(source: ArrayLike, correct: ArrayLike, target: ArrayLike) -> float:
    """Forecast ``accuracy_S + mean_T max_k p - mean_S max_k p``.

    It assumes that a model is as much too sure (or unsure) in the target as at home.

    Args:
        source: probabilities of held-out source texts, shape (n_source, n_classes).
        correct: whether each was predicted right, shape (n_source,).
        target: probabilities of the target texts, shape (n_target, n_classes).
    Returns: a fraction, cut to [0, 1].
    Raises: ValueError when shapes differ or a table holds no distributions.
    Source: Guillory et al., "Predicting with confidence on unseen distributions" (2021), DoC without a regression.

    >>> round(difference_of_confidences([[0.9, 0.1], [0.7, 0.3]], [1, 0], [[0.6, 0.4]]), 6)
    0.3
    """
    home, right = probability_table("source", source), shares("correct", correct)
    if right.size != len(home):
        raise ValueError(f"source and correct differ in length: {len(home)} and {right.size}")
    away = probability_table("target", target)
    return float(np.clip(right.mean() + away.max(axis=1).mean() - home.max(axis=1).mean(), 0.0, 1.0))
