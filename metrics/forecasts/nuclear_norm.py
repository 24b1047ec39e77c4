"""Nuclear norm: probabilities that are sure and spread over the classes have a large one; accuracy goes with it."""

import numpy as np
from numpy.typing import ArrayLike

from shiftbench.metrics.forecasts._checks import fit_shift_line, probability_table


def nuclear_norm(probabilities: ArrayLike) -> float:
    """Return the nuclear norm as a share of the largest that a table of this shape can have.

    ``sum of singular values / sqrt(min(n, n_classes) n)``: 1 where all texts are sure and classes equally frequent.

    Args:
        probabilities: shape (n, n_classes).
    Returns: a number in (0, 1].
    Raises: ValueError when the table holds no distributions.
    Source: Deng, Suh, Gould, Zheng, "Confidence and dispersity speak: characterizing prediction matrix for
        unsupervised accuracy estimation" (2023), the normalised nuclear norm.

    >>> round(nuclear_norm([[1.0, 0.0], [0.0, 1.0]]), 6)
    1.0
    """
    table = probability_table("probabilities", probabilities)
    n, n_classes = table.shape
    # Singular values from the Gram matrix of the classes: its size does not grow with the texts.
    squares = np.linalg.eigvalsh(table.T @ table) if n >= n_classes else np.linalg.eigvalsh(table @ table.T)
    return float(np.sqrt(np.maximum(squares, 0.0)).sum() / np.sqrt(min(n, n_classes) * n))


def accuracy_by_norm(norm: float, known_norms: ArrayLike, known_scores: ArrayLike) -> float:
    """Forecast accuracy by the line of accuracy on norm through other domains' shifts.

    The paper draws the line through many changed copies of one test set; here it is through the labelled shifts
    between other domains. It assumes that one line holds for all of them.

    Args:
        norm: of the target, from ``nuclear_norm``.
        known_norms: of the known shifts, shape (n_shifts,).
        known_scores: their accuracies, same shape.
    Returns: a fraction, cut to [0, 1].
    Raises: NoForecastError where ``fit_shift_line`` finds no line.
    Source: as ``nuclear_norm``, which regresses accuracy on the norm linearly.

    >>> round(accuracy_by_norm(0.6, [0.5, 0.7, 0.9], [0.5, 0.6, 0.7]), 6)
    0.55
    """
    slope, intercept = fit_shift_line(known_norms, known_scores)
    return float(np.clip(slope * norm + intercept, 0.0, 1.0))
