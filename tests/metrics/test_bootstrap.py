import itertools

import numpy as np
import pytest

from shiftbench.metrics.bootstrap import (
    Spread,
    sampling_spread,
    scenario_support,
    split_half_worst,
    training_spread,
)
from shiftbench.metrics.resampling import half_weights, replicate_counts


def rng(seed=0):
    return np.random.default_rng(seed)


def source_and_target_drop(scores):
    """Compute SD and TD of the shift from domain 0 to domain 1."""
    return np.stack([scores[..., 0, 0] - scores[..., 0, 1], scores[..., 1, 1] - scores[..., 0, 1]], axis=-1)


def noiseless(runs, n_draws=4000):
    """Build replicates of runs whose test sets have no sampling noise."""
    return [np.broadcast_to(scores, (n_draws, *scores.shape)) for scores in runs]


def test_training_spread_without_test_noise_is_that_of_the_runs():
    runs = [rng(source).random((5 + source, 2)) for source in range(2)]
    spread = training_spread(source_and_target_drop, runs, noiseless(runs))
    own, other = runs
    sd = (own[:, 0] - own[:, 1]).var(ddof=1) / 5
    from_own, from_other = own[:, 1].var(ddof=1) / 5, other[:, 1].var(ddof=1) / 6
    assert spread.variance == pytest.approx([sd, from_own + from_other], rel=1e-9)
    welch = (from_own + from_other) ** 2 / (from_own**2 / 4 + from_other**2 / 5)
    assert spread.df == pytest.approx([4, welch], rel=1e-9)


def test_runs_move_their_whole_row_together():
    lift = np.array([-0.1, -0.05, 0.0, 0.05, 0.1])
    runs = [0.6 + np.stack([lift, lift], axis=1), 0.5 + np.stack([lift, lift], axis=1)]
    spread = training_spread(source_and_target_drop, runs, noiseless(runs))
    assert spread.variance[0] == pytest.approx(0, abs=1e-12)
    assert spread.variance[1] > 0.03**2


def test_run_differences_that_are_mere_test_noise_do_not_count_twice():
    # Five equally good runs, 40 groups: their scores differ by chance alone.
    counts = rng(5).integers(0, 2, size=(40, 5)).astype(float)
    replicates = replicate_counts(counts, 2000, rng(6)) / 40
    runs, drawn = [counts.mean(axis=0)[:, None]], [replicates[..., None]]
    spread = training_spread(lambda scores: scores[..., 0, 0], runs, drawn)
    assert spread.variance < 0.6 * replicates.mean(axis=1).var()


def test_few_runs_leave_training_variance_unmeasured():
    runs = [rng().random((5, 2)), rng().random((4, 2))]
    assert training_spread(source_and_target_drop, runs, noiseless(runs, 10)) is None


def test_support_by_sign_tie_and_undefined():
    tight = 1e-3 * rng().normal(size=(200, 6))
    sd = np.array([0.1, 0.1, -0.1, -0.1, 0.0, 0.1])
    td = np.array([0.1, -0.1, 0.1, -0.1, 0.1, np.nan])
    spreads = [sampling_spread(drop, drop + tight, n_groups=100) for drop in (sd, td)]
    support = scenario_support(*spreads)
    np.testing.assert_array_equal(support[:4], np.eye(5)[:4])
    assert support[4].sum() == pytest.approx(1)
    assert np.isnan(support[5]).all()
    still = sampling_spread(0.0, np.zeros(10), n_groups=5)
    assert scenario_support(still, still).tolist() == [0, 0, 0, 0, 1]


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


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: sampling_spread([0.1, 0.2], np.ones((9, 3)), n_groups=5), r"\(n_draws,\) \+ \(2,\)"),
        (lambda: sampling_spread(0.1, np.ones(9), n_groups=1), "at least 2 groups"),
        (
            lambda: scenario_support(
                sampling_spread(0.1, np.ones(9), n_groups=5), sampling_spread(0.1, np.ones(8), n_groups=5)
            ),
            "the same replicates",
        ),
        (
            lambda: training_spread(source_and_target_drop, [np.ones((5, 2))], [np.ones((9, 4, 2))]),
            "source by source",
        ),
        (lambda: split_half_worst(np.ones((3, 4))), "n_splits, 2"),
    ],
)
def test_malformed_input_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
