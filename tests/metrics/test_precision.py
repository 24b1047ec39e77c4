"""Precision of scores beside delete-one-group jackknifes and independent formulas."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import f1_score

from shiftbench.metrics.classification import macro_f1
from shiftbench.metrics.precision import (
    class_df,
    class_size,
    effective_groups,
    effective_n,
    group_influences,
    influence_correlation,
    residual_variance,
    satterthwaite,
    slopes,
    square_of_interval,
    student,
    wilson_limits,
)

GROUPS = np.repeat(np.arange(40), np.random.default_rng(1).integers(1, 9, 40))


def jackknife(scores: list[float]) -> float:
    """Compute the delete-one-group variance from the scores without each group."""
    n = len(scores)
    return float((n - 1) / n * ((np.array(scores) - np.mean(scores)) ** 2).sum())


def test_influences_on_a_mean_are_the_jackknife() -> None:
    right = (np.random.default_rng(0).random(GROUPS.size) < 0.7).astype(float)
    moved = group_influences((right - right.mean()) / right.size, GROUPS)
    without = [right[group != GROUPS].mean() for group in range(40)]
    assert (moved**2).sum() == pytest.approx(jackknife(without), rel=1e-12)


def test_influences_on_macro_f1_are_nearly_the_jackknife() -> None:
    rng = np.random.default_rng(2)
    gold = rng.integers(0, 3, GROUPS.size)
    said = np.where(rng.random(gold.size) < 0.7, gold, rng.integers(0, 3, gold.size))
    table = np.zeros((3, 4))
    np.add.at(table, (gold, said), 1)

    def formula(sums: np.ndarray) -> np.ndarray:
        return macro_f1(sums.reshape(*sums.shape[:-1], 3, 4), np.ones(3, dtype=bool))

    slope = slopes(formula, table.ravel())
    texts = slope[gold * 4 + said]
    assert texts.sum() == pytest.approx(0, abs=1e-9)
    moved = group_influences(texts, GROUPS)
    without = [f1_score(gold[group != GROUPS], said[group != GROUPS], average="macro") for group in range(40)]
    assert (moved**2).sum() == pytest.approx(jackknife(without), rel=0.05)


def test_weighted_texts_leave_out_their_weight() -> None:
    rng = np.random.default_rng(4)
    right, weights = (rng.random(GROUPS.size) < 0.6).astype(float), rng.random(GROUPS.size)
    mean = np.average(right, weights=weights)
    moved = group_influences(weights * (right - mean) / weights.sum(), GROUPS, weights)
    without = [np.average(right[group != GROUPS], weights=weights[group != GROUPS]) for group in range(40)]
    assert (moved**2).sum() == pytest.approx(jackknife(without), rel=1e-12)


def test_effective_numbers() -> None:
    assert effective_groups([[3.0, 3.0, 0.0], [0, 0, 0], [1, 1, 1]]).tolist() == [2.0, 0.0, 3.0]
    assert class_size([50.0]) == 50
    assert class_df([30.0, 30.0, 30.0]) == pytest.approx(87)
    assert class_df([1000.0, 10.0]) == pytest.approx(9, rel=0.05)
    # Independent texts: the jackknife's n - 1; alike in groups of ten: about a tenth.
    assert effective_n(0.7, 0.21 / 99, 0.21 / 100, 100, 1e6) == pytest.approx(99)
    assert effective_n(0.7, 0.21 / 10, 0.21 / 100, 10, 1e6) == pytest.approx(10)
    # A variance below that of independent texts is believed as far as so many groups tell it.
    assert effective_n(0.7, 0.21 / 110, 0.21 / 100, 100, 1e6) == pytest.approx(100)
    assert effective_n(0.7, 0.21 / 500, 0.21 / 100, 100, 1e6) == pytest.approx(500 / (1 + 2 * np.sqrt(2 / 99)))
    # Where few groups hold an error, one part is that of as many texts as there are groups.
    assert effective_n(0.98, 0.0196 / 600, 0.0196 / 600, 12, 2.0) == pytest.approx(11 / (8 / 600 + 3 / 12))
    assert effective_n(0.98, 0.0196 / 600, 0.0196 / 600, 12, 0.0) == pytest.approx(12)
    assert effective_n([1.0, 0.0], 0.0, 0.0, 12, 0.0).tolist() == [12, 12]


def test_limits_are_wilsons() -> None:
    for right, n in ((0, 30), (1, 30), (17, 40), (40, 40)):
        low, high = wilson_limits(right / n, student(np.inf) ** 2 / n)
        expected = stats.binomtest(right, n).proportion_ci(method="wilson")
        assert (float(low), float(high)) == pytest.approx((expected.low, expected.high), abs=1e-9)
        assert square_of_interval(right / n, float(low), float(high)) == pytest.approx(float(student(np.inf)) ** 2 / n)


def test_scores_go_together_on_shared_groups_alone() -> None:
    rng = np.random.default_rng(5)
    one = rng.normal(size=50)
    joint = influence_correlation([one, one, -one, rng.normal(size=50)], ["a", "a", "a", "b"])
    assert joint[0].tolist() == pytest.approx([1, 1, -1, 0])
    assert influence_correlation([np.zeros(5), np.zeros(5)], ["a", "a"]).tolist() == [[1, 0], [0, 1]]


def test_degrees_of_freedom_add_as_variances_do() -> None:
    assert satterthwaite([1.0, 3.0], [5.0, 10.0]) == pytest.approx(16 / (1 / 5 + 9 / 10))
    assert satterthwaite([0.0, 0.0], [5.0, 10.0]) == 5


def test_runs_by_groups_are_counted_off() -> None:
    rng = np.random.default_rng(6)
    own = rng.normal(size=(2000, 5))
    # Each run's score is the sum of its own influences: all of the variance of their mean is residual.
    sums = np.array([rng.normal(size=(50, 5)).sum(axis=0) for _ in range(400)])
    assert residual_variance(own) / 2000 == pytest.approx(sums.var(axis=1, ddof=1).mean() / 5 / 50, rel=0.1)
