"""Strict reading of CSV files as text, with errors that name the row; files mangled by a spreadsheet are refused.

Columns are separated by commas, or by semicolons or tabs if the header has no comma.
"""

import csv
import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench.validation.limits import check_column_count, check_row_count, line_too_long
from shiftbench.validation.report import InvalidInput, Problem

BLOCK_BYTES = 4 * 2**20
_CURE = "export it again as comma-separated UTF-8 text, without opening it in a spreadsheet"
_BOM = b"\xef\xbb\xbf"
# Quotes may surround a field, and are doubled within one (RFC 4180). Readers differ on anything else, so it is refused.
_WELL_FORMED = {
    separator: re.compile(rb'(?:(?:"(?:[^"]++|"")*+"|[^"%b\r\n]*+)(?:%b|\r?\n|\Z))*+' % (2 * (separator.encode(),)))
    for separator in (",", ";", "\t")
}
"""Pattern of a well-formed file by separator, see ``separator_of``."""
_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs"}


@dataclass(frozen=True)
class CsvCaps:
    """Limits of a CSV file: number of rows, and bytes per row."""

    rows: int
    row_bytes: int


_WIDE = CsvCaps(rows=2**40, row_bytes=64 * 2**20)
"""Limits for user data, whose texts may be whole documents."""


def csv_text(path: Path, check_columns: Callable[[list[str]], None], nothing: Problem) -> pl.DataFrame:
    """Read a CSV file with a header; all columns are text, and no value is interpreted as missing.

    Args:
        path: the file, which may be gzipped (``.gz``).
        check_columns: called with the column names before any row is read; raises InvalidInput if they are wrong.
        nothing: the problem to report for a file without a header.
    Returns: the rows in file order, columns as in the header, all String without nulls.
    Raises: InvalidInput when the file is not UTF-8, malformed or damaged, or a row is empty, too short or too long.
    """
    try:
        return pl.concat(list(csv_batches(path, check_columns, nothing, _WIDE)))
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        what, cure = (
            "the compressed file is truncated or damaged",
            "fetch the file again, or compress the original again",
        )
        raise InvalidInput(Problem(what, str(path), str(error), cure)) from error


def separator_of(header: str) -> str:
    """Return the column separator of a header: a comma if it has one, else a semicolon or a tab.

    >>> separator_of("id;text, short"), separator_of("id;text"), separator_of("id")
    (',', ';', ',')
    """
    return next((separator for separator in _WELL_FORMED if separator in header), ",")


def _open(path: Path) -> IO[bytes]:
    return cast(IO[bytes], gzip.open(path)) if path.suffix.lower() == ".gz" else path.open("rb")


def csv_batches(
    path: Path, check_columns: Callable[[list[str]], None], nothing: Problem, caps: CsvCaps
) -> Iterator[pl.DataFrame]:
    """Read a CSV file as one or more frames of a few megabytes.

    Args:
        path: as for ``csv_text``.
        check_columns: as for ``csv_text``.
        nothing: as for ``csv_text``.
        caps: limits of the file; a larger one is refused.
    Returns: frames as for ``csv_text``.
    Raises: as ``csv_text``; EOFError, zlib.error or BadGzipFile for a damaged gzip file.
    """
    file = str(path)
    names, header, separator = _header(path, check_columns, nothing, caps)
    # A first pass only counts rows, so that a file with too many is refused before any is parsed.
    check_row_count(sum(_n_rows(block) for block in _blocks(path, caps)) - 1, file, caps.rows)
    row = 0
    for number, block in enumerate(_blocks(path, caps)):
        content = block if number == 0 else header + block
        _check_text(content, row, file, separator)
        frame = _parse_csv(content, row, file, separator)
        # Use the names of the header, because polars invents names for unnamed columns.
        frame.columns = names
        yield frame
        row += len(frame)


