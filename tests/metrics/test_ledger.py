"""Flows between target-trained and source-trained runs, against counting over all pairs of runs."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from shiftbench.metrics.depth import weighted_score
from shiftbench.metrics.ledger import flip_counts, flip_ledger


def sides(elements: st.SearchStrategy) -> st.SearchStrategy:  # type: ignore[type-arg]
    def arrays(shape: tuple[int, int, int]) -> st.SearchStrategy:  # type: ignore[type-arg]
        runs_tt, runs_st, n = shape
        return st.tuples(
            hnp.arrays(np.float64, (runs_tt, n), elements=elements),
            hnp.arrays(np.float64, (runs_st, n), elements=elements),
        )

    return st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 12)).flatmap(arrays)


@given(sides(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0]))))
def test_flows_are_means_over_all_pairs_of_runs(scores: tuple[np.ndarray, np.ndarray]) -> None:
    tt, st_ = scores
    found = flip_ledger(flip_counts(tt, st_).sum(axis=0))
    pairs = list(product(tt, st_))
    assert found.transfer_loss == pytest.approx(np.mean([np.clip(a - b, 0, None).mean() for a, b in pairs]), abs=1e-12)
    assert found.transfer_gain == pytest.approx(np.mean([np.clip(b - a, 0, None).mean() for a, b in pairs]), abs=1e-12)
    assert found.target_drop == pytest.approx(tt.mean() - st_.mean(), abs=1e-12)
    assert found.target_drop == pytest.approx(float(found.target_in_domain - found.cross_domain), abs=1e-12)
    for churn, runs in ((found.churn_in_domain, tt), (found.churn_cross_domain, st_)):
        if len(runs) == 1:
            assert np.isnan(churn)
        else:
            expected = np.mean([abs(a - b).mean() for a, b in combinations(runs, 2)])
            assert churn == pytest.approx(expected, abs=1e-12)


def test_flips_of_right_and_wrong() -> None:
    tt, st_ = np.array([[1, 1, 1, 0]], dtype=bool), np.array([[1, 0, 0, 1], [1, 1, 0, 1]], dtype=bool)
    found = flip_ledger(flip_counts(tt, st_).sum(axis=0))
    assert (found.transfer_loss, found.transfer_gain) == (0.375, 0.25)
    assert found.turnover == 0.625
    assert found.churn_cross_domain == 0.25
    assert np.isnan(found.churn_in_domain)


def test_a_target_drop_of_zero_may_hide_two_flows() -> None:
    found = flip_ledger(flip_counts([[1, 0, 1, 0]] * 2, [[0, 1, 0, 1]] * 2).sum(axis=0))
    assert found.target_drop == 0
    assert found.turnover == 1
    assert found.excess_turnover(0.4) == pytest.approx(0.6)


def test_runs_of_one_recipe_turn_over_their_churn() -> None:
    rng = np.random.default_rng(0)
    chance = rng.random(20_000)
    tt, st_ = (rng.random((4, 20_000)) < chance for _ in range(2))
    found = flip_ledger(flip_counts(tt, st_).sum(axis=0))
    assert found.turnover == pytest.approx(1 / 3, abs=0.01)  # 2 p (1 - p) over uniform p
    assert found.excess_turnover((found.churn_in_domain + found.churn_cross_domain) / 2) == pytest.approx(0, abs=0.005)


@given(sides(st.floats(0, 1)), st.integers(0, 2**32 - 1))
def test_weights_and_groups_add_up(scores: tuple[np.ndarray, np.ndarray], seed: int) -> None:
    tt, st_ = scores
    n = tt.shape[1]
    rng = np.random.default_rng(seed)
    weights, groups = rng.uniform(0.1, 1, n), rng.integers(0, 5, n)
    rows = flip_counts(tt, st_, weights=weights, groups=groups, n_groups=5)
    assert rows.shape == (5, 7)
    np.testing.assert_allclose(rows.sum(axis=0), flip_counts(tt, st_, weights=weights).sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(rows[:, 0], np.bincount(groups, weights, 5), atol=1e-12)
    drop = flip_ledger(rows.sum(axis=0)).target_drop
    expected = weighted_score(tt, weights).mean() - weighted_score(st_, weights).mean()
    assert drop == pytest.approx(float(expected), abs=1e-12)


def test_replicates_go_through_the_same_formula() -> None:
    rng = np.random.default_rng(1)
    rows = flip_counts(rng.random((2, 9)), rng.random((3, 9)))
    draws = rng.integers(0, 3, (4, 9)).astype(float)
    draws[3] = 0
    found = flip_ledger(draws @ rows)
    assert found.transfer_loss.shape == (4,)
    for draw in range(3):
        alone = flip_ledger((draws[draw][:, None] * rows).sum(axis=0))
        assert found.transfer_gain[draw] == pytest.approx(float(alone.transfer_gain), abs=1e-12)
    assert np.isnan(found.target_drop[3])  # no example drawn: undefined, not 0


@pytest.mark.parametrize(
    ("tt", "st_", "options", "message"),
    [
        ([[1, 0]], [[1]], {}, "the same test examples, got 2 and 1"),
        ([[80.0, 20.0]], [[0, 1]], {}, "points"),
        ([[np.nan, 1]], [[0, 1]], {}, "without NaN"),
        ([1, 0], [[0, 1]], {}, r"shape \(n_runs, n_examples\)"),
        (np.zeros((0, 2)), [[0, 1]], {}, "both at least 1"),
        ([[1, 0]], [[0, 1]], {"weights": [1]}, r"weights must have shape \(2,\)"),
        ([[1, 0]], [[0, 1]], {"weights": [1, -1]}, "not negative"),
        ([[1, 0]], [[0, 1]], {"groups": [0, 1]}, "needs n_groups"),
        ([[1, 0]], [[0, 1]], {"groups": [0, 2], "n_groups": 2}, r"in \[0, 2\), got 0 to 2"),
        ([[1, 0]], [[0, 1]], {"groups": [0.0, 1.0], "n_groups": 2}, "integer codes"),
    ],
)
def test_malformed_sides(tt: object, st_: object, options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        flip_counts(tt, st_, **options)  # type: ignore[arg-type]


def test_totals_are_rows_of_counts() -> None:
    with pytest.raises(ValueError, match=r"shape \(\.\.\., 7\)"):
        flip_ledger([1.0, 0.5])
