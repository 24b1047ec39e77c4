"""Texts drawn for labelling and the accuracy from them: against ppi-python, exact sums, and simulated domains.

The table: ``pytest -m long -s tests/metrics/test_accuracy_from_samples.py``.
"""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from syrupy.assertion import SnapshotAssertion

from shiftbench.metrics.label_sampling import (
    confidence_correlation,
    draw_groups,
    draw_probabilities,
    enough_expected,
    expected_width,
    sampled_accuracy,
)
from shiftbench.metrics.precision import student, wilson_limits
from tests.metrics.sampled import Domain, simulate
from tests.refusals import refusal

N, N_LABELLED = 2000, 100


def oracle_domain() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw confidences of 2,000 texts and whether they are right; the first 100 are labelled."""
    rng = np.random.default_rng(5)
    confidence = np.round(0.5 + 0.5 * rng.beta(1, 0.67, size=N), 3)
    return confidence, (rng.random(N) < confidence).astype(float)


# ppi-python 0.2.3, ppi_mean_pointestimate and ppi_mean_ci (alpha 0.05) on oracle_domain: Y and Yhat of the first 100
# texts, Yhat_unlabeled of the other 1,900, its lambda; half the width of its interval over 1.96 is the standard error.
PPI_PYTHON = [
    (None, 0.7710932052312777, (0.6897028691191017, 0.8524835413434536)),
    (0.0, 0.76, (0.6762932446636111, 0.843706755336389)),
    (0.5, 0.7683323684210526, (0.6868503673427102, 0.8498143694993949)),
    (1.0, 0.7766647368421052, (0.6944685977085895, 0.858860875975621)),
]


@pytest.mark.parametrize(("trust", "estimate", "interval"), PPI_PYTHON)
def test_equal_probabilities_are_ppi_plus_plus(
    trust: float | None, estimate: float, interval: tuple[float, float]
) -> None:
    """Test against ppi-python.

    Ours averages all texts, theirs unlabelled ones: their lambda is ours times 1 - n / N.
    """
    confidence, correct = oracle_domain()
    share = N_LABELLED / N
    ours = None if trust is None else trust / (1 - share)
    chance, groups = np.full(N_LABELLED, share), np.arange(N_LABELLED)
    first = slice(N_LABELLED)
    found = sampled_accuracy(correct[first], confidence[first], chance, groups, confidence, trust=ours)
    # Their lambda comes from the pooled variance of Yhat, ours from the labelled texts alone.
    assert found.value == pytest.approx(estimate, abs=1e-9 if trust is not None else 1e-3)
    error = (interval[1] - interval[0]) / 2 / 1.959964
    assert np.sqrt(found.variance) == pytest.approx(error, rel=0.02)


def test_weights_of_ppi_python() -> None:
    """Test unequal weights, lambda 0.7: the same package's ppi_mean_pointestimate with w = 1 / pi."""
    confidence, correct = oracle_domain()
    first = slice(N_LABELLED)
    chance = np.where(np.arange(N_LABELLED) % 2, 0.02, 0.08)
    # With all 2,000 texts in the place of its 1,900 unlabelled ones: 0.7 times the difference of the two means.
    moved = 0.7 * (confidence.mean() - confidence[N_LABELLED:].mean())
    found = sampled_accuracy(correct[first], confidence[first], chance, np.arange(N_LABELLED), confidence, trust=0.7)
    assert found.value - moved == pytest.approx(0.77938072, abs=1e-8)


def test_labels_alone_at_random_are_wilson() -> None:
    correct = np.repeat([1.0, 0.0], [33, 7])
    found = sampled_accuracy(correct, np.full(40, 0.6), np.full(40, 0.01), np.arange(40), np.full(4000, 0.6), trust=0)
    assert found.value == 33 / 40
    assert (found.random_low, found.random_high) == pytest.approx(wilson_limits(33 / 40, student(39) ** 2 / 40))


def test_everything_labelled_leaves_no_chance_of_drawing() -> None:
    confidence, correct = oracle_domain()
    found = sampled_accuracy(correct, confidence, np.ones(N), np.arange(N), confidence)
    mean = correct.mean()
    assert found.value == pytest.approx(mean)
    assert found.variance == pytest.approx(mean * (1 - mean) / N)


