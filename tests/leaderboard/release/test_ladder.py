"""What the Ladder tells, and what adaptive attackers gain on it: the measured curve over looks and texts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from leaderboard.release.ladder import MIN_STEP, Measured, next_rung, paired_error, step_between
from leaderboard.release.looks import LOOKS_A_YEAR
from leaderboard.release.rounds import DECIMALS
from tests.leaderboard.release.attacks import ATTACKS, Laddered

MAX_GAIN = 0.02
"""What an attacker may gain on the feedback half after a year's looks, at 500 texts or more."""


def measured(right: NDArray[np.float64]) -> Measured:
    return Measured(float(right.mean()), (right.sum() - right) / (right.size - 1))


def gains(n_texts: int, n_classes: int, n_looks: int, attack: str, n_times: int) -> NDArray[np.float64]:
    """Attack as often as asked, and give what each attacker's last file has above chance."""
    rng = np.random.default_rng([n_texts, n_classes, n_looks, *attack.encode()])
    found = []
    for _ in range(n_times):
        gold = rng.integers(n_classes, size=n_texts)
        start = rng.integers(n_classes, size=n_texts)
        file = ATTACKS[attack](Laddered(gold, rng).look, start, n_classes, n_looks, rng)
        found.append(float((file == gold).mean()) - 1 / n_classes)
    return np.array(found)


def test_the_error_is_that_of_a_mean_of_differences() -> None:
    rng = np.random.default_rng(0)
    first, second = (rng.random((2, 400)) < 0.7).astype(float)
    expected = (first - second).std(ddof=1) / np.sqrt(400)
    assert paired_error(measured(first), measured(second)) == pytest.approx(expected)
    assert paired_error(measured(first), measured(first)) == 0


def test_a_step_is_a_point_at_least() -> None:
    right = np.ones(5_000)
    other = right.copy()
    other[0] = 0
    assert step_between(measured(right), measured(other)) == MIN_STEP


@given(st.floats(0, 1), st.floats(0, 1), st.floats(MIN_STEP, 0.2))
def test_what_is_told_is_better_by_a_step_and_in_whole_points(score: float, best: float, step: float) -> None:
    told = next_rung(score, best, step)
    assert (told is None) == (score <= best + step + 1e-12)
    if told is not None:
        assert abs(told - score) <= MIN_STEP / 2 + 1e-9
        assert told * 100 == pytest.approx(round(told * 100))


def test_honest_files_further_apart_than_the_step_keep_their_order() -> None:
    rng = np.random.default_rng(1)
    gold = rng.integers(3, size=800)
    server = Laddered(gold, rng)
    told = []
    for share in (0.55, 0.75, 0.90):
        file = np.where(rng.random(gold.size) < share, gold, (gold + 1) % 3)
        told.append((server.look(file), float((file == gold).mean())))
    assert [number for number, _ in told] == sorted({number for number, _ in told})
    assert all(abs(number - score) <= MIN_STEP / 2 + 1e-9 for number, score in told if number is not None)
    # One that is worse, or better by less than a step, changes nothing.
    worse = np.where(rng.random(gold.size) < 0.5, gold, (gold + 1) % 3)
    assert server.look(worse) == told[-1][0]


def test_a_file_without_knowledge_is_told_nothing() -> None:
    rng = np.random.default_rng(2)
    told = [Laddered(rng.integers(2, size=500), rng).look(rng.integers(2, size=500)) for _ in range(200)]
    assert sum(number is not None for number in told) <= 10
    constant = np.zeros(500, dtype=np.int64)
    assert Laddered(rng.integers(2, size=500), rng).look(constant) is None


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_years_looks_gain_at_most_two_points(attack: str) -> None:
    found = gains(500, 2, LOOKS_A_YEAR, attack, 60)
    assert found.mean() <= MAX_GAIN


@pytest.mark.long
def test_the_curve_of_gains() -> None:
    """The mean gain of each attacker, in points, by texts and looks; also with more looks than are allowed."""
    times, looks = 300, (1, 3, 6, LOOKS_A_YEAR, 24, 48)
    print(f"\ngain in points, mean of {times} attacks, and the largest standard error\nclasses texts attack", *looks)
    for n_classes in (2, 3):
        for n_texts in (500, 1_000, 2_000, 5_000):
            for attack in ATTACKS:
                found = {k: gains(n_texts, n_classes, k, attack, times) for k in looks}
                errors = [each.std(ddof=1) / np.sqrt(times) for each in found.values()]
                cells = " ".join(f"{100 * each.mean():5.2f}" for each in found.values())
                print(f"{n_classes} {n_texts:>5} {attack:<13} {cells}  ± {100 * max(errors):.2f}")
                year = found[LOOKS_A_YEAR]
                assert year.mean() + 2 * year.std(ddof=1) / np.sqrt(times) <= MAX_GAIN


@pytest.mark.long
def test_what_released_rounds_are_worth() -> None:
    """Scores of files dealt at random that rounds have released, weighed as votes: points above chance on that half.

    A round's figures pass no Ladder, so they tell more than as many looks: ``leaderboard/README.md`` has the table.
    """
    times, files = 300, (1, 4, 20)
    print(f"\ngain in points, mean of {times} attacks, and the largest standard error\nclasses texts", *files)
    for n_classes in (2, 3):
        for n_texts in (75, 500, 1_000, 5_000):
            found = [voted_gains(n_texts, n_classes, k, times) for k in files]
            errors = [each.std(ddof=1) / np.sqrt(times) for each in found]
            cells = " ".join(f"{100 * each.mean():5.2f}" for each in found)
            print(f"{n_classes} {n_texts:>5} {cells}  ± {100 * max(errors):.2f}")
            means = [each.mean() for each in found]
            assert means[0] > 2 * errors[0]  # the README says that rounds tell: it is to be changed with this
            assert means == sorted(means)


def voted_gains(n_texts: int, n_classes: int, n_files: int, n_times: int) -> NDArray[np.float64]:
    """Weigh files dealt at random by their released scores, and return what their vote has above chance each time."""
    rng = np.random.default_rng([n_texts, n_classes, n_files])
    found = []
    for _ in range(n_times):
        gold, votes = rng.integers(n_classes, size=n_texts), np.zeros((n_texts, n_classes))
        for _ in range(n_files):
            file = rng.integers(n_classes, size=n_texts)
            votes[np.arange(n_texts), file] += round(float((file == gold).mean()), DECIMALS) - 1 / n_classes
        votes += 1e-9 * rng.random(votes.shape)  # ties
        found.append(float((votes.argmax(axis=1) == gold).mean()) - 1 / n_classes)
    return np.array(found)
