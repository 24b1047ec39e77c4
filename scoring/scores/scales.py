"""Weighted sums of scores in points, logarithms or log odds, with the intervals that the scores' own make."""

from collections.abc import Sequence

import numpy as np

from shiftbench.metrics.in_domain_advantage import Scale, on_scale
from shiftbench.metrics.mover import combined_interval, replicate_correlation
from shiftbench.scoring.scores.intervals import DROP, Figure, Reason

ANY = (-np.inf, np.inf)
"""Bounds of a difference of logarithms."""


def weighted_sum(figures: Sequence[Figure], coefficients: Sequence[float], scale: Scale = "raw") -> Figure:
    """Add up scores on a scale, with the interval that their own make (``metrics.mover``).

    A scale bends an interval's ends; how scores go together over test sets it hardly changes, so that is taken raw.

    Args:
        figures: scores with their intervals, at least one.
        coefficients: what each counts for, as many; they add up to 0.
        scale: raw, log or logit.
    Returns: the sum, without replicates; without interval, for the first reason, where a score has none.
    """
    groups = min(figure.effective_groups for figure in figures)
    points = on_scale([float(np.clip(figure.values[0], 0, 1)) for figure in figures], scale)
    if not np.isfinite(points).all():
        return Figure(np.array([np.nan]), groups, ANY, no_interval=None if scale == "raw" else Reason.NO_LOGARITHM)
    value = Figure(np.array([float(np.dot(coefficients, points))]), groups, ANY)
    reason = next((figure.no_interval for figure in figures if figure.no_interval), None)
    lows, highs = ([getattr(figure, end) for figure in figures] for end in ("low", "high"))
    if reason or not all(figure.has_interval for figure in figures):
        return Figure(value.values, groups, ANY, no_interval=reason or Reason.NO_REPLICATES)
    low_ends, high_ends = on_scale(lows, scale), on_scale(highs, scale)
    drawn = np.stack([figure.values for figure in figures])[:, 1:]
    correlation = replicate_correlation(drawn[:, ~np.isnan(drawn).any(axis=0)])
    low, high = combined_interval(coefficients, points, low_ends, high_ends, correlation)
    return Figure(value.values, groups, DROP if scale == "raw" else ANY, low=low, high=high)
