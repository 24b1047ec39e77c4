"""Forecasts of a model's accuracy on an unlabelled domain.

No method can detect concept shift (the same text has another label in the target), which may leave probabilities and
class proportions unchanged. Each method's docstring states its assumption; without target labels none can be checked.

Source accuracy: no change. Difference of confidences (DoC): accuracy drops by as much as mean confidence. Average
thresholded confidence (ATC): the fraction of target texts above a threshold calibrated on the source. Confidence by
optimal transport (COT): confidence if predictions must match the source's class prior. Each may be corrected by its
mean error on other labelled domains; for the source accuracy this gives the source score minus the mean drop.

Methods raise ``NoForecastError`` with the reason if they do not apply.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


class NoForecastError(ValueError):
    """Raised if a method does not apply to its inputs; the message is a short reason."""


def source_accuracy(correct: ArrayLike) -> float:
    """Forecast the source accuracy, assuming no change.

    Args:
        correct: score of each held-out source text in [0, 1] (0 or 1 for a label), shape (n,), n > 0.
    Returns: their mean, in [0, 1].
    Raises: ValueError when the shape or a value is wrong.

    >>> source_accuracy([1, 1, 0, 1])
    0.75
    """
    return float(_shares("correct", correct).mean())


def less_mean_error(value: float, known_values: ArrayLike, known_truths: ArrayLike) -> float:
    """Correct a method's forecast by its mean error on labelled shifts.

    Applied to the source accuracy, it gives the source score minus the mean drop. It assumes that the method has the
    same mean error on the target. The target must be neither source nor target of a labelled shift, or its labels leak
    into the forecast.

    Args:
        value: the method's forecast, in [0, 1].
        known_values: its forecasts for labelled shifts, shape (n_shifts,), in [0, 1].
        known_truths: the true scores, same shape.
    Returns: a fraction, clipped to [0, 1].
    Raises: NoForecastError without a labelled shift; ValueError when a shape or a value is wrong.
    Source: regression of the drop on the method's forecast (Guillory et al. 2021) with the slope fixed at 1.

    >>> round(less_mean_error(0.8, [0.9, 0.7], [0.8, 0.5]), 6)
    0.65
    """
    if np.size(known_values) == 0:
        raise NoForecastError("no labelled shift between other domains")
    forecasts, truths = _shares("known_values", known_values), _shares("known_truths", known_truths)
    if forecasts.shape != truths.shape:
        raise ValueError(f"forecasts and truths must share a shape, got {forecasts.shape} and {truths.shape}")
    return float(np.clip(value - (forecasts - truths).mean(), 0.0, 1.0))


def difference_of_confidences(source: ArrayLike, correct: ArrayLike, target: ArrayLike) -> float:
    """Forecast source accuracy plus the change of mean confidence: ``accuracy_S + mean_T max_k p - mean_S max_k p``.

    It assumes that a model is equally overconfident (or underconfident) on source and target.

    Args:
        source: predicted probabilities for held-out source texts, shape (n_source, n_classes).
        correct: whether each is classified correctly, shape (n_source,).
        target: predicted probabilities for the target texts, shape (n_target, n_classes).
    Returns: a fraction, clipped to [0, 1].
    Raises: ValueError when shapes differ or a row is not a distribution.
    Source: Guillory et al., "Predicting with confidence on unseen distributions" (2021), DoC without a regression.

    >>> round(difference_of_confidences([[0.9, 0.1], [0.7, 0.3]], [1, 0], [[0.6, 0.4]]), 6)
    0.3
    """
    source_table, right = _probability_table("source", source), _shares("correct", correct)
    if right.size != len(source_table):
        raise ValueError(f"source and correct differ in length: {len(source_table)} and {right.size}")
    target_table = _probability_table("target", target)
    return float(np.clip(right.mean() + target_table.max(axis=1).mean() - source_table.max(axis=1).mean(), 0.0, 1.0))


def thresholded_confidence(source: ArrayLike, correct: ArrayLike, target: ArrayLike) -> float:
    """Forecast the fraction of target texts whose confidence reaches a threshold calibrated on the source (ATC).

    The threshold is the ``n_wrong``-th lowest source confidence, so that as many source texts are at or below it as are
    misclassified. It assumes that the same threshold fits the target. Texts at the threshold count as correct, as in
    the authors' code, so on the source itself the forecast is ``1 / n`` above its accuracy.

    Args:
        source: predicted probabilities for held-out source texts, shape (n_source, n_classes).
        correct: whether each is classified correctly, 0 or 1, shape (n_source,).
        target: predicted probabilities for the target texts, shape (n_target, n_classes).
    Returns: a fraction in [0, 1]; 1 if no source text is misclassified.
    Raises: ValueError when shapes differ or a row is not a distribution.
    Source: Garg et al., "Leveraging unlabeled data to predict out-of-distribution performance" (2022), ATC-MC;
        with ties as in their code (`ATC_helper.py`).

    >>> thresholded_confidence([[0.9, 0.1], [0.6, 0.4]], [1, 0], [[0.5, 0.5], [0.8, 0.2]])
    0.5
    """
    source_table, right = _probability_table("source", source), _shares("correct", correct)
    if right.size != len(source_table):
        raise ValueError(f"source and correct differ in length: {len(source_table)} and {right.size}")
    n_wrong = round(float((1 - right).sum()))
    if not n_wrong:
        return 1.0
    threshold = np.partition(source_table.max(axis=1), n_wrong - 1)[n_wrong - 1]
    return float((_probability_table("target", target).max(axis=1) >= threshold).mean())


_NONE = 1e-9
"""Numerical tolerance for masses (in texts) and differences of probabilities."""


def transported_confidence(target: ArrayLike, source_prior: ArrayLike) -> float:
    """Forecast 1 minus the optimal transport cost from the target's probabilities to labels with the source prior.

    The cost of assigning label k to a text is half the L1 distance between its probabilities and the one-hot label,
    which is ``1 - p_k``. The forecast is thus the maximum of ``mean_i p_i,label(i)`` over all (fractional) assignments
    of labels with the source's class prior. It assumes that the class prior does not change.

    Args:
        target: predicted probabilities for the target texts, shape (n, n_classes).
        source_prior: class prior of the source, shape (n_classes,), summing to 1.
    Returns: a fraction in [0, 1], at most the average confidence.
    Raises: ValueError when shapes differ or a row is not a distribution.
    Source: Lu et al., "Characterizing out-of-distribution error via optimal transport" (2023), COT. Solved exactly, by
        successive shortest paths over the classes: a linear programme is much slower.

    >>> round(transported_confidence([[0.9, 0.1], [0.8, 0.2]], [0.5, 0.5]), 6)
    0.55
    """
    table = _probability_table("target", target)
    n, n_classes = table.shape
    prior = np.asarray(source_prior, dtype=np.float64)
    if prior.shape != (n_classes,) or np.any(prior < 0) or abs(prior.sum() - 1) > 1e-6:
        raise ValueError(f"source_prior must be {n_classes} probabilities that sum to 1, got {prior.tolist()}")
    # Start from the most likely class of each text, then move texts from classes with too many at the least cost.
    given = np.zeros((n, n_classes))
    given[np.arange(n), table.argmax(axis=1)] = 1.0
    surplus = given.sum(axis=0) - n * prior / prior.sum()
    while surplus.max() > _NONE:
        loss, texts = _find_cheapest_moves(table, given)
        path = _find_shortest_path(loss, surplus)
        moves = [(texts[one, other], one, other) for one, other in pairwise(path)]
        amount = min(surplus[path[0]], -surplus[path[-1]], *(given[text, one] for text, one, _ in moves))
        for text, one, other in moves:
            given[text, one] -= amount
            given[text, other] += amount
        surplus[path[0]] -= amount
        surplus[path[-1]] += amount
    return float((given * table).sum() / n)


def _find_cheapest_moves(table: Floats, given: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Find, for each pair of classes, the text whose relabelling from the first to the second costs least.

    Returns: costs (infinite if the first class has no text) and row indices, each of shape (n_classes, n_classes).
    """
    n_classes = table.shape[1]
    loss, texts = np.full((n_classes, n_classes), np.inf), np.zeros((n_classes, n_classes), dtype=np.int64)
    for one in range(n_classes):
        rows = np.flatnonzero(given[:, one] > _NONE)
        if rows.size:
            losses = table[rows, one][:, None] - table[rows]
            least = losses.argmin(axis=0)
            loss[one], texts[one] = losses[least, np.arange(n_classes)], rows[least]
    np.fill_diagonal(loss, np.inf)
    return loss, texts


