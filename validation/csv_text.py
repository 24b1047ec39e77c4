"""Reading a CSV file as text, with errors that name the row; nothing a spreadsheet has mangled is guessed."""

import csv
import io
from collections.abc import Callable
from pathlib import Path

import polars as pl

from validation.report import InvalidInput, Problem

_CURE = "export it again as comma-separated UTF-8 text, without opening it in a spreadsheet"


def csv_text(path: Path, check_columns: Callable[[list[str]], None], nothing: Problem) -> pl.DataFrame:
    """Read a CSV file with a header, every column as text and nothing taken for missing.

    Args:
        path: the file.
        check_columns: is given the header's names before any row is read, and raises InvalidInput where they are wrong.
        nothing: the problem to report when there is not even a header.
    Raises: InvalidInput when the file is in another encoding or form, or a row is empty, too short or too long.
    """
    content = path.read_bytes()
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InvalidInput(Problem("the file is UTF-16, as spreadsheets save 'Unicode text'", str(path), cure=_CURE))
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = content[: error.start].count(b"\n") or None  # none in the header
        raise InvalidInput(
            Problem("the file is not UTF-8", str(path), f"byte {content[error.start]:#x}", _CURE, row=row)
        ) from error
    if not text.strip():
        raise InvalidInput(nothing)
    header = text.split("\n", 1)[0].strip()
    if "\r" in header:
        what = "the lines end in bare carriage returns, as spreadsheets save 'CSV (Macintosh)'"
        raise InvalidInput(Problem(what, str(path), f"header {header[:80]!r}", _CURE))
    for separator, name in ((";", "semicolons"), ("\t", "tabs")):
        if separator in header and "," not in header:
            what = f"the columns are separated by {name}, as spreadsheets do in some countries"
            raise InvalidInput(Problem(what, str(path), f"header {header[:80]!r}", _CURE))
    check_columns(next(csv.reader([header]), []))
    try:
        frame = pl.read_csv(
            text.encode(),
            infer_schema=False,
            empty_string_is_null=False,
            missing_columns="raise",
            extra_columns="raise",
        )
    except pl.exceptions.PolarsError as error:
        raise InvalidInput(
            _ragged(text, str(path))
            or Problem("the CSV cannot be read", str(path), str(error).split("\n")[0][:200], _CURE)
        ) from error
    # A row that is too short was filled up with empty texts, so only an empty last column can hide one.
    if (frame[frame.columns[-1]] == "").any() and (problem := _ragged(text, str(path))):
        raise InvalidInput(problem)
    return frame


def repeated_columns(columns: list[str], file: str) -> list[Problem]:
    """Find the names that more than one column has."""
    return [
        Problem("two columns have this name", file, f"columns {', '.join(columns)}", "rename or drop one", column=name)
        for name in dict.fromkeys(columns)
        if columns.count(name) > 1
    ]


def _ragged(text: str, file: str) -> Problem | None:
    """Find the first row with too many or too few fields, or with nothing in any of them."""
    reader = csv.reader(io.StringIO(text, newline=""))
    width = 0
    try:
        for number, fields in enumerate(reader):
            width = width or len(fields)
            if not any(fields):
                return Problem("this row is empty", file, cure="delete the line", row=number)
            if len(fields) != width:
                return Problem(
                    f"this row has {len(fields)} fields, the header {width}",
                    file,
                    repr(",".join(fields)[:80]),
                    "put texts that hold commas or quotes in quotes",
                    row=number,
                )
    except csv.Error as error:
        return Problem("the CSV cannot be read", file, f"{error} at line {reader.line_num}", "close every quote")
    return None
