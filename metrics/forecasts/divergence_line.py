"""Regression on divergence: drops between other domains, as a line over how far these are apart."""

import numpy as np
from numpy.typing import ArrayLike

from shiftbench.metrics.forecasts._checks import fit_shift_line


def score_by_divergence(
    source_score: float, divergence: float, known_divergences: ArrayLike, known_drops: ArrayLike
) -> float:
    """Forecast the source score less the drop that a line gives at the divergence of source and target.

    The target must be neither source nor target of the known shifts. It assumes that drops grow with divergence alike
    between all domains.

    Args:
        source_score: at home, in [0, 1].
        divergence: of source and target, such as Jensen-Shannon's in [0, 1] (``metrics.divergence``).
        known_divergences: of the known shifts, shape (n_shifts,).
        known_drops: their source scores less scores under shift, same shape, in [-1, 1].
    Returns: a fraction, cut to [0, 1].
    Raises: NoForecastError where ``fit_shift_line`` finds no line.
    Source: Ramesh Kashyap et al., "Domain divergences: a survey and empirical analysis" (2021) and Elsahar and Galle,
        "To annotate or not? Predicting performance drop under domain shift" (2019), which regress drops on divergence.

    >>> round(score_by_divergence(0.9, 0.3, [0.1, 0.2, 0.4], [0.05, 0.1, 0.2]), 6)
    0.75
    """
    slope, intercept = fit_shift_line(known_divergences, known_drops)
    return float(np.clip(source_score - slope * divergence - intercept, 0.0, 1.0))
