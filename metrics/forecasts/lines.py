"""Forecasts from lines: what other models, seeds, or shifts of known loss show.

Agreement on the line: what agreement between models loses under a shift, accuracy loses, too.

Disagreement of two training runs (GDE): where they differ as often as one of them errs.

Regression on divergence: drops between other domains, as a line over how far these are apart.

Depth: how the chance to be right goes with depth at home, carried on to the target's depths.
"""

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
