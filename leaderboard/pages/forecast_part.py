"""Forecasts beside the truth on an entry's page, folded up."""

from dataclasses import dataclass

from shiftbench.leaderboard.pages.addresses import forecast_address
from shiftbench.scoring.forecasting import CONCEPT_SHIFT
from shiftbench.scoring.forecasting.shape import TaskForecast
from shiftbench.scoring.reports.cells import scroll_box
from shiftbench.scoring.reports.forecast_words import errors_table, shifts_table
from shiftbench.scoring.reports.frame.html import Markup, tag
from shiftbench.scoring.reports.plain_tables import html_table

_TABLE = "sb-table sb-shifts"

_ABOUT = (
    "Its accuracy on each domain, forecast without a label of that domain: the source score less the mean drop of the "
    "other domains (each row names its method), the interval that those domains set, and the true score."
)


@dataclass(frozen=True)
class EntryForecast:
    """Forecasts of an entry on one task.

    Attributes:
        board: name of the task's board.
        task: the forecasts; None where there are none.
        reason: why there are none; empty where they are there.
    """

    board: str
    task: TaskForecast | None
    reason: str = ""


def forecast_part(found: EntryForecast) -> Markup:
    """Build the folded section: every shift by the main method, how all methods did, and what no method sees."""
    link = tag("a", "All methods on all entries of this board", href=forecast_address(found.board))
    if found.task is None:
        content = [tag("p", f"No forecast: {found.reason}.")]
    else:
        content = [
            tag("p", _ABOUT, class_="sb-soft"),
            scroll_box(html_table(shifts_table(found.task), _TABLE), "Forecasts on every shift"),
            scroll_box(html_table(errors_table(found.task), _TABLE), "Methods") if found.task.errors else Markup(""),
            tag("ul", *(tag("li", line) for line in found.task.notes), class_="sb-missing"),
        ]
    said = tag("p", tag("strong", CONCEPT_SHIFT))
    summary = tag("summary", "Forecasts beside the truth")
    return tag("details", summary, *content, said, tag("p", link), class_="sb-legend")
