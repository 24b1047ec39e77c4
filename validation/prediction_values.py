"""Values of a prediction file: conversion to their types, with one problem per column and kind of fault."""

import math
import re
import reprlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from shiftbench.validation.limits import MAX_CHARACTERS, too_long
from shiftbench.validation.probabilities import LISTS, PROBABILITIES, WORDS, Bad, read_lists, read_values
from shiftbench.validation.report import Problem, plural

REQUIRED = ("source", "id", "prediction")
KEYS = ("source", "id", "seed")
"""The columns that identify a row."""
OPTIONAL = ("seed", "confidence", PROBABILITIES)
DTYPES: dict[str, pl.DataType] = {"seed": pl.Int64(), "confidence": pl.Float64(), PROBABILITIES: LISTS}
_KINDS = ("dtype", "missing", "text", "number", "long", "wide", "range", "sum")
_ORDER = [(name, kind) for name in REQUIRED + OPTIONAL for kind in _KINDS]
_WHOLE = re.compile(r"[+-]?[0-9]{1,20}")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]{1,50}\.?[0-9]{0,50}|\.[0-9]{1,50})(?:[eE][+-]?[0-9]{1,3})?")
_MOST = sys.float_info.max
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 200
_SHORT.maxlevel = 2


@dataclass
class Faults:
    """The first fault of each kind in each column, and how many there are."""

    file: str
    columns: list[Problem] = field(default_factory=list)
    """Problems of column names that do not stop reading."""
    _found: dict[tuple[str, str], tuple[int, Any, int]] = field(default_factory=dict)
    _numbers: list[pl.Series] = field(default_factory=list)

    def add(self, column: str, kind: str, row: int, found: str, count: int = 1) -> None:
        """Add ``count`` faults of one kind; ``row`` (0-based) and ``found`` are those of the first."""
        first = self._found.get((column, kind), (row, found, 0))
        self._found[column, kind] = (*first[:2], first[2] + count)

    def add_numbers(self, rows: pl.Series) -> None:
        """Record rows (0-based) whose prediction is an integer, which is a fault only for some tasks."""
        self._numbers.append(rows)

    def take_numbers(self) -> pl.Series:
        """Return and clear the rows recorded by ``add_numbers``."""
        rows, self._numbers = self._numbers, []
        return pl.concat(rows) if rows else pl.Series(dtype=pl.Int64)

    def problems(self) -> list[Problem]:
        """List the problems, by column."""
        there = [key for key in _ORDER if key in self._found]
        return [self._problem(column, kind, *self._found[column, kind]) for column, kind in there]

    def _problem(self, column: str, kind: str, row: int, found: str, count: int) -> Problem:
        if kind == "long":
            return too_long(self.file, column, row + 1, found + _more_such_rows(count))
        if kind == "number" or column == PROBABILITIES:
            what, cure = WORDS[kind] if column == PROBABILITIES else _NUMBERS[column]
            return Problem(what, self.file, f"{found} ({plural(count, 'such row')})", cure, column=column, row=row + 1)
        if kind == "dtype":
            what, cure = (
                "this column must contain text",
                _type_cure(column, number=found.startswith(("Int", "UInt", "Fl", "Dec"))),
            )
            return Problem(what, self.file, found, cure, column=column, row=1)
        what = "a value is missing" if kind == "missing" else "a value is not text"
        cure = _missing_cure(column) if kind == "missing" else _text_cure(column, found)
        return Problem(what, self.file, found + _more_such_rows(count), cure, column=column, row=row + 1)


_NUMBERS = {
    "seed": ("a seed is not an integer", "give every row an integer, or omit the column"),
    "confidence": ("a confidence is not a number", "give every row a number from 0 to 1, or omit the column"),
}


def _more_such_rows(count: int) -> str:
    return f" ({plural(count, 'such row')})" if count > 1 else ""


def _type_cure(column: str, *, number: bool) -> str:
    return "write label names, not class numbers" if column == "prediction" and number else "write text"


def _missing_cure(column: str) -> str:
    return "write '__unparsed__' where the model gave no usable output" if column == "prediction" else "fill it in"


def _text_cure(column: str, found: str) -> str:
    if column != "prediction":
        return "write it as text"
    if found.startswith("["):
        return "write the tags as a list of texts"
    return "write the label as text" if found.startswith("{") else "write label names, not class numbers"


def number_problem(file: str, row: int, text: str, count: int) -> Problem:
    """Return the problem of predictions that are numbers instead of text; ``row`` is 1-based."""
    cure = "write texts as JSON strings in quotes, and label names, not class numbers"
    return Problem("a value is not text", file, text + _more_such_rows(count), cure, column="prediction", row=row)


def format_value(value: object) -> str:
    """Format a value of any depth and length on one line of at most 200 characters."""
    return _SHORT.repr(value)[:200]


def convert_columns(batch: pl.DataFrame, first: int, faults: Faults) -> pl.DataFrame:
    """Convert the columns of a part of a file to their types; invalid values become null.

    Args:
        batch: the rows as read; columns may be missing.
        first: number of rows of the file before these.
        faults: collects the invalid values.
    """
    columns = [_text(batch[name], first, faults) for name in REQUIRED if name in batch.columns]
    if PROBABILITIES in batch.columns:
        lists, faulty = read_lists(batch[PROBABILITIES])
        columns.append(lists)
        _record_bad_probabilities(faulty, lambda row: batch[PROBABILITIES][row : row + 1].to_list()[0], first, faults)
    for name in _NUMBERS:
        if name in batch.columns:
            numbers, bad = _numbers(batch[name])
            columns.append(numbers)
            if bad.any():
                row = int(bad.arg_true()[0])
                value = format_value(batch[name][row : row + 1].to_list()[0])
                faults.add(name, "number", first + row, value, int(bad.sum()))
    return pl.DataFrame(columns)


