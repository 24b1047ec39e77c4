"""Reading a prediction file into one frame, whatever its format, with errors that name row and column.

Formats: parquet, JSON lines, CSV. Columns: ``source``, ``id``, ``prediction``, optional ``seed`` and
``confidence``. Nothing is guessed: a file that a spreadsheet has mangled is refused with what to do about it.
"""

import math
from collections.abc import Collection
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
from pyarrow import ArrowException

from validation.csv_text import csv_text, repeated_columns
from validation.json_text import json_line
from validation.report import InvalidInput, Problem, counted, did_you_mean

REQUIRED = ("source", "id", "prediction")
OPTIONAL = ("seed", "confidence")
MAX_ROWS = 20_000_000
EXCEL_ROWS = 1_048_575  # data rows that fit a worksheet under a header
_COLUMNS_CURE = "the columns are source, id, prediction and, if you like, seed and confidence"


def read_predictions(path: Path) -> pl.DataFrame:
    """Read a prediction file.

    Args:
        path: a ``.parquet``, ``.jsonl``/``.ndjson`` or ``.csv`` file.
    Returns: columns source, id, prediction (text; lists of tags joined by spaces), seed (Int64, 0 where the file has
        none) and, if present, confidence (Float64), in file order.
    Raises: InvalidInput when the file is missing, empty, malformed, or has wrong columns or types.
    """
    frame, problems = read_with_problems(path)
    if problems:
        raise InvalidInput(problems)
    return frame


def read_with_problems(path: Path) -> tuple[pl.DataFrame, list[Problem]]:
    """Read a prediction file, and list its bad values, which are null in the frame, instead of raising.

    Raises: InvalidInput when there are no rows and columns to speak of.
    """
    file = str(path)
    if not path.is_file():
        raise InvalidInput(Problem("there is no such prediction file", file, cure="check the path"))
    if path.stat().st_size == 0:
        raise InvalidInput(Problem("the file is empty", file, "0 bytes", "run the program that writes it again"))
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        return _json_lines(path)
    readers = {".parquet": _parquet, ".csv": _csv}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise InvalidInput(
            Problem(
                "unknown kind of file", file, f"'{path.suffix}'", "use .parquet, .jsonl or .csv for prediction files"
            )
        )
    frame = reader(path)
    _check_columns(frame.columns, file)
    if frame.is_empty():
        raise InvalidInput(_no_rows(file))
    return _typed(frame, file)


def _parquet(path: Path) -> pl.DataFrame:
    with path.open("rb") as stream:
        head = stream.read(64)
        stream.seek(max(0, path.stat().st_size - 4))
        tail = stream.read(4)
    if head.startswith(b"PAR1") and tail != b"PAR1":
        raise InvalidInput(
            Problem("the parquet file breaks off", str(path), f"{tail!r} at its end", "write or copy it again")
        )
    if not head.startswith(b"PAR1"):
        raise InvalidInput(
            Problem(
                "this is not a parquet file",
                str(path),
                _kind_of(head),
                "name the file by what it is, or write it again",
            )
        )
    try:
        # Arrow reports damaged pages as errors, where polars' own reader may end the process.
        with pq.ParquetFile(path) as parquet:
            _check_columns(parquet.schema_arrow.names, str(path))
            rows = parquet.metadata.num_rows
            # A few hundred kilobytes can unfold to gigabytes: ask the footer before reading rows.
            if rows > MAX_ROWS:
                raise InvalidInput(
                    Problem(
                        "more rows than any grid of shifts has",
                        str(path),
                        f"{rows:,} rows",
                        f"keep it under {MAX_ROWS:,}",
                    )
                )
            table = parquet.read()
        table.validate(full=True)
        # Column by column, because metadata of the schema may hold anything.
        return pl.DataFrame({name: pl.from_arrow(table[name]) for name in table.column_names})
    except (ArrowException, pl.exceptions.PolarsError, OSError, UnicodeDecodeError) as error:
        raise InvalidInput(
            Problem(
                "the parquet file cannot be read",
                str(path),
                " ".join(str(error).split())[:200],
                "write it again; the copy may be cut off",
            )
        ) from error


def _json_lines(path: Path) -> tuple[pl.DataFrame, list[Problem]]:
    rows: list[dict[str, Any]] = []
    with path.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            try:
                row = json_line(line)
            except (ValueError, RecursionError) as error:
                raise InvalidInput(
                    Problem(
                        "this line is not JSON text",
                        str(path),
                        f"{line[:80]!r} ({error})",
                        "write one JSON object a line",
                        row=number,
                    )
                ) from error
            if not isinstance(row, dict):
                raise InvalidInput(
                    Problem(
                        "this line is not a JSON object",
                        str(path),
                        f"{line[:80]!r}",
                        "write one JSON object a line",
                        row=number,
                    )
                )
            if len(rows) >= MAX_ROWS:
                raise InvalidInput(
                    Problem("more rows than any grid of shifts has", str(path), cure=f"keep it under {MAX_ROWS:,}")
                )
            rows.append(row)
    if not rows:
        raise InvalidInput(_no_rows(str(path)))
    names = list(dict.fromkeys(name for row in rows for name in row))
    _check_columns(names, str(path))
    columns: dict[str, list[Any]] = {name: [row.get(name) for row in rows] for name in names}
    columns["prediction"] = [" ".join(value) if _is_texts(value) else value for value in columns["prediction"]]
    told: list[Problem] = []
    for name in REQUIRED:
        # Missing values and values of another type have different cures: the first of each, and a count.
        for missing in (True, False):
            bad = [
                i for i, value in enumerate(columns[name]) if not isinstance(value, str) and _missing(value) is missing
            ]
            if bad:
                first = columns[name][bad[0]]
                told.append(_missing_or_not_text(str(path), name, bad[0] + 1, first, len(bad)))
        columns[name] = [value if isinstance(value, str) else None for value in columns[name]]
    given = {name: pl.Series(name, values, strict=False) for name, values in columns.items()}
    frame, problems = _typed(pl.DataFrame(given), str(path), told={problem.column for problem in told})
    return frame, told + problems


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _csv(path: Path) -> pl.DataFrame:
    return csv_text(path, lambda columns: _check_columns(columns, str(path)), _no_rows(str(path)))


