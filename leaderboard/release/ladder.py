"""The Ladder: which scores on withheld labels may be released to a submitter who submits repeatedly.

A submitter learns the best score so far, and a new one only if it is better by at least a step, the size of chance
gains. Pure functions: inputs are scores, also with each group left out; outputs are numbers.
Source: Blum and Hardt, The Ladder: A Reliable Leaderboard for Machine Learning Competitions (ICML 2015), sec. 3; the
step is that of their parameter-free variant (sec. 4) with two standard errors in place of one, and at least one point.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MIN_STEP = 0.01
"""Smallest step, and the precision of released scores: one point, as a fraction."""
STANDARD_ERRORS = 2.0
"""Number of paired standard errors in a step."""


@dataclass(frozen=True)
class Measured:
    """A score on some groups of texts.

    Attributes:
        value: the score, a fraction.
        without: the score with each group left out, shape (n_groups,); files to compare must have the same groups.
    """

    value: float
    without: Floats

    @property
    def is_defined(self) -> bool:
        """Return whether the score and its leave-one-group-out scores are finite, with more than one group."""
        return bool(np.isfinite(self.value) and self.without.size > 1 and np.isfinite(self.without).all())


def mean_of(measured: Sequence[Measured]) -> Measured:
    """Return the mean of scores on the same groups."""
    return Measured(
        float(np.mean([each.value for each in measured])), np.mean([each.without for each in measured], axis=0)
    )


def paired_error(first: Measured, second: Measured) -> float:
    """Return the standard error of the difference of two scores on the same groups, by the delete-one-group jackknife.

    >>> right, wrong = np.array([1.0, 1, 1, 0]), np.array([1.0, 0, 1, 1])
    >>> scores = [Measured(float(each.mean()), (each.sum() - each) / 3) for each in (right, wrong)]
    >>> round(paired_error(*scores), 4), round(float((right - wrong).std(ddof=1)) / 2, 4)
    (0.4082, 0.4082)
    """
    differences = first.without - second.without
    n_groups = differences.size
    return float(np.sqrt((n_groups - 1) / n_groups * np.sum((differences - differences.mean()) ** 2)))


def step_between(first: Measured, second: Measured) -> float:
    """Return the smallest difference at which two scores count as different: a point or two paired SEs, if larger."""
    return max(MIN_STEP, STANDARD_ERRORS * paired_error(first, second))


def own_step(score: Measured) -> float:
    """Return a score's resolution: a point, or two of its standard errors if larger."""
    return step_between(score, Measured(score.value, np.full_like(score.without, score.value)))


@dataclass(frozen=True)
class Rung:
    """The last score that a submitter received on some labels.

    Attributes:
        released: the released number, a fraction.
        file: the exact score of that file, on the same groups as the scores compared with it; None if that file is
            for another variant of the data, and so has other groups.
    """

    released: float
    file: Measured | None = None

    def hurdle(self, score: Measured) -> tuple[float, float]:
        """Return the score to beat, and the margin by which it must be beaten."""
        if self.file is None:
            # The number comes from other labels and its exact score is unknown: one step for each of the two.
            return self.released, 2 * own_step(score)
        # The released number was rounded, so a new score must beat both it and the exact score behind it.
        return max(self.released, self.file.value), step_between(score, self.file)


def next_rung(score: Measured, rung: Rung | None, guess: Measured | None, draw: float) -> float | None:
    """Return the released score of a file: a number in whole points if it clears every hurdle, else None.

    Args:
        score: the file's score.
        rung: the best number released on these labels; None before the first one.
        guess: the score of the file's own labels in random order; None if labels cannot be guessed. It is a hurdle for
            every file, so that a poor first score opens no way to climb by guessing.
        draw: a secret number in [0, 1). For labels that cannot be guessed, the first number has no score to beat, so it
            is rounded to steps instead of points. The offset of these steps is random, so that nobody can place a step
            boundary where one bit reveals most.

    >>> at = lambda value: Measured(value, np.full(9, value))
    >>> next_rung(at(0.734), Rung(0.70, at(0.70)), None, 0), next_rung(at(0.734), Rung(0.73, at(0.73)), None, 0)
    (0.73, None)
    """
    hurdles = [rung.hurdle(score)] if rung else []
    if guess is not None:
        hurdles.append((guess.value, step_between(score, guess)))
    if not hurdles:
        return round_to_steps(score.value, own_step(score), draw)
    cleared = all(is_better(score.value, value, step) for value, step in hurdles)
    return round_to_steps(score.value, MIN_STEP, 0) if cleared else None


def is_better(score: float, other: float, step: float) -> bool:
    """Test whether a score is better by more than a step."""
    # The difference of two scores may exceed the step by a floating-point error only.
    return score > other + step + 1e-12


def round_to_steps(score: float, step: float, draw: float) -> float:
    """Round a score to multiples of a step in whole points; their offset is random (``draw`` in [0, 1)).

    >>> [round_to_steps(0.734, step, draw) for step, draw in ((0.01, 0.9), (0.042, 0.0), (0.042, 0.5))]
    [0.73, 0.75, 0.72]
    """
    width = max(1, int(np.ceil(step / MIN_STEP - 1e-9)))
    first = int(draw * width)
    points = first + width * round((score / MIN_STEP - first) / width)
    return round(float(np.clip(points * MIN_STEP, 0, 1)), 4)