def _find_shortest_path(loss: Floats, surplus: Floats) -> list[int]:
    """Find the cheapest path from a class with a surplus of texts to one with a deficit (Bellman-Ford)."""
    distance = np.where(surplus > _NONE, 0.0, np.inf)
    before = np.full(surplus.size, -1)
    for _ in range(surplus.size):
        through = distance[:, None] + loss
        best = through.argmin(axis=0)
        shorter = through[best, np.arange(surplus.size)] < distance - _NONE
        distance = np.where(shorter, through.min(axis=0), distance)
        before = np.where(shorter, best, before)
    path = [int(np.where(surplus < 0, distance, np.inf).argmin())]
    while before[path[-1]] >= 0:
        path.append(int(before[path[-1]]))
    return path[::-1]


def _probability_table(name: str, values: ArrayLike) -> Floats:
    """Return probabilities as a normalised array.

    Args:
        name: name used in error messages.
        values: shape (n, n_classes), n > 0, in [0, 1], rows summing to 1 within 1e-3.
    Raises: ValueError with the first row that is not a distribution.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or not table.size:
        raise ValueError(f"{name} must have shape (n, n_classes), n > 0, got {table.shape}")
    sums = table.sum(axis=1)
    bad = ~((table >= 0).all(axis=1) & (np.abs(sums - 1) <= 1e-3))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"{name} row {row} is not a probability distribution: {table[row].tolist()}; did you pass logits?"
        )
    return np.asarray(table / sums[:, None])


def _shares(name: str, values: ArrayLike) -> Floats:
    """Return scores or outcomes as an array.

    Args:
        name: name used in error messages.
        values: shape (n,), n > 0, in [0, 1].
    Raises: ValueError when the shape or a value is wrong.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not array.size:
        raise ValueError(f"{name} must have shape (n,), n > 0, got {array.shape}")
    if not np.all((array >= 0) & (array <= 1)):
        raise ValueError(f"{name} must lie in [0, 1]; did you pass points (x100)?")
    return array
