"""Confidence by optimal transport (COT): confidence when predictions must match the source's class shares."""

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from shiftbench.metrics.forecasts._checks import Floats, probability_table

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
