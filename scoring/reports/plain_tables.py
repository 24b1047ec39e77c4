"""Tables of text, in points, for terminals, a notebook's HTML, LaTeX and Markdown; and those of scores, comparisons.

A table that is too wide for the terminal is printed as lines instead: no number and no name is ever cut.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from shiftbench.scoring.comparing.shape import FIGURES, Comparison, Difference, p_text, winner
from shiftbench.scoring.comparing.words import CORRECTED, about_lines
from shiftbench.scoring.reports.exports import latex_tabular, latex_text, markdown_rows, markdown_text, mean_name
from shiftbench.scoring.reports.frame.html import Markup, join, tag
from shiftbench.scoring.reports.numbers import MINUS, drop_points, drop_text, interval, metric_name, score_text
from shiftbench.scoring.reports.pictures.words import source_name
from shiftbench.scoring.scores.shape import Scores

_ANY_WIDTH = 10_000
_P = ("p", "p (corrected)")


class PlainTable(NamedTuple):
    """A table whose cells are text, which a console prints; where it is wider than the terminal, as lines.

    Attributes:
        title: the line above.
        head: names of the columns.
        rows: a cell for each column.
        n_names: columns that name a row, the first ones; the others hold figures.
        texts: columns that hold words, not numbers, in a terminal; their cells may have line breaks.
    """

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    n_names: int = 1
    texts: Collection[str] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Yield the title, and the table; an interval stands below its figure, as many columns leave no room."""
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0) if self.texts else 0, pad_edge=False)
        for number, column in enumerate(self.head):
            table.add_column(column, justify="right" if number and column not in self.texts else "left", no_wrap=True)
        for row in self.rows:
            table.add_row(*(Text(cell.replace(" [", "\n[") if number else cell) for number, cell in enumerate(row)))
        yield _unwrapped(f"\n{self.title}")
        if Measurement.get(console, options.update(max_width=_ANY_WIDTH), table).maximum <= options.max_width:
            yield table
            return
        for name, *cells in self.rows:
            each = zip(self.head[1:], cells, strict=True)
            shown = [f"{' '.join(column.split())} {' '.join(cell.split())}" for column, cell in each if cell]
            yield from map(_unwrapped, (name, *_packed(shown, options.max_width)))


def _unwrapped(line: str) -> Text:
    return Text(line, no_wrap=True, overflow="ignore")


def _packed(items: Sequence[str], width: int) -> Iterator[str]:
    """Set items side by side, as many a line as fit; none is broken.

    >>> list(_packed(["slate 1.0", "travel 2.0", "fiction 3.0"], 26))
    ['  slate 1.0; travel 2.0', '  fiction 3.0']
    """
    line = ""
    for item in items:
        longer = f"{line}; {item}" if line else f"  {item}"
        if line and len(longer) > width:
            yield line
            longer = f"  {item}"
        line = longer
    if line:
        yield line


def summary_table(scores: Scores) -> PlainTable:
    """Build the table of a row a task: means, the average drop and the worst ones."""
    head = ("Task", "Metric", "Shifts", "Mean SS", "Mean ST", "Average drop", "Worst SD", "Worst TD")
    rows = []
    for task in scores.tasks:
        summary = task.summary
        drops = map(drop_text, (summary.average_drop, summary.worst_sd, summary.worst_td))
        means = map(score_text, (summary.mean_ss, summary.mean_st))
        rows.append((task.task, metric_name(task.metric), str(summary.n_shifts), *means, *drops))
    return PlainTable("Summary, in points", head, rows, n_names=2)


def shifts_table(scores: Scores) -> PlainTable:
    """Build the table of a row a shift: scores, drops and the scenario."""
    head = ("Task", "Trained on", "Tested on", "ST", "SS", "TT", "SD", "TD", "Scenario")
    rows = []
    for name, shift in ((task.task, shift) for task in scores.tasks for shift in task.shifts):
        figures = (*map(score_text, (shift.st, shift.ss, shift.tt)), *map(drop_text, (shift.sd, shift.td)))
        rows.append((name, source_name(shift.source), shift.target, *figures, shift.scenario))
    return PlainTable("Every shift, in points", head, rows, n_names=3)


def comparison_table(pairs: Sequence[Comparison]) -> PlainTable:
    """Build the table of a row a shift and pair: the first minus the other, starred where the corrected p is < 0.05."""
    head = ("Task", "Trained on", "Tested on", "First", "Other", *(cell for name in FIGURES for cell in (name, *_P)))
    rows = [
        (shift.task, source_name(shift.source), shift.target, pair.a, pair.b, *_differences(shift.differences))
        for pair in pairs
        for shift in pair.shifts
    ]
    title = (
        f"First minus other, in points, 95% intervals; {CORRECTED}; * = corrected p < 0.05; floor: a score at chance, "
        "the drop is not compared"
    )
    return PlainTable(f"{title}. {'. '.join(about_lines(pairs))}", head, rows, n_names=5)


def means_table(pairs: Sequence[Comparison]) -> PlainTable:
    """Build the table of a row a pair and mean over shifts; the one that the board ranks by comes first of its task."""
    head = ("Task", "Figure", "First", "Other", "Difference", *_P)
    rows = [
        (mean.task, mean_name(mean), pair.a, pair.b, *_differences([mean.difference]))
        for pair in pairs
        for mean in pair.means
    ]
    return PlainTable("Means over shifts: first minus other, in points", head, rows, n_names=4)


def _differences(differences: Iterable[Difference]) -> list[str]:
    cells = []
    for each in differences:
        cells += [
            f"{drop_points(each.value)}{'*' if winner(each) else ''} {interval(each.estimate)}".rstrip(),
            *(("floor", "") if each.at_floor else (p_text(each.p), p_text(each.p_corrected))),
        ]
    return cells


def html(tables: Iterable[PlainTable], notes: Iterable[str] = ()) -> Markup:
    """Write tables as HTML, below notes of one paragraph each; every text is escaped."""
    return join([*(tag("p", tag("strong", note)) for note in notes), *map(html_table, tables)])


def html_table(table: PlainTable, class_: str | None = None) -> Markup:
    """Write one table as HTML, of a class of the style sheet where it stands on a page."""
    head = tag("tr", *(tag("th", name, scope="col") for name in table.head))
    rows = [
        tag("tr", *(tag("th" if number < table.n_names else "td", cell) for number, cell in enumerate(row)))
        for row in table.rows
    ]
    return tag("table", tag("caption", table.title), tag("thead", head), tag("tbody", *rows), class_=class_)


def latex(table: PlainTable, notes: Iterable[str] = ()) -> str:
    """Write a table for the LaTeX package booktabs; notes follow as comments."""
    head, *rows = ([latex_text(cell).replace(MINUS, "$-$") for cell in row] for row in (table.head, *table.rows))
    lines = latex_tabular(head, rows, table.n_names)
    return "\n".join([*lines, *(f"% {latex_text(note)}" for note in (table.title, *notes))]) + "\n"


def markdown(table: PlainTable, notes: Iterable[str] = ()) -> str:
    """Write a table as Markdown: its title, the table, then a paragraph for each note."""
    head, *rows = ([markdown_text(cell) for cell in row] for row in (table.head, *table.rows))
    lines = markdown_rows(head, rows, table.n_names)
    return "\n".join([markdown_text(table.title), "", *lines, *(f"\n{markdown_text(note)}" for note in notes)]) + "\n"
