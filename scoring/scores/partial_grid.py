"""Figures over some shifts of a task that need no square grid of sources and targets."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from shiftbench.metrics.depth import LAMBDAS
from shiftbench.scoring.scores.estimate import Estimate
from shiftbench.scoring.scores.intervals import Figure, bounds_of, detectable_drops, estimates, mean, worst
from shiftbench.scoring.scores.shape import Summary

PLAIN = ("spearman_st_ss", "spearman_st_tt", "r2_idd_sd", "r2_idd_td")
"""Figures of a summary that are plain numbers."""
ESTIMATED = tuple(name for name, field in Summary.model_fields.items() if field.annotation is Estimate)
"""Those that may have an interval."""


class Drops(NamedTuple):
    """One shift's figures by name with their replicates, depth-weighted ones as ``<figure>@<lambda>``."""

    source: str
    target: str
    figures: dict[str, Figure]
    depth: dict[str, Figure]
    scenario: str
    resolved: bool
    support: dict[str, float]


def of_shifts(drops: Sequence[Drops]) -> dict[str, Any]:
    """Summarise shifts that form no square grid: only what needs no grid is defined."""
    figures: dict[str, Any] = dict.fromkeys(ESTIMATED, Estimate(value=None)) | dict.fromkeys(PLAIN)
    st = [float(shift.figures["st"].values[0]) for shift in drops]
    means = {}
    for name in ("st", "sd", "td"):
        known = known_figures(drops, name)
        if known:
            means[f"mean_{name}"] = mean(known, bounds_of(name))
    if st:
        figures |= {"highest_st": Estimate(value=max(st)), "lowest_st": Estimate(value=min(st))}
    figures |= {"worst_sd_split_half": None, "worst_td_split_half": None}
    figures["detectable"] = detectable_drops({name: each for name, each in means.items() if name != "mean_st"})
    return {"complete": False, **figures, **estimates(means), **worst_drops(drops)}


def mean_by_lambda(shifts: Sequence[Drops], group: str) -> dict[str, Estimate]:
    """Return the mean over shifts of a depth-weighted figure, by lambda."""
    means: dict[str, Figure] = {}
    for key in map(str, LAMBDAS):
        figures = [drops.depth[f"{group}@{key}"] for drops in shifts if f"{group}@{key}" in drops.depth]
        if figures:
            means[key] = mean(figures)
    return estimates(means)


def worst_drops(drops: Sequence[Drops]) -> dict[str, Estimate]:
    """Return the worst SD and TD of some shifts, as far as they are known."""
    worst_by_name = {}
    for name in ("sd", "td"):
        chosen = known_figures(drops, name)
        if chosen:
            worst_by_name[f"worst_{name}"] = worst(chosen)
    return worst_by_name


def known_figures(drops: Sequence[Drops], name: str) -> list[Figure]:
    """List a figure of each shift where it is known."""
    return [shift.figures[name] for shift in drops if not np.isnan(shift.figures[name].values[0])]
