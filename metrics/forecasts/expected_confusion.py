"""The confusion table to expect: what calibrated probabilities say of gold labels, given what was predicted."""

import numpy as np
from numpy.typing import ArrayLike

from shiftbench.metrics.classification import macro_f1
from shiftbench.metrics.forecasts._checks import Floats, class_codes, probability_table


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
