"""Forecasts that look at no text of the target, and the average of others.

The average of forecasts: errors of methods that rest on different assumptions cancel in part.

Second floor: the source score less what shifts between the other domains cost on average.

First floor: the accuracy at home, as it is. A method that does not beat it knows nothing of the target.
"""

import numpy as np
from numpy.typing import ArrayLike

from shiftbench.metrics.forecasts._checks import NoForecastError, shares

MIN_METHODS = 2
"""Methods below which an average is one method by another name."""


def average_forecast(values: ArrayLike) -> float:
    """Average the forecasts of several methods, equally weighted.

    Args:
        values: of each method that has one, floors left out, shape (n_methods,), in [0, 1].
    Returns: a fraction in [0, 1].
    Raises: NoForecastError with fewer than ``MIN_METHODS`` methods.

    >>> average_forecast([0.5, 0.75])
    0.625
    """
    if np.size(values) < MIN_METHODS:
        raise NoForecastError(f"an average needs {MIN_METHODS} methods with a forecast")
    return float(shares("values", values).mean())


def less_mean_drop(source_score: float, source_scores: ArrayLike, target_scores: ArrayLike) -> float:
    """Forecast the source score less the mean drop of known shifts.

    The target must be neither source nor target of the known shifts, or its labels are in the forecast.

    Args:
        source_score: at home, in [0, 1].
        source_scores: score at home of each known shift's model, shape (n_shifts,), in [0, 1].
        target_scores: its score under the shift, same shape.
    Returns: a fraction, cut to [0, 1].
    Raises: NoForecastError without a known shift; ValueError when a shape or a value is wrong.

    >>> round(less_mean_drop(0.8, [0.9, 0.7], [0.8, 0.5]), 6)
    0.65
    """
    if np.size(source_scores) == 0:
        raise NoForecastError("no shift between other domains has labels")
    home, away = shares("source_scores", source_scores), shares("target_scores", target_scores)
    if home.shape != away.shape:
        raise ValueError(f"scores must share a shape, got {home.shape} and {away.shape}")
    return float(np.clip(source_score - (home - away).mean(), 0.0, 1.0))


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
