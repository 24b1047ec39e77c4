"""Forecasts from a model's own confidences on texts without labels.

Average confidence: the mean of the highest probability, which is accuracy where confidences are calibrated.

Difference of confidences (DoC): accuracy falls by as much as the mean confidence does.

Average thresholded confidence (ATC): the share of target texts above the threshold that fits the source.

Nuclear norm: probabilities that are sure and spread over the classes have a large one; accuracy goes with it.

Confidence by optimal transport (COT): confidence when predictions must match the source's class shares.
"""

from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from shiftbench.metrics.forecasts._checks import Floats, fit_shift_line, probability_table, shares


def average_confidence(target: ArrayLike) -> float:
    """Forecast the mean confidence: ``mean_i max_k p_ik``.

    It assumes that probabilities stay calibrated under the shift.

    Args:
        target: probabilities of the target texts, shape (n, n_classes), calibrated at home.
    Returns: a fraction in [1 / n_classes, 1].
    Raises: ValueError when the table holds no distributions.
    Source: Hendrycks and Gimpel, "A baseline for detecting misclassified and out-of-distribution examples in neural
        networks" (2017), for the score; as an estimate of accuracy, AC in Garg et al. (2022).

    >>> average_confidence([[0.5, 0.5], [1.0, 0.0]])
    0.75
    """
    return float(probability_table("target", target).max(axis=1).mean())


def difference_of_confidences(source: ArrayLike, correct: ArrayLike, target: ArrayLike) -> float:
    """Forecast ``accuracy_S + mean_T max_k p - mean_S max_k p``.

    It assumes that a model is as much too sure (or unsure) in the target as at home.

    Args:
        source: probabilities of held-out source texts, shape (n_source, n_classes).
        correct: whether each was predicted right, shape (n_source,).
        target: probabilities of the target texts, shape (n_target, n_classes).
    Returns: a fraction, cut to [0, 1].
    Raises: ValueError when shapes differ or a table holds no distributions.
    Source: Guillory et al., "Predicting with confidence on unseen distributions" (2021), DoC without a regression.

    >>> round(difference_of_confidences([[0.9, 0.1], [0.7, 0.3]], [1, 0], [[0.6, 0.4]]), 6)
    0.3
    """
    home, right = probability_table("source", source), shares("correct", correct)
    if right.size != len(home):
        raise ValueError(f"source and correct differ in length: {len(home)} and {right.size}")
    away = probability_table("target", target)
    return float(np.clip(right.mean() + away.max(axis=1).mean() - home.max(axis=1).mean(), 0.0, 1.0))


Score = Literal["confidence", "entropy"]
_LEAST = 1e-20


def thresholded_confidence(
    source: ArrayLike, correct: ArrayLike, target: ArrayLike, score: Score = "confidence"
) -> float:
    """Forecast the share of target texts whose score reaches a threshold set at home.

    The threshold is the score of the ``n_wrong``-th least sure source text: as many texts lie at or below it as were
    predicted wrong. It assumes that the same threshold fits the target. Texts at the threshold count as right, as in
    the authors' code, so that on the source itself the forecast is ``1 / n`` above its accuracy.

    Args:
        source: probabilities of held-out source texts, shape (n_source, n_classes).
        correct: whether each was predicted right, 0 or 1, shape (n_source,).
        target: probabilities of the target texts, shape (n_target, n_classes).
        score: the highest probability, or the negative entropy.
    Returns: a fraction in [0, 1]; 1 where no source text was wrong.
    Raises: ValueError when shapes differ or a table holds no distributions.
    Source: Garg et al., "Leveraging unlabeled data to predict out-of-distribution performance" (2022), ATC-MC and
        ATC-NE; with ties as in their code (`ATC_helper.py`).

    >>> thresholded_confidence([[0.9, 0.1], [0.6, 0.4]], [1, 0], [[0.5, 0.5], [0.8, 0.2]])
    0.5
    """
    home, right = probability_table("source", source), shares("correct", correct)
    if right.size != len(home):
        raise ValueError(f"source and correct differ in length: {len(home)} and {right.size}")
    n_wrong = round(float((1 - right).sum()))
    if not n_wrong:
        return 1.0
    threshold = np.partition(_score_sureness(home, score), n_wrong - 1)[n_wrong - 1]
    return float((_score_sureness(probability_table("target", target), score) >= threshold).mean())


