"""The Ladder: what may be told of scores on withheld labels to somebody who sends file after file.

A sender learns the best score so far, and a new one only when it is better by a step: as much as chance could give.
Pure functions: scores, and scores with one group left out, in; numbers out.
Source: Blum and Hardt, The Ladder: A Reliable Leaderboard for Machine Learning Competitions (ICML 2015), sec. 3; the
step is that of their parameter-free variant (sec. 4) with two standard errors in place of one, and never below a point.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MIN_STEP = 0.01
"""The least step, and what released scores are rounded to: a point, as a fraction."""
STANDARD_ERRORS = 2.0
"""Paired standard errors in a step."""


@dataclass(frozen=True)
class Measured:
    """A score on some groups of texts.

    Attributes:
        value: the score, a fraction.
        without: the score with each group left out, shape (n_groups,); files that are compared have the same groups.
    """

    value: float
    without: Floats

    @property
    def is_defined(self) -> bool:
        """Whether the score and all that its standard error needs are numbers."""
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
    """Return how far two scores must lie apart to be told apart: a point, or two paired standard errors if more."""
    return max(MIN_STEP, STANDARD_ERRORS * paired_error(first, second))


def next_rung(score: float, best: float, step: float) -> float | None:
    """Return what is told of a score that is better than the best so far by more than a step; None for any other.

    >>> next_rung(0.734, 0.70, 0.02), next_rung(0.715, 0.70, 0.02), next_rung(0.2, 0.70, 0.02)
    (0.73, None, None)
    """
    # The difference of two scores may exceed the step by a rounding of floats alone.
    return round(round(score / MIN_STEP) * MIN_STEP, 4) if score > best + step + 1e-12 else None
