"""Reading a prediction file into one frame, whatever its format, with errors that name row and column.

Formats: parquet, JSON lines, CSV. Columns: ``source``, ``id``, ``prediction``, optional ``seed`` and
``confidence``. Nothing is guessed: a file that a spreadsheet has mangled is refused with what to do about it.
"""

import json
import math
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
from pyarrow import ArrowException

from validation.csv_text import csv_text, repeated_columns
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
    file = str(path)
    if not path.is_file():
        raise InvalidInput(Problem("there is no such prediction file", file, cure="check the path"))
    if path.stat().st_size == 0:
        raise InvalidInput(Problem("the file is empty", file, "0 bytes", "run the program that writes it again"))
    readers = {".parquet": _parquet, ".jsonl": _json_lines, ".ndjson": _json_lines, ".csv": _csv}
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


def _json_lines(path: Path) -> pl.DataFrame:
    rows: list[dict[str, Any]] = []
    with path.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
                # JSON can escape half a surrogate pair, which no text may hold.
                if b"\\u" in line:
                    json.dumps(row, ensure_ascii=False).encode()
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
    for name in REQUIRED:
        for number, row in enumerate(rows, start=1):
            if name == "prediction" and _is_texts(row.get(name)):
                row[name] = " ".join(row[name])
            if not isinstance(row.get(name), str):
                raise InvalidInput(_missing_or_not_text(str(path), name, number, row.get(name)))
    return pl.DataFrame({name: pl.Series(name, [row.get(name) for row in rows], strict=False) for name in names})


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


def _typed(frame: pl.DataFrame, file: str) -> pl.DataFrame:
    for name in REQUIRED:
        column = frame[name]
        if name == "prediction" and column.dtype in (pl.List(pl.String), pl.List(pl.Categorical)):
            # A list with a missing tag becomes null, and is told as a missing value.
            column = column.cast(pl.List(pl.String)).list.join(" ", ignore_nulls=False)
            frame = frame.with_columns(column)
        if column.dtype in (pl.Categorical, pl.Null) or isinstance(column.dtype, pl.Enum):
            column = column.cast(pl.String)
            frame = frame.with_columns(column)
        if column.dtype != pl.String:
            found = f"{column.dtype}, first value {column.head(1).to_list()[0]!r}"
            numbers = name == "prediction" and column.dtype.is_numeric()
            cure = "write label names, not class numbers" if numbers else "write text"
            raise InvalidInput(Problem("this column must hold text", file, found, cure, column=name, row=1))
        if column.null_count():
            row = int(column.is_null().arg_true()[0]) + 1
            raise InvalidInput(_missing_or_not_text(file, name, row, None, column.null_count()))
    seed = _numbers(frame, "seed", pl.Int64, file) if "seed" in frame.columns else pl.repeat(0, len(frame), eager=True)
    columns = [frame[name] for name in REQUIRED] + [seed.cast(pl.Int64).alias("seed")]
    if "confidence" in frame.columns:
        columns.append(_numbers(frame, "confidence", pl.Float64, file))
    return pl.DataFrame(columns)


def _numbers(frame: pl.DataFrame, name: str, dtype: type[pl.DataType], file: str) -> pl.Series:
    column = frame[name]
    # Dates, booleans and lists would turn into numbers that nobody meant.
    is_number = column.dtype.is_numeric() or column.dtype == pl.String
    numbers = column.cast(dtype, strict=False) if is_number else pl.repeat(None, len(column), dtype=dtype, eager=True)
    bad = numbers.is_null() | (numbers.is_nan() if dtype == pl.Float64 else False)
    if dtype == pl.Int64 and column.dtype.is_float():
        bad = bad | (column != numbers.cast(pl.Float64))
    if bad.any():
        row = int(bad.arg_true()[0]) + 1
        what, cure = (
            ("a seed is not a whole number", "give every row a whole number, or leave the column out")
            if name == "seed"
            else ("a confidence is not a number", "give every row a number from 0 to 1, or leave the column out")
        )
        raise InvalidInput(
            Problem(
                what,
                file,
                f"{column[row - 1 : row].to_list()[0]!r} ({counted(int(bad.sum()), 'such row')})",
                cure,
                column=name,
                row=row,
            )
        )
    return numbers


def _missing_or_not_text(file: str, column: str, row: int, value: object, count: int = 1) -> Problem:
    missing = value is None or (isinstance(value, float) and math.isnan(value))
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
