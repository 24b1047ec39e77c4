"""Disagreement of two training runs (GDE): where they differ as often as one of them errs."""

import numpy as np
from numpy.typing import ArrayLike

from shiftbench.metrics.forecasts._checks import NoForecastError


def agreement_of_seeds(predicted: ArrayLike, others: ArrayLike) -> float:
    """Forecast the share of target texts on which other runs of the same recipe agree with this one.

    It assumes that the ensemble of all runs is calibrated on the target, class by class.

    Args:
        predicted: class codes of the run, shape (n,), n > 0.
        others: those of runs with other seeds, shape (n_others, n); the mean over them counts.
    Returns: a fraction in [0, 1].
    Raises: NoForecastError without another run, or where no text is predicted differently; ValueError when shapes
        differ.
    Source: Jiang, Nagarajan, Baek, Kolter, "Assessing generalization of SGD via disagreement" (2022), sec. 4.

    >>> agreement_of_seeds([0, 1, 1, 2], [[0, 1, 0, 2]])
    0.75
    """
    own, more = np.asarray(predicted), np.asarray(others)
    if not len(more):
        raise NoForecastError("there is one seed; disagreement needs a second run of the same source")
    if own.ndim != 1 or not own.size or more.ndim != 2 or more.shape[1] != own.size:
        raise ValueError(f"others must have shape (n_others, n), predicted (n,), got {more.shape} and {own.shape}")
    if np.all(more == own):
        raise NoForecastError("runs of all seeds predict the same: training does not depend on the seed")
    return float((more == own).mean())
