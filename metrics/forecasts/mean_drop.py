"""Second floor: the source score less what shifts between the other domains cost on average."""

import numpy as np
from numpy.typing import ArrayLike

from shiftbench.metrics.forecasts._checks import NoForecastError, shares


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
