"""Mixed-up labels are told where another order is better beyond chance, and nowhere else."""

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.baselines.models.doubts import permutation_warning

LABELS = ("entailment", "neutral", "contradiction")


def mixed(rng: np.random.Generator, n: int, accuracy: float, order: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Build gold and predictions of a model of this accuracy whose label k is called order[k]."""
    gold = rng.integers(3, size=n)
    guess = np.where(rng.random(n) < accuracy, gold, (gold + rng.integers(1, 3, size=n)) % 3)
    return gold, np.array(order)[guess]


def test_a_swapped_model_is_told_with_the_map_that_mends_it(wording: SnapshotAssertion) -> None:
    gold, guess = mixed(np.random.default_rng(0), 300, 0.8, (2, 1, 0))
    told = permutation_warning(gold, guess, LABELS)
    assert told == wording
    names = np.array([*LABELS, "__unparsed__"])
    assert permutation_warning(names[gold], names[guess], LABELS) == told
    assert permutation_warning(gold, np.eye(3)[guess], LABELS) == told


@pytest.mark.parametrize(
    ("n", "accuracy", "order"), [(300, 0.8, (0, 1, 2)), (12, 0.7, (2, 1, 0)), (300, 1 / 3, (2, 1, 0))]
)
def test_right_few_or_guessing_models_are_not(n: int, accuracy: float, order: tuple[int, ...]) -> None:
    gold, guess = mixed(np.random.default_rng(1), n, accuracy, order)
    assert permutation_warning(gold, guess, LABELS) is None


def test_a_model_of_one_label_gains_nothing_by_another_name() -> None:
    assert permutation_warning([0] * 900 + [1] * 100, [1] * 1000, ("no", "yes")) is None
    assert permutation_warning([0] * 100, [1] * 100, ("no", "yes")) is None


def test_false_alarms_on_models_that_guess_stay_below_the_stated_rate() -> None:
    rng = np.random.default_rng(2)
    alarms = sum(permutation_warning(*mixed(rng, 60, 1 / 3, (0, 1, 2)), LABELS) is not None for _ in range(300))
    assert alarms <= 3
