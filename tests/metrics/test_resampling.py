import numpy as np
import pytest
from scipy import stats

from shiftbench.metrics import resampling
from shiftbench.metrics.resampling import group_weights, half_weights, replicate_counts


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("n_groups", [2, 7, 40])
def test_weights_are_multinomial(n_groups):
    weights = group_weights(n_groups, 30_000, rng())
    assert weights.shape == (30_000, n_groups)
    np.testing.assert_array_equal(weights.sum(axis=1), n_groups)
    # Each weight is binomial(n, 1/n), so its mean is 1 and its variance 1 - 1/n.
    np.testing.assert_allclose(weights.mean(axis=0), 1, atol=0.06)
    np.testing.assert_allclose(weights.var(axis=0), 1 - 1 / n_groups, atol=0.12)
    expected = stats.binom(n_groups, 1 / n_groups).pmf(np.arange(3))
    np.testing.assert_allclose([(weights == k).mean() for k in range(3)], expected, atol=0.01)


@pytest.mark.parametrize("n_groups", [5, 8])
@pytest.mark.parametrize("block", [1, 30, 2**20])
def test_replicates_depend_on_the_seed_alone(n_groups, block, monkeypatch):
    expected = group_weights(n_groups, 50, rng(3))
    counts = rng(1).random((n_groups, 2, 3))
    monkeypatch.setattr(resampling, "_BLOCK_CELLS", block)
    np.testing.assert_array_equal(group_weights(n_groups, 50, rng(3)), expected)
    sums = replicate_counts(counts, 50, rng(3))
    np.testing.assert_allclose(sums, np.einsum("bg,gij->bij", expected, counts), rtol=1e-6)
    whole = replicate_counts((counts > 0.5) * 1.0, 50, rng(3))
    np.testing.assert_array_equal(whole, np.einsum("bg,gij->bij", expected, (counts > 0.5) * 1.0))


def test_halves_split_the_groups():
    halves = half_weights(9, 40, rng())
    np.testing.assert_array_equal(halves.sum(axis=1), 1)
    np.testing.assert_array_equal(halves.sum(axis=2), np.tile([4, 5], (40, 1)))
    assert halves[:, 0].mean(axis=0).min() > 0.15


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: group_weights(1, 5, rng()), "at least 2 groups, got 1; is every example in one group"),
        (lambda: replicate_counts(np.ones((1, 2)), 5, rng()), "at least 2 groups"),
        (lambda: half_weights(1, 5, rng()), "at least 2 groups"),
    ],
)
def test_one_group_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
