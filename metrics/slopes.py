"""Slope of correctness on depth: how much more often a model is right on texts closer to the source.

Depth F1 answers by two noisy ends: at lambda 0 nearly all texts weigh alike, so it is nearly accuracy, and at lambda 90
a tenth of the texts is left. The slope uses every text once, and so has the power to see what the curve only hints at.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


class DepthSlope(NamedTuple):
    """The slope of scores on depth, per standard deviation of depth over the test set.

    Attributes:
        slopes: of each run, shape (n_runs,); above 0: more is right closer to the source.
        influences: what each group adds to a run's error, shape (n_runs, n_groups), summing to 0 over groups.
        effective_groups: effective number of groups of the test set.
    """

    slopes: Floats
    influences: Floats
    effective_groups: float


class SlopeEstimate(NamedTuple):
    """A slope with the ends of its 95% interval over other test texts; NaN where there is none."""

    slope: float
    low: float
    high: float


def depth_slope(scores: ArrayLike, depth: ArrayLike, groups: NDArray[np.int64]) -> DepthSlope | None:
    """Fit the scores of texts on their depth in the source, standardised over the test set.

    Args:
        scores: how well each text was predicted, fractions, shape (n_runs, n).
        depth: depth of each text in the source, shape (n,), finite.
        groups: group of each text, codes from 0 without a gap, shape (n,).
    Returns: slopes and influences; None where all texts are equally deep or there is one group.
    Raises: ValueError when shapes differ or a value is not finite.

    >>> found = depth_slope([[0.0, 0.0, 1.0, 1.0]], [0.1, 0.2, 0.3, 0.4], np.arange(4))
    >>> found.slopes.round(3).tolist()
    [0.447]
    """
    right, deep = np.asarray(scores, dtype=np.float64), np.asarray(depth, dtype=np.float64)
    if right.ndim != 2 or right.shape[1:] != deep.shape or deep.shape != groups.shape:
        raise ValueError(f"scores (n_runs, n), depth and groups (n,) must fit, got {right.shape} and {deep.shape}")
    if not (np.all(np.isfinite(right)) and np.all(np.isfinite(deep))):
        raise ValueError("scores and depths must be finite")
    sizes = np.bincount(groups)
    if sizes.size < 2 or np.ptp(deep) == 0:
        return None
    steps = (deep - deep.mean()) / deep.std()
    slopes = right @ steps / deep.size
    left = right - right.mean(axis=1, keepdims=True) - slopes[:, None] * steps
    influences = np.stack([np.bincount(groups, weights=row) for row in left * steps]) / deep.size
    return DepthSlope(slopes, influences, float(sizes.sum() ** 2 / (sizes**2).sum()))


def mean_slope(
    targets: Sequence[Sequence[tuple[DepthSlope, Sequence[int]]]], *, min_groups: float = 5
) -> SlopeEstimate:
    """Average slopes over runs and shifts, with a Student interval over other test texts.

    Shifts into one target share its test texts, so their influences are added group by group; targets are independent.
    Squared sums of groups' influences are the cluster-robust variance, divided by 1 - 1 / groups.

    Args:
        targets: for each target the slopes of the shifts into it, each with the numbers of the runs to average.
        min_groups: effective groups of a test set below which there is no interval.
    Returns: mean slope and ends; ends are NaN with too few groups.
    Raises: ValueError when there is no slope.
    Source: Liang and Zeger, "Longitudinal data analysis using generalized linear models" (1986).
    """
    n_shifts = sum(map(len, targets))
    if n_shifts == 0:
        raise ValueError("the mean of no slopes is undefined")
    mean = sum(fitted.slopes[list(runs)].mean() for shifts in targets for fitted, runs in shifts) / n_shifts
    smallest = min(fitted.effective_groups for shifts in targets for fitted, _ in shifts)
    if smallest < min_groups:
        return SlopeEstimate(float(mean), float("nan"), float("nan"))
    variances, per_df = [], []
    for shifts in filter(None, targets):
        influence = np.sum([fitted.influences[list(runs)].mean(axis=0) for fitted, runs in shifts], axis=0) / n_shifts
        groups = shifts[0][0].effective_groups
        variances.append(float((influence**2).sum()) * groups / (groups - 1))
        per_df.append(variances[-1] ** 2 / (groups - 1))
    from scipy.special import stdtrit

    df = sum(variances) ** 2 / sum(per_df) if sum(per_df) > 0 else np.inf  # Satterthwaite's
    reach = float(stdtrit(df, 0.975)) * float(np.sqrt(sum(variances)))
    return SlopeEstimate(float(mean), float(mean - reach), float(mean + reach))
