"""Forecasts as HTML pages: sentences first, then tables; and methods beside each other, board by board."""

from collections.abc import Iterator

from shiftbench.scoring.forecasting.shape import Forecasts, MethodComparison, TaskForecast
from shiftbench.scoring.reports.forecast_words import (
    ABOUT,
    believed,
    closing_lines,
    comparison_notes,
    errors_table,
    forecast_table,
    likeness_lines,
    reason_lines,
    standings_table,
)
from shiftbench.scoring.reports.frame.html import Markup, tag
from shiftbench.scoring.reports.frame.site import report_file
from shiftbench.scoring.reports.plain_tables import html


def forecast_html(forecasts: Forecasts, data: str, method: str | None = None) -> Markup:
    """Build the page.

    Args:
        forecasts: of a prediction file.
        data: what the data is called.
        method: the method that sentences are about; by default the first of ``forecast_words.PREFERRED``.
    Returns: one HTML page that needs no other file.
    """
    title = f"Forecasts for {forecasts.predictions} on {data}"
    parts = [
        tag("h1", title, class_="sb-name"),
        tag("p", ABOUT, class_="sb-exposure"),
        tag("div", tag("strong", forecasts.concept_shift), class_="sb-notice", role="note"),
        *(tag("p", f"Left out: {line}.") for line in forecasts.left_out),
        *(part for task in forecasts.tasks for part in _task(task, method)),
    ]
    return report_file(title, parts, "shiftbench forecast")


def comparison_html(found: MethodComparison, title: str) -> Markup:
    """Build the page of methods beside each other, a table a board; ``title`` stands above them.

    Returns: one HTML page that needs no other file.
    """
    notes = [tag("p", note) for note in comparison_notes(found)]
    tables = tag("section", html(standings_table(part) for part in found.boards), class_="sb-section")
    return report_file(title, [tag("h1", title, class_="sb-name"), *notes, tables], "shiftbench score-forecasts")


def _task(task: TaskForecast, method: str | None) -> Iterator[Markup]:
    ordered = sorted(task.shifts, key=lambda shift: (shift.truth is not None, shift.target, shift.source))
    lines = [tag("li", f"{shift.source}: {believed(shift, task, method)}") for shift in ordered]
    yield tag("section", tag("h2", task.task), tag("ul", *lines), class_="sb-section")
    if task.errors:
        yield tag("section", html([errors_table(task)]), class_="sb-section")
    for shift in ordered:
        reasons = [tag("li", line) for line in reason_lines(shift)]
        yield tag("section", html([forecast_table(shift)]), tag("ul", *reasons), class_="sb-section")
    notes = [*likeness_lines(ordered), *closing_lines(task, method)]
    if notes:
        yield tag("ul", *(tag("li", note) for note in notes), class_="sb-missing")
