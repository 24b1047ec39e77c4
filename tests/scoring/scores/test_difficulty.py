"""Verdicts on simulated domains whose difficulty and shift are known (``difficult_domains``)."""

from collections import Counter
from collections.abc import Mapping

import numpy as np
import pytest
from shiftbench.scoring.scores.intervals import Figure, Reason

from shiftbench.metrics.difficulty import Verdict
from shiftbench.scoring.scores.difficulty import TwoScores, explain_drop
from tests.scoring.scores.difficult_domains import BOTH, HARDER, HOME, SHIFTED, verdicts

NONE = dict.fromkeys(HOME, 0.0)
RIGHT: list[tuple[Mapping[str, float], Verdict]] = [(HARDER, Verdict.HARDER), (SHIFTED, Verdict.SHIFTED)]


def wrong(found: Counter[Verdict], right: Verdict) -> int:
    return found.total() - found[right] - found[Verdict.CANNOT_TELL]


def test_harder_and_shifted_domains_are_told_apart() -> None:
    for lost, right in RIGHT:
        found = verdicts(lost, 30)
        assert found[right] >= 21
        assert wrong(found, right) <= 5


def test_small_test_sets_are_no_reason_to_guess() -> None:
    found = verdicts(HARDER, 12, n_test=60) + verdicts(SHIFTED, 12, n_test=60)
    assert found[Verdict.CANNOT_TELL] >= 16


@pytest.mark.long
@pytest.mark.parametrize(("lost", "right"), RIGHT)
def test_verdicts_are_seldom_wrong_and_mostly_right(lost: Mapping[str, float], right: Verdict) -> None:
    found = verdicts(lost, 200)
    print(f"\n10 points, {right}: {dict(found)} of 200 seeds")
    assert wrong(found, right) <= 10  # 5%
    assert found[right] >= 160  # 80%


@pytest.mark.long
def test_without_any_drop_and_with_both_kinds_of_it() -> None:
    none, both = verdicts(NONE, 200), verdicts(BOTH, 200)
    print(f"\nno drop: {dict(none)}; both: {dict(both)} of 200 seeds each")
    assert none[Verdict.CANNOT_TELL] >= 190
    assert both[Verdict.BOTH] >= 160


def score(value: float) -> Figure:
    draws = np.random.default_rng(int(1000 * value)).normal(value, 0.01, 200)
    return Figure(np.concatenate([[value], draws]), 500.0, low=value - 0.02, high=value + 0.02)


def test_the_drop_is_difficulty_and_rest() -> None:
    probes = {"a": TwoScores(score(0.8), score(0.7)), "b": TwoScores(score(0.75), score(0.71))}
    found = explain_drop(TwoScores(score(0.9), score(0.75)), probes, is_probe_at_chance=False)
    assert found.drop.values[0] == pytest.approx(0.15)
    assert found.difficulty.values[0] == pytest.approx(0.07)
    assert found.rest.values[0] == pytest.approx(0.08)
    assert {name: round(float(idd.values[0]), 3) for name, idd in found.difficulties.items()} == {"a": 0.1, "b": 0.04}
    assert found.rest.low is not None
    assert found.rest.low < 0.08 < (found.rest.high or 0)


def test_a_score_without_interval_gives_no_verdict() -> None:
    bare = Figure(np.array([0.8, 0.8]), 3.0, no_interval=Reason.FEW_GROUPS)
    found = explain_drop(
        TwoScores(score(0.9), bare), {"a": TwoScores(score(0.8), score(0.7))}, is_probe_at_chance=False
    )
    assert found.explanation.verdict is Verdict.CANNOT_TELL
    assert found.rest.no_interval is Reason.FEW_GROUPS
