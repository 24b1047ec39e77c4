"""Tail figures of a task, over all its shifts at once: its worst drop, its next domain, the effect of depth."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from shiftbench.metrics.bootstrap import split_half_worst
from shiftbench.metrics.depth import LAMBDAS
from shiftbench.metrics.mover import replicate_correlation, worst_interval
from shiftbench.metrics.new_domain import next_domain
from shiftbench.metrics.slopes import DepthSlope, mean_slope
from shiftbench.metrics.wilson import MIN_GROUPS
from shiftbench.metrics.worst import posterior_worst
from shiftbench.scoring.scores.estimate import Estimate
from shiftbench.scoring.scores.intervals import (
    DROP,
    SCORE,
    Drops,
    Figure,
    Reason,
    available_figures,
    estimates,
    mean,
    none_if_nan,
)
from shiftbench.scoring.scores.precision import Precision
from shiftbench.scoring.scores.replicates import Cell
from shiftbench.scoring.scores.shape import NextDomain

_WORST = 4
_REACH = 1.959964
"""Half the width of a 95% interval, in standard deviations."""


def tail_figures(task: str, chosen: Sequence[Drops], precision: Precision, *, whole: bool) -> dict[str, Any]:
    """Find the figures of a summary that need all shifts at once.

    Args:
        task: its name, which seeds what is drawn.
        chosen: the shifts that are summarised.
        precision: of the task's scores.
        whole: whether each target has all its shifts, so that targets can be compared.
    Returns: the fields of ``Summary``.
    """
    rng = np.random.default_rng([_WORST, *task.encode()])
    return {
        "worst_sd_posterior": _posterior(available_figures(chosen, "sd"), rng),
        "worst_td_posterior": _posterior(available_figures(chosen, "td"), rng),
        "next_domain": _next_domain(chosen) if whole else None,
        "depth_slope": slope_estimate([(drops.source, drops.target) for drops in chosen], precision),
    }


def split_half_drops(chosen: Sequence[Drops], precision: Precision) -> dict[str, float | None]:
    """Estimate the worst drops without the bias of selecting: chosen on one half of the groups, taken on the other.

    Args:
        chosen: the shifts that are summarised.
        precision: of the task's scores.
    Returns: the fields of ``Summary``.
    """
    empty = np.full((1, 2), np.nan)
    runs = precision.averaged_runs
    halves = {cell: scores[runs(*cell)].mean(axis=0) for cell, scores in precision.values.halves.items()}
    worst_drops: dict[str, float | None] = {}
    for name, homes in (
        ("worst_sd_split_half", [drops.source for drops in chosen]),
        ("worst_td_split_half", [drops.target for drops in chosen]),
    ):
        pairs = [
            (halves.get((home, home), empty), halves.get((drops.source, drops.target), empty))
            for home, drops in zip(homes, chosen, strict=True)
        ]
        known_drops = [own - cross for own, cross in pairs if not np.isnan(own - cross).any()]
        worst_drops[name] = none_if_nan(split_half_worst(np.stack(known_drops, axis=-1))) if known_drops else None
    return worst_drops


def slope_estimate(cells: Sequence[Cell], precision: Precision) -> Estimate | None:
    """Average the slopes on depth of shifts, over runs and shifts.

    Args:
        cells: the shifts; those without a slope take no part.
        precision: of the task's scores.
    Returns: the mean slope, with its 95% interval over test texts; None where no shift has one.
    """
    by_target: dict[str, list[tuple[DepthSlope, Sequence[int]]]] = {}
    for source, target in cells:
        slope = precision.values.depth_slopes.get((source, target))
        if slope is not None:
            by_target.setdefault(target, []).append((slope, precision.averaged_runs(source, target)))
    if not by_target:
        return None
    mean, low, high = mean_slope(list(by_target.values()), min_groups=MIN_GROUPS)
    reason = Reason.FEW_GROUPS if np.isnan(low) else None
    return Estimate(value=mean, low=none_if_nan(low), high=none_if_nan(high), no_interval=reason)


def _posterior(drops: Sequence[Figure], rng: np.random.Generator) -> float | None:
    """Estimate the largest true drop; their deviations are those of their intervals, sound for small test sets."""
    if len(drops) < 2 or not all(drop.has_interval for drop in drops):
        return None
    table = np.stack([drop.values for drop in drops])
    table = table[:, ~np.isnan(table).any(axis=0)]
    deviations = np.array([((drop.high or 0.0) - (drop.low or 0.0)) / (2 * _REACH) for drop in drops])
    covariance = replicate_correlation(table[:, 1:]) * np.outer(deviations, deviations)
    return posterior_worst(table[:, 0], covariance, rng)


def _next_domain(chosen: Sequence[Drops]) -> NextDomain | None:
    targets = sorted({drops.target for drops in chosen})
    if len(targets) < 2:
        return None
    st, drop = (
        [[drops.figures[name].values[0] for drops in chosen if drops.target == target] for target in targets]
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
    value = max(float(drop.values[0]) for drop in drops)
    if not all(drop.has_interval for drop in drops):
        reason = next((drop.no_interval for drop in drops if drop.no_interval), None)
        return Estimate(value=value, no_interval=reason)
    table = np.stack([drop.values for drop in drops])
    table = table[:, ~np.isnan(table).any(axis=0)]
    lows, highs = ([getattr(drop, end) for drop in drops] for end in ("low", "high"))
    low, high = np.clip(worst_interval(table[:, 0], lows, highs, table[:, 1:]), *DROP)
    return Estimate(value=value, low=float(low), high=float(high))


def mean_by_lambda(shifts: Sequence[Drops], group: str) -> dict[str, Estimate]:
    """Return the mean over shifts of a depth-weighted figure, by lambda."""
    means: dict[str, Figure] = {}
    for key in map(str, LAMBDAS):
        figures = [drops.depth[f"{group}@{key}"] for drops in shifts if f"{group}@{key}" in drops.depth]
        if figures:
            means[key] = mean(figures)
    return estimates(means)
