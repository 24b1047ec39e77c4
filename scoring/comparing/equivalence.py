"""Tests of whether two entries differ by less than a margin fixed beforehand.

Two one-sided tests (TOST) a figure. With enough runs on both sides the standard errors are those of
crossed components, and the claim is about recipes; below that they are those of the texts alone, and the claim is about
these trained models.
"""

from collections.abc import Sequence

import numpy as np

from shiftbench.metrics.crossed import SourcePair, crossed_test, paired_influences
from shiftbench.metrics.equivalence import equivalence_p
from shiftbench.metrics.precision import MIN_GROUPS
from shiftbench.scoring.comparing.cells import EntryTask
from shiftbench.scoring.comparing.figures import Statistic, TaskFigure, weight_table
from shiftbench.scoring.comparing.testing import Tested, has_enough_runs, source_pairs
from shiftbench.scoring.scores.figures import none_if_nan
from shiftbench.scoring.scores.values import Floats


def equivalence_p_values(
    figures: Sequence[TaskFigure], tested: Sequence[Tested], a: EntryTask, b: EntryTask, margin: float
) -> list[float | None]:
    """Test each figure of a task for a difference within the margin.

    Args:
        figures: the figures.
        tested: their tests for a difference: what is at chance there is not tested here.
        a: one entry.
        b: the other.
        margin: a fraction in (0, 1).
    Returns: a p value of each figure, uncorrected; None where it is at chance, a score is missing, or a test set has
        fewer than 5 effective groups.
    """
    p_values: list[float | None] = [None] * len(figures)
    chosen = [
        (number, figure.weights)
        for number, figure in enumerate(figures)
        if figure.weights and tested[number].at_floor is None and _is_wide(figure.weights, a)
    ]
    if not chosen:
        return p_values
    places, table = weight_table([weights for _, weights in chosen])
    pairs, groups = source_pairs(places, table, a, b)
    if has_enough_runs(places, a, b):
        test = crossed_test(pairs, groups)
        error, df = test.standard_error, np.maximum(test.df, 1)  # as in the test for a difference
    else:
        error, df = text_errors(pairs, groups)
    difference = np.array([tested[number].value for number, _ in chosen])
    for (number, _), p_value in zip(chosen, equivalence_p(difference, error, df, margin), strict=True):
        p_values[number] = none_if_nan(p_value)
    return p_values


def text_errors(pairs: Sequence[SourcePair], n_groups: Sequence[float]) -> tuple[Floats, Floats]:
    """Return the standard errors of differences over test texts, models fixed, and their degrees of freedom.

    Args:
        pairs: the runs of each source, one or more on either side.
        n_groups: effective number of groups of each test set.
    Returns: both of shape (n_statistics,); Satterthwaite's degrees of freedom.
    """
    moved = paired_influences(pairs)
    variances = np.array([(each**2).sum(axis=0) for each in moved.values()])
    freedom = np.array([max(n_groups[target] - 1, 1) for target in moved])
    variance = variances.sum(axis=0)
    per_df = (variances**2 / freedom[:, None]).sum(axis=0)
    return np.sqrt(variance), np.where(per_df > 0, variance**2 / np.where(per_df > 0, per_df, 1.0), np.inf)


def _is_wide(weights: Statistic, a: EntryTask) -> bool:
    return min(a.effective_groups(target) for _, target, _ in weights) >= MIN_GROUPS
