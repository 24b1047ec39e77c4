"""Tests of whether a new model loses more than a limit against the one before, on each domain by itself."""

from collections.abc import Sequence

import numpy as np

from shiftbench.scoring.comparing.cells import EntryTask
from shiftbench.scoring.scores.figures import DROP, Figure, weighted_sum
from shiftbench.scoring.scores.limits import LimitTest, check_above


def regression_tests(
    old: EntryTask, new: EntryTask, sources: tuple[str, str], domains: Sequence[str], limit: float
) -> list[LimitTest]:
    """Test on each domain whether the old score less the new one is at most a limit, models fixed.

    Args:
        old: the baseline.
        new: the predictions to test.
        sources: what the models of the old and of the new were trained on, as predictions name it.
        domains: the test domains; both must have predictions there.
        limit: a fraction in [0, 1).
    """
    return [
        _test(old.score((sources[0], domain, "")), new.score((sources[1], domain, "")), domain, limit)
        for domain in domains
    ]


def _test(before: Figure, after: Figure, domain: str, limit: float) -> LimitTest:
    tested = check_above("max_regression", domain, limit, weighted_sum([before, after], [1.0, -1.0], DROP))
    if tested.reason is None and _is_same(before, after):  # equal outcomes are no regression, even on few texts
        return tested.model_copy(update={"p_broken": 1.0, "p_kept": 0.0})
    return tested


def _is_same(before: Figure, after: Figure) -> bool:
    first, second = (each.parts[0].score for each in (before, after))
    return np.array_equal(first.influences, second.influences) and np.array_equal(first.right, second.right)
