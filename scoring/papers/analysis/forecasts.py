"""Forecasts of accuracy against the truth, method by method: where each fails, and which causes it cannot detect."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from shiftbench.scoring.forecasting import CONCEPT_SHIFT
from shiftbench.scoring.forecasting.methods import TITLES
from shiftbench.scoring.forecasting.run import chosen_methods, forecast_task
from shiftbench.scoring.forecasting.samples import task_samples
from shiftbench.scoring.forecasting.shape import TaskForecast
from shiftbench.scoring.papers.analysis.canvas import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    Key,
    Margins,
    Panel,
    picture,
    value_range,
)
from shiftbench.scoring.papers.analysis.entries import Result, group_by_board, n_entries
from shiftbench.scoring.papers.analysis.findings import Findings, build_findings
from shiftbench.scoring.papers.analysis.known_causes import CAUSES, known_shifts
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.vocabulary import TaskKind

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BOARDS = "boards"
_COLOURS = {BOARDS: BLUE, **dict(zip(CAUSES, (ORANGE, GREEN, PURPLE), strict=True))}
SCHEMA = pl.Schema(
    {
        "cause": pl.String(), "board": pl.String(), "entry": pl.String(), "source": pl.String(), "target": pl.String(),
        "method": pl.String(), "forecast": pl.Float64(), "low": pl.Float64(), "high": pl.Float64(),
        "truth": pl.Float64(),
    }
)  # fmt: skip
"""One method's forecast of one shift, and its accuracy; means over seeds.

``cause`` is 'boards' for shifts between real domains, otherwise the cause of a simulated shift, whose board and entry
are 'simulated'. Rows by cause, board, entry and shift. ``low`` and ``high`` are null where there is no interval.
"""


def find_forecasts(results: Sequence[Result]) -> Findings:
    """Forecast the shifts of all entries whose predictions can be read, and three simulated shifts of known cause.

    Methods that look at texts see the points of simulated ones alone: entries are not embedded here.

    Returns: rows of ``SCHEMA``; none where no entry has a forecast.
    """
    rows: list[dict[str, Any]] = []
    left_out: list[str] = []
    methods = chosen_methods(None)
    for board, mine in group_by_board(results):
        without = 0
        for result in mine:
            made = _forecast(result, methods)
            without += made is None
            rows += [] if made is None else _forecast_rows(BOARDS, board, result.entry, made)
        if without:
            left_out.append(f"{board}: {n_entries(without)} for which no accuracy can be forecast")
    if rows:
        for cause, samples, points in known_shifts():
            rows += _forecast_rows(cause, "simulated", "simulated", forecast_task(samples, methods, points))
    return build_findings(rows, left_out, "no entry has predictions of labels in domain and under shift", SCHEMA)


def _forecast(result: Result, methods: Sequence[str]) -> TaskForecast | None:
    """Forecast one entry's task; None where it has no accuracy or no labelled texts of the source domain."""
    name = result.task.task
    if result.rows is None or result.folder.task(name).kind is not TaskKind.CLASSIFICATION:  # one axis, accuracy
        return None
    predictions = result.rows().filter(pl.col("task") == name)
    try:
        return forecast_task(task_samples(name, predictions, result.folder), methods)
    except InvalidInput:  # zero-shot models have no source domain
        return None


def _forecast_rows(cause: str, board: str, entry: str, made: TaskForecast) -> list[dict[str, Any]]:
    return [
        {
            "cause": cause,
            "board": board,
            "entry": entry,
            "source": shift.source,
            "target": shift.target,
            "method": each.method,
            "forecast": each.value,
            "low": each.low,
            "high": each.high,
            "truth": shift.truth,
        }
        for shift in made.shifts
        for each in shift.forecasts
        if each.value is not None and shift.truth is not None
    ]


def draw_forecasts(rows: pl.DataFrame, notes: Sequence[str]) -> bytes:
    """Draw a panel for each method: forecasts over the truth, on the diagonal where they are right."""
    ends = value_range([*rows["forecast"], *rows["truth"]])
    by_method = {name: rows.filter(method=name) for name in TITLES}
    panels = [
        Panel(partial(_panel, rows=mine, title=TITLES[name], ends=ends))
        for name, mine in by_method.items()
        if not mine.is_empty()
    ]
    keys = [Key(name, colour, "none", "o") for name, colour in _COLOURS.items() if name in set(rows["cause"])]
    about = (
        f"{CONCEPT_SHIFT} Simulated shifts: class shares are reversed; a hard kind of text becomes frequent; labels "
        "change their meaning while texts stay the same. Titles: mean absolute errors in points, in the legend's order."
    )
    title = "Accuracy forecast without labels, against the true accuracy"
    return picture(
        panels, columns=3, heights=3.0, margins=Margins(top=0.45), title=title, keys=keys, notes=[about, *notes]
    )


def _panel(axis: "Axes", rows: pl.DataFrame, title: str, ends: tuple[float, float]) -> None:
    errors = []
    for cause, colour in _COLOURS.items():
        mine = rows.filter(cause=cause)
        if mine.is_empty():
            errors.append("-")
            continue
        axis.scatter(100 * mine["truth"], 100 * mine["forecast"], s=14, color=colour, alpha=0.6, linewidths=0)
        errors.append(f"{100 * (mine['forecast'] - mine['truth']).abs().to_numpy().mean():.1f}")
    axis.plot(ends, ends, color=GREY, linewidth=0.8)
    axis.set_xlim(ends)
    axis.set_ylim(ends)
    axis.set_xlabel("accuracy, points")
    axis.set_ylabel("forecast, points")
    axis.set_title(f"{title}: {' / '.join(errors)}")
