"""A task's summary as labels and figures for a terminal; a figure that is undefined has no row."""

from collections.abc import Iterator

from shiftbench.scoring.reports.home_advantage import home_lines
from shiftbench.scoring.reports.numbers import MISSING, plain_points, plain_score, share
from shiftbench.scoring.reports.tail_figures import slope_rows, worst_rows
from shiftbench.scoring.scores.estimate import Estimate
from shiftbench.scoring.scores.shape import Summary

_FIGURES = (
    ("mean SS", "mean_ss"),
    ("mean ST", "mean_st"),
    ("average drop", "average_drop"),
    ("worst SD (interval: all shifts at once)", "worst_sd"),
    ("worst TD (interval: all shifts at once)", "worst_td"),
    ("average worst SD", "average_worst_sd"),
    ("average worst TD", "average_worst_td"),
)


def summary_rows(summary: Summary) -> Iterator[tuple[str, str]]:
    """List labels and figures, in points.

    Args:
        summary: of one task.
    Returns: rows with a figure; where the grid is not complete, the mean SD stands in the place of the average drop.
    """
    figures: list[tuple[str, Estimate]] = [(label, getattr(summary, name)) for label, name in _FIGURES]
    if summary.average_drop.value is None:
        figures.insert(2, ("mean SD", summary.mean_sd))
    plain = [(label, Estimate(value=value)) for label, value in worst_rows(summary)]
    by_depth = [(f"Depth F1 at lambda {lambda_}", each) for lambda_, each in summary.depth_f1.items()]
    yield from _rows_with_values([*figures, *plain])
    for name, interval in summary.total.items():
        bounds = f"[{plain_points(interval.low)}, {plain_points(interval.high)}]"
        yield f"{name.replace('_', ' ')}, training runs too", bounds
    yield from _rows_with_values([*by_depth, *slope_rows(summary)])
    if has_scenarios(summary):
        yield from ((f"{name} shifts", share(part)) for name, part in summary.scenario_shares.items())
        yield "scenarios resolved (both drops; count uncorrected)", share(summary.resolved_share)
    yield from ((label, text) for label, text in home_lines(summary.home_advantage) if text != MISSING)


def has_scenarios(summary: Summary) -> bool:
    """Check whether any shift has both drops; without a model trained on the target there is no TD."""
    return any(part is not None for part in summary.scenario_shares.values())


def _rows_with_values(figures: list[tuple[str, Estimate]]) -> Iterator[tuple[str, str]]:
    return ((label, plain_score(each)) for label, each in figures if each.value is not None)
