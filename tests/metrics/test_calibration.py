"""Calibration figures against formulas written anew, and against worlds whose calibration is known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss

from shiftbench.metrics.calibration import (
    bin_counts,
    brier_scores,
    calibration_limits,
    equal_mass_bins,
    overconfidence,
    squared_calibration_error,
    top_label_brier_scores,
)

ROWS = st.lists(
    st.tuples(st.integers(0, 8), st.booleans(), st.integers(0, 2), st.integers(0, 4)), min_size=2, max_size=20
)


def pair_error(confidence: np.ndarray, correct: np.ndarray, bins: np.ndarray, groups: np.ndarray) -> float:
    """Compute the mean product of two examples of one bin and different groups, bin by bin, pair by pair."""
    total, mass = 0.0, 0
    for each in set(bins.tolist()):
        rows = np.flatnonzero(bins == each)
        products = [
            (confidence[i] - correct[i]) * (confidence[j] - correct[j])
            for i in rows
            for j in rows
            if groups[i] != groups[j]
        ]
        if products:
            total, mass = total + rows.size * float(np.mean(products)), mass + rows.size
    return total / mass if mass else float("nan")


@given(ROWS)
def test_the_error_is_the_mean_over_pairs_of_groups(rows: list[tuple[int, bool, int, int]]) -> None:
    confidence, correct, bins, groups = (np.array(column) for column in zip(*rows, strict=True))
    confidence, groups = confidence / 8, np.unique(groups, return_inverse=True)[1]
    found = squared_calibration_error(*bin_counts(confidence, correct, bins, groups)).value
    assert found == pytest.approx(pair_error(confidence, correct, bins, groups), abs=1e-12, nan_ok=True)


def test_alone_examples_give_the_square_less_its_variance() -> None:
    rng = np.random.default_rng(0)
    confidence, correct = rng.random(50), rng.integers(0, 2, 50)
    difference = confidence - correct
    found = squared_calibration_error(*bin_counts(confidence, correct, np.zeros(50, int))).value
    assert found == pytest.approx(difference.mean() ** 2 - difference.var(ddof=1) / 50, abs=1e-12)


def simulate(n_tests: int, n: int, distance: float, size: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Simulate errors with and without bias on test sets whose groups of ``size`` texts are all right or all wrong."""
    rng, found, plain = np.random.default_rng(2), [], []
    for _ in range(n_tests):
        sure = np.repeat(0.5 + 0.45 * rng.random(n // size), size)
        right = np.repeat(rng.random(n // size) < sure[::size] - distance, size)
        groups = np.arange(n) // size
        sizes, differences = bin_counts(sure, right, equal_mass_bins(sure, 10), groups)
        found.append(squared_calibration_error(sizes, differences).value)
        total = sizes.sum(axis=0)
        plain.append(float(((differences.sum(axis=0) / total) ** 2 * total / n).sum()))
    return np.array(found), np.array(plain)


@pytest.mark.parametrize("size", [1, 4])
def test_no_bias_under_perfect_calibration(size: int) -> None:
    found, plain = simulate(1_500, 200, 0.0, size)
    error = found.std() / np.sqrt(found.size)
    assert abs(found.mean()) < 3 * error
    assert plain.mean() > 0.007  # what it was without the correction: a calibration error of 8 points at least
    assert error < 0.0006


def test_a_known_error_is_found() -> None:
    found, _ = simulate(1_000, 200, 0.2)
    assert found.mean() == pytest.approx(0.04, abs=3 * found.std() / np.sqrt(found.size))


def test_influences_are_what_leaving_a_group_out_does() -> None:
    rng = np.random.default_rng(3)
    sure, groups = rng.random(600), np.arange(600) // 2
    right = rng.random(600) < sure**2
    sizes, differences = bin_counts(sure, right, equal_mass_bins(sure, 10), groups)
    found = squared_calibration_error(sizes, differences)
    left_out = [
        squared_calibration_error(np.delete(sizes, group, 0), np.delete(differences, group, 0)).value
        for group in range(300)
    ]
    jackknife = 299 / 300 * (found.value - np.array(left_out))
    assert found.influences.sum() == pytest.approx(0, abs=1e-12)
    assert np.corrcoef(jackknife, found.influences)[0, 1] > 0.99
    assert found.influences.std() == pytest.approx(jackknife.std(), rel=0.05)


@pytest.mark.parametrize("size", [1, 4])
def test_the_variance_by_chance_is_that_under_perfect_calibration(size: int) -> None:
    rng, found = np.random.default_rng(6), []
    for _ in range(1_500):
        sure = np.repeat(0.5 + 0.45 * rng.random(100), size)
        right = np.repeat(rng.random(100) < sure[::size], size)
        counts = bin_counts(sure, right, equal_mass_bins(sure, 5), np.arange(sure.size) // size)
        found.append(squared_calibration_error(*counts))
    assert np.mean([each.chance for each in found]) == pytest.approx(np.var([each.value for each in found]), rel=0.15)


@pytest.mark.parametrize("value", [0.0225, 0.01, 0.0, -0.001])
def test_the_variance_is_that_at_the_limit(value: float) -> None:
    variance, chance, quantile = 4e-5, 1e-5, 2.1
    for limit in calibration_limits(value, variance, chance, quantile):
        there = variance / max(value, chance**0.5) * limit + chance
        assert (value - limit) ** 2 == pytest.approx(quantile**2 * there)
    assert calibration_limits(0.0, 0.0, 0.0, quantile) == (0.0, 0.0)


def test_bins_have_equal_mass_and_keep_ties_together() -> None:
    sure = np.random.default_rng(4).random(100)
    codes = equal_mass_bins(sure, 7)
    assert sorted(np.bincount(codes).tolist()) == [14, 14, 14, 14, 14, 15, 15]
    assert all(sure[codes == code].max() < sure[codes == code + 1].min() for code in range(6))
    assert equal_mass_bins([0.4, 0.4, 0.4], 15).tolist() == [0, 0, 0]
    assert equal_mass_bins([0.4, 0.4, 0.4, 1.0], 2).tolist() == [0, 0, 0, 1]


def test_brier_scores_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(5)
    table, labels = rng.dirichlet(np.ones(4), 60), rng.integers(0, 4, 60)
    assert brier_scores(table, labels).mean() == pytest.approx(((table - np.eye(4)[labels]) ** 2).sum(axis=1).mean())
    both = np.stack([table, table[::-1]])
    assert brier_scores(both, labels).shape == (2, 60)
    sure, right = rng.random(60), rng.integers(0, 2, 60)
    assert top_label_brier_scores(sure, right).mean() == pytest.approx(brier_score_loss(right, sure))


def test_overconfidence_by_run() -> None:
    found = overconfidence([[0.9, 0.8], [0.5, 0.5]], [[1, 0], [1, 1]])
    assert found.tolist() == pytest.approx([0.35, -0.5])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: overconfidence([90.0], [1]), "percent or logits"),
        (lambda: overconfidence([0.5], [2]), "did you pass labels"),
        (lambda: overconfidence([], []), "n > 0"),
        (lambda: brier_scores([[2.0, -1.0]], [0]), "did you pass logits"),
        (lambda: brier_scores([[0.5, 0.5]], [2]), "codes from 0 to 1"),
        (lambda: equal_mass_bins([], 3), "n > 0"),
        (lambda: squared_calibration_error([[1]], [[1, 2]]), "must share a shape"),
        (lambda: bin_counts([0.5, 0.5], [1, 0], [0]), r"must have shape \(2,\)"),
    ],
)
def test_malformed_input_is_refused(call: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()  # type: ignore[operator]


def test_one_group_has_no_error() -> None:
    assert np.isnan(squared_calibration_error([[3.0]], [[0.1]]).value)
