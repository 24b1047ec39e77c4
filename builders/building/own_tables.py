"""Read user data (CSV, JSON lines, JSON, Parquet, token lines or a frame) into columns of text.

Text files may be gzipped: ``books.csv.gz``.

Values stay as written: ``1`` is ``1``, ``1.0`` is ``1.0``, true is ``true``, and ``NA`` is a text.
"""

import ast
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from shiftbench.builders.readers.squad import squad
from shiftbench.builders.readers.token_lines import any_token_lines
from shiftbench.builders.specs.upstream_file import UpstreamFile
from shiftbench.validation.csv_text import csv_text, repeated_columns
from shiftbench.validation.report import InvalidInput, Problem, and_more, first_line
from shiftbench.validation.schemas import ANSWERS
from shiftbench.validation.vocabulary import SPLITS, TaskKind

_JSON_LINES = (".jsonl", ".ndjson", ".jsonlines")
_TOKENS = (".conll", ".bio", ".iob", ".iob2", ".txt", ".tsv")
_SHEETS = (".xlsx", ".xls", ".ods", ".numbers")
_SUFFIXES = (".csv", *_JSON_LINES, ".json", ".parquet", *_TOKENS)
_CURE = "give CSV, JSON lines, Parquet, SQuAD's JSON (.json) or lines of tokens (.conll, .txt), or one of them gzipped"


@dataclass(frozen=True)
class OwnTable:
    """A table of user data as read.

    Attributes:
        name: the file's path, or the name of a frame, for problems.
        frame: rows in file order; every column is String, List(String) or ``ANSWERS``; missing values are null.
        kind: the task kind, if the file format implies one.
        domain: the domain of all rows if there is no domain column: the name of the file or its folder.
        split: the split of all rows, if the path is ``<domain>/<split>.<ending>``.
        path: the file; None for a frame.
        numbers: the 1-based number of each row in the file, if some of its rows were removed.
    """

    name: str
    frame: pl.DataFrame
    kind: TaskKind | None = None
    domain: str | None = None
    split: str | None = None
    path: Path | None = None
    numbers: pl.Series | None = None

    def number(self, row: int) -> int:
        """Convert a row number of the frame to one of the file.

        Args:
            row: 1-based row number in ``frame``.
        Returns: 1-based row number in the file, as shown in problems.
        """
        return row if self.numbers is None else int(self.numbers[row - 1])


def read_tables(paths: Sequence[Path]) -> list[OwnTable]:
    """Read user files, or a folder of them.

    Args:
        paths: files, or folders with one file per domain (``books.csv``) or one folder per domain (``books/test.csv``).
    Returns: one table per file. Without a domain column, each of several files is one domain.
    Raises: InvalidInput if a file cannot be read: file, row, fix.
    """
    files = [file for path in paths for file in _files(path)]
    return [_read_table(file, alone=len(files) == 1) for file in files]


def table_of(frame: pl.DataFrame, name: str) -> OwnTable:
    """Convert a frame to a table of text columns.

    Args:
        frame: rows of user data.
        name: name of the frame in problems.
    Raises: InvalidInput for a column whose values cannot be converted to text.
    """
    return OwnTable(
        name, pl.DataFrame([with_lists(_column_text(frame[column], name), name) for column in frame.columns])
    )


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    if not path.is_dir():
        raise InvalidInput(Problem("there is no such file", str(path), cure="check the path"))
    tables = sorted(file for file in (*path.iterdir(), *path.glob("*/*")) if _suffix(file) in _SUFFIXES)
    if not tables:
        raise InvalidInput(Problem("the folder contains no data file", str(path), cure=_CURE))
    yield from tables


def _unzipped(path: Path) -> Path:
    return path.with_suffix("") if path.suffix.lower() == ".gz" else path


def _suffix(path: Path) -> str:
    return _unzipped(path).suffix.lower()


def _read_table(path: Path, *, alone: bool) -> OwnTable:
    suffix, stem = _suffix(path), _unzipped(path).stem
    kind = None
    if suffix == ".csv" or (suffix == ".tsv" and not _has_token_lines(path)):
        frame = _read_csv(path)
    elif suffix == ".parquet":
        frame = _read_parquet(path)
    elif suffix in _JSON_LINES:
        frame = _columns_of(list(_json_lines(path)), str(path))
    elif suffix == ".json":
        frame, kind = _read_json(path)
    elif suffix in _TOKENS:
        frame, kind = _read_tokens(path), TaskKind.TAGGING
    else:
        cure = f"save it as CSV (UTF-8); {_CURE}" if suffix in _SHEETS else _CURE
        raise InvalidInput(Problem("this file format is not supported", str(path), f"'{path.name}'", cure))
    in_folder = stem in SPLITS
    domain = None if alone and not in_folder else path.parent.name if in_folder else stem
    return OwnTable(str(path), frame, kind, domain, stem if in_folder else None, path)