def test_groups_are_the_unit() -> None:
    """Test pairs that are right or wrong together, and so count as half as many texts."""
    correct = np.repeat([1.0] * 30 + [0.0] * 10, 2)
    pairs = sampled_accuracy(
        correct, np.full(80, 0.7), np.full(80, 0.1), np.repeat(np.arange(40), 2), np.full(800, 0.7)
    )
    singles = sampled_accuracy(correct[::2], np.full(40, 0.7), np.full(40, 0.1), np.arange(40), np.full(400, 0.7))
    assert pairs == pytest.approx(singles)


def test_few_groups_have_no_interval() -> None:
    found = sampled_accuracy([1, 0, 1, 1], [0.5] * 4, [0.5] * 4, range(4), [0.5] * 8)
    assert np.isnan([found.low, found.high, found.random_low]).all()
    all_right = sampled_accuracy([1] * 20, [0.9] * 20, [0.5] * 20, range(20), [0.9] * 40)
    assert (all_right.value, all_right.high) == (1, 1)
    assert all_right.low < 0.86


def test_probabilities_follow_doubt_and_sum_to_the_budget() -> None:
    confidence = np.array([0.5] * 10 + [0.9] * 30)
    chance = draw_probabilities(confidence, np.arange(40), 12)
    doubt = np.sqrt(confidence * (1 - confidence))
    np.testing.assert_allclose(chance, 12 * (0.5 * doubt / doubt.sum() + 0.5 / 40))
    np.testing.assert_allclose(draw_probabilities(confidence, np.arange(40), 12, 1), 12 / 40)
    capped = draw_probabilities(confidence, np.arange(40), 34)
    assert capped.max() == pytest.approx(1)
    assert capped.sum() == pytest.approx(34)
    assert draw_probabilities([0.9, 0.6], [0, 1], 2) == pytest.approx([1, 1])
    grouped = draw_probabilities([0.5, 1.0, 0.8], [0, 0, 1], 1)
    assert grouped[0] == grouped[1]
    assert grouped.sum() == pytest.approx(1)


def test_every_text_is_drawn_as_often_as_its_probability_says() -> None:
    rng = np.random.default_rng(2)
    groups = np.repeat(np.arange(30), rng.integers(1, 4, 30))
    chance = draw_probabilities(rng.uniform(0.5, 1, groups.size), groups, 15)
    drawn = np.array([draw_groups(chance, groups, rng) for _ in range(4000)])
    np.testing.assert_allclose(drawn.mean(axis=0), chance, atol=0.035)  # 4 standard errors
    assert all(len({*row[groups == group]}) == 1 for row in drawn[:50] for group in range(30))
    assert np.ptp(drawn.sum(axis=1)) <= 4
    singles = draw_probabilities(rng.uniform(0.5, 1, 200), np.arange(200), 37)
    assert {int(draw_groups(singles, np.arange(200), rng).sum()) for _ in range(200)} == {37}


def test_expected_width_is_that_of_the_correlation_at_random() -> None:
    confidence = np.random.default_rng(1).uniform(0.5, 1, 100_000)
    rho = confidence_correlation(confidence)
    at_random = expected_width(confidence, np.full(confidence.size, 1e-3))
    assert at_random == pytest.approx(np.sqrt(1 - rho**2), abs=1e-3)
    assert expected_width(confidence, draw_probabilities(confidence, np.arange(100_000), 100)) < at_random
    assert confidence_correlation([1, 1]) == 0
    assert expected_width([1, 1], [0.5, 0.5]) == 1
    assert not enough_expected([0.9] * 5, 150)


def test_malformed_input_is_refused(wording: SnapshotAssertion) -> None:
    said = {}
    for case, call in {
        "budget": lambda: draw_probabilities([0.5], [0], 2),
        "confidence in percent": lambda: draw_probabilities([50.0], [0], 1),
        "groups with gaps": lambda: draw_probabilities([0.5, 0.5], [0, 2], 1),
        "no uniform share": lambda: draw_probabilities([0.5], [0], 1, 0),
        "two probabilities in a group": lambda: draw_groups([0.5, 0.4], [0, 0], np.random.default_rng(0)),
        "probability 0": lambda: expected_width([0.5], [0.0]),
        "2 is no outcome": lambda: sampled_accuracy([2], [0.5], [0.5], [0], [0.5]),
        "no confidences": lambda: sampled_accuracy([1], [0.5], [0.5], [0], []),
        "shapes": lambda: sampled_accuracy([1, 0], [0.5], [0.5], [0], [0.5]),
        "percent of all": lambda: sampled_accuracy([1], [0.5], [0.5], [0], [50]),
    }.items():
        said[case] = refusal(ValueError, call)
    assert said == wording


