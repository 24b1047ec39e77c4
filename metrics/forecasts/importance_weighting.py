"""Importance weighting: source texts count by how much they look like the target's."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from shiftbench.metrics.depth import effective_size
from shiftbench.metrics.forecasts._checks import Floats, NoForecastError, shares

MIN_EFFECTIVE = 30
"""Effective source texts below which the weighted mean is a handful of texts."""


class Weighted(NamedTuple):
    """A weighted mean, and the number of equally weighted texts that would be as precise."""

    value: float
    effective_size: float


def importance_weights(target_probability: ArrayLike, n_target: int) -> Floats:
    """Return the density of the target over that of the source at each source text.

    Args:
        target_probability: as for ``importance_weighted``, shape (n_source,).
        n_target: likewise.
    Returns: weights >= 0, not all 0, shape (n_source,); ``metrics.depth.effective_size`` is their effective number.
    Raises: NoForecastError where all are 0; ValueError when a probability is not in [0, 1).

    >>> importance_weights([0.5, 0.2], 2).tolist()
    [1.0, 0.25]
    """
    odds = shares("target_probability", target_probability)
    if np.any(odds >= 1) or n_target < 1:
        raise ValueError("probabilities must be below 1, and there must be target texts")
    weights = odds / (1 - odds) * odds.size / n_target
    if not weights.any():
        raise NoForecastError("no source text looks like a target text")
    return np.asarray(weights)


def importance_weighted(correct: ArrayLike, target_probability: ArrayLike, n_target: int) -> Weighted:
    """Forecast the source score weighted by the density of the target over that of the source.

    A classifier tells source from target texts by their embeddings; of a source text x its odds, with the sizes taken
    off, are the ratio of densities: ``w(x) = p(T|x) / p(S|x) * n_source / n_target``. It assumes covariate shift: the
    chance to be right given a text does not change, and the source has texts like all of the target's.

    Args:
        correct: score of each held-out source text in [0, 1], shape (n_source,).
        target_probability: the classifier's probability, on rows that it was not fitted to, that each comes from the
            target, shape (n_source,), in [0, 1).
        n_target: target texts that the classifier was fitted to.
    Returns: the weighted mean in [0, 1], and the effective sample size.
    Raises: NoForecastError when fewer than ``MIN_EFFECTIVE`` texts are effectively left; ValueError when shapes differ.
    Source: Shimodaira, "Improving predictive inference under covariate shift" (2000); weights from a classifier,
        Bickel, Bruckner, Scheffer, "Discriminative learning under covariate shift" (2009).

    >>> importance_weighted([1, 0] * 40, [0.5, 0.2] * 40, 80).value
    0.8
    """
    right, weights = shares("correct", correct), importance_weights(target_probability, n_target)
    if right.shape != weights.shape:
        raise ValueError(f"correct and target_probability must share a shape, got {right.shape} and {weights.shape}")
    size = effective_size(weights)
    if size < MIN_EFFECTIVE:
        raise NoForecastError(f"{size:.0f} source texts are effectively left, fewer than {MIN_EFFECTIVE}")
    return Weighted(float((weights * right).sum() / weights.sum()), size)