def _read_csv(path: Path) -> pl.DataFrame:
    nothing = Problem("the file is empty", str(path), "no header", "write a header, then one row for each example")

    def check(columns: list[str]) -> None:
        if problems := repeated_columns(columns, str(path)):
            raise InvalidInput(problems)

    return pl.DataFrame([with_lists(column, str(path)) for column in csv_text(path, check, nothing)])


def with_lists(column: pl.Series, name: str) -> pl.Series:
    """Parse a column whose cells are all lists of texts, or all SQuAD answers, in JSON or Python syntax.

    Args:
        column: any column.
        name: the name of its table, for problems.
    Returns: lists of text, ``ANSWERS``, or the column unchanged.
    Raises: InvalidInput if some cells are lists and others only have the brackets of lists.
    """
    if column.dtype != pl.String:
        return column
    cells = column.str.strip_chars()
    filled = cells.is_not_null() & (cells != "")
    if not filled.any() or not cells.str.contains(r"(?s)^(?:\[.*\]|\{.*\})$").filter(filled).all():
        return column
    values = [_literal_of(cell) if cell else None for cell in cells]
    if all(isinstance(value, dict) and {"text", "answer_start"} <= {*value} for value in values if value is not None):
        return _column_of(column.name, values, name) if values.count(None) < len(values) else column
    lists = [_list_of(value) for value in values]
    odd = [row for row, (cell, found) in enumerate(zip(cells, lists, strict=True), 1) if cell and found is None]
    if len(odd) == filled.sum():  # texts that begin and end with brackets
        return column
    if odd:
        what = "this cell is not a list, but other cells of the column are" + and_more(len(odd) - 1)
        cure = """write lists as JSON, such as ["O", "B-PER"]"""
        raise InvalidInput(Problem(what, name, repr(cells[odd[0] - 1])[:80], cure, column.name, odd[0]))
    return pl.Series(column.name, lists, pl.List(pl.String))


def _literal_of(cell: str) -> Any:
    """Parse a cell as JSON or as a Python literal; None for anything else."""
    for parse in (json.loads, ast.literal_eval):
        try:
            return parse(cell)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return None


def _list_of(value: Any) -> list[str] | None:
    """Return a list of texts or numbers as texts; None for anything else."""
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        return [item if isinstance(item, str) else str(item) for item in value]
    return None


def _read_parquet(path: Path) -> pl.DataFrame:
    try:
        return table_of(pl.read_parquet(path), str(path)).frame
    except pl.exceptions.PolarsError as error:
        what, cure = "the file is damaged, or is not Parquet", "export it again"
        raise InvalidInput(Problem(what, str(path), first_line(error), cure)) from error


def _json_lines(path: Path) -> Iterator[Any]:
    with UpstreamFile(path) as file:
        for number, line in file.lines():
            if line.strip():
                try:
                    # Numbers stay text: as labels or ids, 1.0 and 1e3 must not be rewritten.
                    yield json.loads(line, parse_int=str, parse_float=str)
                except (ValueError, RecursionError) as error:
                    what, cure = "this line is not JSON, or nests too deep", "write one JSON object per line"
                    raise InvalidInput(Problem(what, str(path), repr(line[:80]), cure, row=number)) from error


def _read_json(path: Path) -> tuple[pl.DataFrame, TaskKind | None]:
    """Read SQuAD's JSON, or a list of objects."""
    with UpstreamFile(path) as file:
        text = file.text()
    try:
        content = json.loads(text, parse_int=str, parse_float=str)
    except (ValueError, RecursionError) as error:
        what = "the JSON is nested too deeply" if isinstance(error, RecursionError) else "the file is not JSON"
        cure = "if it contains one object per line, use the suffix .jsonl"
        raise InvalidInput(Problem(what, str(path), first_line(error), cure)) from error
    if isinstance(content, list):
        return _columns_of(content, str(path)), None
    with UpstreamFile(path) as file:
        rows = pl.concat(squad(file))
    return rows.select("context", "question", "answers", id="question_id"), TaskKind.EXTRACTIVE_QA


def _has_token_lines(path: Path) -> bool:
    """Return whether a .tsv file contains one token per line rather than a table.

    In token lines, sentences are separated by empty lines, and all other lines have the same number of cells. A table
    may also have empty lines, inside a quoted multi-line cell, but the lines of such a cell then differ in their number
    of tabs from the rest of the table.
    """
    has_empty_line, n_cells = False, set[int]()
    with UpstreamFile(path) as file:
        for _, line in file.lines():
            if not line.strip():
                has_empty_line = True
            elif not line.startswith("#"):
                n_cells.add(line.count("\t"))
    return has_empty_line and len(n_cells) == 1


