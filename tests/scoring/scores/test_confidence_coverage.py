"""Coverage of the 95% intervals of confidence figures, in simulations whose calibration is known."""

from typing import Any

import numpy as np
import pytest
from shiftbench.metrics.resampling import group_weights
from shiftbench.scoring.scores.intervals import Figure, estimates

from shiftbench.metrics.calibration import N_BINS
from shiftbench.scoring.scores.calibration import BOUNDS, TargetConfidence

WORLDS = {"calibrated": 0.0, "12 points too sure": 0.12}
SIZE = 2
"""Texts a group: they share their confidence, and half of their fate."""


def world(n_groups: int, too_sure: float, rng: np.random.Generator, n_draws: int) -> TargetConfidence:
    sure = np.repeat(0.55 + 0.44 * rng.beta(2, 1, n_groups), SIZE)
    shared = np.repeat(rng.random(n_groups), SIZE)
    fate = np.where(np.repeat(rng.random(n_groups) < 0.5, SIZE), shared, rng.random(n_groups * SIZE))
    wrong = fate > sure - too_sure
    groups = np.repeat(np.arange(n_groups), SIZE)
    weights = group_weights(n_groups, n_draws, rng) if n_draws else np.empty((0, n_groups))
    nothing: Any = None
    return TargetConfidence(
        [("a", 0)], groups, nothing, np.zeros(groups.size, int), wrong[None].astype(int), sure[None], None,
        np.arange(3), weights.astype(np.float32), "accuracy",
    )  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("n_groups", [150, 500])
def test_intervals_hold_the_truth(name: str, n_groups: int) -> None:
    rng = np.random.default_rng([5, n_groups])
    # With 150 groups and more there are N_BINS bins, so those of a large world have the same error.
    assert n_groups // 10 >= N_BINS
    truth = {figure: found[0, 0] for figure, found in world(400_000, WORLDS[name], rng, 0).figures.items()}
    hits, widths = dict.fromkeys(BOUNDS, 0), dict.fromkeys(BOUNDS, 0.0)
    n_worlds = 600
    for _ in range(n_worlds):
        found = world(n_groups, WORLDS[name], rng, 400).figures
        figures = {figure: Figure(found[figure][:, 0], n_groups, bounds) for figure, bounds in BOUNDS.items()}
        for figure, estimate in estimates(figures).items():
            assert estimate.low is not None
            assert estimate.high is not None
            hits[figure] += estimate.low <= truth[figure] <= estimate.high
            widths[figure] += 100 * (estimate.high - estimate.low) / n_worlds
    print(f"\n{name}, {n_groups} groups of {SIZE}: coverage, mean width in points, truth in points")
    for figure in BOUNDS:
        print(f"  {figure:18} {100 * hits[figure] / n_worlds:5.1f}%  {widths[figure]:6.2f}  {100 * truth[figure]:6.2f}")
    # Near perfect calibration the squared error is degenerate: its interval errs on the wide side.
    assert min(hits.values()) / n_worlds > 0.90
