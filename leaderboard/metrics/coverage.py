"""Simulated coverage of the intervals in ``bootstrap``: how often do they hold the truth?

A simulated task has three domains with 60 to 150 groups each and 1 to many examples a group (geometric, mean
3), five runs a source, two classes at a prior of 0.6, and macro-F1 as the score. Whether a run labels an
example correctly depends on the pair of domains, the run, the group (examples of a group are alike), the
example and chance, all of them normal on one latent scale; so the score on infinitely many groups, of these
runs or of the mean over all runs, is known without simulation.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from leaderboard.metrics.bootstrap import (
    UNRESOLVED,
    Spread,
    interval,
    resolved_scenario,
    sampling_spread,
    total_spread,
    worst_interval,
)
from leaderboard.metrics.classification import macro_f1
from leaderboard.metrics.depth import effective_size
from leaderboard.metrics.resampling import replicate_counts
from leaderboard.metrics.robustness import scenario

Floats = NDArray[np.float64]

QUANTITIES = ("ST", "SD", "TD", "average drop")
"""Figures whose intervals should hold the truth in 95% of tasks."""
CAUTIOUS = ("worst SD", "scenario")
"""Figures that should be right in at least 95%: a simultaneous interval, and a scenario said to be resolved."""

Kind = Literal["test-sampling", "total"]
KINDS: tuple[Kind, ...] = ("test-sampling", "total")

_N_DOMAINS, _N_RUNS = 3, 5
_GROUP_SD, _EXAMPLE_SD, _CHANCE_SD = 0.8, 1.0, 0.7
_PRIOR = np.array([0.6, 0.4])
_CLASS_EASE = np.array([0.15, -0.15])


def simulate_coverage(
    kind: Kind,
    n_tasks: int,
    rng: np.random.Generator,
    *,
    level: float = 0.95,
    n_draws: int = 400,
) -> dict[str, float]:
    """Share of simulated tasks whose interval holds the known truth.

    Args:
        kind: ``test-sampling`` (truth: the score of these very runs on unlimited test data) or ``total``
            (truth: the mean score of all runs there could be).
        n_tasks: number of simulated tasks; 2,000 give the coverage to within one point.
        rng: the generator.
        level: nominal coverage.
        n_draws: replicates per task.
    Returns: for each of ``QUANTITIES`` (ST, SD and TD of one shift; the mean of SD over all shifts, which is
        that of TD too) the share of tasks covered, in [0, 1]; near ``level`` is right. For each of ``CAUTIOUS`` the
        share of tasks where the interval of the largest SD covers it, and where the scenario of the shift is not
        called resolved and wrong; ``level`` or more is right.
    Raises: ValueError when kind is unknown or n_tasks < 1.

    >>> list(simulate_coverage("total", 2, np.random.default_rng(0), n_draws=50)) == [*QUANTITIES, *CAUTIOUS]
    True
    """
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    if n_tasks < 1:
        raise ValueError(f"n_tasks must be at least 1, got {n_tasks}")
    covered = np.zeros(len(QUANTITIES) + len(CAUTIOUS))
    for _ in range(n_tasks):
        ease = 0.9 + 0.5 * np.eye(_N_DOMAINS) + 0.25 * rng.normal(size=(_N_DOMAINS, _N_DOMAINS))
        run_sd = rng.uniform(0.05, 0.4)
        # Half of a run's effect is common to its row, half differs by target.
        effects = (
            run_sd
            * np.sqrt(0.5)
            * (rng.normal(size=(_N_DOMAINS, _N_RUNS, 1)) + rng.normal(size=(_N_DOMAINS, _N_RUNS, _N_DOMAINS)))
        )
        scores, replicates, n_groups = _scored_task(ease, effects, n_draws, rng)
        if kind == "test-sampling":
            truth = _quantities(_expected_score(ease[:, None] + effects).mean(axis=1))
            spread = sampling_spread(
                _quantities(scores.mean(axis=1)), _quantities(replicates.mean(axis=2)), n_groups=n_groups
            )
        else:
            truth = _quantities(_score_over_all_runs(ease, run_sd))
            runs = list(replicates.transpose(1, 0, 2, 3))
            found = total_spread(_quantities, list(scores), runs, n_groups=n_groups, rng=rng)
            assert found is not None
            spread = found
        covered += _right(spread, truth, level)
    return dict(zip((*QUANTITIES, *CAUTIOUS), (covered / n_tasks).tolist(), strict=True))


def _right(spread: Spread, truth: Floats, level: float) -> Floats:
    """Tell for each figure whether it was right, 1 or 0."""
    n = len(QUANTITIES)
    low, high = interval(_part(spread, slice(n)), level=level)
    plain = (low <= truth[:n]) & (truth[:n] <= high)
    worst_low, worst_high = worst_interval(_part(spread, slice(n, None)), level=level)
    worst = worst_low <= truth[n:].max() <= worst_high
    named = str(resolved_scenario(_part(spread, 1), _part(spread, 2), level=level))
    scenario_right = named in (UNRESOLVED, scenario(truth[1:2], truth[2:3])[0])
    return np.array([*plain, worst, scenario_right], dtype=np.float64)


def _part(spread: Spread, which: int | slice) -> Spread:
    return Spread(spread.point[which], spread.deviations[:, which], spread.df[which])


def _scored_task(ease: Floats, effects: Floats, n_draws: int, rng: np.random.Generator) -> tuple[Floats, Floats, float]:
    """Scores (source, run, target), replicates (draw, source, run, target), effective number of groups."""
    scores = np.empty((_N_DOMAINS, _N_RUNS, _N_DOMAINS))
    replicates = np.empty((n_draws, *scores.shape))
    n_groups = np.inf
    n_models = _N_DOMAINS * _N_RUNS
    for target in range(_N_DOMAINS):
        sizes = rng.geometric(1 / 3, size=rng.integers(60, 151))
        group = np.repeat(np.arange(sizes.size), sizes)
        label = (rng.random(group.size) < _PRIOR[1]).astype(np.int64)
        shared = _CLASS_EASE[label] + _GROUP_SD * rng.normal(size=sizes.size)[group]
        shared = shared + _EXAMPLE_SD * rng.normal(size=group.size)
        chance = _CHANCE_SD * rng.normal(size=(_N_DOMAINS, _N_RUNS, group.size))
        right = (ease[:, target, None] + effects[:, :, target])[..., None] + shared + chance > 0
        cell = 3 * label + np.where(right, label, 1 - label)  # of a 2 x 3 confusion table
        model = np.arange(n_models).reshape(_N_DOMAINS, _N_RUNS, 1)
        flat = (group * n_models + model) * 6 + cell
        counts = np.bincount(flat.ravel(), minlength=sizes.size * n_models * 6).astype(np.float64)
        counts = counts.reshape(sizes.size, _N_DOMAINS, _N_RUNS, 2, 3)
        scores[..., target] = _macro_f1(counts.sum(axis=0))
        replicates[..., target] = _macro_f1(replicate_counts(counts, n_draws, rng))
        n_groups = min(n_groups, effective_size(sizes))
    return scores, replicates, n_groups


def _quantities(scores: Floats) -> Floats:
    """Give ``QUANTITIES``, then SD of every shift."""
    own = np.diagonal(scores, axis1=-2, axis2=-1)
    cross = scores[..., 0, 1]
    source_drops = own[..., :, None] - scores
    average = source_drops.sum(axis=(-2, -1)) / (_N_DOMAINS * (_N_DOMAINS - 1))
    plain = np.stack([cross, own[..., 0] - cross, own[..., 1] - cross, average], axis=-1)
    return np.concatenate([plain, source_drops[..., ~np.eye(_N_DOMAINS, dtype=bool)]], axis=-1)


def _expected_score(ease: Floats) -> Floats:
    """Macro-F1 on unlimited test data of runs with this latent ease, any shape."""
    from scipy.special import ndtr

    latent_sd = np.sqrt(_GROUP_SD**2 + _EXAMPLE_SD**2 + _CHANCE_SD**2)
    right = ndtr((ease[..., None] + _CLASS_EASE) / latent_sd)
    counts = np.zeros((*ease.shape, 2, 3))
    for label in (0, 1):
        counts[..., label, label] = _PRIOR[label] * right[..., label]
        counts[..., label, 1 - label] = _PRIOR[label] * (1 - right[..., label])
    return _macro_f1(counts)


def _score_over_all_runs(ease: Floats, run_sd: float) -> Floats:
    # A run's effect on one score is normal with sd run_sd: Gauss-Hermite quadrature.
    nodes, weights = np.polynomial.hermite_e.hermegauss(21)
    scores = _expected_score(ease[..., None] + run_sd * nodes)
    return np.asarray(scores @ (weights / weights.sum()))


def _macro_f1(counts: Floats) -> Floats:
    return macro_f1(counts, [True, True])
