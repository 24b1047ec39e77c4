"""Jensen-Shannon divergence against scipy, the vocabulary, and its correlation with drops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats
from scipy.spatial.distance import jensenshannon

from shiftbench.metrics.divergence import (
    divergence_correlations,
    frequent_words,
    js_divergence,
    js_divergence_matrix,
)
from shiftbench.metrics.robustness import shift_scores

TABLES = hnp.arrays(np.int64, st.tuples(st.integers(2, 5), st.integers(1, 30)), elements=st.integers(0, 50)).filter(
    lambda table: bool(table.any(axis=1).all())
)


@given(TABLES)
def test_divergence_agrees_with_scipy(counts: np.ndarray) -> None:
    matrix = js_divergence_matrix(counts)
    np.testing.assert_array_equal(matrix, matrix.T)
    np.testing.assert_array_equal(np.diagonal(matrix), 0)
    for i, p in enumerate(counts):
        for j, q in enumerate(counts):
            if i != j:
                # scipy's distance is the root, which loses digits near 0
                expected = np.nan_to_num(jensenshannon(p, q, base=2)) ** 2
                assert matrix[i, j] == pytest.approx(expected, abs=1e-12)
                assert js_divergence(p, q) == pytest.approx(matrix[i, j], abs=1e-15)


@given(TABLES, st.floats(0.01, 100))
def test_only_shares_count(counts: np.ndarray, factor: float) -> None:
    scaled = counts.astype(float)
    scaled[0] *= factor
    np.testing.assert_allclose(js_divergence_matrix(scaled), js_divergence_matrix(counts), atol=1e-12)


def test_range() -> None:
    assert js_divergence([1, 2, 0, 0], [0, 0, 5, 1]) == 1
    assert js_divergence([3, 6], [1, 2]) == 0
    np.testing.assert_allclose(js_divergence([[1, 0], [1, 1]], [1, 0]), [0, 0.311278124459], atol=1e-12)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([[1, 0], [0, 0]], "row 1 contains no word"),
        ([[1, -1], [1, 1]], "not negative"),
        ([[1, np.nan], [1, 1]], "must be finite"),
        ([1, 1], r"shape \(n_domains, n_words\)"),
        (np.zeros((2, 0)), "at least one word"),
    ],
)
def test_malformed_counts(counts: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        js_divergence_matrix(counts)  # type: ignore[arg-type]


def test_both_sides_count_the_same_words() -> None:
    with pytest.raises(ValueError, match="2 and 3"):
        js_divergence([1, 1], [1, 1, 1])


def test_frequent_words_pool_the_domains() -> None:
    counts = np.array([[9, 0, 4, 1, 0], [0, 6, 4, 1, 0]])
    assert frequent_words(counts, 2).tolist() == [0, 2]  # 9 and 4 + 4, before 6
    assert frequent_words(counts).tolist() == [0, 1, 2, 3]  # a word that nobody uses is no word
    assert frequent_words([[1, 1, 1]], 2).tolist() == [0, 1]
    with pytest.raises(ValueError, match="got 0"):
        frequent_words(counts, 0)


def test_correlations_are_over_ordered_pairs() -> None:
    rng = np.random.default_rng(0)
    scores, divergence = rng.random((3, 5, 5)), js_divergence_matrix(rng.integers(1, 9, (5, 40)))
    found = divergence_correlations(scores, divergence)
    pairs = [(s, t) for s in range(5) for t in range(5) if s != t]
    apart = [divergence[pair] for pair in pairs]
    assert found.n_shifts == 20
    assert found.mean_divergence == pytest.approx(np.mean(apart), abs=1e-12)
    for model, matrix in enumerate(scores):
        sd = [matrix[s, s] - matrix[s, t] for s, t in pairs]
        td = [matrix[t, t] - matrix[s, t] for s, t in pairs]
        assert found.spearman_divergence_sd[model] == pytest.approx(stats.spearmanr(apart, sd).statistic, abs=1e-12)
        assert found.spearman_divergence_td[model] == pytest.approx(stats.spearmanr(apart, td).statistic, abs=1e-12)


def test_unknown_shifts_take_no_part() -> None:
    rng = np.random.default_rng(1)
    scores, divergence = rng.random((4, 4)), rng.random((4, 4))
    scores[0, 1] = np.nan
    divergence[2, 3] = np.nan
    found = divergence_correlations(scores, divergence)
    assert found.n_shifts == 10
    st_, ss, _ = shift_scores(scores)
    apart = divergence[~np.eye(4, dtype=bool)]
    known = ~np.isnan(st_ + apart)
    expected = stats.spearmanr(apart[known], (ss - st_)[known]).statistic
    assert found.spearman_divergence_sd == pytest.approx(expected, abs=1e-12)
    none = divergence_correlations(scores, np.full((4, 4), np.nan))
    assert none.n_shifts == 0
    assert np.isnan([none.mean_divergence, none.spearman_divergence_sd, none.spearman_divergence_td]).all()
    constant = divergence_correlations(rng.random((3, 3)), np.full((3, 3), 0.2))
    assert np.isnan(constant.spearman_divergence_sd)


def test_divergence_must_fit_the_scores() -> None:
    with pytest.raises(ValueError, match=r"shape \(3, 3\)"):
        divergence_correlations(np.eye(3), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="percentages"):
        divergence_correlations(np.eye(2), [[0, 23], [23, 0]])
