"""Tests of limits: their p values are those of the intervals, and their common decision."""

import numpy as np
import pytest
from scipy.stats import binomtest
from shiftbench.metrics.wilson import relative_square, wilson_interval
from shiftbench.scoring.scores.intervals import Figure, Reason

from shiftbench.scoring.scores.limits import Limits, LimitTest, check_drop, check_score, decide, refuse_limits
from shiftbench.validation.report import InvalidInput


def figure(score: float, n: int = 400) -> Figure:
    square = relative_square(n, n - 1)
    low, high = wilson_interval(score, square)
    drawn = np.random.default_rng(0).binomial(n, score, size=400) / n
    return Figure(np.append(score, drawn), float(n), low=low, high=high, square=square)


def test_the_p_value_of_a_score_is_where_its_interval_ends_or_the_exact_one() -> None:
    score = figure(0.8)
    assert score.low is not None
    assert score.high is not None
    for test, p in ((check_score(score, "a", score.low), "p_kept"), (check_score(score, "a", score.high), "p_broken")):
        exact = binomtest(320, 400, test.bound, alternative="greater" if p == "p_kept" else "less").pvalue
        assert getattr(test, p) == pytest.approx(max(0.025, exact), rel=0.02)
    assert check_score(score, "a", 0.7).p_broken == pytest.approx(1.0, abs=0.001)


def test_a_drop_is_held_against_its_own_bound() -> None:
    found = check_drop([figure(0.9)], figure(0.75), "a", 0.05)
    assert found.value == pytest.approx(0.15)
    assert found.p_broken is not None
    assert found.p_broken < 0.001
    kept = check_drop([figure(0.9), figure(0.8)], figure(0.85), "a", 0.05)
    assert kept.value == pytest.approx(0.0)
    assert kept.p_kept is not None
    assert kept.p_kept < 0.05


def test_what_has_no_interval_is_not_tested_and_says_why() -> None:
    score = Figure(np.array([0.5]), 3.0, no_interval=Reason.FEW_GROUPS)
    found = check_score(score, "a", 0.9)
    assert (found.p_broken, found.reason) == (None, "fewer than 5 effective groups")
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
    with pytest.raises(InvalidInput, match="a gate needs a limit"):
        refuse_limits(Limits())
    with pytest.raises(InvalidInput) as refused:
        refuse_limits(Limits(max_drop=1.5, min_score=0.0))
    assert [problem.file for problem in refused.value.problems] == ["--max-drop", "--min-score"]


def test_no_test_at_all_decides_nothing() -> None:
    assert decide(()) == ()
    empty = LimitTest(limit="min_score", domain="a", bound=0.5, value=None, reason="no predictions")
    assert [each.outcome for each in decide([empty])] == ["cannot tell"]
