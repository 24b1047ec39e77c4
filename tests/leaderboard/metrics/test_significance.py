"""The paper's chi-square test against scipy, and the permutation test: exactness, invariance, size."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from leaderboard.metrics import significance
from leaderboard.metrics.comparison import holm
from leaderboard.metrics.robustness import scenario, shift_scores, source_drop, summarise, target_drop
from leaderboard.metrics.significance import (
    bonferroni,
    order_chi_square,
    scenario_chi_square,
    source_permutation_test,
)

NAMES = ("Classic", "Observed", "Unobserved", "No Challenge")


@given(st.lists(st.sampled_from([*NAMES, "Tie", "Unknown"]), min_size=1, max_size=60))
def test_scenario_chi_square_agrees_with_scipy(names: list[str]) -> None:
    found = scenario_chi_square(names)
    observed = [names.count(name) for name in NAMES]
    n = sum(observed)
    assert (found.n, found.n_left_out, found.df) == (n, len(names) - n, 3)
    if n == 0:
        assert np.isnan(found.statistic)
        assert np.isnan(found.p_value)
        return
    expected = stats.chisquare(observed, np.array([2, 1, 1, 2]) * n / 6)
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-12, abs=1e-12)
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-9, abs=1e-12)


@given(st.lists(st.tuples(*[st.integers(0, 9)] * 3), min_size=1, max_size=60))
def test_order_chi_square_agrees_with_scipy(rows: list[tuple[int, int, int]]) -> None:
    scores = np.array(rows) / 9
    orders = [tuple(np.argsort(row)) for row in scores if len(set(row)) == 3]
    found = order_chi_square(*scores.T)
    assert (found.n, found.n_left_out, found.df) == (len(orders), len(rows) - len(orders), 5)
    if not orders:
        assert np.isnan(found.p_value)
        return
    expected = stats.chisquare([orders.count(order) for order in permutations(range(3))])
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-12, abs=1e-12)
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-9, abs=1e-12)


def test_equally_likely_orders_have_the_scenario_shares() -> None:
    """A third, a sixth, a sixth and a third: the paper's expected shares."""
    orders = np.array(list(permutations([0.2, 0.5, 0.8])))
    st_, ss, tt = orders.T
    names = scenario(source_drop(st_, ss), target_drop(st_, tt))
    assert [names.count(name) for name in NAMES] == [2, 1, 1, 2]
    assert scenario_chi_square(names).statistic == pytest.approx(0)
    assert order_chi_square(st_, ss, tt).statistic == pytest.approx(0)


def test_unknown_names_and_scores() -> None:
    with pytest.raises(ValueError, match="'classic' is no scenario; known: Classic"):
        scenario_chi_square(["classic"])
    found = order_chi_square([0.5, np.nan, 0.5], [0.6, 0.6, 0.5], [0.7, 0.7, 0.7])
    assert (found.n, found.n_left_out) == (1, 2)


def test_bonferroni_as_in_the_paper() -> None:
    """14 tests: 0.004, which the paper counts as significant, is not."""
    corrected = bonferroni([0.0009] * 13 + [0.004])
    assert (corrected[:13] < 0.05).all()
    assert corrected[13] == pytest.approx(0.056)
    np.testing.assert_allclose(bonferroni([0.01, np.nan, 0.6]), [0.02, np.nan, 1.0])
    with pytest.raises(ValueError, match=r"in \[0, 1\]"):
        bonferroni([1.1])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_rejects_no_less(p_values: list[float]) -> None:
    assert np.all(holm(p_values) <= bonferroni(p_values) + 1e-15)


MATRICES = st.integers(2, 5).flatmap(
    lambda n: hnp.arrays(np.int64, (n, n), elements=st.integers(0, 20)).map(lambda table: table / 20)
)


@given(MATRICES)
def test_exact_test_counts_all_orders(matrix: np.ndarray) -> None:
    n = len(matrix)
    traces = [sum(matrix[order[t], t] for t in range(n)) for order in permutations(range(n))]
    found = source_permutation_test(matrix)
    assert found.p_value == pytest.approx(np.mean([trace >= np.trace(matrix) - 1e-9 for trace in traces]), abs=1e-12)
    assert found.average_drop == pytest.approx(float(summarise(matrix).average_drop), abs=1e-12)
    centre = np.mean(traces)
    away = abs(np.trace(matrix) - centre)
    both = source_permutation_test(matrix, alternative="two-sided")
    assert both.p_value == pytest.approx(np.mean([abs(trace - centre) >= away - 1e-9 for trace in traces]), abs=1e-12)


