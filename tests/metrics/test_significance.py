"""The paper's chi-square test against scipy, and where it errs."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from shiftbench.metrics.drop_comparison import (
    bonferroni,
    order_chi_square,
    scenario_chi_square,
)
from shiftbench.metrics.ranking import holm
from shiftbench.metrics.robustness import scenario, shift_scores, source_drop, target_drop

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
    """Test the paper's expected shares: a third, a sixth, a sixth and a third."""
    orders = np.array(list(permutations([0.2, 0.5, 0.8])))
    st_, ss, tt = orders.T
    names = scenario(source_drop(st_, ss), target_drop(st_, tt))
    assert [names.count(name) for name in NAMES] == [2, 1, 1, 2]
    assert scenario_chi_square(names).statistic == pytest.approx(0)
    assert order_chi_square(st_, ss, tt).statistic == pytest.approx(0)


def test_unknown_names_and_scores() -> None:
    with pytest.raises(ValueError, match="'classic'"):
        scenario_chi_square(["classic"])
    found = order_chi_square([0.5, np.nan, 0.5], [0.6, 0.6, 0.5], [0.7, 0.7, 0.7])
    assert (found.n, found.n_left_out) == (1, 2)


def test_bonferroni_as_in_the_paper() -> None:
    """Test 14 tests: 0.004, which the paper counts as significant, is not."""
    corrected = bonferroni([0.0009] * 13 + [0.004])
    assert (corrected[:13] < 0.05).all()
    assert corrected[13] == pytest.approx(0.056)
    np.testing.assert_allclose(bonferroni([0.01, np.nan, 0.6]), [0.02, np.nan, 1.0])
    with pytest.raises(ValueError, match=r"in \[0, 1\]"):
        bonferroni([1.1])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_rejects_no_less(p_values: list[float]) -> None:
    assert np.all(holm(p_values) <= bonferroni(p_values) + 1e-15)


def test_without_a_shift_effect_the_chi_square_test_rejects() -> None:
    """Test targets of unequal difficulty and noise, nothing else: ST depends on the target alone."""
    rng = np.random.default_rng(6)
    chi_square, average_drop = [], []
    for _ in range(200):
        easy = rng.uniform(0.4, 0.9, 6)
        models = easy + 0.01 * rng.normal(size=(12, 6, 6))
        names: list[str] = []
        for matrix in models:
            st_, ss, tt = shift_scores(matrix)
            names += scenario(source_drop(st_, ss), target_drop(st_, tt))
        chi_square.append(scenario_chi_square(names).p_value)
        at_home = np.eye(6, dtype=bool)
        average_drop.append(models[:, at_home].mean(axis=1) - models[:, ~at_home].mean(axis=1))
    assert np.mean(np.array(chi_square) < 0.05 / 14) > 0.9
    assert np.mean(average_drop) == pytest.approx(0, abs=5e-4)  # two standard errors are 2e-4
