"""Reading a prediction file into one frame, whatever its format, with errors that name row and column.

Formats: parquet, JSON lines, CSV, told apart by their content; the file's name does not matter. Columns: ``source``,
``id``, ``prediction``, optional ``seed`` and ``confidence``. Nothing is guessed: a file that a spreadsheet has mangled
is refused with what to do about it. Files are read in parts, so that one which is refused takes little memory.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl

from validation.csv_text import CsvCaps, csv_batches, repeated_columns
from validation.limits import MAX_LINE_BYTES, MAX_ROWS, check_size
from validation.parquet_file import MAGIC, parquet_batches
from validation.prediction_lines import json_batches
from validation.prediction_values import OPTIONAL, REQUIRED, Faults, typed, typed_values
from validation.report import InvalidInput, Problem, did_you_mean

EXCEL_ROWS = 1_048_575  # data rows that fit a worksheet under a header
HEAD_BYTES = 4096
_COLUMNS_CURE = "the columns are source, id, prediction and, if you like, seed and confidence"
Reader = Callable[[Path, int, Faults], Iterator[pl.DataFrame]]


def read_predictions(path: Path, max_rows: int = MAX_ROWS) -> pl.DataFrame:
    """Read a prediction file.

    Args:
        path: a parquet, JSON lines or CSV file; its content says which, not its name.
        max_rows: rows that it may have.
    Returns: columns source, id, prediction (text; lists of tags joined by spaces), seed (Int64, 0 where the file has
        none) and, if present, confidence (Float64), in file order.
    Raises: InvalidInput when the file is missing, empty, malformed or too large, or has wrong columns or types.
    """
    frame, problems = read_with_problems(path, max_rows)
    if problems:
        raise InvalidInput(problems)
    return frame


def read_with_problems(path: Path, max_rows: int = MAX_ROWS) -> tuple[pl.DataFrame, list[Problem]]:
    """Read a prediction file, and list its bad values, which are null in the frame, instead of raising.

    Raises: InvalidInput when there are no rows and columns to speak of, or more than a file may hold.
    """
    file = str(path)
    if not path.is_file():
        raise InvalidInput(Problem("there is no such prediction file", file, cure="check the path"))
    size = path.stat().st_size
    if size == 0:
        raise InvalidInput(Problem("the file is empty", file, "0 bytes", "run the program that writes it again"))
    check_size(size, file)
    faults = Faults(file)
    parts = list(_reader(path)(path, max_rows, faults))
    if not any(len(part) for part in parts):
        raise InvalidInput(_no_rows(file))
    return _together(parts, faults), faults.problems()


def _reader(path: Path) -> Reader:
    """Tell by the first bytes how to read a file."""
    with path.open("rb") as stream:
        head = stream.read(HEAD_BYTES)
        while head.isspace() and (more := stream.read(HEAD_BYTES)):
            head = more
    if head.startswith(MAGIC):
        return _parquet
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith((b"{", b"[")):
        return _json
    kind = _no_table(start)
    if kind is not None:
        cure = "send predictions as a parquet, JSON lines or CSV file"
        raise InvalidInput(Problem("this is neither parquet, nor JSON lines, nor CSV", str(path), kind, cure))
    return _csv


def _parquet(path: Path, max_rows: int, faults: Faults) -> Iterator[pl.DataFrame]:
    return _typed(parquet_batches(path, lambda names: _check_columns(names, str(path)), max_rows), faults)


def _csv(path: Path, max_rows: int, faults: Faults) -> Iterator[pl.DataFrame]:
    file, caps = str(path), CsvCaps(max_rows, MAX_LINE_BYTES)
    return _typed(csv_batches(path, lambda names: _check_columns(names, file), _no_rows(file), caps), faults)


def _typed(batches: Iterator[pl.DataFrame], faults: Faults) -> Iterator[pl.DataFrame]:
    row = 0
    for batch in batches:
        yield typed(batch, row, faults)
        row += len(batch)


def _json(path: Path, max_rows: int, faults: Faults) -> Iterator[pl.DataFrame]:
    row = 0
    for batch in json_batches(path, lambda names: _check_columns(names, str(path)), max_rows):
        part = typed_values(batch, row, faults)
        yield part
        row += len(part)


def _no_table(start: bytes) -> str | None:
    """Say what a file is that holds none of the formats; None where it may be CSV."""
    if start.startswith(b"version https://git-lfs"):
        return "a Git LFS pointer: fetch the real file first"
    if start.startswith(b"PK\x03\x04"):
        return "a zip archive (or a spreadsheet)"
    if start.lower().startswith((b"<!doc", b"<html")):
        return "a web page: was it the download link?"
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return None  # UTF-16, of which the CSV reader knows what to say
    first = start.split(b"\n")[0].decode(errors="ignore").replace("\t", "").replace("\r", "")
    return None if first.isprintable() else f"bytes {start[:16]!r}"


def _together(parts: list[pl.DataFrame], faults: Faults) -> pl.DataFrame:
    """Put the parts of a file together; what one of them lacks is missing there, unless all lack it."""
    for name in OPTIONAL:
        if any(name in part.columns for part in parts):
            row = 0
            for number, part in enumerate(parts):
                if name not in part.columns:
                    faults.add(name, "number", row, repr(None), len(part))
                    dtype = pl.Int64 if name == "seed" else pl.Float64
                    parts[number] = part.with_columns(pl.lit(None, dtype=dtype).alias(name))
                row += len(part)
    frame = pl.concat([part.select(name for name in (*REQUIRED, *OPTIONAL) if name in part.columns) for part in parts])
    if "seed" not in frame.columns:
        frame.insert_column(len(REQUIRED), pl.repeat(0, len(frame), dtype=pl.Int64, eager=True).alias("seed"))
    return frame


def _no_rows(file: str) -> Problem:
    return Problem("the file holds no predictions", file, "0 rows", "run the program that writes it again")


def _check_columns(columns: list[str], file: str) -> None:
    allowed = REQUIRED + OPTIONAL
    shown = [name[:80] for name in columns]
    problems = [
        Problem("unknown column", file, f"'{name}'", _column_cure(name), column=name)
        for name in dict.fromkeys(shown)
        if name not in allowed
    ]
    problems += repeated_columns(shown, file)
    problems += [
        Problem("a column is missing", file, f"columns {', '.join(shown) or 'none'}", _COLUMNS_CURE, column=name)
        for name in REQUIRED
        if name not in columns
    ]
    if problems:
        raise InvalidInput(problems)


def _column_cure(name: str) -> str:
    if name == "" or name.startswith(("Unnamed: ", "__index_level_")):
        return "it seems to be the index of a pandas frame: write the file with index=False"
    nearest = did_you_mean(name, REQUIRED + OPTIONAL)
    return nearest if nearest.endswith("?") else _COLUMNS_CURE
