import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from leaderboard.metrics.bootstrap import (
    SCENARIOS,
    Spread,
    interval,
    resolved_scenario,
    sampling_spread,
    scenario_support,
    split_half_worst,
    total_spread,
    worst_interval,
)
from leaderboard.metrics.coverage import CAUTIOUS, KINDS, QUANTITIES, simulate_coverage
from leaderboard.metrics.resampling import half_weights, replicate_counts


def rng(seed=0):
    return np.random.default_rng(seed)


def test_interval_of_a_mean_is_students():
    values = rng(2).normal(0.5, 0.2, 60)
    replicates = replicate_counts(values[:, None], 20_000, rng(4))[:, 0] / 60
    low, high = interval(sampling_spread(values.mean(), replicates, n_groups=60))
    expected = stats.t(59, values.mean(), values.std(ddof=1) / np.sqrt(60)).interval(0.95)
    assert (float(low), float(high)) == pytest.approx(expected, abs=0.003)


def test_interval_shapes_bounds_and_undefined_replicates():
    point = np.array([[0.99, 0.5, 0.2]])
    replicates = np.clip(point + 0.02 * rng().normal(size=(300, 1, 3)), 0, 1)
    replicates[7, 0, 2] = np.nan
    low, high = interval(sampling_spread(point, replicates, n_groups=[[50, 50, 9]]), bounds=(0, 1))
    assert low.shape == high.shape == (1, 3)
    assert high[0, 0] == 1.0
    assert low[0, 1] < 0.5 < high[0, 1]
    assert np.isnan(low[0, 2])
    assert np.isnan(high[0, 2])


def source_and_target_drop(scores):
    """SD and TD of the shift from domain 0 to domain 1."""
    return np.stack([scores[..., 0, 0] - scores[..., 0, 1], scores[..., 1, 1] - scores[..., 0, 1]], axis=-1)


def noiseless(runs, n_draws=4000):
    """Replicates of runs whose test sets carry no sampling noise."""
    return [np.broadcast_to(scores, (n_draws, *scores.shape)) for scores in runs]


def test_total_spread_without_test_noise_is_that_of_the_runs():
    runs = [rng(source).random((5 + source, 2)) for source in range(2)]
    spread = total_spread(source_and_target_drop, runs, noiseless(runs), n_groups=50, rng=rng(9))
    own, other = runs
    sd = (own[:, 0] - own[:, 1]).var(ddof=1) / 5
    from_own, from_other = own[:, 1].var(ddof=1) / 5, other[:, 1].var(ddof=1) / 6
    assert spread.deviations.var(axis=0) == pytest.approx([sd, from_own + from_other], rel=0.08)
    welch = (from_own + from_other) ** 2 / (from_own**2 / 4 + from_other**2 / 5)
    assert spread.df == pytest.approx([4, welch], rel=1e-9)


def test_runs_move_their_whole_row_together():
    lift = np.array([-0.1, -0.05, 0.0, 0.05, 0.1])
    runs = [0.6 + np.stack([lift, lift], axis=1), 0.5 + np.stack([lift, lift], axis=1)]
    spread = total_spread(source_and_target_drop, runs, noiseless(runs), n_groups=50, rng=rng())
    np.testing.assert_allclose(spread.deviations[:, 0], 0, atol=1e-12)
    assert spread.deviations[:, 1].std() > 0.03


def test_run_differences_that_are_mere_test_noise_do_not_count_twice():
    # Five equally good runs, 40 groups: their scores differ by chance alone.
    counts = rng(5).integers(0, 2, size=(40, 5)).astype(float)
    replicates = replicate_counts(counts, 2000, rng(6)) / 40
    runs, drawn = [counts.mean(axis=0)[:, None]], [replicates[..., None]]
    spread = total_spread(lambda scores: scores[..., 0, 0], runs, drawn, n_groups=40, rng=rng(7))
    test = sampling_spread(runs[0].mean(), replicates.mean(axis=1), n_groups=40)
    assert spread.deviations.std() < 1.3 * test.deviations.std()


def test_few_runs_leave_training_variance_unmeasured():
    runs = [rng().random((5, 2)), rng().random((4, 2))]
    assert total_spread(source_and_target_drop, runs, noiseless(runs, 10), n_groups=9, rng=rng()) is None


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.floats(-4, 4), st.floats(-4, 4), st.floats(-0.95, 0.95), st.integers(4, 300))
def test_resolved_means_that_the_ellipse_lies_in_one_quadrant(seed, sd, td, correlation, groups):
    covariance = np.array([[1.0, correlation], [correlation, 1.0]])
    draws = rng(seed).multivariate_normal([0, 0], covariance, size=50)
    spreads = [Spread(np.array(p), draws[:, i], np.array(groups - 1.0)) for i, p in enumerate((sd, td))]
    df = groups - 1
    radius = np.sqrt(2 * df / (df - 1) * stats.f(2, df - 1).ppf(0.95))
    angle = np.linspace(0, 2 * np.pi, 4001)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    edge = np.array([[sd], [td]]) + radius * np.linalg.cholesky(np.cov(draws.T, bias=True)) @ circle
    one_quadrant = all((side > 0).all() or (side < 0).all() for side in edge)
    name = str(resolved_scenario(*spreads))
    margin = np.abs(np.abs([sd, td]) - radius * draws.std(axis=0)).min()
    if margin > 1e-4:
        assert (name != "Unresolved") == one_quadrant
    if one_quadrant and margin > 1e-4:
        assert name == SCENARIOS[2 * (sd < 0) + (td < 0)]