Right = Callable[[NDArray[np.float64]], NDArray[np.float64]]
SHAPES = {"80": (1.0, 0.67), "70": (0.8, 1.2)}
"""Confidences 1/2 + Beta / 2, by their mean in points."""
TRUTHS: dict[str, Right] = {
    "calibrated": lambda c: c,
    "too sure": lambda c: 0.5 + 0.6 * (c - 0.5),
    "15 points too high": lambda c: c - 0.15,
    "one sure answer in seven wrong": lambda c: 0.85 * c,
    "no relation": lambda c: np.full_like(c, 0.75),
}


def make_domain(shape: tuple[float, float], right: Right, in_pairs: bool = False) -> Callable[..., Domain]:
    def make(rng: np.random.Generator, n: int = 2000) -> Domain:
        confidence = 0.5 + 0.5 * rng.beta(*shape, size=n)
        if not in_pairs:
            return Domain(confidence, (rng.random(n) < right(confidence)).astype(float), np.arange(n))
        # Two texts of a group share what is hard about it: one confidence, and in half of the groups one outcome.
        confidence, draws = np.repeat(confidence[::2], 2), rng.random(n)
        alike = np.repeat(rng.random(n // 2) < 0.5, 2)
        draws = np.where(alike, np.repeat(draws[::2], 2), draws)
        return Domain(confidence, (draws < right(confidence)).astype(float), np.repeat(np.arange(n // 2), 2))

    return make


def true_accuracy(shape: tuple[float, float], right: Right) -> float:
    confidence = 0.5 + 0.5 * np.random.default_rng(9).beta(*shape, size=2_000_000)
    return float(right(confidence).mean())


def test_intervals_hold_and_are_a_little_narrower() -> None:
    shape, right = SHAPES["80"], TRUTHS["calibrated"]
    found = simulate(make_domain(shape, right), true_accuracy(shape, right), 200, 400, 1)
    assert found.covered > 0.92
    assert 0.06 < found.narrower < 0.18
    assert found.narrower == pytest.approx(found.expected, abs=0.03)
    assert abs(found.bias) < 0.006  # 4 standard errors


@pytest.mark.long
def test_table_of_coverage() -> None:
    print("\n| mean confidence | confidences | budget | drawn by confidence: held | at random: held | narrower by |"
          " expected | condition holds |\n|---|---|---:|---:|---:|---:|---:|---|")  # fmt: skip
    seen = []
    for mean, shape in SHAPES.items():
        for name, right in [*TRUTHS.items(), ("calibrated, in pairs", TRUTHS["calibrated"])]:
            make = make_domain(shape, right, "pairs" in name)
            for budget in (50, 100, 200):
                found = simulate(make, true_accuracy(shape, right), budget, 1500, budget)
                holds = "yes" if found.tuned > 0.99 else "no" if found.tuned < 0.01 else "at times"
                figures = " | ".join(f"{100 * each:.1f}" for each in found[:4])
                print(f"| {mean} | {name} | {budget} | {figures} | {holds} |", flush=True)
                if found.tuned > 0.99:
                    seen.append(found)
                if found.tuned > 0.99 and name == "calibrated":
                    assert 0.04 < found.narrower < 0.18
    assert all(0.93 <= each.covered <= 0.975 for each in seen)


@pytest.mark.long
def test_table_of_the_uniform_share() -> None:
    print("\n| confidences | uniform share | held | narrower by |\n|---|---:|---:|---:|")
    for name in ("calibrated", "no relation"):
        widths = []
        for share in (0.2, 0.5, 0.8):
            shape, right = SHAPES["80"], TRUTHS[name]
            found = simulate(make_domain(shape, right), true_accuracy(shape, right), 100, 1500, 1, share)
            print(f"| {name} | {share} | {100 * found.covered:.1f} | {100 * found.narrower:.1f} |", flush=True)
            widths.append(found.narrower)
        assert (widths[0] < widths[2]) == (name == "no relation")