def convert_values(batch: Mapping[str, Sequence[Any]], first: int, faults: Faults) -> pl.DataFrame:
    """Convert columns of Python values to their types, as ``convert_columns`` does."""
    columns = []
    for name in REQUIRED:
        values = batch[name]
        if name == "prediction":
            numbered = [row for row, value in enumerate(values) if _is_class_number(value)]
            if numbered:
                faults.add_numbers(pl.Series(numbered, dtype=pl.Int64) + first)
            values = [_join_tags(value) for value in values]
        _record_non_texts(name, values, first, faults)
        texts = pl.Series(name, [value if isinstance(value, str) else None for value in values], dtype=pl.String)
        columns.append(_short_enough(texts, first, faults))
    if PROBABILITIES in batch:
        lists, faulty = read_values(PROBABILITIES, batch[PROBABILITIES])
        columns.append(lists)
        _record_bad_probabilities(faulty, lambda row: batch[PROBABILITIES][row], first, faults)
    for name in _NUMBERS:
        if name in batch:
            number = _seed_number if name == "seed" else _fraction
            numbers = pl.Series(name, [number(value) for value in batch[name]], dtype=DTYPES[name])
            columns.append(numbers)
            if numbers.null_count():
                row = int(numbers.is_null().arg_true()[0])
                faults.add(name, "number", first + row, format_value(batch[name][row]), numbers.null_count())
    return pl.DataFrame(columns)


def _is_class_number(value: object) -> bool:
    """Return whether a value is a class number, or a list of class numbers (tags)."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(item, int) and not isinstance(item, bool) for item in value)
    return isinstance(value, int) and not isinstance(value, bool)


def _join_tags(value: Any) -> Any:
    if _is_class_number(value):
        return " ".join(map(str, value)) if isinstance(value, list) else str(value)
    return " ".join(value) if isinstance(value, list) and all(isinstance(item, str) for item in value) else value


def _seed_number(value: object) -> int | None:
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    is_seed = isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63
    return value if isinstance(value, int) and is_seed else None


def _fraction(value: object) -> float | None:
    if isinstance(value, str) and _DECIMAL.fullmatch(value):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > _MOST:
        return None
    return None if math.isnan(value) else float(value)


def _record_non_texts(name: str, values: Sequence[Any], first: int, faults: Faults) -> None:
    # Missing values and values of another type need different fixes, so they are separate faults.
    bad = [row for row, value in enumerate(values) if not isinstance(value, str)]
    for kind, rows in (
        ("missing", [row for row in bad if _is_missing(values[row])]),
        ("text", [row for row in bad if not _is_missing(values[row])]),
    ):
        if rows:
            faults.add(name, kind, first + rows[0], format_value(values[rows[0]]), len(rows))


def _record_bad_probabilities(bad: Bad, value_of: Callable[[int], object], first: int, faults: Faults) -> None:
    for kind, rows in bad.items():
        row = int(rows.arg_true()[0])
        faults.add(PROBABILITIES, kind, first + row, format_value(value_of(row)), int(rows.sum()))


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _text(column: pl.Series, first: int, faults: Faults) -> pl.Series:
    name = column.name
    if name == "prediction" and _has_integers(column.dtype):
        column = column.cast(pl.List(pl.String) if column.dtype == pl.List else pl.String)
        faults.add_numbers(pl.int_range(first, first + len(column), eager=True))
    if name == "prediction" and column.dtype in (pl.List(pl.String), pl.List(pl.Categorical)):
        # A list with a missing tag becomes null, and is reported as a missing value.
        column = column.cast(pl.List(pl.String)).list.join(" ", ignore_nulls=False)
    if column.dtype in (pl.Categorical, pl.Null) or isinstance(column.dtype, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype != pl.String:
        if len(column):
            found = f"{column.dtype}, first value {format_value(column.head(1).to_list()[0])}"
            faults.add(name, "dtype", first, found)
        return pl.Series(name, [None] * len(column), dtype=pl.String)
    if column.null_count():
        row = first + int(column.is_null().arg_true()[0])
        faults.add(name, "missing", row, repr(None), column.null_count())
    return _short_enough(column, first, faults)


def _has_integers(dtype: pl.DataType) -> bool:
    """Return whether a column contains integers, or lists of integers (tags)."""
    return (dtype.inner if isinstance(dtype, pl.List) else dtype).is_integer()


def _short_enough(column: pl.Series, first: int, faults: Faults) -> pl.Series:
    bad = (column.str.len_chars() > MAX_CHARACTERS[column.name]).fill_null(value=False)
    if not bad.any():
        return column
    row = int(bad.arg_true()[0])
    faults.add(column.name, "long", first + row, f"{len(column[row]):,} characters", int(bad.sum()))
    return column.set(bad, None)


def _numbers(column: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Convert ``seed`` or ``confidence`` to numbers; return them (null if invalid) and a mask of invalid values."""
    dtype = DTYPES[column.name]
    # A cast would turn dates, booleans and lists into meaningless numbers.
    is_number = column.dtype.is_numeric() or column.dtype == pl.String
    nothing = pl.Series(column.name, [None] * len(column), dtype=dtype)
    numbers = column.cast(dtype, strict=False) if is_number else nothing
    bad = numbers.is_null() | (numbers.is_nan() if dtype == pl.Float64 else False)
    if dtype == pl.Int64 and (column.dtype.is_float() or column.dtype.is_decimal()):
        bad = bad | (column != numbers.cast(column.dtype, strict=False)).fill_null(value=True)
    return (numbers.set(bad, None) if bad.any() else numbers), bad
