"""Test of whether a model scores lower than its predecessor, by domain: paired on the same test texts."""

from collections.abc import Sequence

import numpy as np

from shiftbench.metrics.crossed import SourcePair
from shiftbench.metrics.limits import limit_p
from shiftbench.metrics.wilson import MIN_GROUPS
from shiftbench.scoring.comparing.cells import EntryTask, Place
from shiftbench.scoring.comparing.equivalence import text_errors
from shiftbench.scoring.scores.intervals import Reason
from shiftbench.scoring.scores.limits import LimitTest

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
