"""Results as sentences and text tables, in points, and their output formats.

A table that is too wide for the terminal is printed as lines instead: no number or name is ever truncated.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from shiftbench.scoring.reports.frame.html import Markup, tag
from shiftbench.scoring.reports.frame.site import render, report_file
from shiftbench.scoring.reports.numbers import MINUS, signed
from shiftbench.validation.plain_text import escape_invisible

_ANY_WIDTH = 10_000  # for measuring a table, wider than any terminal
_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "\N{RIGHTWARDS ARROW}": r"$\to$",
    MINUS: "$-$",
    **{letter: f"\\{letter}" for letter in "&%$#_"},
}
_MARKDOWN = "\\`*_[]<>|~#&$"
_FIGURE = re.compile(r"([+-]?\d[\d.,]*)(\*?)(?: \[([^\[\]]*)\])?")
"""A number, an optional star, and its interval."""


class Bold(str):
    """A cell in bold."""

    __slots__ = ()


def starred(cell: str, is_marked: bool) -> str:
    """Put a star between a value and its interval if ``is_marked``.

    >>> starred("1.0 [0.5, 1.5]", True), starred("1.0", False)
    ('1.0* [0.5, 1.5]', '1.0')
    """
    value, *interval = cell.split(" ", 1)
    return " ".join([f"{value}*", *interval]) if is_marked else cell


class PlainTable(NamedTuple):
    """A table with text cells, which a console prints; if it is wider than the terminal, as lines.

    Attributes:
        title: the line above.
        head: names of the columns.
        rows: one cell per column; lines after a line break are shown smaller below the first.
        n_names: number of leading columns that name a row; the others hold values.
        texts: columns that hold text, not numbers.
        meanings: definitions of columns, by name: tooltips on pages.
    """

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    n_names: int = 1
    texts: Collection[str] = ()
    meanings: Mapping[str, str] = {}

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Yield the title and the table; intervals are put below their values to save width."""
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0) if self.texts else 0, pad_edge=False)
        for number, column in enumerate(self.head):
            table.add_column(column, justify="right" if self._is_figure(number) else "left", no_wrap=True)
        for row in self.rows:
            table.add_row(*(Text(cell.replace(" [", "\n[") if number else cell) for number, cell in enumerate(row)))
        yield _unwrapped(f"\n{self.title}")
        if Measurement.get(console, options.update(max_width=_ANY_WIDTH), table).maximum <= options.max_width:
            yield table
            return
        n = self.n_names
        for row in self.rows:
            each = zip(self.head[n:], row[n:], strict=True)
            shown = [f"{' '.join(column.split())} {' '.join(cell.split())}" for column, cell in each if cell]
            yield from map(_unwrapped, (", ".join(row[:n]), *_packed(shown, options.max_width)))

    def _is_figure(self, number: int) -> bool:
        return number >= self.n_names and self.head[number] not in self.texts

    @property
    def columns(self) -> list[tuple[str, str, bool]]:
        """List names, meanings, and whether a column is numeric: the input of the macro ``plain``."""
        return [(name, self.meanings.get(name, ""), self._is_figure(number)) for number, name in enumerate(self.head)]

    def lines(self, number: int, cell: str) -> list[str]:
        """Split a page's cell into its large first line and the small lines below it, with real minus signs."""
        if not self._is_figure(number):
            return cell.split("\n")
        return signed(cell.replace(" [", "\n[")).split("\n")


def _unwrapped(line: str) -> Text:
    return Text(line, no_wrap=True, overflow="ignore")


def _packed(items: Sequence[str], width: int) -> Iterator[str]:
    """Pack items into lines, as many per line as fit; no item is split.

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


def latex_text(text: str) -> str:
    r"""Escape a text for LaTeX.

    >>> print(latex_text("a_b & 50%"))
    a\_b \& 50\%
    """
    return "".join(_LATEX.get(letter, letter) for letter in escape_invisible(" ".join(text.split())))


def markdown_text(text: str) -> str:
    r"""Escape a text for Markdown, including tables.

    >>> print(markdown_text("a|b *c*"))
    a\|b \*c\*
    """
    return "".join(
        f"\\{letter}" if letter in _MARKDOWN else letter for letter in escape_invisible(" ".join(text.split()))
    )


def latex(table: PlainTable, notes: Iterable[str] = ()) -> str:
    """Format a table for LaTeX (package booktabs) with its title as caption; notes follow as comments."""
    n = table.n_names
    head, *rows = (" & ".join(map(_latex_cell, row)) + r" \\" for row in (table.head, *table.rows))
    lines = [r"\begin{table}", r"\centering", rf"\caption{{{latex_text(table.title)}}}"]
    lines += [rf"\begin{{tabular}}{{{'l' * n}{'r' * (len(table.head) - n)}}}", r"\toprule", head, r"\midrule", *rows]
    lines += [r"\bottomrule", r"\end{tabular}", r"\end{table}", *(f"% {latex_text(note)}" for note in notes)]
    return "\n".join(lines) + "\n"


def _latex_cell(cell: str) -> str:
    found = _FIGURE.fullmatch(cell.replace(MINUS, "-"))
    if found is None:
        return rf"\textbf{{{latex_text(cell)}}}" if isinstance(cell, Bold) else latex_text(cell)
    value = rf"\mathbf{{{found[1]}}}" if isinstance(cell, Bold) else found[1]
    ends = rf" {{\scriptsize $[{found[3]}]$}}" if found[3] else ""
    return f"${value}{'^{*}' if found[2] else ''}${ends}"


def markdown(table: PlainTable) -> str:
    """Format a table as Markdown, with its title above."""
    align = ["---" if number < table.n_names else "---:" for number in range(len(table.head))]
    head, *rows = (
        [f"**{markdown_text(cell)}**" if isinstance(cell, Bold) else markdown_text(cell) for cell in row]
        for row in (table.head, *table.rows)
    )
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, align, *rows)]
    return "\n".join([markdown_text(table.title), "", *lines]) + "\n"


def as_markdown(parts: Iterable[RenderableType]) -> str:
    """Format sentences and tables as Markdown."""
    written = (markdown(each) if isinstance(each, PlainTable) else f"{markdown_text(str(each))}\n" for each in parts)
    return "\n".join(written)


def as_latex(parts: Iterable[RenderableType]) -> str:
    """Format the tables for LaTeX (package booktabs); the sentences follow the last one as comments."""
    parts = list(parts)
    tables = [each for each in parts if isinstance(each, PlainTable)]
    notes = [str(each) for each in parts if not isinstance(each, PlainTable)]
    return "\n".join(latex(table, notes if table is tables[-1] else ()) for table in tables)


def as_html(parts: Iterable[RenderableType], pictures: Sequence[Markup] = ()) -> Markup:
    """Format sentences and tables as HTML.

    Args:
        parts: sentences and tables, in order.
        pictures: plots to insert before the first table.
    """
    groups = [(kind.__name__, list(group)) for kind, group in groupby(parts, type)]
    return render("lines.html", groups=groups, drawn=pictures)


def report(
    title: str,
    parts: Iterable[RenderableType],
    command: str,
    *,
    head: Iterable[Markup] = (),
    pictures: Sequence[Markup] = (),
) -> Markup:
    """Build a report of a command's output as one self-contained HTML page.

    Args:
        title: title and heading.
        parts: sentences and tables, in order.
        command: the command that writes the report, such as ``shiftbench forecast``; named in the footer.
        head: elements below the heading.
        pictures: plots to insert before the first table.
    """
    return report_file(title, [tag("h1", title, class_="sb-name"), *head, as_html(parts, pictures)], command)
