"""Average confidence: the mean of the highest probability, which is accuracy where confidences are calibrated."""

from numpy.typing import ArrayLike

from shiftbench.metrics.forecasts._checks import probability_table


def average_confidence(target: ArrayLike) -> float:
    """Forecast the mean confidence: ``mean_i max_k p_ik``.

    It assumes that probabilities stay calibrated under the shift.

    Args:
        target: probabilities of the target texts, shape (n, n_classes), calibrated at home.
    Returns: a fraction in [1 / n_classes, 1].
    Raises: ValueError when the table holds no distributions.
    Source: Hendrycks and Gimpel, "A baseline for detecting misclassified and out-of-distribution examples in neural
        networks" (2017), for the score; as an estimate of accuracy, AC in Garg et al. (2022).

    >>> average_confidence([[0.5, 0.5], [1.0, 0.0]])
    0.75
    """
    return float(probability_table("target", target).max(axis=1).mean())
