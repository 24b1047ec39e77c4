"""The largest true drop: the posterior mean beside split halves, in simulations of shifts with known drops."""

import numpy as np
import pytest
from numpy.typing import NDArray

from shiftbench.metrics.bootstrap import split_half_worst
from shiftbench.metrics.resampling import half_weights
from shiftbench.metrics.worst import posterior_worst

Floats = NDArray[np.float64]

NAMES = ("largest observed", "split halves", "posterior mean")


def errors(times: int, n_shifts: int, spread: float, noise: float, n_groups: int = 60) -> Floats:
    """Return estimates less the largest true drop in points, shape (times, 3), in the order of ``NAMES``."""
    rng = np.random.default_rng(18)
    found = []
    for _ in range(times):
        true = rng.normal(5.0, spread, n_shifts)
        # Shifts into one target share its texts: a third of the noise is common to all.
        common = rng.normal(size=(n_groups, 1)) / np.sqrt(3)
        by_group = true + noise * np.sqrt(n_groups) * (common + rng.normal(size=(n_groups, n_shifts)) * np.sqrt(2 / 3))
        seen = by_group.mean(axis=0)
        weights = half_weights(n_groups, 20, rng)
        halves = (weights @ by_group) / weights.sum(axis=-1, keepdims=True)
        posterior = posterior_worst(seen, np.cov(by_group.T) / n_groups, rng, n_draws=1000)
        found.append(np.array([seen.max(), float(split_half_worst(halves)), posterior]) - true.max())
    return np.array(found)


def print_errors(settings: str, found: Floats) -> None:
    cells = [
        f"{name} {each.mean():+.2f}, {np.sqrt((each**2).mean()):.2f}" for name, each in zip(NAMES, found.T, strict=True)
    ]
    print(f"{settings}: bias and RMSE in points: {'; '.join(cells)}")


def test_the_posterior_mean_is_unbiased_for_the_largest_true_drop() -> None:
    found = errors(150, n_shifts=20, spread=3.0, noise=1.5)
    print_errors("20 shifts, spread 3, noise 1.5", found)
    bias, rmse = found.mean(axis=0), np.sqrt((found**2).mean(axis=0))
    assert abs(bias[2]) < 0.35  # 0.2, and two standard errors of this simulation
    assert bias[1] < -0.5 < 0 < bias[0], "split halves are low, the largest observed is high"
    assert rmse[2] < 0.9 * rmse[1]


@pytest.mark.long
@pytest.mark.parametrize("n_shifts", [6, 20, 30])
@pytest.mark.parametrize("spread", [0.0, 1.0, 2.0, 3.0, 5.0])
def test_bias_and_error_of_the_worst_drop(n_shifts: int, spread: float) -> None:
    found = errors(1000, n_shifts, spread, noise=1.5)
    print_errors(f"{n_shifts} shifts, spread {spread:g}, noise 1.5", found)
    if spread >= 2:
        assert abs(found[:, 2].mean()) < 0.3
        assert (found[:, 2] ** 2).mean() < (found[:, 1] ** 2).mean()


def test_noise_decides_how_far_drops_are_drawn_together() -> None:
    drops, rng = [0.02, 0.04, 0.06, 0.20], np.random.default_rng(0)
    sure = posterior_worst(drops, 1e-6 * np.eye(4), rng)
    unsure = posterior_worst(drops, 0.06**2 * np.eye(4), rng)
    assert sure == pytest.approx(0.20, abs=1e-3)
    assert 0.08 < unsure < 0.19
    assert posterior_worst(drops, np.zeros((4, 4)), rng) == 0.20
    assert posterior_worst([0.1], [[0.01]], rng) == 0.1


def test_the_posterior_agrees_with_sampling_everything() -> None:
    """Compare with an oracle: spread, mean and true drops are drawn from their priors, weighted by the likelihood."""
    rng = np.random.default_rng(3)
    seen = np.array([1.0, 2.5, 4.0])
    noise = np.array([[1.0, 0.4, 0.0], [0.4, 1.5, 0.2], [0.0, 0.2, 0.8]])
    n = 400_000
    widest = 3 * max(seen.std(ddof=1), np.sqrt(np.diag(noise).mean()))
    spread, centre = rng.uniform(0, widest, n), rng.uniform(-40, 45, n)
    true = centre[:, None] + spread[:, None] * rng.normal(size=(n, 3))
    away = true - seen
    log = -0.5 * np.einsum("ni,ij,nj->n", away, np.linalg.inv(noise), away)
    weights = np.exp(log)
    expected = (weights * true.max(axis=1)).sum() / weights.sum()
    assert posterior_worst(seen, noise, rng, n_draws=20_000) == pytest.approx(expected, abs=0.1)


def test_what_does_not_fit_is_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"covariance \(k, k\)"):
        posterior_worst([0.1, 0.2], np.eye(3), rng)
    with pytest.raises(ValueError, match="leave out shifts that lack one"):
        posterior_worst([0.1, np.nan], np.eye(2), rng)
