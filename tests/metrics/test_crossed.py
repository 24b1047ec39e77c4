import numpy as np
import pytest
from scipy import stats

from shiftbench.metrics.crossed import RunScores, SourcePair, crossed_test, influences, residual_variance


def mean(sums):
    return sums[..., 0] / sums[..., 1]


def side(table):
    """Build runs of a score that is a plain mean over groups, ``table`` of shape (n_groups, n_runs)."""
    counts = np.stack([table, np.ones_like(table)], axis=-1)
    return RunScores(table.mean(axis=0)[:, None], [influences(counts, mean)])


def test_influences_are_the_jackknife():
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 9, size=(12, 2)).astype(float)
    left_out = np.array([mean(np.delete(counts, group, axis=0).sum(axis=0)) for group in range(12)])
    expected = 11 / 12 * ((left_out - left_out.mean()) ** 2).sum()
    assert (influences(counts, mean) ** 2).sum() == pytest.approx(expected)
    assert influences(counts, mean).sum() == pytest.approx(0)


def test_the_variance_is_that_of_the_crossed_components():
    rng = np.random.default_rng(1)
    n_groups, n_a, n_b = 40, 6, 9
    a, b = rng.normal(size=(n_groups, n_a)), rng.normal(0.3, 2, size=(n_groups, n_b))
    found = crossed_test([SourcePair(side(a), side(b), [0], np.array([[1.0, -2.0]]))], [n_groups])
    runs = a.mean(axis=0).var(ddof=1) / n_a + b.mean(axis=0).var(ddof=1) / n_b
    groups = (a.mean(axis=1) - b.mean(axis=1)).var(ddof=1) / n_groups

    def residual(table):
        rest = table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean()
        return (rest**2).sum() / ((len(table) - 1) * (table.shape[1] - 1)) / table.size

    assert residual_variance(side(a).influences[0]) == pytest.approx(residual(a))
    variance = max(runs - residual(a) - residual(b), -0.5 * groups) + groups
    assert found.standard_error == pytest.approx(np.sqrt(variance) * np.array([1, 2]))
    assert found.difference == pytest.approx((a.mean() - b.mean()) * np.array([1, -2]))
    parts = [(a.mean(axis=0).var(ddof=1) / n_a, n_a - 1), (b.mean(axis=0).var(ddof=1) / n_b, n_b - 1)]
    df = variance**2 / sum(part**2 / free for part, free in [*parts, (groups, n_groups - 1)])
    assert found.df == pytest.approx([df, df])
    t = (a.mean() - b.mean()) / np.sqrt(variance)
    assert found.p_value == pytest.approx(2 * stats.t.sf(abs(t), df))
    assert found.correlation == pytest.approx(np.array([[1, -1], [-1, 1]]))


def test_without_groups_that_differ_it_is_welch():
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=7), rng.normal(1, 3, size=5)
    tables = [np.tile(runs, (200, 1)) for runs in (a, b)]
    found = crossed_test([SourcePair(side(tables[0]), side(tables[1]), [0], np.ones((1, 1)))], [200])
    assert found.p_value[0] == pytest.approx(stats.ttest_ind(a, b, equal_var=False).pvalue)


def test_equal_entries_and_entries_that_no_group_doubts():
    same = np.tile([0.2, 0.4, 0.3, 0.2, 0.5], (30, 1))
    assert crossed_test([SourcePair(side(same), side(same), [0], np.ones((1, 1)))], [30]).p_value[0] == 1
    ones, zeros = np.ones((10, 5)), np.zeros((10, 5))
    assert crossed_test([SourcePair(side(ones), side(zeros), [0], np.ones((1, 1)))], [10]).p_value[0] == 2.0**-9


def test_a_cell_without_a_score_leaves_the_other_statistics_alone():
    rng = np.random.default_rng(3)
    a, b = (side(rng.normal(size=(20, 5))) for _ in range(2))
    nothing = RunScores(np.zeros((5, 1)), [np.full((20, 5), np.nan)])
    both = [
        RunScores(np.hstack([each.scores, nothing.scores]), [*each.influences, *nothing.influences]) for each in (a, b)
    ]
    alone = crossed_test([SourcePair(a, b, [0], np.ones((1, 1)))], [20])
    found = crossed_test([SourcePair(*both, [0, 0], np.array([[1.0, 0.0], [0.0, 1.0]]))], [20])
    assert found.p_value[0] == pytest.approx(alone.p_value[0])
    assert np.isnan(found.p_value[1])


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ([], "no source to compare"),
        ([SourcePair(*[side(np.zeros((4, 1)))] * 2, [0], np.ones((1, 1)))], "at least 2 runs"),
    ],
)
def test_malformed_input_is_refused(pairs, words):
    with pytest.raises(ValueError, match=words):
        crossed_test(pairs, [4])
