"""Depth: how the chance to be right goes with depth at home, carried on to the target's depths."""

import numpy as np
from numpy.typing import ArrayLike

from shiftbench.metrics.forecasts._checks import Floats, NoForecastError, shares

_ROUNDS, _CLOSE, _RIDGE = 100, 1e-10, 1e-6
_MOST = 30.0


def score_by_depth(source_depth: ArrayLike, source_scores: ArrayLike, target_depth: ArrayLike) -> float:
    """Forecast the mean, over the target's texts, of the score that a logistic curve gives at their depth.

    ``score(d) = 1 / (1 + exp(-(a + b d)))`` is fitted to the source's held-out texts by likelihood. It assumes that
    the curve goes on where the source has few texts, and that depth is all that matters.

    Args:
        source_depth: depth in the source of each held-out source text (``metrics.depth``), shape (n_source,).
        source_scores: score of each in [0, 1], same shape.
        target_depth: depth in the source of each target text, shape (n_target,).
    Returns: a fraction in (0, 1).
    Raises: NoForecastError where depths at home do not vary; ValueError when shapes differ or a depth is not finite.
    Source: Depth F1 paper, eq. 1 (depth); the curve is this project's, as is the slope in ``metrics.depth_slope``.

    >>> round(score_by_depth([1.0, 1.0, 1.2, 1.2], [0, 1, 1, 0], [1.5, 0.7]), 6)
    0.5
    """
    depth, right = np.asarray(source_depth, dtype=np.float64), shares("source_scores", source_scores)
    away = np.asarray(target_depth, dtype=np.float64)
    if depth.shape != right.shape or away.ndim != 1 or not away.size:
        raise ValueError(f"depths and scores must share a shape, got {depth.shape} and {right.shape}")
    if not (np.isfinite(depth).all() and np.isfinite(away).all()):
        raise ValueError("depths must be finite")
    spread = float(depth.std())
    if spread < 1e-9:
        raise NoForecastError("the source's held-out texts are all equally deep")
    line = np.stack([np.ones_like(depth), (depth - depth.mean()) / spread], axis=1)
    coefficients = _fit_logistic(line, right)
    scaled = (away - depth.mean()) / spread
    return float(_curve(coefficients[0] + coefficients[1] * scaled).mean())


def _fit_logistic(line: Floats, right: Floats) -> Floats:
    """Fit by Newton's method; a slight ridge keeps the fit finite where all texts are right or wrong."""
    coefficients = np.zeros(2)
    for _ in range(_ROUNDS):
        chance = _curve(line @ coefficients)
        gradient = line.T @ (right - chance) - _RIDGE * coefficients
        curvature = (line * (chance * (1 - chance))[:, None]).T @ line + _RIDGE * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        coefficients = np.clip(coefficients + step, -_MOST, _MOST)
        if np.abs(step).max() < _CLOSE:
            break
    return coefficients


def _curve(values: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(values, -_MOST, _MOST))))
