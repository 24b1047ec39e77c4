"""Tail figures of a task, over all its shifts at once: its worst drop, its next domain, the effect of depth."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from shiftbench.metrics.depth import LAMBDAS, DepthSlope, mean_slope
from shiftbench.metrics.new_domain import next_domain
from shiftbench.metrics.precision import MIN_GROUPS
from shiftbench.scoring.scores.estimate import Estimate
from shiftbench.scoring.scores.figures import (
    DROP,
    SCORE,
    Figure,
    Reason,
    estimates,
    largest_limits,
    mean,
    none_if_nan,
)
from shiftbench.scoring.scores.shape import NextDomain
from shiftbench.scoring.scores.values import Cell, TaskValues


class Drops(NamedTuple):
    """One shift's figures by name, depth-weighted ones as ``<figure>@<lambda>``."""

    source: str
    target: str
    figures: dict[str, Figure]
    depth: dict[str, Figure]
    scenario: str
    resolved: bool


def available_figures(drops: Sequence[Drops], name: str) -> list[Figure]:
    """List a figure of each shift where it is known."""
    return [shift.figures[name] for shift in drops if shift.figures[name].is_known]


def tail_figures(chosen: Sequence[Drops], values: TaskValues, *, whole: bool) -> dict[str, Any]:
    """Find the figures of a summary that need all shifts at once.

    Args:
        chosen: the shifts that are summarised.
        values: the task's scores.
        whole: whether each target has all its shifts, so that targets can be compared.
    Returns: the fields of ``Summary``.
    """
    return {
        "next_domain": _next_domain(chosen) if whole else None,
        "depth_slope": slope_estimate([(drops.source, drops.target) for drops in chosen], values),
    }


def slope_estimate(cells: Sequence[Cell], values: TaskValues) -> Estimate | None:
    """Average the slopes on depth of shifts, over runs and shifts.

    Args:
        cells: the shifts; those without a slope take no part.
        values: the task's scores.
    Returns: the mean slope, with its 95% interval over test texts; None where no shift has one.
    """
    by_target: dict[str, list[tuple[DepthSlope, Sequence[int]]]] = {}
    for source, target in cells:
        slope = values.depth_slopes.get((source, target))
        if slope is not None:
            by_target.setdefault(target, []).append((slope, values.averaged_runs(source, target)))
    if not by_target:
        return None
    mean, low, high = mean_slope(list(by_target.values()), min_groups=MIN_GROUPS)
    reason = Reason.FEW_GROUPS if np.isnan(low) else None
    return Estimate(value=mean, low=none_if_nan(low), high=none_if_nan(high), no_interval=reason)


def _next_domain(chosen: Sequence[Drops]) -> NextDomain | None:
    targets = sorted({drops.target for drops in chosen})
    if len(targets) < 2:
        return None
    st, drop = (
        [[drops.figures[name].value for drops in chosen if drops.target == target] for target in targets]
        for name in ("st", "sd")
    )
    return NextDomain(n_domains=len(targets), st=_expected(st, SCORE), drop=_expected(drop, DROP))


def _expected(by_target: Sequence[Sequence[float]], bounds: tuple[float, float]) -> Estimate:
    """Predict a figure of one more target from its means by target; unknown where one of these is."""
    means = np.array([np.mean(values) for values in by_target])
    if np.isnan(means).any():
        return Estimate(value=None)
    mean, low, high = next_domain(means, bounds=bounds)
    return Estimate(value=mean, low=low, high=high)


def worst_drops(drops: Sequence[Drops]) -> dict[str, Estimate]:
    """Return the worst SD and TD of some shifts, as far as they are known."""
    worst_by_name = {}
    for name in ("sd", "td"):
        chosen = available_figures(drops, name)
        if chosen:
            worst_by_name[f"worst_{name}"] = worst(chosen)
    return worst_by_name


def worst(drops: Sequence[Figure]) -> Estimate:
    """Find the largest of several drops, with the interval of the largest true one (all at once, so a wide one)."""
    value = max(drop.value for drop in drops)
    if not all(drop.has_interval for drop in drops):
        return Estimate(value=value, no_interval=next((drop.no_interval for drop in drops if drop.no_interval), None))
    low, high = largest_limits(drops)
    return Estimate(value=value, low=low, high=high)


def mean_by_lambda(shifts: Sequence[Drops], group: str) -> dict[str, Estimate]:
    """Return the mean over shifts of a depth-weighted figure, by lambda."""
    means: dict[str, Figure] = {}
    for key in map(str, LAMBDAS):
        figures = [drops.depth[f"{group}@{key}"] for drops in shifts if f"{group}@{key}" in drops.depth]
        if figures:
            means[key] = mean(figures)
    return estimates(means)
