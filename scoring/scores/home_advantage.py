"""A task's home advantage with its intervals on three scales, and whether all of them show one."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import numpy as np

from shiftbench.metrics.in_domain_advantage import SCALES, Scale, home_advantage, home_weights
from shiftbench.scoring.scores.estimate import Estimate, Interval
from shiftbench.scoring.scores.intervals import Figure, difference, estimate, mean, total_bounds, weighted_sum
from shiftbench.scoring.scores.replicates import Floats, TaskValues
from shiftbench.scoring.scores.shape import HomeAdvantage, HomeScale


def task_home_advantage(
    values: TaskValues, domains: Sequence[str], figure: Callable[[str, str], Figure]
) -> HomeAdvantage | None:
    """Find the home advantage of models trained on one domain each.

    Args:
        values: the task's scores.
        domains: the domains whose matrix it is of.
        figure: gives a cell's score, averaged over runs, with its interval.
    Returns: the advantage; None without every score of at least two domains.
    """
    cells = [[figure(source, target) for target in domains] for source in domains]
    if len(domains) < 2 or any(np.isnan(cell.values[0]) for row in cells for cell in row):
        return None
    figures = {scale: mean_advantage(cells, scale) for scale in SCALES}
    totals = _totals(values, domains, figures)
    scales = {
        scale: HomeScale(
            mean=estimate(figures[scale]),
            total=totals.get(scale),
            by_domain=_by_domain(cells, domains, scale),
        )
        for scale in SCALES
    }
    return HomeAdvantage(
        raw=scales["raw"],
        log=scales["log"],
        logit=scales["logit"],
        claimed=_claimed(list(scales.values()), totals_measured=bool(totals)),
    )


def mean_advantage(cells: Sequence[Sequence[Figure]], scale: Scale) -> Figure:
    """Return mean diagonal less mean off-diagonal; the raw one is the average drop, with its interval.

    Args:
        cells: the score matrix, row by row: a source's scores.
        scale: raw, log or logit.
    """
    if scale != "raw":
        return _combination(cells, home_weights(len(cells))[0], scale)
    n = range(len(cells))
    away = mean([cells[source][target] for source in n for target in n if source != target])
    return difference(mean([cells[place][place] for place in n]), away)


def _by_domain(cells: Sequence[Sequence[Figure]], domains: Sequence[str], scale: Scale) -> dict[str, Estimate]:
    if len(domains) < 3:
        return {}
    weights = home_weights(len(domains))[1:]
    return {domain: estimate(_combination(cells, each, scale)) for domain, each in zip(domains, weights, strict=True)}


def _combination(cells: Sequence[Sequence[Figure]], weights: Floats, scale: Scale) -> Figure:
    """Add up the cells of a score matrix on a scale."""
    used = [(cell, float(weight)) for row, line in zip(cells, weights, strict=True)
            for cell, weight in zip(row, line, strict=True) if weight]  # fmt: skip
    return weighted_sum([cell for cell, _ in used], [weight for _, weight in used], scale)


def _totals(values: TaskValues, domains: Sequence[str], figures: dict[Scale, Figure]) -> dict[Scale, Interval | None]:
    """Find the intervals over training runs too; empty where training variance was not measured."""

    def statistic(matrix: Floats) -> Floats:
        return np.stack([home_advantage(np.clip(matrix, 0, 1), scale).mean for scale in SCALES], axis=-1)

    with np.errstate(invalid="ignore"):  # a replicate without an error has no logit
        bounds = total_bounds(values, domains, domains, statistic, [figures[scale] for scale in SCALES])
    return {
        scale: None if np.isnan([each.low, each.high]).any() else Interval(low=each.low, high=each.high)
        for scale, each in zip(SCALES, bounds or [], strict=bounds is not None)
    }


def shown_sign(ends: Iterable[tuple[float | None, float | None]]) -> Literal["advantage", "disadvantage"] | None:
    """Return the sign that all intervals show; None without such a sign, or where an interval has no ends."""
    pairs = list(ends)
    if all(low is not None and low > 0 for low, _ in pairs):
        return "advantage"
    return "disadvantage" if all(high is not None and high < 0 for _, high in pairs) else None


def _claimed(scales: Sequence[HomeScale], *, totals_measured: bool) -> Literal["advantage", "disadvantage"] | None:
    ends = [(scale.mean.low, scale.mean.high) for scale in scales]
    if totals_measured:
        ends += [(scale.total.low, scale.total.high) if scale.total else (None, None) for scale in scales]
    return shown_sign(ends)
