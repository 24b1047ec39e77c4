"""The average of forecasts: errors of methods that rest on different assumptions cancel in part."""

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
