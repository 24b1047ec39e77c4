"""Ranks of models by units: by their definition, with missing scores, and where nothing can be told apart."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats

from shiftbench.metrics.ranking import rank_units


def by_definition(table, weights=None):
    """Return the pairs that are told apart: every pattern of signs, every pair, in plain loops."""
    n_models, n_units = table.shape
    weights = np.ones(n_units) if weights is None else weights
    pairs = list(combinations(range(n_models), 2))
    gaps = {pair: weights * (table[pair[0]] - table[pair[1]]) for pair in pairs}
    roots = {pair: np.sqrt((gap**2).sum()) for pair, gap in gaps.items()}
    largest = [
        max(abs((gap * signs).sum()) / roots[pair] if roots[pair] else 0.0 for pair, gap in gaps.items())
        for signs in (np.array(each) for each in product((1.0, -1.0), repeat=n_units))
    ]
    found = set()
    for pair, gap in gaps.items():
        ratio = abs(gap.sum()) / roots[pair] if roots[pair] else 0.0
        if np.mean([each >= ratio - 1e-9 for each in largest]) <= 0.05:
            found.add(pair)
    return found


def told_apart(ranks):
    return {(a, b) for a, b in combinations(range(len(ranks.points)), 2) if ranks.decided[a, b]}


@pytest.mark.parametrize("seed", range(6))
def test_up_to_12_units_every_pattern_of_signs_is_taken(seed):
    rng = np.random.default_rng(seed)
    binary = seed % 2
    table = rng.normal(size=(4, 9)) + np.array([[3.0], [1.5], [0.0], [0.0]])
    table = (table > 1).astype(float) if binary else table
    weights = rng.integers(1, 4, size=9).astype(float) if seed > 3 else None
    assert told_apart(rank_units(table, weights)) == by_definition(table, weights)


def test_p_is_that_of_the_paired_t_test_and_ranks_follow_from_what_is_decided():
    rng = np.random.default_rng(3)
    table = rng.normal(size=(3, 60)) + np.array([[0.0], [2.0], [0.1]])
    ranks = rank_units(table)
    expected = stats.ttest_rel(table[0], table[2])
    assert ranks.p[0, 2] == pytest.approx(expected.pvalue)
    assert ranks.difference[0, 2] / ranks.se[0, 2] == pytest.approx(expected.statistic)
    assert (ranks.best.tolist(), ranks.worst.tolist()) == ([2, 1, 2], [3, 1, 3])
    assert ranks.p_corrected[0, 2] >= ranks.p[0, 2]
    np.testing.assert_allclose(ranks.points, table.mean(axis=1))


def test_order_of_models_and_a_shift_of_a_unit_change_nothing():
    rng = np.random.default_rng(5)
    table = rng.normal(size=(6, 30)) + np.linspace(0, 2, 6)[:, None]
    ranks, order = rank_units(table), rng.permutation(6)
    again = rank_units(table[order])
    np.testing.assert_array_equal(again.best, ranks.best[order])
    np.testing.assert_array_equal(again.worst, ranks.worst[order])
    np.testing.assert_allclose(rank_units(table + 1e3 * np.arange(30)).difference, ranks.difference, atol=1e-9)


def test_equal_and_nearly_equal_models_are_not_told_apart_by_rounding():
    table = np.random.default_rng(1).normal(size=(4, 25))
    table[1] = table[0]
    table[2] = table[0] + 1e-14
    ranks = rank_units(table)
    assert not ranks.decided[:3, :3].any()
    assert ranks.p[0, 1] == ranks.p_corrected[0, 2] == 1


def test_a_constant_difference_is_decided_only_where_signs_can_tell():
    base = np.random.default_rng(2).normal(size=(1, 8))
    assert rank_units(np.vstack([base, base + 0.1])).decided[0, 1]  # 1 of 128 patterns
    assert rank_units(np.vstack([base, base + 0.1])).p_corrected[0, 1] == pytest.approx(1 / 128)


def test_a_model_without_a_score_has_no_rank_and_is_compared_on_common_units():
    rng = np.random.default_rng(7)
    table = rng.normal(size=(4, 40))
    table[3] += 3
    table[3, :5] = np.nan
    ranks = rank_units(table)
    assert np.isnan(ranks.points[3])
    assert (ranks.best[3], ranks.worst[3]) == (0, 0)
    assert ranks.decided[3].tolist() == [True, True, True, False]
    assert ranks.difference[3, 0] == pytest.approx((table[3, 5:] - table[0, 5:]).mean())
    assert ranks.p[0, 3] == pytest.approx(stats.ttest_rel(table[0, 5:], table[3, 5:]).pvalue)
    assert ranks.worst[:3].tolist() == [3, 3, 3]


def test_models_with_fewer_than_8_common_units_are_not_compared():
    table = np.random.default_rng(8).normal(size=(3, 12))
    table[2, :5] = np.nan
    ranks = rank_units(table)
    assert np.isnan(ranks.difference[2, 0])
    assert np.isnan(ranks.p_corrected[2, 1])
    assert not ranks.decided[2].any()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: rank_units(np.ones((3, 7))), "8 units, got 7"),
        (lambda: rank_units(np.full((2, 9), np.nan)), "no model has a score on every unit"),
        (lambda: rank_units(np.full((2, 9), np.inf)), "finite or NaN"),
        (lambda: rank_units(np.ones((2, 9)), np.zeros(9)), "above 0, one for each of the 9"),
        (lambda: rank_units(np.ones((2, 9)), level=95), "95% is 0.95"),
    ],
)
def test_what_cannot_be_ranked_is_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        wrong()


def test_equal_models_are_rarely_told_apart():
    rng = np.random.default_rng(11)
    found = sum(bool(rank_units(rng.standard_t(3, size=(6, 15))).decided.any()) for _ in range(400))
    assert found <= 33  # beyond 5% of 400 by three standard errors
