"""Tables of the simulation of tests over time."""

from collections.abc import Sequence

from benchmarks.over_time import DROPS, AlarmCell, CourseCell
from shiftbench.scoring.reports.plain_tables import PlainTable


def alarm_tables(cells: Sequence[AlarmCell]) -> list[PlainTable]:
    """Build the tables of false alarms and of weeks until a drop is found."""
    heads = ("texts per week", "reference", "jitter, points", "false alarms, %", "CUSUM, %")
    rows = [[*_setting(cell), str(cell.alarms), str(cell.cusum_alarms)] for cell in cells]
    tables = [PlainTable("Years without a drop that have a false alarm, 52 looks (target: at most 5%)", heads, rows)]
    for drop in DROPS:
        for late in ("", " after half a year"):
            name = f"{100 * drop:g}{late}"
            title = f"Weeks until a drop of {100 * drop:g} points{late} is detected: median [95% limits], 90% quantile"
            rows = [[*_setting(cell), str(cell.weeks[name]), str(cell.cusum_weeks[name])] for cell in cells]
            tables.append(PlainTable(title, ("texts per week", "reference", "jitter, points", "weeks", "CUSUM"), rows))
    return tables


def _setting(cell: AlarmCell) -> list[str]:
    return [str(cell.texts), f"{cell.reference_weeks} weeks", f"{100 * cell.jitter:g}"]


def course_tables(cells: Sequence[CourseCell]) -> list[PlainTable]:
    """Build the tables of trends and of steps."""
    heads = ("months", "jitter, points", "false trends, %", "test on texts only, %", "false change points, %")
    rows = [
        [str(cell.months), f"{100 * cell.jitter:g}", str(cell.trends), str(cell.trends_of_texts), str(cell.steps or "")]
        for cell in cells
        if not cell.step
    ]
    false = PlainTable("Months of 200 texts without a trend or step (target: at most 5%)", heads, rows)
    places = (
        "months", "jitter, points", "step, points", "detected, %", "95% set covers it, %", "median months in the set",
    )  # fmt: skip
    rows = [
        [str(cell.months), f"{100 * cell.jitter:g}", f"{100 * cell.step:g}", str(cell.steps), str(cell.held),
         f"{cell.set_size:g}"]
        for cell in cells
        if cell.step
    ]  # fmt: skip
    return [false, PlainTable("Months with a step after a third of them", places, rows)]