def _read_tokens(path: Path) -> pl.DataFrame:
    """Read token lines; documents become groups if there are any."""
    with UpstreamFile(path) as file:
        rows = pl.concat(any_token_lines(file))
    documents = rows["document"].n_unique() < len(rows)
    return rows.rename({"document": "group"}) if documents else rows.drop("document")


def _columns_of(rows: Sequence[Any], name: str) -> pl.DataFrame:
    """Convert JSON objects to columns; a key that an object lacks is null."""
    odd = [number for number, row in enumerate(rows, start=1) if not isinstance(row, dict)]
    if odd:
        what = "this is not an object with keys" + and_more(len(odd) - 1)
        cure = """write one object per row, such as {"text": "so good", "label": "yes"}"""
        raise InvalidInput(Problem(what, name, repr(rows[odd[0] - 1])[:80], cure, row=odd[0]))
    if not rows:
        raise InvalidInput(Problem("the file is empty", name, "no row", "write one row for each example"))
    keys = dict.fromkeys(key for row in rows for key in row)
    return pl.DataFrame([_column_of(key, [row.get(key) for row in rows], name) for key in keys])


def _column_of(key: str, values: Sequence[Any], name: str) -> pl.Series:
    form = next((type(value) for value in values if isinstance(value, list | dict)), str)
    odd = [
        row
        for row, value in enumerate(values, 1)
        if value is not None and isinstance(value, list | dict) != (form is not str)
    ]
    try:
        if form is list and not odd:
            return pl.Series(
                key, [value and [_json_text(item) for item in value] for value in values], pl.List(pl.String)
            )
        if form is dict and not odd:
            return pl.Series(key, [_answers(value) for value in values], ANSWERS)
        if not odd:
            return pl.Series(key, [_json_text(value) for value in values], pl.String)
    except (TypeError, ValueError, KeyError, pl.exceptions.PolarsError) as error:
        what, cure = (
            "the values of this key cannot be read",
            "give texts, lists of texts, or answers in SQuAD's format",
        )
        raise InvalidInput(Problem(what, name, first_line(error), cure, key=key)) from error
    what = "some values are texts and some lists or objects" + and_more(len(odd) - 1)
    raise InvalidInput(
        Problem(what, name, repr(values[odd[0] - 1])[:80], "write all of them the same way", row=odd[0], key=key)
    )


def _json_text(value: Any) -> str | None:
    """Return a JSON value as text, as written in the file; numbers have been read as text."""
    if isinstance(value, bool):
        return str(value).lower()
    if value is None or isinstance(value, str):
        return value
    raise TypeError(f"{type(value).__name__} {value!r}"[:80])


def _answers(value: Mapping[str, Any] | None) -> dict[str, list[Any]] | None:
    if value is None:
        return None
    starts = [int(start) for start in value["answer_start"]]
    return {"text": [_json_text(text) for text in value["text"]], "answer_start": starts}


def _column_text(column: pl.Series, name: str) -> pl.Series:
    """Convert a frame's column to text, lists of text or answers."""
    dtype = column.dtype
    if isinstance(dtype, pl.List | pl.Array):
        inner = _column_text(column.explode(), name)
        if inner.dtype != pl.String:
            raise InvalidInput(Problem("lists of lists cannot be read", name, str(dtype), column=column.name))
        return column.cast(pl.List(pl.String))
    if isinstance(dtype, pl.Struct):
        if {field.name for field in dtype.fields} != {"text", "answer_start"}:
            cure = "give answers as in SQuAD: text and answer_start, each a list"
            raise InvalidInput(Problem("this column must contain text", name, str(dtype), cure, column=column.name))
        return (
            column.to_frame()
            .select(pl.struct(pl.col(column.name).struct.field("text", "answer_start")))
            .to_series()
            .alias(column.name)
            .cast(ANSWERS)
        )
    if dtype.is_float():
        return pl.Series(column.name, _number_text(column.to_list()), pl.String)
    if dtype == pl.Object:
        raise InvalidInput(Problem("this column must contain text", name, "objects", column=column.name))
    return column.cast(pl.String)


def _number_text(values: Sequence[float | None]) -> list[str | None]:
    """Format numbers; omit ``.0`` if all are whole and some are missing: missing values turn integers into floats."""
    there = [value for value in values if value is not None and not math.isnan(value)]
    has_gap = len(there) < len(values)
    whole = has_gap and all(value.is_integer() for value in there)
    return [
        None if value is None or math.isnan(value) else str(int(value)) if whole else repr(value) for value in values
    ]