def _no_rows(file: str) -> Problem:
    return Problem("the file holds no predictions", file, "0 rows", "run the program that writes it again")


def _check_columns(columns: list[str], file: str) -> None:
    allowed = REQUIRED + OPTIONAL
    problems = [
        Problem("unknown column", file, f"'{name}'", _column_cure(name), column=name)
        for name in dict.fromkeys(columns)
        if name not in allowed
    ]
    problems += repeated_columns(columns, file)
    problems += [
        Problem("a column is missing", file, f"columns {', '.join(columns) or 'none'}", _COLUMNS_CURE, column=name)
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


def _typed(frame: pl.DataFrame, file: str, told: Collection[str | None] = ()) -> tuple[pl.DataFrame, list[Problem]]:
    """Give the columns their types, and list what has another one; nulls of ``told`` columns are known already."""
    columns: list[pl.Series] = []
    problems: list[Problem] = []
    for name in REQUIRED:
        column = frame[name]
        if name == "prediction" and column.dtype in (pl.List(pl.String), pl.List(pl.Categorical)):
            # A list with a missing tag becomes null, and is told as a missing value.
            column = column.cast(pl.List(pl.String)).list.join(" ", ignore_nulls=False)
        if column.dtype in (pl.Categorical, pl.Null) or isinstance(column.dtype, pl.Enum):
            column = column.cast(pl.String)
        if column.dtype != pl.String:
            found = f"{column.dtype}, first value {column.head(1).to_list()[0]!r}"
            numbers = name == "prediction" and column.dtype.is_numeric()
            cure = "write label names, not class numbers" if numbers else "write text"
            problems.append(Problem("this column must hold text", file, found, cure, column=name, row=1))
            column = pl.Series(name, [None] * len(column), dtype=pl.String)
        elif column.null_count() and name not in told:
            row = int(column.is_null().arg_true()[0]) + 1
            problems.append(_missing_or_not_text(file, name, row, None, column.null_count()))
        columns.append(column)
    if "seed" not in frame.columns:
        columns.append(pl.repeat(0, len(frame), dtype=pl.Int64, eager=True).alias("seed"))
    for name, dtype in (("seed", pl.Int64), ("confidence", pl.Float64)):
        if name in frame.columns:
            values, bad = _numbers(frame[name], dtype, file)
            columns.append(values)
            problems += bad
    return pl.DataFrame(columns), problems


def _numbers(column: pl.Series, dtype: type[pl.DataType], file: str) -> tuple[pl.Series, list[Problem]]:
    # Dates, booleans and lists would turn into numbers that nobody meant.
    is_number = column.dtype.is_numeric() or column.dtype == pl.String
    nothing = pl.Series(column.name, [None] * len(column), dtype=dtype)
    numbers = column.cast(dtype, strict=False) if is_number else nothing
    bad = numbers.is_null() | (numbers.is_nan() if dtype == pl.Float64 else False)
    if dtype == pl.Int64 and column.dtype.is_float():
        bad = bad | (column != numbers.cast(pl.Float64))
    if not bad.any():
        return numbers, []
    what, cure = (
        ("a seed is not a whole number", "give every row a whole number, or leave the column out")
        if column.name == "seed"
        else ("a confidence is not a number", "give every row a number from 0 to 1, or leave the column out")
    )
    row = int(bad.arg_true()[0]) + 1
    found = f"{column[row - 1 : row].to_list()[0]!r} ({counted(int(bad.sum()), 'such row')})"
    return numbers.set(bad, None), [Problem(what, file, found, cure, column=column.name, row=row)]


def _missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _missing_or_not_text(file: str, column: str, row: int, value: object, count: int = 1) -> Problem:
    missing = _missing(value)
    more = f" ({counted(count, 'such row')})" if count > 1 else ""
    if missing:
        cure = "write '__unparsed__' where the model gave no usable output" if column == "prediction" else "fill it in"
    elif column == "prediction" and not isinstance(value, (int, float)):
        cure = "write the tags as a list of texts" if isinstance(value, list) else "write the label as text"
    else:
        cure = "write label names, not class numbers" if column == "prediction" else "write it as text"
    return Problem(
        "a value is missing" if missing else "a value is not text",
        file,
        f"{repr(value)[:200]}{more}",
        cure,
        column=column,
        row=row,
    )


def _kind_of(head: bytes) -> str:
    if head.startswith(b"version https://git-lfs"):
        return "a Git LFS pointer: fetch the real file first"
    if head.startswith(b"PK\x03\x04"):
        return "a zip archive (or a spreadsheet)"
    if head.lstrip().startswith(b"{"):
        return "JSON lines"
    if head.lstrip().lower().startswith(b"<!doc") or head.lstrip().lower().startswith(b"<html"):
        return "a web page: was it the download link?"
    first = head.split(b"\n")[0].decode(errors="ignore").strip("\ufeff\r")
    if "," in first and first.isprintable():
        return f"text, perhaps CSV: {first!r}"
    return f"bytes {head[:16]!r}"
