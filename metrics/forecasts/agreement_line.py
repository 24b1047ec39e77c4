"""Agreement on the line: what agreement between models loses under a shift, accuracy loses, too."""

from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from shiftbench.metrics.forecasts._checks import Floats, NoForecastError, fit_shift_line, shares

MIN_MODELS = 10
"""Models below which the line is not drawn: its slope would be noise."""
_INSIDE = 1e-3


def agreement_on_the_line(source_predicted: ArrayLike, source_scores: ArrayLike, target_predicted: ArrayLike) -> Floats:
    """Forecast the accuracy of each model from the line on which pairs of models agree.

    ``probit(agreement_T) = a probit(agreement_S) + b`` is fitted over all pairs of models; the forecast is
    ``Phi(a probit(accuracy_S) + b)``. It assumes that accuracies lie on the line of agreements.

    Args:
        source_predicted: class codes of each model on the same held-out source texts, shape (n_models, n_source).
        source_scores: accuracy of each model there, shape (n_models,).
        target_predicted: class codes on the same target texts, shape (n_models, n_target).
    Returns: fractions in (0, 1), shape (n_models,).
    Raises: NoForecastError with fewer than ``MIN_MODELS`` models, or where all pairs agree alike; ValueError when
        shapes differ.
    Source: Baek, Jiang, Raghunathan, Kolter, "Agreement-on-the-line" (2022), estimator ALine-S.
    """
    home, away = np.asarray(source_predicted), np.asarray(target_predicted)
    accuracy = shares("source_scores", source_scores)
    if home.ndim != 2 or away.ndim != 2 or not len(home) == len(away) == accuracy.size:
        raise ValueError(f"models differ in number: shapes {home.shape}, {away.shape} and {accuracy.shape}")
    if len(home) < MIN_MODELS:
        raise NoForecastError(f"a line of agreements needs {MIN_MODELS} models of one source, there are {len(home)}")
    pairs = list(combinations(range(len(home)), 2))
    agreed = [np.array([(table[a] == table[b]).mean() for a, b in pairs]) for table in (home, away)]
    from scipy.special import ndtr

    slope, intercept = fit_shift_line(*(_probit(each) for each in agreed))
    return np.asarray(ndtr(slope * _probit(accuracy) + intercept))


def _probit(values: Floats) -> Floats:
    """Return normal quantiles; shares of 0 and 1, which have none, are moved inside by a thousandth."""
    from scipy.special import ndtri

    return np.asarray(ndtri(np.clip(values, _INSIDE, 1 - _INSIDE)))
