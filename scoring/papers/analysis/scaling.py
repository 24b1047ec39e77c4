"""Scores and drops over model size, shots, training size and step: Figures 4-12 of the Domain Robustness paper."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from shiftbench.scoring.papers.analysis.canvas import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    Key,
    Margins,
    Panel,
    count_axis,
    end_labels,
    picture,
    shorten_name,
    value_range,
)
from shiftbench.scoring.papers.analysis.entries import (
    PROMPTED,
    Findings,
    Result,
    build_findings,
    group_by_board,
    n_entries,
    series_of,
    state_value,
    with_bounds,
)
from shiftbench.scoring.scores.shape import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PERFORMANCE = {
    "highest_ss": ("highest SS", ORANGE), "mean_ss": ("mean SS", BLACK), "mean_st": ("mean ST", GREEN),
    "lowest_st": ("lowest ST", BLUE),
}  # fmt: skip
_DROPS = {
    "worst_sd": ("worst SD", ORANGE), "worst_td": ("worst TD", BLUE), "average_drop": ("average", GREEN),
    "average_worst_sd": ("average worst SD", ORANGE), "average_worst_td": ("average worst TD", BLUE),
}  # fmt: skip
SCHEMA = pl.Schema(
    {
        "board": pl.String(), "series": pl.String(), "entry": pl.String(), "over": pl.String(), "at": pl.Int64(),
        "measure": pl.String(), "value": pl.Float64(), "low": pl.Float64(), "high": pl.Float64(),
        "interval": pl.String(), "placebo": pl.Float64(),
    }
)  # fmt: skip
"""One measure of one entry, whose value of the varying factor ``over`` is ``at``.