def test_scenarios_by_sign_tie_and_undefined():
    tight = 1e-3 * rng().normal(size=(200, 6))
    sd = np.array([0.1, 0.1, -0.1, -0.1, 0.0, 0.1])
    td = np.array([0.1, -0.1, 0.1, -0.1, 0.1, np.nan])
    spreads = [sampling_spread(drop, drop + tight, n_groups=100) for drop in (sd, td)]
    names = resolved_scenario(*spreads).tolist()
    assert names == ["Classic", "Observed", "Unobserved", "No Challenge", "Unresolved", "Unresolved"]
    support = scenario_support(*spreads)
    np.testing.assert_array_equal(support[:4], np.eye(5)[:4])
    assert support[4].sum() == 1
    assert np.isnan(support[5]).all()
    still = sampling_spread(0.0, np.zeros(10), n_groups=5)
    assert scenario_support(still, still).tolist() == [0, 0, 0, 0, 1]
    assert str(resolved_scenario(still, still)) == "Unresolved"


def test_support_is_the_share_of_replicates():
    sd, td = rng(8).normal(size=(2, 400))
    spreads = [Spread(np.array(0.0), drop, np.array(50.0)) for drop in (sd, td)]
    expected = [np.mean((np.sign(sd) == x) & (np.sign(td) == y)) for x, y in itertools.product((1, -1), repeat=2)]
    np.testing.assert_allclose(scenario_support(*spreads), [*expected, 0], atol=1e-12)


def test_worst_by_halves_agrees_with_a_loop_and_leaves_missing_shifts_out():
    drops = rng(1).normal(size=(6, 2, 3, 5))
    drops[2, 1, 0, 4] = np.nan
    drops[:, :, 2] = np.nan
    found = split_half_worst(drops)
    for task in range(2):
        estimates = []
        for split, half in itertools.product(range(6), range(2)):
            shifts = range(4 if task == 0 else 5)
            worst = max(shifts, key=lambda shift: drops[split, half, task, shift])
            estimates.append(drops[split, 1 - half, task, worst])
        assert found[task] == pytest.approx(np.mean(estimates), abs=1e-12)
    assert np.isnan(found[2])


def test_worst_by_halves_is_free_of_the_winners_curse():
    # Ten shifts with one true drop of 0.1: the plain maximum overstates it, the split halves do not.
    plain, by_halves = [], []
    generator = rng(11)
    for _ in range(200):
        scores = 0.1 + 0.3 * generator.normal(size=(10, 40))
        plain.append(scores.mean(axis=1).max())
        halves = half_weights(40, 4, generator)
        by_halves.append(split_half_worst(halves @ scores.T / halves.sum(axis=2, keepdims=True)))
    assert np.mean(plain) > 0.16
    assert np.mean(by_halves) == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_cover_the_truth(kind):
    # A small version: the standard error of a share of 200 is 1.5 points. 2,000 tasks must lie in 93-97%.
    covered = simulate_coverage(kind, 200, rng(17), n_draws=300)
    assert set(covered) == {*QUANTITIES, *CAUTIOUS}
    assert all(0.91 <= covered[figure] <= 0.985 for figure in QUANTITIES), covered
    assert all(covered[figure] >= 0.93 for figure in CAUTIOUS), covered


def test_the_interval_of_the_worst_drop_is_the_reach_of_a_simultaneous_band():
    drops = np.array([0.1, 0.09, -0.2])
    draws = rng(4).normal(size=(4000, 3)) * [0.01, 0.02, 0.01]
    spread = sampling_spread(drops, drops + draws, n_groups=10_000)
    low, high = worst_interval(spread)
    # The largest of three absolute normals stays below 2.388 in 95%.
    assert float(low) == pytest.approx(0.1 - 2.388 * 0.01, abs=0.001)
    assert float(high) == pytest.approx(0.09 + 2.388 * 0.02, abs=0.002)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: sampling_spread([0.1, 0.2], np.ones((9, 3)), n_groups=5), r"\(n_draws,\) \+ \(2,\)"),
        (lambda: sampling_spread(0.1, np.ones(9), n_groups=1), "at least 2 groups"),
        (lambda: interval(sampling_spread(0.1, np.ones(9), n_groups=5), level=95), "95% is 0.95"),
        (
            lambda: resolved_scenario(
                sampling_spread(0.1, np.ones(9), n_groups=5), sampling_spread(0.1, np.ones(8), n_groups=5)
            ),
            "the same replicates",
        ),
        (
            lambda: total_spread(
                source_and_target_drop, [np.ones((5, 2))], [np.ones((9, 4, 2))], n_groups=5, rng=rng()
            ),
            "source by source",
        ),
        (lambda: split_half_worst(np.ones((3, 4))), "n_splits, 2"),
        (lambda: simulate_coverage("runs", 1, rng()), "kind must be one of test-sampling, total"),
        (lambda: simulate_coverage("total", 0, rng()), "n_tasks must be at least 1"),
    ],
)
def test_malformed_input_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
