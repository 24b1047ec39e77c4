"""Places of a round's entries from scores and the steps between them, and the set of possible leaders."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shiftbench.leaderboard.release.ladder import MIN_STEP, STANDARD_ERRORS, Measured, paired_error
from shiftbench.metrics.multiplicity import draw_sizes

_DRAWS, _SEED = 10_000, 18


def steps_between(entries: Sequence[Sequence[Measured]]) -> NDArray[np.float64]:
    """Return how far the mean scores of every two entries must lie apart to be told apart, shape (k, k).

    Args:
        entries: of each of k entries its scores on the same targets, whose groups are drawn apart from each other.
    """
    steps = np.full((len(entries), len(entries)), MIN_STEP)
    for row, first in enumerate(entries):
        for column, second in enumerate(entries[:row]):
            errors = [paired_error(*pair) for pair in zip(first, second, strict=True)]
            error = float(np.sqrt(np.square(errors).sum())) / len(errors)
            steps[row, column] = steps[column, row] = max(MIN_STEP, STANDARD_ERRORS * error)
    return steps


def places(scores: Sequence[float], steps: NDArray[np.float64]) -> list[int]:
    """Return the place of each entry: 1 plus the number of entries ahead by more than a step.

    >>> places([0.70, 0.695, 0.60], np.full((3, 3), 0.01))
    [1, 1, 3]
    """
    ahead = np.subtract.outer(scores, scores) < -steps  # [i, j]: entry j is ahead of entry i
    return [1 + int(row.sum()) for row in ahead]


def leading_set(entries: Sequence[Sequence[Measured]]) -> list[bool]:
    """Find the entries that cannot be told apart from the one with the highest score, that one included.

    Ties between pairs are not transitive, so there is one set, as on boards of public labels (``metrics.ranking``): the
    leader was chosen as the best of all, so an entry is apart from it by more than a multiple of their paired standard
    error, the 95% quantile of the largest of all entries' standardised differences from it; never by less than a step.

    Args:
        entries: of each of k entries its scores on the same targets, as ``steps_between`` takes them.
    Returns: a mark for each entry. They tell less than what every two entries' steps would: which of the set leads is
        not among it, nor how its other entries compare.
    """
    if not entries:
        return []
    scores = np.array([np.mean([each.value for each in entry]) for entry in entries])
    leader = int(scores.argmax())
    moved = np.array([_influences(entries[leader], entry) for entry in entries])
    errors = np.sqrt((moved**2).sum(axis=1))
    differs = errors > 0
    multiple = STANDARD_ERRORS
    if differs.any():
        standardised = moved[differs] / errors[differs, None]
        drawn = draw_sizes(standardised @ standardised.T, _DRAWS, np.random.default_rng(_SEED)).max(axis=1)
        multiple = max(multiple, float(np.quantile(drawn, 0.95)))
    return [bool(tied) for tied in scores[leader] - scores <= np.maximum(MIN_STEP, multiple * errors)]


def _influences(leader: Sequence[Measured], entry: Sequence[Measured]) -> NDArray[np.float64]:
    """Compute each group's influence, target by target, on the difference of two mean scores (jackknife)."""
    parts = []
    for first, second in zip(leader, entry, strict=True):
        apart = first.without - second.without
        parts.append((apart.mean() - apart) * np.sqrt((apart.size - 1) / apart.size) / len(leader))
    return np.concatenate(parts)
