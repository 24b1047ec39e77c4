"""Tests against a margin fixed beforehand: whether two entries differ by less, whether a new model loses more.

Two entries: two one-sided tests (TOST) a figure. With enough runs on both sides the standard errors are those of
crossed components, and the claim is about recipes; below that they are those of the texts alone, and the claim is about
these trained models.
"""

from collections.abc import Sequence

import numpy as np

from shiftbench.metrics.crossed import SourcePair, crossed_test, paired_influences
from shiftbench.metrics.equivalence import equivalence_p
from shiftbench.metrics.limits import limit_p
from shiftbench.metrics.precision import MIN_GROUPS
from shiftbench.scoring.comparing.cells import EntryTask, Place
from shiftbench.scoring.comparing.figures import Statistic, TaskFigure, weight_table
from shiftbench.scoring.comparing.testing import Tested, has_enough_runs, source_pairs
from shiftbench.scoring.scores.figures import Reason, none_if_nan
from shiftbench.scoring.scores.limits import LimitTest
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


_SAME = 1e-12


def regression_tests(
    old: EntryTask, new: EntryTask, sources: tuple[str, str], domains: Sequence[str], limit: float
) -> list[LimitTest]:
    """Test on each domain whether the old score less the new one is at most a limit.

    The difference is paired: its standard error is made of what each group of texts moves it by, models fixed.

    Args:
        old: the baseline.
        new: the predictions to test.
        sources: what the models of the old and of the new were trained on, as predictions name it.
        domains: the test domains; both must have predictions there.
        limit: a fraction in [0, 1).
    """
    return [_test(old, new, sources, domain, limit) for domain in domains]


def _test(old: EntryTask, new: EntryTask, sources: tuple[str, str], domain: str, limit: float) -> LimitTest:
    from scipy.special import stdtrit

    places: list[Place] = [(source, domain, "") for source in sources]
    before, after = old.run_scores(places[0]), new.run_scores(places[1])
    shown = LimitTest(limit="max_regression", domain=domain, bound=limit, value=None)
    if before is None or after is None:
        return shown.model_copy(update={"reason": "a score is undefined"})
    value = float(before.scores.mean() - after.scores.mean())
    shown = shown.model_copy(update={"value": value})
    groups = new.effective_groups(domain)
    if groups < MIN_GROUPS:
        return shown.model_copy(update={"reason": str(Reason.FEW_GROUPS)})
    errors, freedom = text_errors([SourcePair(before, after, [0], np.ones((1, 1)))], [groups])
    se, df = float(errors[0]), min(float(freedom[0]), groups - 1)
    reach = float(stdtrit(df, 0.975)) * se
    ends = {"low": max(value - reach, -1.0), "high": min(value + reach, 1.0)}
    if _same_outcomes(old, new, places):  # equal outcomes are no regression, even on few texts
        return shown.model_copy(update={**ends, "p_broken": 1.0, "p_kept": 0.0})
    p = limit_p(value, se, groups, limit)
    return shown.model_copy(update={**ends, "p_broken": p.above, "p_kept": p.below})


def _same_outcomes(old: EntryTask, new: EntryTask, places: Sequence[Place]) -> bool:
    first, second = old.counts(places[0]).mean(axis=1), new.counts(places[1]).mean(axis=1)
    return bool(np.allclose(first, second, rtol=0, atol=_SAME))
