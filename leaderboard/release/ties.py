"""Which entries of a round can be told apart: places and tie groups from scores and the steps between them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from leaderboard.release.ladder import MIN_STEP, STANDARD_ERRORS, Measured, paired_error

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


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
    """Return the place of each entry: 1 and as many more as there are entries ahead by more than a step.

    >>> places([0.70, 0.695, 0.60], np.full((3, 3), 0.01))
    [1, 1, 3]
    """
    ahead = np.subtract.outer(scores, scores) < -steps  # [i, j]: entry j is ahead of entry i
    return [1 + int(row.sum()) for row in ahead]


def tie_groups(scores: Sequence[float], steps: NDArray[np.float64]) -> list[tuple[str, ...]]:
    """Return the tie groups of each entry, as letters: runs of entries by score, no two of them a step apart.

    Entries of one group cannot be told apart; an entry may belong to several groups, and one that stands alone has a
    group of its own.

    >>> tie_groups([0.600, 0.607, 0.614], np.full((3, 3), 0.01))
    [('b',), ('a', 'b'), ('a',)]
    """
    order = sorted(range(len(scores)), key=lambda entry: (-scores[entry], entry))
    apart = np.abs(np.subtract.outer(scores, scores)) > steps
    groups: list[tuple[str, ...]] = [() for _ in scores]
    reached = letters = 0
    for first in range(len(order)):
        end = first + 1
        while end < len(order) and not any(apart[order[end], other] for other in order[first:end]):
            end += 1
        if end > reached:  # else it lies within the group before
            letters, reached = letters + 1, end
            for entry in order[first:end]:
                groups[entry] += (_letter(letters),)
    return groups


def _letter(number: int) -> str:
    """Name a group, from 1.

    >>> _letter(1), _letter(26), _letter(27)
    ('a', 'z', 'aa')
    """
    number, rest = divmod(number - 1, len(_LETTERS))
    return (_letter(number) if number else "") + _LETTERS[rest]
