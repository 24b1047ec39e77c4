"""Tests of limits: consistency of p values with intervals, and the joint decision."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binomtest, t

from shiftbench.scoring.scores.figures import Figure, Reason, Score, difference, mean, single
from shiftbench.scoring.scores.limits import (
    Limits,
    LimitTest,
    check_above,
    check_score,
    decide,
    refuse_limits,
)
from shiftbench.validation.report import InvalidInput


def figure(score: float, n: int = 400, test_set: str = "") -> Figure:
    """Build the score of n independent texts, the first of which are right."""
    right = np.arange(n) < round(score * n)
    moved = (right - right.mean()) / np.sqrt(n * (n - 1))
    return single(Score(float(right.mean()), n - 1, n - 1, test_set, moved, right / n, n))


def test_the_p_value_of_a_score_is_where_its_interval_ends_or_the_exact_one() -> None:
    score = figure(0.8)
    assert score.low is not None
    assert score.high is not None
    for test, p in ((check_score(score, "a", score.low), "p_kept"), (check_score(score, "a", score.high), "p_broken")):
        exact = binomtest(320, 400, test.bound, alternative="greater" if p == "p_kept" else "less").pvalue
        assert getattr(test, p) == pytest.approx(max(0.025, exact), rel=0.05)
    assert check_score(score, "a", 0.7).p_broken == pytest.approx(1.0, abs=0.001)


@pytest.mark.parametrize("limit", [0.7, 0.78, 0.85])
def test_the_variance_of_a_score_is_that_at_the_limit(limit: float) -> None:
    expected = t.sf((0.8 - limit) / np.sqrt(limit * (1 - limit) / 399), 399)
    assert check_above("min_score", "a", limit, figure(0.8)).p_kept == pytest.approx(expected, rel=1e-3)


def test_a_drop_is_held_against_its_own_bound() -> None:
    found = check_above("max_drop", "a", 0.05, difference(figure(0.9, test_set="home"), figure(0.75)))
    assert found.value == pytest.approx(0.15)
    assert found.p_broken is not None
    assert found.p_broken < 0.001
    home = mean([figure(0.9, test_set="home"), figure(0.8, test_set="other")])
    kept = check_above("max_drop", "a", 0.05, difference(home, figure(0.85)))
    assert kept.value == pytest.approx(0.0)
    assert kept.p_kept is not None
    assert kept.p_kept < 0.05


def test_no_text_that_differs_shows_as_much_as_the_rule_of_three() -> None:
    # Were a share L lost, n texts without a loss would have probability (1 - L)^n: 5% at n = 298 for L = 1%.
    def p_kept(n: float) -> float:
        same = difference(figure(0.8, round(n)), figure(0.8, round(n)))
        p = check_above("max_regression", "a", 0.01, same).p_kept
        assert p is not None
        return p

    enough = brentq(lambda n: p_kept(n) - 0.05, 30, 1000, xtol=1)
    exact = np.log(0.05) / np.log(0.99)
    assert 0.8 * exact < enough < 1.2 * exact


def test_what_has_no_interval_is_not_tested_and_says_why() -> None:
    score = single(Score(0.5, 3.0, groups=3.0, no_interval=Reason.FEW_GROUPS))
    found = check_score(score, "a", 0.9)
    assert (found.p_broken, found.reason) == (None, Reason.FEW_GROUPS)
    (verdict,) = decide([found])
    assert (verdict.outcome, verdict.p_corrected) == ("cannot tell", None)


def test_domains_share_the_level() -> None:
    far, near = figure(0.60), figure(0.655)
    tests = [check_score(near, "near", 0.7)]
    assert decide(tests)[0].outcome == "broken"
    many = [check_score(figure(0.7), f"at {n}", 0.7) for n in range(30)]
    assert decide([*tests, *many])[0].outcome == "cannot tell"
    assert decide([check_score(far, "far", 0.7), *many])[0].outcome == "broken"
    assert decide([check_score(figure(0.8), "well", 0.7), *many])[0].outcome == "kept"


def test_limits_that_are_none_are_refused_all_at_once() -> None:
    refuse_limits(Limits(max_drop=0.0, min_score=0.7))
    with pytest.raises(InvalidInput, match="limit"):
        refuse_limits(Limits())
    with pytest.raises(InvalidInput) as refused:
        refuse_limits(Limits(max_drop=1.5, min_score=0.0))
    assert [problem.file for problem in refused.value.problems] == ["--max-drop", "--min-score"]


def test_no_test_at_all_decides_nothing() -> None:
    assert decide(()) == ()
    empty = LimitTest(limit="min_score", domain="a", bound=0.5, value=None, reason="no predictions")
    assert [each.outcome for each in decide([empty])] == ["cannot tell"]