Rows by board, series and ``at``. ``low``, ``high`` and ``interval`` are null if no interval is known. ``placebo`` is
the same drop on random pseudo-domains; it is null for scores, and without a complete placebo.
"""
_BANDS = "Bands: 95% intervals over test texts, and over training runs where these were measured."
_AVERAGE_WORST = ("average_worst_sd", "average_worst_td")
_AXES = {
    "parameters": "parameters",
    "shots": "shots",
    "training_size": "training examples per source",
    "step": "training step",
}


def find_over(results: Sequence[Result], key: str, *, prompted: bool | None = None) -> Findings:
    """Compute the measures of models whose entries differ in a single factor.

    Args:
        results: of any boards; those with a missing shift are skipped, as their means cover fewer shifts.
        key: the factor, one of ``entries.STATE``.
        prompted: whether to use only prompted models (True), or only others (False).

    Returns: rows of ``SCHEMA``.
    """
    rows: list[dict[str, Any]] = []
    left_out = []
    wanted = [r for r in results if prompted is None or (r.card.paradigm in PROMPTED) is prompted]
    for board, mine in group_by_board(wanted):
        placed = [result for result in mine if state_value(result, key) is not None]
        whole = [result for result in placed if result.complete]
        series = {
            name: states
            for name, states in series_of(whole, [key]).items()
            if len({state_value(result, key) for result in states}) > 1
        }
        words = {
            f"without {_AXES[key]} in the card": len(mine) - len(placed),
            "with a missing shift": len(placed) - len(whole),
            f"skipped: no other entry of that model differs only in {_AXES[key]}": len(whole)
            - sum(map(len, series.values())),
        }
        left_out += [f"{board}: {n_entries(n)} {why}" for why, n in words.items() if n]
        rows += [row for name, states in series.items() for result in states for row in _score_rows(name, result, key)]
    why = f"no model has two entries whose cards differ only in {_AXES[key]}"
    return build_findings(rows, left_out, why, SCHEMA)


def draw_over(rows: pl.DataFrame, notes: Sequence[str], *, title: str) -> bytes:
    """Draw two panels per board and model: scores, and drops. All panels of a board have the same vertical axes."""
    panels = []
    limits = {
        board: (_limits(mine, _PERFORMANCE), _limits(mine, _DROPS, zero=True))
        for (board,), mine in rows.group_by("board", maintain_order=True)
    }
    for mine in rows.partition_by("board", "series", maintain_order=True):
        scores, drops = limits[mine["board"][0]]
        panels.append(Panel(partial(_draw_scores, rows=mine, limits=scores), new_row=True))
        if mine.filter(pl.col("measure").is_in(list(_DROPS))).height:
            panels.append(Panel(partial(_draw_drops, rows=mine, limits=drops)))
    keys = [
        Key("average over sources of the worst drop", GREY, "--"),
        Key("average drop of the placebo (no shift)", GREY, ":"),
    ]
    margins = Margins(right=1.05, top=0.4, bottom=0.5)
    return picture(panels, columns=2, heights=2.5, margins=margins, title=title, keys=keys, notes=[_BANDS, *notes])


def _score_rows(series: str, result: Result, key: str) -> list[dict[str, Any]]:
    summary = result.task.summary
    on_placebo = result.placebo.task.summary if result.placebo and result.placebo.complete else None
    rows = []
    for measure in (*_PERFORMANCE, *_DROPS):
        estimate: Estimate = getattr(summary, measure)
        if estimate.value is None:
            continue
        placebo: Estimate | None = getattr(on_placebo, measure) if on_placebo and measure in _DROPS else None
        rows.append(
            {"board": result.board, "series": series, "entry": result.entry, "over": key,
             "at": state_value(result, key), "measure": measure, **with_bounds(estimate, summary.total.get(measure)),
             "placebo": placebo.value if placebo else None}
        )  # fmt: skip
    return rows


def _limits(rows: pl.DataFrame, measures: dict[str, tuple[str, str]], *, zero: bool = False) -> tuple[float, float]:
    mine = rows.filter(pl.col("measure").is_in(list(measures)))
    average = mine.filter(measure="average_drop")
    return value_range([*mine["value"], *mine["low"], *mine["high"], *average["placebo"]], zero=zero)


def _draw_scores(axis: "Axes", rows: pl.DataFrame, limits: tuple[float, float]) -> None:
    _draw_lines(axis, rows, _PERFORMANCE, limits)
    # The scores' title may extend over the drops' panel, which has no title.
    axis.set_title(shorten_name(f"{rows['board'][0]}: {rows['series'][0]}", 140))
    axis.set_ylabel("score, points")


def _draw_drops(axis: "Axes", rows: pl.DataFrame, limits: tuple[float, float]) -> None:
    _draw_lines(axis, rows, _DROPS, limits)
    axis.axhline(0, color=GREY, linewidth=0.8)
    placebo = rows.filter(pl.col("placebo").is_not_null(), measure="average_drop")
    axis.plot(placebo["at"], 100 * placebo["placebo"], ":", color=GREY, marker=".", markersize=4)
    axis.set_ylabel("drop, points")


def _draw_lines(
    axis: "Axes", rows: pl.DataFrame, measures: dict[str, tuple[str, str]], limits: tuple[float, float]
) -> None:
    axis.set_ylim(limits)
    over = rows["over"][0]
    count_axis(axis, rows["at"].to_list(), spread_evenly=over != "step")
    axis.set_xlabel(_AXES[over])
    ends = []
    for measure, (label, colour) in measures.items():
        line = rows.filter(measure=measure)
        if not line.height:
            continue
        average_worst = measure in _AVERAGE_WORST
        axis.plot(
            line["at"], 100 * line["value"], color=colour, linestyle="--" if average_worst else "-",
            marker="" if average_worst else "o", markersize=3.5, linewidth=1.0 if average_worst else 1.5,
        )  # fmt: skip
        known = line.filter(pl.col("low").is_not_null())
        axis.fill_between(known["at"], 100 * known["low"], 100 * known["high"], color=colour, alpha=0.13, linewidth=0)
        if not average_worst:
            ends.append((100 * float(line["value"][-1]), label, colour))
    end_labels(axis, ends)
