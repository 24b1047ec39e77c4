"""The Ladder's answers, and what one account that attacks it gains in a year; crowds: ``benchmarks.labels``."""

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from shiftbench.leaderboard.release.history import LOOKS_PER_YEAR, scores_per_year
from shiftbench.leaderboard.release.ladder import (
    MIN_STEP,
    Measured,
    Rung,
    next_rung,
    own_step,
    paired_error,
    round_to_steps,
    step_between,
)
from tests.leaderboard.release.attacks import (
    ATTACKS,
    Laddered,
    Look,
    measured,
    ramp,
)

MAX_GAIN = 0.02
"""The most that an attacker may gain on the feedback half in a year, with 500 texts or more."""
CASES = [(2, True), (3, True), (2, False)]
"""Number of classes, and whether labels can be guessed. Where they cannot, as of answers to questions, an attacker
chooses between two answers of which one is right."""


def gains(
    n_texts: int, case: tuple[int, bool], n_looks: int, attack: str, n_times: int, n_variants: int = 1
) -> NDArray[np.float64]:
    """Attack several times, and return by how much each attacker's last file is above chance."""
    n_classes, can_be_guessed = case
    rng = np.random.default_rng([n_texts, *case, n_looks, n_variants, *attack.encode()])
    found = []
    for _ in range(n_times):
        gold = rng.integers(n_classes, size=n_texts)
        start = rng.integers(n_classes, size=n_texts)
        accounts = [
            Laddered(gold, rng, can_be_guessed=can_be_guessed, n_variants=n_variants)
            for _ in range(-(-n_looks // LOOKS_PER_YEAR))
        ]
        file = ATTACKS[attack](in_turn(accounts, LOOKS_PER_YEAR), start, n_classes, n_looks, rng)
        found.append(float((file == gold).mean()) - 1 / n_classes)
    return np.array(found)


def in_turn(accounts: Sequence[Laddered], each: int) -> Look:
    """Submit files through one account after the other, so many through each."""
    looks = itertools.chain.from_iterable(itertools.repeat(account.look, each) for account in accounts)

    def look(file: NDArray[np.int64]) -> float | None:
        return next(looks)(file)

    return look


def test_the_error_is_that_of_a_mean_of_differences() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.random((2, 400)) < 0.7
    expected = (first * 1.0 - second).std(ddof=1) / np.sqrt(400)
    assert paired_error(measured(first), measured(second)) == pytest.approx(expected)
    assert paired_error(measured(first), measured(first)) == 0


def test_a_step_is_a_point_at_least() -> None:
    right = np.ones(5_000, dtype=bool)
    other = right.copy()
    other[0] = False
    assert step_between(measured(right), measured(other)) == MIN_STEP


def at(value: float) -> Measured:
    """Return a score without any error."""
    return Measured(value, np.full(9, value))


@given(st.floats(0, 1), st.integers(0, 100))
def test_what_is_told_is_better_by_a_step_and_in_whole_points(score: float, best: int) -> None:
    told = next_rung(at(score), Rung(best / 100, at(best / 100)), None, 0.5)
    assert (told is None) == (score <= best / 100 + MIN_STEP + 1e-12)
    if told is not None:
        assert told > best / 100
        assert abs(told - score) <= MIN_STEP / 2 + 1e-9
        assert told * 100 == pytest.approx(round(told * 100))


@given(st.floats(0, 1), st.floats(MIN_STEP, 0.2), st.floats(0, 0.999))
def test_steps_hide_what_is_smaller(score: float, step: float, draw: float) -> None:
    told = round_to_steps(score, step, draw)
    assert abs(told - score) <= (step + MIN_STEP) / 2 + 1e-9
    assert told * 100 == pytest.approx(round(told * 100))


def test_a_number_told_of_another_variant_is_a_hurdle() -> None:
    """Check the same labels under other ids: neither the first number nor a new one comes without a hurdle."""
    rng = np.random.default_rng(5)
    score = measured(rng.random(500) < 0.70)
    told = round(score.value, 2)
    assert next_rung(score, None, None, 0.5) is not None
    assert next_rung(score, Rung(told), None, 0.5) is None
    assert next_rung(score, Rung(told - own_step(score)), None, 0.5) is None
    assert next_rung(score, Rung(told - 2.5 * own_step(score)), None, 0.5) == told
    # It has to beat guessing too, whatever number was released.
    guess = measured(rng.random(500) < 0.69)
    assert next_rung(score, Rung(0.1), guess, 0.5) is None
    assert next_rung(score, Rung(0.1, measured(rng.random(500) < 0.1)), guess, 0.5) is None


def test_honest_files_further_apart_than_the_step_keep_their_order() -> None:
    rng = np.random.default_rng(1)
    gold = rng.integers(3, size=800)
    server = Laddered(gold, rng)
    told = []
    for share in (0.55, 0.75, 0.90):
        file = np.where(rng.random(gold.size) < share, gold, (gold + 1) % 3)
        told.append((server.look(file), float((file == gold).mean())))
    numbers = [number for number, _ in told]
    assert None not in numbers
    assert numbers == sorted(set(numbers))
    assert all(abs(number - score) <= MIN_STEP / 2 + 1e-9 for number, score in told if number is not None)
    # One that is worse, or better by less than a step, changes nothing.
    worse = np.where(rng.random(gold.size) < 0.5, gold, (gold + 1) % 3)
    assert server.look(worse) is None


def test_a_file_without_knowledge_is_told_nothing() -> None:
    rng = np.random.default_rng(2)
    told = [Laddered(rng.integers(2, size=500), rng).look(rng.integers(2, size=500)) for _ in range(200)]
    assert sum(number is not None for number in told) <= 10
    constant = np.zeros(500, dtype=np.int64)
    assert Laddered(rng.integers(2, size=500), rng).look(constant) is None


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("n_variants", [1, 3])
def test_a_years_looks_gain_at_most_two_points(attack: str, n_variants: int) -> None:
    for case in CASES:
        assert gains(500, case, LOOKS_PER_YEAR, attack, 60, n_variants).mean() <= MAX_GAIN, case


def ramp_gains(n_texts: int, n_numbers: int, n_times: int) -> NDArray[np.float64]:
    """Climb by surely wrong answers, and return what each attacker gains: the best of some ramps."""
    found = []
    for raised in (0.09, 0.12, 0.16, 0.2, 0.25):
        shares = [1 - raised * (n_numbers - 1 - look) for look in range(n_numbers)]
        if min(shares) <= 0:
            continue
        rng = np.random.default_rng([n_texts, n_numbers])
        gains = []
        for _ in range(n_times):
            gold = rng.integers(2, size=n_texts)
            file = ramp(shares)(Laddered(gold, rng, can_be_guessed=False).look, gold, 2, n_numbers, rng)
            gains.append(float((file == gold).mean()) - 1 / 2)
        found.append(np.array(gains))
    return max(found, key=np.mean)


def test_as_many_numbers_as_gain_two_points_where_labels_cannot_be_guessed() -> None:
    """Check twelve numbers of 500 texts, which would gain twice as much as is allowed."""
    assert ramp_gains(500, LOOKS_PER_YEAR, 40).mean() > 1.5 * MAX_GAIN
    assert [scores_per_year(2 * n, can_be_guessed=False) for n in (500, 1_000, 5_999, 9_000)] == [1, 2, 11, 12]
    assert scores_per_year(1_000, can_be_guessed=True) == LOOKS_PER_YEAR
    assert ramp_gains(500, 1, 100).mean() <= MAX_GAIN
    assert ramp_gains(1_000, 2, 100).mean() <= MAX_GAIN
