import numpy as np
import pytest
from scipy import stats

from shiftbench.metrics.mover import combined_interval, p_of_interval, replicate_correlation, worst_interval
from shiftbench.metrics.wilson import relative_square, wilson_interval


def test_a_difference_of_shares_is_newcombes() -> None:
    """Test Newcombe (1998), table II, column a, method 10: 56/70 - 48/80 is [0.0524, 0.3339]."""
    shares = (56 / 70, 48 / 80)
    lows, highs = zip(
        *(wilson_interval(share, relative_square(n, 1e12)) for share, n in zip(shares, (70, 80), strict=True)),
        strict=True,
    )
    low, high = combined_interval([1, -1], shares, lows, highs, np.eye(2))
    assert (low, high) == pytest.approx((0.0524, 0.3339), abs=5e-5)


def test_what_goes_together_cancels() -> None:
    ends = ([0.8, 0.7], [0.75, 0.65], [0.85, 0.75])
    assert combined_interval([1, -1], *ends, np.ones((2, 2))) == pytest.approx((0.1, 0.1))
    low, high = combined_interval([1, -1], *ends, np.array([[1, -1], [-1, 1]]))
    assert high - low == pytest.approx(0.2)


def test_a_single_part_keeps_its_interval() -> None:
    assert combined_interval([1.0], [0.7], [0.5], [0.75], [[1.0]]) == pytest.approx((0.5, 0.75))
    assert combined_interval([-1.0], [0.7], [0.5], [0.75], [[1.0]]) == pytest.approx((-0.75, -0.5))


def test_correlation_is_numpys_and_0_of_what_never_moves() -> None:
    drawn = np.random.default_rng(0).normal(size=(3, 50))
    np.testing.assert_allclose(replicate_correlation(drawn), np.corrcoef(drawn), atol=1e-12)
    still = replicate_correlation(np.vstack([drawn[:1], np.full((1, 50), 0.1 + 0.2)]))
    np.testing.assert_array_equal(still, np.eye(2))


def test_the_interval_of_the_worst_drop_is_the_reach_of_a_simultaneous_band() -> None:
    drops, sd = np.array([0.1, 0.09, -0.2]), np.array([0.01, 0.02, 0.01])
    drawn = drops[:, None] + np.random.default_rng(4).normal(size=(3, 4000)) * sd[:, None]
    low, high = worst_interval(drops, drops - 1.96 * sd, drops + 1.96 * sd, drawn)
    # The largest of three absolute normals stays below 2.388 in 95%.
    assert low == pytest.approx(0.1 - 2.388 * 0.01, abs=0.001)
    assert high == pytest.approx(0.09 + 2.388 * 0.02, abs=0.002)
    # A drop that never moved on resampled test sets has an interval of its own all the same.
    drawn[0] = drops[0]
    assert worst_interval(drops, drops - 1.96 * sd, drops + 1.96 * sd, drawn)[0] < 0.08


def test_paired_differences_hold_the_truth() -> None:
    """Test two models on the same 60 texts, right in 92% and 85%, with correlated errors."""
    generator, held = np.random.default_rng(8), 0
    for _ in range(400):
        hard = generator.random(60)
        first, other = hard < 0.92, (hard < 0.7) | (generator.random(60) < 0.5) & (hard < 1.0)
        right = np.stack([first, other]).astype(float)
        weights = generator.multinomial(60, np.full(60, 1 / 60), size=200) / 60
        ends = np.array([wilson_interval(row.mean(), relative_square(60, 59)) for row in right])
        correlation = replicate_correlation(right @ weights.T)
        low, high = combined_interval([1, -1], right.mean(axis=1), *ends.T, correlation)
        held += low <= 0.92 - 0.85 <= high
    assert held / 400 >= 0.93


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: combined_interval([1, -1], [0.5], [0.4], [0.6], [[1.0]]), "one shape"),
        (lambda: combined_interval([1.0], [0.5], [0.6], [0.7], [[1.0]]), "outside its own interval"),
        (lambda: worst_interval([], [], [], np.empty((0, 9))), "worst of no drops"),
        (lambda: worst_interval([0.1], [0.0], [0.2], np.ones(9)), "n_draws"),
        (lambda: worst_interval([0.1], [0.0], [0.2], np.ones((1, 9)), level=95), "95% is 0.95"),
    ],
)
def test_malformed_input_is_refused(call, words) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=words):
        call()


def test_p_values_agree_with_their_intervals() -> None:
    for value, low, high in ((0.1, 0.001, 0.2), (0.1, -0.001, 0.2), (-0.2, -0.3, -0.01), (-0.2, -0.3, 0.01)):
        p = p_of_interval(value, low, high, 30)
        assert (p < 0.05) == (not low <= 0 <= high)
    half = float(stats.t.ppf(0.975, 12)) * 0.02
    assert p_of_interval(0.05, 0.05 - half, 0.3, 12) == pytest.approx(2 * stats.t.sf(0.05 / 0.02, 12))


def test_p_values_of_nonsense_are_refused_and_of_nothing_unknown() -> None:
    assert np.isnan(p_of_interval(np.nan, 0.0, 1.0, 10))
    assert p_of_interval(0.1, 0.1, 0.1, 10) == 0.0
    with pytest.raises(ValueError, match="outside its own interval"):
        p_of_interval(0.5, 0.0, 0.1, 10)
    with pytest.raises(ValueError, match="dof above 0"):
        p_of_interval(0.1, 0.0, 0.2, 0)