def _header(
    path: Path, check_columns: Callable[[list[str]], None], nothing: Problem, caps: CsvCaps
) -> tuple[list[str], bytes, str]:
    """Read and check the header; return its names, its bytes and the separator."""
    file = str(path)
    with _open(path) as stream:
        line = stream.readline(caps.row_bytes + 1)
        blank = not line.removeprefix(_BOM).strip()
        while blank and (block := stream.read(BLOCK_BYTES)):
            blank = block.isspace()
    if blank:
        raise InvalidInput(nothing)
    if line[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InvalidInput(Problem("the file is UTF-16, as spreadsheets save 'Unicode text'", file, cure=_CURE))
    if len(line) > caps.row_bytes:
        raise InvalidInput(line_too_long(file, 1, caps.row_bytes))
    try:
        header = line.decode("utf-8-sig").strip(" \r\n")  # not tabs, which may separate empty names
    except UnicodeDecodeError as error:
        raise InvalidInput(_not_utf8(line, error, None, file)) from error
    if "\r" in header:
        raise InvalidInput(_bare_returns(file, f"header {header[:80]!r}"))
    separator = separator_of(header)
    if not _WELL_FORMED[separator].fullmatch(line.removeprefix(_BOM)):
        raise InvalidInput(_misplaced_quote(file, None))
    names = next(csv.reader([header], delimiter=separator), [])
    check_column_count(len(names), file)
    check_columns(names)
    return names, line.removeprefix(_BOM), separator


def _blocks(path: Path, caps: CsvCaps) -> Iterator[bytes]:
    """Yield blocks of complete rows of a few megabytes; the first block begins with the header."""
    rest, row = b"", 0
    with _open(path) as stream:
        if stream.read(len(_BOM)) != _BOM:
            stream.seek(0)
        while block := stream.read(BLOCK_BYTES):
            rest += block
            end = _end_of_rows(rest)
            if end:
                yield rest[:end]
                row += _n_rows(rest[:end])
                rest = rest[end:]
            if len(rest) > caps.row_bytes:
                raise InvalidInput(line_too_long(str(path), max(row, 1), caps.row_bytes))
    if rest:
        yield rest


def _end_of_rows(content: bytes) -> int:
    """Return the end of the last complete row; line ends within quotes do not count."""
    if b'"' not in content:
        return content.rfind(b"\n") + 1
    ends = _row_ends(content)
    return int(ends[-1]) + 1 if len(ends) else 0


def _n_rows(content: bytes) -> int:
    """Count rows, including a last row without a line end."""
    ended = content.count(b"\n") if b'"' not in content else len(_row_ends(content))
    return ended + (not content.endswith(b"\n"))


def _row_ends(content: bytes) -> npt.NDArray[np.intp]:
    letters = np.frombuffer(content, np.uint8)
    # A line end is outside quotes if an even number of quotes precedes it; XOR accumulates the parity.
    outside = np.logical_not(np.bitwise_xor.accumulate(letters == ord('"')))
    return np.flatnonzero(outside & (letters == ord("\n")))


def _check_text(content: bytes, row: int, file: str, separator: str) -> None:
    try:
        content.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(_not_utf8(content, error, row, file)) from error
    if b'"' in content:
        if not _WELL_FORMED[separator].fullmatch(content):
            raise InvalidInput(_find_ragged_row(content, row, file, separator) or _misplaced_quote(file, row))
    elif content.count(b"\r") != content.count(b"\r\n"):
        raise InvalidInput(
            _find_ragged_row(content, row, file, separator) or _bare_returns(file, "a carriage return inside a row")
        )


def _not_utf8(content: bytes, error: UnicodeDecodeError, row: int | None, file: str) -> Problem:
    # No row number within the header.
    lines = content[: error.start].count(b"\n")
    where = (row or 0) + lines or None
    byte = content[error.start : error.start + 1]
    letter = byte.decode("cp1252", errors="replace")
    found, cure = f"byte {byte[0]:#x}", _CURE
    if letter.isprintable():
        found += f", which is {letter!r} in Windows-1252"
        cure = "save it as UTF-8, as 'iconv -f WINDOWS-1252 -t UTF-8 old.csv > new.csv' does"
    return Problem("the file is not UTF-8", file, found, cure, row=where)


def _bare_returns(file: str, found: str) -> Problem:
    what = "the lines end in bare carriage returns, as spreadsheets save 'CSV (Macintosh)'"
    return Problem(what, file, found, _CURE)


def _misplaced_quote(file: str, row: int | None) -> Problem:
    where = "" if row is None else f"a misplaced or unclosed quote after row {row:,}"
    cure = "put quotes around whole fields, close every quote, and write a quote in a field twice"
    return Problem("the CSV cannot be read", file, where or "a misplaced quote in the header", cure)


def _parse_csv(content: bytes, row: int, file: str, separator: str) -> pl.DataFrame:
    try:
        frame = pl.read_csv(
            content,
            separator=separator,
            infer_schema=False,
            empty_string_is_null=False,
            missing_columns="raise",
            extra_columns="raise",
        )
    except pl.exceptions.PolarsError as error:
        problem = Problem("the CSV cannot be read", file, f"unexpected content after row {row:,}", _CURE)
        raise InvalidInput(_find_ragged_row(content, row, file, separator) or problem) from error
    # polars pads short rows with empty texts, so a short row is possible only if the last column has an empty text.
    if (frame[frame.columns[-1]] == "").any() and (short := _find_ragged_row(content, row, file, separator)):
        raise InvalidInput(short)
    return frame


def repeated_columns(columns: list[str], file: str) -> list[Problem]:
    """Report repeated column names.

    Args:
        columns: the names in file order.
        file: the file's name, used in problems.
    Returns: one problem per repeated name.
    """
    return [
        Problem("two columns have this name", file, f"columns {', '.join(columns)}", "rename or drop one", column=name)
        for name in dict.fromkeys(columns)
        if columns.count(name) > 1
    ]


def _find_ragged_row(content: bytes, row: int, file: str, separator: str) -> Problem | None:
    """Report the first row that is empty or has a wrong number of fields.

    The content begins with the header; ``row`` is the number of data rows before it.
    """
    reader = csv.reader(io.StringIO(content.decode(), newline=""), delimiter=separator)
    width = 0
    try:
        for number, fields in enumerate(reader, start=row):
            width = width or len(fields)
            if not any(fields):
                return Problem("this row is empty", file, cure="delete the line", row=number)
            if len(fields) != width:
                return Problem(
                    f"this row has {len(fields)} fields, the header {width}",
                    file,
                    repr(separator.join(fields)[:80]),
                    f"put texts that contain {_NAMES[separator]} or quotes in quotes",
                    row=number,
                )
    except csv.Error:
        cure = "put quotes around whole fields, and close every quote"
        return Problem("the CSV cannot be read", file, f"unexpected content near line {reader.line_num + row:,}", cure)
    return None
