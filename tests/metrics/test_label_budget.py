"""Budgets of labels: what a label is worth in a decision, against simulation, and precisions that are reached."""

import numpy as np
import pytest

from shiftbench.metrics.label_budget import (
    Anticipated,
    Limit,
    anticipate,
    expected_interval,
    label_value,
    spend_labels,
    texts_within,
)


def test_the_value_of_labels_is_the_loss_that_they_save() -> None:
    """Draw accuracies and labels, decide by the labels or by a coin, and count what wrong decisions cost."""
    rng = np.random.default_rng(0)
    expected, limit, n = Anticipated(0.82, 0.04), 0.80, 150
    truth = rng.normal(expected.mean, expected.sd, 400_000)
    noise = expected.mean * (1 - expected.mean) / n
    seen = truth + rng.normal(0, noise**0.5, truth.size)

    def loss(accepted: np.ndarray) -> float:
        return float((np.abs(truth - limit) * (accepted != (truth > limit))).mean())

    saved = loss(rng.random(truth.size) < 0.5) - loss(seen > limit)
    assert float(label_value(expected, Limit(limit, 0.0), n)) == pytest.approx(saved, rel=0.03)


def test_an_uncertain_limit_makes_labels_worth_less() -> None:
    expected = Anticipated(0.8, 0.05)
    sure, unsure = (float(label_value(expected, Limit(0.8, error), 200)) for error in (0.0, 0.05))
    assert unsure < sure


def test_a_budget_is_spent_whole_and_no_domain_is_forgotten() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        sizes = rng.integers(5, 400, 5).tolist()
        budget = int(rng.integers(5, sum(sizes)))
        expected = [Anticipated(float(rng.uniform(0.3, 0.95)), float(rng.uniform(0.0, 0.1))) for _ in sizes]
        shares = spend_labels(sizes, budget, expected, Limit(0.8, 0.01))
        assert sum(shares) == budget
        assert all(0 < share <= size for share, size in zip(shares, sizes, strict=True))


def test_shortfalls_of_labelled_domains_enter_with_their_spread() -> None:
    none = anticipate(0.9, [], [], [])
    assert none == (pytest.approx(0.9), pytest.approx(0.1))
    alike = anticipate(0.9, [0.9] * 8, [0.8] * 8, [0.01] * 8)
    apart = anticipate(0.9, [0.9] * 8, [0.6, 1.0] * 4, [0.01] * 8)
    assert alike.mean == pytest.approx(apart.mean)
    assert alike.sd < 0.06
    assert apart.sd > 0.15
    assert anticipate(0.1, [0.9], [0.2], [0.01]).mean > 0


def test_a_precision_is_reached_where_accuracy_is_as_expected_or_a_deviation_lower() -> None:
    expected = Anticipated(0.85, 0.05)
    n = texts_within(expected, 0.05, 5000)
    assert n is not None
    for accuracy in (0.85, 0.80):
        low, high = expected_interval(accuracy, n)
        assert high - low <= 0.1
    low, high = expected_interval(0.80, n - 5)
    assert high - low > 0.1
    grouped = texts_within(expected, 0.05, 5000, design=3.0)
    assert grouped is not None
    assert grouped == pytest.approx(3 * n, rel=0.05)