def _score_sureness(table: Floats, score: Score) -> Floats:
    if score == "confidence":
        return np.asarray(table.max(axis=1))
    return np.asarray((table * np.log(table + _LEAST)).sum(axis=1))


def nuclear_norm(probabilities: ArrayLike) -> float:
    """Return the nuclear norm as a share of the largest that a table of this shape can have.

    ``sum of singular values / sqrt(min(n, n_classes) n)``: 1 where all texts are sure and classes equally frequent.

    Args:
        probabilities: shape (n, n_classes).
    Returns: a number in (0, 1].
    Raises: ValueError when the table holds no distributions.
    Source: Deng, Suh, Gould, Zheng, "Confidence and dispersity speak: characterizing prediction matrix for
        unsupervised accuracy estimation" (2023), the normalised nuclear norm.

    >>> round(nuclear_norm([[1.0, 0.0], [0.0, 1.0]]), 6)
    1.0
    """
    table = probability_table("probabilities", probabilities)
    n, n_classes = table.shape
    # Singular values from the Gram matrix of the classes: its size does not grow with the texts.
    squares = np.linalg.eigvalsh(table.T @ table) if n >= n_classes else np.linalg.eigvalsh(table @ table.T)
    return float(np.sqrt(np.maximum(squares, 0.0)).sum() / np.sqrt(min(n, n_classes) * n))


def accuracy_by_norm(norm: float, known_norms: ArrayLike, known_scores: ArrayLike) -> float:
    """Forecast accuracy by the line of accuracy on norm through other domains' shifts.

    The paper draws the line through many changed copies of one test set; here it is through the labelled shifts
    between other domains. It assumes that one line holds for all of them.

    Args:
        norm: of the target, from ``nuclear_norm``.
        known_norms: of the known shifts, shape (n_shifts,).
        known_scores: their accuracies, same shape.
    Returns: a fraction, cut to [0, 1].
    Raises: NoForecastError where ``fit_shift_line`` finds no line.
    Source: as ``nuclear_norm``, which regresses accuracy on the norm linearly.

    >>> round(accuracy_by_norm(0.6, [0.5, 0.7, 0.9], [0.5, 0.6, 0.7]), 6)
    0.55
    """
    slope, intercept = fit_shift_line(known_norms, known_scores)
    return float(np.clip(slope * norm + intercept, 0.0, 1.0))


_NONE = 1e-9
"""Amounts, in texts, and differences of probabilities below which there is nothing to move."""


def transported_confidence(target: ArrayLike, source_prior: ArrayLike) -> float:
    """Forecast one less the cost of moving the target's probabilities to labels with the source's shares.

    The cost of giving a text the label k is half the L1 distance between its probabilities and the label, which is
    ``1 - p_k``. So the forecast is the largest ``mean_i p_i,label(i)`` over all ways to give labels (parts of a text
    may get different ones) under which each class has its source share. It assumes class shares that do not change.

    Args:
        target: probabilities of the target texts, shape (n, n_classes).
        source_prior: share of each class in the source, shape (n_classes,), summing to 1.
    Returns: a fraction in [0, 1], at most the average confidence.
    Raises: ValueError when shapes differ or a table holds no distributions.
    Source: Lu et al., "Characterizing out-of-distribution error via optimal transport" (2023), COT. Solved exactly, by
        successive shortest paths over the classes: a linear programme is much slower.

    >>> round(transported_confidence([[0.9, 0.1], [0.8, 0.2]], [0.5, 0.5]), 6)
    0.55
    """
    table = probability_table("target", target)
    n, n_classes = table.shape
    prior = np.asarray(source_prior, dtype=np.float64)
    if prior.shape != (n_classes,) or np.any(prior < 0) or abs(prior.sum() - 1) > 1e-6:
        raise ValueError(f"source_prior must be {n_classes} shares that sum to 1, got {prior.tolist()}")
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


def _find_cheapest_moves(
    table: Floats, given: Floats
) -> tuple[Floats, "np.ndarray[tuple[int, int], np.dtype[np.int64]]"]:
    """Find, for each pair of classes, the text that loses least when its label changes from one to the other.

    Returns: the losses, infinite where the class has no text, and the texts, shape (n_classes, n_classes) each.
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
    """Find the cheapest way from a class with too many texts to one with too few (Bellman and Ford)."""
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
