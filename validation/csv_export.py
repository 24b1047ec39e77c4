"""Writing CSV that a spreadsheet can open without running anything in it."""

import csv
import io
import re
from collections.abc import Iterable, Sequence

from shiftbench.validation.plain_text import escape_invisible

Cell = str | int | float | None
_FORMULA = re.compile(r"[\s\x00-\x1f\x7f-\x9f\ufeff]*[=+@\t\r\uff1d\uff0b\uff0d\uff20-]")
"""The start of what a spreadsheet may run; some skip white space and characters that do not show before they look, and
take full-width signs as the plain ones."""


def guarded_csv(header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """Format a table as CSV text with a header; lines end as RFC 4180 has it.

    A text that a spreadsheet would take for a formula gets an apostrophe before it; numbers stay numbers, and None is
    an empty cell.

    Args:
        header: names of the columns.
        rows: as many cells each as there are columns.
    Returns: the whole file as text.
    Raises: ValueError when a row has more or fewer cells.

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
            raise ValueError(f"a row of {len(row)} cells under a header of {len(header)}")
        writer.writerow([guarded_cell(cell) for cell in row])
    return text.getvalue()


def guarded_cell(cell: Cell) -> Cell:
    r"""Return a cell as it is written: what does not show is escaped, and what a spreadsheet may run has a mark before.

    >>> guarded_cell("=1+1"), guarded_cell("a\x1b[2J"), guarded_cell(-0.5)
    ("'=1+1", 'a\\x1b[2J', -0.5)
    """
    if not isinstance(cell, str):
        return cell
    return ("'" if _FORMULA.match(cell) else "") + escape_invisible(cell)
