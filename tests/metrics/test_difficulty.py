"""When a drop is called harder, shifted or both, and when there is no verdict."""

import pytest

from shiftbench.metrics.difficulty import (
    Bounded,
    Explanation,
    OnScale,
    Reason,
    Verdict,
    agreed,
    difficulty_verdict,
)

SHOWN, NOT_SHOWN, NONE = Bounded(0.1, 0.05, 0.15), Bounded(0.03, -0.02, 0.08), Bounded(0.0, -0.04, 0.04)
BELOW = Bounded(-0.05, -0.09, -0.01)
NAN = Bounded(0.1, float("nan"), float("nan"))
OPEN = Bounded(0.1, float("-inf"), 0.2)


def parts(difficulty: Bounded, rest: Bounded, **signs: list[float]) -> OnScale:
    """Build the parts on a scale; both probes agree with their mean by default."""
    return OnScale(
        difficulty, rest, signs.get("difficulties", [difficulty.value] * 2), signs.get("rests", [rest.value] * 2)
    )


def judged(
    raw: OnScale,
    logit: OnScale | None = None,
    drop: Bounded = SHOWN,
    at_chance: bool = False,
    balance: Bounded | None = None,
) -> Explanation:
    if balance is None:  # the larger part is shown to be the larger one
        balance = SHOWN if raw.difficulty.value > raw.rest.value else BELOW
    return difficulty_verdict(drop, {"raw": raw, "logit": logit or raw}, balance, is_probe_at_chance=at_chance)


@pytest.mark.parametrize(
    ("difficulty", "rest", "verdict", "reason"),
    [
        (NONE, SHOWN, Verdict.SHIFTED, None),
        (SHOWN, NONE, Verdict.HARDER, None),
        (SHOWN, BELOW, Verdict.HARDER, None),
        (SHOWN, SHOWN, Verdict.BOTH, None),
        (NOT_SHOWN, NOT_SHOWN, Verdict.CANNOT_TELL, Reason.NOT_SHOWN),
        (NAN, SHOWN, Verdict.CANNOT_TELL, Reason.NO_INTERVAL),
        (NONE, OPEN, Verdict.CANNOT_TELL, Reason.NOT_SHOWN),
    ],
)
def test_what_both_intervals_show_is_the_verdict(
    difficulty: Bounded, rest: Bounded, verdict: Verdict, reason: Reason | None
) -> None:
    assert judged(parts(difficulty, rest)) == (verdict, reason)


def test_nothing_holds_on_one_scale_or_for_one_probe_alone() -> None:
    shifted = parts(NONE, SHOWN)
    assert judged(shifted, parts(NONE, NOT_SHOWN)).verdict is Verdict.CANNOT_TELL
    assert judged(parts(NONE, NOT_SHOWN), shifted).verdict is Verdict.CANNOT_TELL
    assert judged(parts(NONE, SHOWN, rests=[0.3, -0.1])).verdict is Verdict.CANNOT_TELL
    assert judged(shifted, parts(NONE, SHOWN, rests=[0.3, -0.1])).verdict is Verdict.CANNOT_TELL
    assert judged(parts(SHOWN, NONE, difficulties=[0.3, -0.1])).verdict is Verdict.CANNOT_TELL


def test_the_part_that_is_shown_must_be_the_larger_one() -> None:
    assert judged(parts(SHOWN, NONE), balance=NOT_SHOWN).reason is Reason.REST_AS_LARGE
    assert judged(parts(NONE, SHOWN), balance=NONE).reason is Reason.DIFFICULTY_AS_LARGE
    assert judged(parts(SHOWN, SHOWN), balance=NONE).verdict is Verdict.BOTH
    assert judged(parts(SHOWN, NONE), balance=NAN).reason is Reason.NO_INTERVAL


def test_a_verdict_holds_as_the_domain_is_and_at_homes_class_shares() -> None:
    harder, unknown = Explanation(Verdict.HARDER), Explanation(Verdict.CANNOT_TELL, Reason.NO_DROP)
    assert agreed(harder, harder) == harder
    assert agreed(harder, unknown) == (Verdict.CANNOT_TELL, Reason.CLASS_SHARES)
    assert agreed(harder, Explanation(Verdict.SHIFTED)) == (Verdict.CANNOT_TELL, Reason.CLASS_SHARES)
    assert agreed(unknown, harder) == unknown
    assert agreed(harder, None) == (Verdict.CANNOT_TELL, Reason.NO_CLASS_SHARES)


def test_without_a_drop_or_with_a_probe_at_chance_there_is_no_verdict() -> None:
    shifted = parts(NONE, SHOWN)
    assert judged(shifted, drop=NOT_SHOWN).reason is Reason.NO_DROP
    assert judged(shifted, drop=NAN).reason is Reason.NO_INTERVAL
    assert judged(shifted, at_chance=True).reason is Reason.PROBE_AT_CHANCE


def test_no_scale_and_no_probe_are_refused() -> None:
    with pytest.raises(ValueError, match="scale"):
        difficulty_verdict(SHOWN, {}, SHOWN, is_probe_at_chance=False)
    with pytest.raises(ValueError, match="probe"):
        judged(parts(NONE, SHOWN, difficulties=[], rests=[]))
