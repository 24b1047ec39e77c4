"""Uncertainty of scores and of everything computed from them, by resampling groups and runs.

A replicate draws one weight per group of each domain's test set. All scores on that test set (its TT, every
ST into it, all runs, all entries compared) use the same weights, so what they share cancels in differences.
``shiftbench.metrics.resampling`` draws them. How far one score may be off is not read off replicates
(``shiftbench.metrics.wilson``): they show how scores go together.

Two spreads are kept apart. *Test-sampling*: other test sets, the same trained models. *Total*: other training
runs as well; the runs of a source move its whole row of the score matrix together, its in-domain score
included, which is also the TT of shifts into it.

Bootstrap deviations are those of a divisor n instead of n - 1, so they are scaled by sqrt(n / (n - 1)), n being
groups.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftbench.metrics.crossed import MIN_RUNS

Floats = NDArray[np.float64]
Statistic = Callable[[Floats], Floats]

_N_CODES = 5  # of SCENARIOS, Unknown left out: a replicate's drops are known


@dataclass(frozen=True)
class Spread:
    """A statistic with its spread under resampling.

    Attributes:
        point: the statistic, any shape (...,).
        deviations: replicates minus point, rescaled to be unbiased in variance, shape (n_draws, ...).
        df: degrees of freedom that the spread was estimated with, shape (...,).
    """

    point: Floats
    deviations: Floats
    df: Floats


def sampling_spread(point: ArrayLike, replicates: ArrayLike, *, n_groups: ArrayLike) -> Spread:
    """Compute the spread over test sets, with the trained models fixed.

    Args:
        point: the statistic on the full test sets, shape (...,).
        replicates: the same from resampled groups, shape (n_draws, ...).
        n_groups: effective number of groups of the test sets that the statistic uses (the smallest, if
            several), >= 2, broadcasting with ``point``: ``depth.effective_size`` of the group sizes, since a
            few large groups among many small ones tell less than as many equal ones.
    Returns: the spread. A replicate that is NaN (a score undefined on it) makes the interval NaN.
    Raises: ValueError when shapes do not fit or there are fewer than 2 groups.
    """
    centre = np.asarray(point, dtype=np.float64)
    drawn = np.asarray(replicates, dtype=np.float64)
    if drawn.ndim < 1 or drawn.shape[1:] != centre.shape or len(drawn) < 2:
        raise ValueError(f"replicates must have shape (n_draws,) + {centre.shape}, got {drawn.shape}")
    groups = np.broadcast_to(np.asarray(n_groups, dtype=np.float64), centre.shape)
    if np.any(groups < 2):
        raise ValueError("the spread over test sets needs at least 2 groups")
    return Spread(centre, (drawn - centre) * np.sqrt(groups / (groups - 1)), groups - 1)


def interval(
    spread: Spread, *, level: float = 0.95, bounds: tuple[float, float] | None = None
) -> tuple[Floats, Floats]:
    """Compute the percentile interval, its deviations stretched by Student's t over the normal quantile.

    Args:
        spread: from ``sampling_spread``.
        level: nominal coverage, in (0, 1).
        bounds: lowest and highest possible value, such as (0, 1) for a score; the interval is cut there.
    Returns: lower and upper ends, each of the shape of ``spread.point``; NaN where a replicate is undefined.
    Raises: ValueError when level is out of range.

    >>> draws = np.random.default_rng(0).normal(0.0, 0.1, size=4000)
    >>> low, high = interval(sampling_spread(0.5, 0.5 + draws, n_groups=1000))
    >>> float(low.round(1)), float(high.round(1))
    (0.3, 0.7)
    """
    if not 0 < level < 1:
        raise ValueError(f"level must lie in (0, 1), got {level}; 95% is 0.95")
    from scipy.special import stdtrit

    tail = (1 - level) / 2
    stretch = stdtrit(spread.df, 1 - tail) / NormalDist().inv_cdf(1 - tail)
    low, high = spread.point + stretch * np.quantile(spread.deviations, (tail, 1 - tail), axis=0, method="weibull")
    if bounds is not None:
        low, high = np.clip(low, *bounds), np.clip(high, *bounds)
    return np.asarray(low), np.asarray(high)


class TrainingSpread(NamedTuple):
    """The spread of a statistic over other training runs.

    Attributes:
        variance: of the statistic of scores averaged over runs, what test sets add to it taken off, shape (...,).
        df: Satterthwaite's degrees of freedom, shape (...,); infinite where runs do not differ.
    """

    variance: Floats
    df: Floats


def training_spread(
    statistic: Statistic, run_scores: Sequence[ArrayLike], run_replicates: Sequence[ArrayLike]
) -> TrainingSpread | None:
    """Compute the spread over training runs of a statistic of run-averaged scores.

    Runs scored on one finite test set differ by more than training alone makes them differ; how much more, resampled
    groups show (the jackknife variance over runs grows by as much again in each replicate), and it is taken off.

    Args:
        statistic: score matrices (..., n_sources, n_targets) -> values (..., any shape).
        run_scores: for each source the scores of its runs on the full test sets, shape (n_runs, n_targets).
        run_replicates: for each source the same from resampled groups, shape (n_draws, n_runs, n_targets).
    Returns: the spread, or None when a source has fewer than 5 runs: training variance not measured.
    Raises: ValueError when shapes do not fit.
    """
    runs = [np.asarray(scores, dtype=np.float64) for scores in run_scores]
    replicates = [np.asarray(scores, dtype=np.float64) for scores in run_replicates]
    if [drawn.shape[1:] for drawn in replicates] != [scores.shape for scores in runs]:
        raise ValueError(
            "run_replicates must hold, source by source, run_scores' shape with n_draws before it; got "
            f"{[drawn.shape for drawn in replicates]} for {[scores.shape for scores in runs]}"
        )
    if min(len(scores) for scores in runs) < MIN_RUNS:
        return None
    mean = np.stack([scores.mean(axis=0) for scores in runs])
    mean_replicates = np.stack([drawn.mean(axis=1) for drawn in replicates], axis=1)
    between, inflated, per_df = (np.zeros(statistic(mean).shape) for _ in range(3))
    for source, (scores, drawn) in enumerate(zip(runs, replicates, strict=True)):
        part = _jackknife_variance(statistic, mean, source, scores)
        between = between + part
        per_df = per_df + part**2 / (len(scores) - 1)
        inflated = inflated + _jackknife_variance(statistic, mean_replicates, source, drawn).mean(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        df = np.where(per_df > 0, between**2 / per_df, np.inf)
    return TrainingSpread(np.clip(2 * between - inflated, 0.0, between), df)


def scenario_support(source_drop: Spread, target_drop: Spread) -> Floats:
    """Count the share of replicates in which each scenario holds.

    Args:
        source_drop: spread of SD.
        target_drop: spread of TD, same shape and the same replicates.
    Returns: shares in the order of ``SCENARIOS`` (the last is Tie: a drop of exactly 0), shape (..., 5),
        summing to 1; NaN where a replicate is undefined.
    Raises: ValueError when shapes differ.
    """
    _check_alike(source_drop, target_drop)
    sd = source_drop.point + source_drop.deviations
    td = target_drop.point + target_drop.deviations
    codes = _scenario_codes(sd, td)
    shares = np.stack([(codes == code).mean(axis=0) for code in range(_N_CODES)], axis=-1)
    undefined = np.asarray(np.isnan(sd + td).any(axis=0))[..., None]
    return np.asarray(np.where(undefined, np.nan, shares))


def split_half_worst(drops: ArrayLike) -> Floats:
    """Estimate the worst drop without the winner's curse: selected on one half of the groups, estimated on the other.

    The largest of several noisy drops overstates the largest true one. Here each half selects the worst shift
    and the other half says how bad it is; both directions and all splits are averaged.

    Args:
        drops: drops of each split, half and shift, shape (n_splits, 2, ..., n_shifts), from ``half_weights``.
            A shift that is NaN anywhere (missing, or undefined on a half) takes no part.
    Returns: drops in [-1, 1], shape (...,); NaN where no shift takes part.
    Raises: ValueError when the second axis does not hold two halves.

    >>> float(split_half_worst([[[0.3, 0.1], [0.0, 0.2]]]).round(3))
    0.05
    """
    table = np.asarray(drops, dtype=np.float64)
    if table.ndim < 3 or table.shape[1] != 2 or table.shape[0] == 0 or table.shape[-1] == 0:
        raise ValueError(f"drops must have shape (n_splits, 2, ..., n_shifts), got {table.shape}")
    missing = np.isnan(table).any(axis=(0, 1))
    chosen = np.where(missing, -np.inf, table).argmax(axis=-1)
    estimate = np.take_along_axis(table[:, ::-1], chosen[..., None], axis=-1)[..., 0]
    mean = estimate.mean(axis=(0, 1))
    return np.asarray(np.where(missing.all(axis=-1), np.nan, mean))


def _jackknife_variance(statistic: Statistic, mean: Floats, source: int, scores: Floats) -> Floats:
    """Compute the jackknife variance of the statistic over one source's runs, ``scores`` (..., n_runs, n_targets)."""
    n = scores.shape[-2]
    left_out = []
    for run in range(n):
        without = mean.copy()
        without[..., source, :] = (n * mean[..., source, :] - scores[..., run, :]) / (n - 1)
        left_out.append(statistic(without))
    return np.asarray(np.var(left_out, axis=0) * (n - 1))


def _scenario_codes(source_drop: Floats, target_drop: Floats) -> NDArray[np.int64]:
    quadrant = 2 * (source_drop < 0) + (target_drop < 0)
    return np.asarray(np.where((source_drop == 0) | (target_drop == 0), 4, quadrant), dtype=np.int64)


def _check_alike(source_drop: Spread, target_drop: Spread) -> None:
    if source_drop.deviations.shape != target_drop.deviations.shape:
        raise ValueError(
            f"SD and TD must come from the same replicates, got shapes {source_drop.deviations.shape} "
            f"and {target_drop.deviations.shape}"
        )
