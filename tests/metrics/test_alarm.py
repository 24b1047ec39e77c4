"""The sequential alarm: fair bets, evidence of drops alone, groups as one unit."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom
from syrupy.assertion import SnapshotAssertion

from shiftbench.metrics.alarm import ALARM, ASSUMED_JITTER, _log_wealth, drop_evidence
from shiftbench.metrics.over_time import Groups
from tests.refusals import refusal


def texts(accuracies: list[float], n: int = 300) -> Groups:
    """Texts of groups of their own, so many of them right."""
    right = np.round(n * np.array(accuracies))
    kinds = np.broadcast_to([0.0, 1.0], (len(right), 2))
    return Groups(np.ones(kinds.shape), kinds, np.stack([n - right, right], axis=1))


def test_a_drop_alarms_and_a_rise_does_not() -> None:
    reference = texts([0.86, 0.85, 0.87, 0.86, 0.84, 0.86])
    assert drop_evidence(reference, texts([0.70] * 4)).values[-1] > ALARM
    assert drop_evidence(reference, texts([0.95] * 20)).values.max() < 1
    assert drop_evidence(reference, texts([0.86] * 20)).values.max() < ALARM


@pytest.mark.parametrize("chances", [(0.7,) * 4, (0.5, 0.9, 0.8, 0.6)])
def test_a_bet_is_fair_at_its_null_and_never_better(chances: tuple[float, ...]) -> None:
    """Sum wealth over all outcomes of four texts whose chances have the null as their mean."""
    for stake in (0.1, 1.0, 3.0):
        wealth = 0.0
        for outcome in product((0.0, 1.0), repeat=4):
            share = np.prod([p if x else 1 - p for p, x in zip(chances, outcome, strict=True)])
            groups = Groups(np.ones(4), np.array(outcome), np.ones(4))
            null = np.array([np.mean(chances)])
            wealth += share * float(np.exp(_log_wealth(groups, null, np.array([stake]), np.array(0.0)))[0])
        assert wealth <= 1 + 1e-12
        assert (wealth == pytest.approx(1)) == (len(set(chances)) == 1)


@pytest.mark.parametrize("sizes", [(1.0, 1.0), (1.0, 0.2)])
def test_jitter_is_paid_for(sizes: tuple[float, float]) -> None:
    """Average wealth over periods whose own mean is 3 points above or below the null, as likely."""
    counts, stake, null, jitter = (20, 30), np.array([0.6]), np.array([0.8]), 0.03
    wealth = 0.0
    for mean in (null[0] - jitter, null[0] + jitter):
        shares = [binom.pmf(np.arange(n + 1), n, mean) for n in counts]
        for one, other in product(range(counts[0] + 1), range(counts[1] + 1)):
            kinds = Groups(
                np.repeat(sizes, 2),
                np.array([1.0, 0.0, 1.0, 0.0]),
                np.array([one, counts[0] - one, other, counts[1] - other], dtype=float),
            )
            own = np.exp(_log_wealth(kinds, null, stake, np.array(jitter)))[0]
            wealth += 0.5 * shares[0][one] * shares[1][other] * float(own)
    assert 0.5 < wealth <= 1


def test_alike_groups_may_stand_once_or_many_times() -> None:
    reference, once = texts([0.86] * 5), texts([0.8] * 3, 20)
    spread = Groups(np.ones((3, 20)), np.repeat([[1.0] * 16 + [0.0] * 4], 3, axis=0), np.ones((3, 20)))
    assert drop_evidence(reference, spread).values == pytest.approx(drop_evidence(reference, once).values)


def test_texts_of_a_group_are_one_unit() -> None:
    """Fifty equal texts a group tell less than as many texts of their own."""
    reference = texts([0.86, 0.85, 0.87, 0.86, 0.84, 0.86])
    later = texts([0.78] * 6)
    grouped = Groups(np.full((6, 2), 50.0), np.broadcast_to([0.0, 1.0], (6, 2)), np.tile([1.32, 4.68], (6, 1)))
    one, many = drop_evidence(reference, grouped).values[-1], drop_evidence(reference, later).values[-1]
    assert one < many / 5


def test_a_small_reference_limits_the_evidence() -> None:
    later = texts([0.76] * 10)
    small, large = (drop_evidence(texts([0.86] * 8, n), later).values[-1] for n in (12, 1200))
    assert small < ALARM < large


def test_the_allowance_follows_the_scatter_before_the_look() -> None:
    still, rough = texts([0.86] * 12), texts([0.80, 0.92] * 6)
    later = texts([0.86] * 3)
    assert drop_evidence(still, later).allowance[0] < 0.01
    assert 0.05 < drop_evidence(rough, later).allowance[0] < 0.08
    assert drop_evidence(texts([0.86]), later).allowance[:2].tolist() == [ASSUMED_JITTER] * 2


def test_what_is_no_mean_is_refused(wording: SnapshotAssertion) -> None:
    said = {}
    later = texts([0.8])
    said["what is no mean is refused 1"] = refusal(
        ValueError, lambda: drop_evidence(later, later._replace(means=later.means + 0.5))
    )
    said["what is no mean is refused 2"] = refusal(
        ValueError, lambda: drop_evidence(later._replace(counts=0 * later.counts), later)
    )
    assert said == wording
