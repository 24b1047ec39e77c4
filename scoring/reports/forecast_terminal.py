"""Forecasts in a terminal: a sentence for each target, tables of methods, how they did, what no method sees."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

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

_TABLES = 4
"""Shifts up to which each has its sentence and table; of more, only those into domains without labels."""


def forecast_lines(forecasts: Forecasts, method: str | None = None) -> Iterator[RenderableType]:
    """List forecasts, those of domains without labels first.

    Args:
        forecasts: of a prediction file.
        method: the method that sentences are about; by default the first of ``PREFERRED``.
    """
    yield ABOUT
    for task in forecasts.tasks:
        yield from _task_lines(task, method)
    yield from (f"Left out: {line}." for line in forecasts.left_out)
    yield f"\n{forecasts.concept_shift}"


def _task_lines(task: TaskForecast, method: str | None) -> Iterator[RenderableType]:
    unknown = [shift for shift in task.shifts if shift.truth is None]
    shown = task.shifts if len(task.shifts) <= _TABLES else unknown
    for shift in shown:
        before = f"{shift.source}: " if len(task.shifts) > 1 else ""
        yield Text(f"{before}{believed(shift, task, method)}", style="bold")
    for shift in shown:
        yield forecast_table(shift)
        yield from reason_lines(shift)
    yield from likeness_lines(shown)
    if len(shown) < len(task.shifts):
        yield shifts_table(task, method)
    if task.errors:
        yield errors_table(task)
    yield from closing_lines(task, method)
