"""False alarms and power of a gate: over 20 domains of 500 texts, and over test sets that are small or unlike."""

from typing import get_args

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from benchmarks.gates import Texts, score_models, simulate_gates
from shiftbench.scoring.scores.limits import LEVEL, LimitName, check_score

LIMITS: tuple[LimitName, ...] = get_args(LimitName)
SHARES = {"max_drop": 0.9, "min_score": 0.7, "max_regression": 0.7}
DESIGNS = {
    "6 of 150 x 2, 2 of 12 x 50 alike": (Texts(150, 2),) * 6 + (Texts(12, 50, 0.2),) * 2,
    "8 of 300": (Texts(300),) * 8,
    "20 of 30": (Texts(30),) * 20,
}
N_GATES = 2000


def share_of(rate: float, n_gates: int) -> str:
    """Write a rate of failures with its 95% interval (Wilson)."""
    ends = binomtest(round(rate * n_gates), n_gates).proportion_ci(0.95, method="wilson")
    return f"{100 * rate:.1f}% [{100 * ends.low:.1f}, {100 * ends.high:.1f}]"


@pytest.mark.parametrize("limit", LIMITS)
def test_a_gate_hardly_fails_at_its_limit(limit: LimitName) -> None:
    n_runs = 15
    at, beyond = (
        simulate_gates(limit, np.random.default_rng(3), n_runs=n_runs, share=SHARES[limit], beyond=far)
        for far in (0.0, 0.1)
    )
    # 5 of 15 would have probability 0.001 at 5%.
    assert at.corrected * n_runs <= 4
    assert at.uncorrected > at.corrected
    assert beyond.corrected == 1.0


@pytest.mark.parametrize("limit", LIMITS)
def test_a_gate_hardly_fails_where_test_sets_are_unlike(limit: LimitName) -> None:
    domains = DESIGNS["6 of 150 x 2, 2 of 12 x 50 alike"]
    found = simulate_gates(limit, np.random.default_rng(5), n_runs=100, domains=domains)
    # 12 of 100 would have probability 0.004 at 5%, 26.5% of gates on scores failed with one correlation for all.
    assert found.corrected <= 0.11


@pytest.mark.parametrize(("n_domains", "n_texts"), [(8, 300), (20, 30), (20, 500)])
@pytest.mark.parametrize("share", [0.7, 0.9, 0.95])
def test_false_alarms_of_scores_by_the_binomial_distribution(n_domains: int, n_texts: int, share: float) -> None:
    for right in range(int(n_texts * share), 0, -1):
        (score,) = score_models("", Texts(n_texts), (np.arange(n_texts) < right)[None])
        p_broken = check_score(score, "", share).p_broken
        assert p_broken is not None
        if p_broken < LEVEL / n_domains:
            break
    rate = 1 - (1 - binom.cdf(right, n_texts, share)) ** n_domains
    print(f"{n_domains} of {n_texts}, at {share}: {100 * rate:.1f}%")
    assert 0.005 < rate < LEVEL


@pytest.mark.long
@pytest.mark.parametrize("limit", LIMITS)
def test_false_alarms_are_below_five_percent(limit: LimitName) -> None:
    share = SHARES[limit]
    rates = simulate_gates(limit, np.random.default_rng(19), n_runs=N_GATES, share=share)
    print(
        f"\n{limit}: false alarms {share_of(rates.corrected, N_GATES)}, without Holm {100 * rates.uncorrected:.1f}%, "
        f"20 domains of 500 texts at the limit, {N_GATES:,} gates"
    )
    for beyond in (0.02, 0.05, 0.1):
        one, every = (
            simulate_gates(
                limit, np.random.default_rng(20 + number), n_runs=300, share=share, beyond=beyond, n_beyond=far
            )
            for number, far in enumerate((1, None))
        )
        print(
            f"  {100 * beyond:.0f} points beyond: fails in {100 * one.corrected:.0f}% with one domain there, "
            f"in {100 * every.corrected:.0f}% with all"
        )
        assert every.corrected >= one.corrected
    assert not is_above(rates.corrected, 0.05)


@pytest.mark.long
@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("design", DESIGNS)
def test_false_alarms_on_small_and_unlike_test_sets(design: str, limit: LimitName) -> None:
    n_gates = {"20 of 30": 100, "8 of 300": 500}.get(design, 1000)  # so that each takes about as long
    rates = {
        share: simulate_gates(
            limit, np.random.default_rng(23), n_runs=n_gates, domains=DESIGNS[design], share=share
        ).corrected
        for share in (0.7, 0.9, 0.95)
    }
    print(f"\n{design}, {limit}, {n_gates:,} gates", *(share_of(rate, n_gates) for rate in rates.values()), sep=" | ")
    assert not any(is_above(rate, 0.05, n_gates) for rate in rates.values())


def is_above(rate: float, level: float, n_gates: int = N_GATES) -> bool:
    """Return whether so many failures exclude that a gate fails as rarely as promised."""
    return bool(binomtest(round(rate * n_gates), n_gates, level, alternative="greater").pvalue < 0.01)
