"""Forecasts in a terminal: a sentence for each target, tables of methods, how they did, what no method sees."""

from typing import TYPE_CHECKING

from shiftbench.scoring.forecasting.shape import Forecasts, TaskForecast
from shiftbench.scoring.reports.forecast_words import (
    ABOUT,
    believed,
    closing_lines,
    errors_table,
    forecast_table,
    likeness_lines,
    reason_lines,
    shifts_table,
)
from shiftbench.scoring.reports.plain_tables import PlainTable
from shiftbench.scoring.reports.terminal import print_table

if TYPE_CHECKING:
    from rich.console import Console

_TABLES = 4
"""Shifts up to which each has its sentence and table; of more, only those into domains without labels."""


def print_forecasts(forecasts: Forecasts, console: "Console", method: str | None = None) -> None:
    """Print forecasts, those of domains without labels first.

    Args:
        forecasts: of a prediction file.
        console: where they are printed.
        method: the method that sentences are about; by default the first of ``forecast_words.PREFERRED``.
    """
    console.print(ABOUT, markup=False, highlight=False, soft_wrap=True)
    for task in forecasts.tasks:
        _print_task(task, console, method)
    for line in forecasts.left_out:
        console.print(f"Left out: {line}.", markup=False, highlight=False, soft_wrap=True)
    console.print(f"\n{forecasts.concept_shift}", markup=False, highlight=False, soft_wrap=True)


def _print_task(task: TaskForecast, console: "Console", method: str | None) -> None:
    unknown = [shift for shift in task.shifts if shift.truth is None]
    shown = task.shifts if len(task.shifts) <= _TABLES else unknown
    for shift in shown:
        before = f"{shift.source}: " if len(task.shifts) > 1 else ""
        line = f"{before}{believed(shift, task, method)}"
        console.print(line, style="bold", markup=False, highlight=False, soft_wrap=True)
    for shift in shown:
        _print_table(forecast_table(shift), console)
        for line in reason_lines(shift):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    for line in likeness_lines(shown):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    if len(shown) < len(task.shifts):
        _print_table(shifts_table(task, method), console)
    if task.errors:
        _print_table(errors_table(task), console)
    for line in closing_lines(task, method):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _print_table(table: PlainTable, console: "Console") -> None:
    print_table(console, table.title, table.head, table.rows)