@given(MATRICES, st.integers(0, 2**32 - 1))
def test_test_ignores_good_models_and_hard_targets(matrix: np.ndarray, seed: int) -> None:
    rng = np.random.default_rng(seed)
    moved = matrix / 4 + rng.uniform(0, 0.25, (len(matrix), 1)) + rng.uniform(0, 0.25, len(matrix))
    for alternative in ("greater", "two-sided"):
        before = source_permutation_test(matrix, alternative=alternative)  # type: ignore[arg-type]
        after = source_permutation_test(moved, alternative=alternative)  # type: ignore[arg-type]
        assert after.p_value == before.p_value


def test_drawn_orders_agree_with_all_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = np.random.default_rng(4).random((6, 6)) + 0.2 * np.eye(6)
    matrix /= matrix.max()
    for alternative in ("greater", "two-sided"):
        exact = source_permutation_test(matrix, alternative=alternative)  # type: ignore[arg-type]
        with monkeypatch.context() as patch:
            patch.setattr(significance, "MAX_EXACT_DOMAINS", 5)
            patch.setattr(significance, "_BLOCK_CELLS", 700)
            drawn = source_permutation_test(
                matrix,
                np.random.default_rng(0),
                alternative=alternative,  # type: ignore[arg-type]
                n_permutations=20_000,
            )
        assert (exact.exact, exact.n_permutations, drawn.exact, drawn.n_permutations) == (True, 720, False, 20_000)
        assert drawn.p_value == pytest.approx(exact.p_value, abs=0.012)


def test_no_p_value_of_drawn_orders_is_0() -> None:
    found = source_permutation_test(np.eye(12), np.random.default_rng(0), n_permutations=99)
    assert found.p_value == 1 / 100
    again = source_permutation_test(np.eye(12), np.random.default_rng(0), n_permutations=99)
    assert found == again


def test_smallest_p_value_is_one_order() -> None:
    assert source_permutation_test(np.eye(3)).p_value == pytest.approx(1 / 6)
    assert source_permutation_test(np.eye(5)).p_value == pytest.approx(1 / 120)
    assert source_permutation_test(np.full((4, 4), 0.5)).p_value == 1.0


def test_without_a_shift_effect_only_the_chi_square_test_rejects() -> None:
    """Targets of unequal difficulty and noise, nothing else: ST depends on the target alone."""
    rng = np.random.default_rng(6)
    chi_square, permutation = [], []
    for _ in range(200):
        easy = rng.uniform(0.4, 0.9, 6)
        models = easy + 0.01 * rng.normal(size=(12, 6, 6))
        names: list[str] = []
        for matrix in models:
            st_, ss, tt = shift_scores(matrix)
            names += scenario(source_drop(st_, ss), target_drop(st_, tt))
        chi_square.append(scenario_chi_square(names).p_value)
        permutation.append(source_permutation_test(models[0]).p_value)
    assert np.mean(np.array(chi_square) < 0.05 / 14) > 0.9
    assert np.mean(np.array(permutation) <= 0.05) <= 0.09
    assert np.mean(np.array(permutation) <= 0.5) == pytest.approx(0.5, abs=0.1)


def test_permutation_test_refuses_and_leaves_gaps() -> None:
    gap = np.eye(3)
    gap[0, 1] = np.nan
    found = source_permutation_test(gap)
    assert np.isnan(found.p_value)
    assert np.isnan(found.average_drop)
    with pytest.raises(ValueError, match="9 domains have too many orders"):
        source_permutation_test(np.eye(9))
    with pytest.raises(ValueError, match="points"):
        source_permutation_test([[90.0, 50.0], [60.0, 80.0]])
    with pytest.raises(ValueError, match="average runs first"):
        source_permutation_test(np.zeros((2, 3, 3)))
    with pytest.raises(ValueError, match="got 'less'"):
        source_permutation_test(np.eye(3), alternative="less")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least 1, got 0"):
        source_permutation_test(np.eye(3), n_permutations=0)
