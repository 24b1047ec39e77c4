"""CSV export that is safe to open in a spreadsheet (no formula injection)."""

import csv
import io
import re
from collections.abc import Iterable, Sequence

from shiftbench.validation.plain_text import escape_invisible

Cell = str | int | float | None
_FORMULA = re.compile(r"[\s\x00-\x1f\x7f-\x9f\ufeff]*[=+@\t\r\uff1d\uff0b\uff0d\uff20-]")
"""Start of a cell that a spreadsheet may run as a formula; some skip leading white space and invisible characters, and
accept full-width signs."""


def guarded_csv(header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """Format a table as CSV text with a header and the line ends of RFC 4180.

    A text that a spreadsheet would interpret as a formula is prefixed with an apostrophe. Numbers are unchanged, and
    None is an empty cell.

    Args:
        header: names of the columns.
        rows: rows with one cell per column.
    Returns: the whole file as text.
    Raises: ValueError if the length of a row differs from the header.

    >>> print(guarded_csv(["name", "ST"], [["=1+1", -0.5], ["a, b", None]]).replace(chr(13), ""), end="")
    name,ST
    '=1+1,-0.5
    "a, b",
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow([guarded_cell(name) for name in header])
    for row in rows:
        if len(row) != len(header):
            raise ValueError(f"a row has {len(row)} cells, the header {len(header)}")
        writer.writerow([guarded_cell(cell) for cell in row])
    return text.getvalue()


def guarded_cell(cell: Cell) -> Cell:
    r"""Escape invisible characters of a cell, and prefix a possible formula with an apostrophe.

    >>> guarded_cell("=1+1"), guarded_cell("a\x1b[2J"), guarded_cell(-0.5)
    ("'=1+1", 'a\\x1b[2J', -0.5)
    """
    if not isinstance(cell, str):
        return cell
    return ("'" if _FORMULA.match(cell) else "") + escape_invisible(cell)
