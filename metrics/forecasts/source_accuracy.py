"""First floor: the accuracy at home, as it is. A method that does not beat it knows nothing of the target."""

from numpy.typing import ArrayLike

from shiftbench.metrics.forecasts._checks import shares


def source_accuracy(correct: ArrayLike) -> float:
    """Forecast that nothing changes.

    Args:
        correct: score of each held-out source text in [0, 1] (0 or 1 of a label), shape (n,), n > 0.
    Returns: their mean, in [0, 1].
    Raises: ValueError when the shape or a value is wrong.

    >>> source_accuracy([1, 1, 0, 1])
    0.75
    """
    return float(shares("correct", correct).mean())
