"""False alarms and power of a gate over 20 domains of 500 texts each."""

from typing import get_args

import numpy as np
import pytest
from scipy.stats import binomtest

from benchmarks.gates import simulate_gates
from shiftbench.scoring.scores.limits import LimitName

LIMITS: tuple[LimitName, ...] = get_args(LimitName)


@pytest.mark.parametrize("limit", LIMITS)
def test_a_gate_hardly_fails_at_its_limit(limit: LimitName) -> None:
    n_runs = 15
    at, beyond = (simulate_gates(limit, np.random.default_rng(3), n_runs=n_runs, beyond=far) for far in (0.0, 0.1))
    # 5 of 15 would have probability 0.001 at 5%.
    assert at.corrected * n_runs <= 4
    assert at.uncorrected > at.corrected
    assert beyond.corrected == 1.0


@pytest.mark.long
@pytest.mark.parametrize("limit", LIMITS)
def test_false_alarms_are_below_five_percent(limit: LimitName) -> None:
    n_runs = 2000
    rates = simulate_gates(limit, np.random.default_rng(19), n_runs=n_runs)
    upper = binomtest(round(rates.corrected * n_runs), n_runs).proportion_ci(0.95, method="wilson").high
    print(
        f"\n{limit}: false alarms {100 * rates.corrected:.1f}% (upper bound {100 * upper:.1f}%), "
        f"without Holm {100 * rates.uncorrected:.1f}%, 20 domains at the limit, {n_runs:,} gates"
    )
    for beyond in (0.02, 0.05, 0.1):
        one = simulate_gates(limit, np.random.default_rng(20), n_runs=300, beyond=beyond, n_beyond=1)
        every = simulate_gates(limit, np.random.default_rng(21), n_runs=300, beyond=beyond)
        print(
            f"  {100 * beyond:.0f} points beyond: fails in {100 * one.corrected:.0f}% with one domain there, "
            f"in {100 * every.corrected:.0f}% with all"
        )
        assert every.corrected >= one.corrected
    assert rates.corrected <= 0.05
    assert upper <= 0.065
