"""Label probabilities in a prediction file: reading and validation, with errors that name the row.

A list of numbers in parquet and JSON lines, numbers joined by single spaces in CSV; one number per label of the
task, in the order of its labels.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import polars as pl

from shiftbench.validation.limits import MAX_CHARACTERS, MAX_LIST_ELEMENTS, MAX_PROBABILITIES
from shiftbench.validation.report import Problem, and_more
from shiftbench.validation.vocabulary import UNPARSED

PROBABILITIES = "probabilities"
LISTS = pl.List(pl.Float64)
_MOST = 1e300
SUM_TOLERANCE = 1e-3
"""Maximum deviation of a row's sum from 1, to allow for rounding."""
WORDS = {
    "number": (
        "the probabilities are not a list of numbers",
        "give a number from 0 to 1 for each label, in the order of the labels, or omit the column",
    ),
    "wide": (
        "a list of probabilities is too long",
        f"give one number per label of the task; at most {MAX_PROBABILITIES:,} labels are supported",
    ),
    "range": ("a probability is not between 0 and 1", "give probabilities (after the softmax) from 0 to 1"),
    "sum": (
        "the probabilities of a row do not add up to 1",
        f"give the probabilities of all labels; the sum may differ from 1 by {SUM_TOLERANCE:g} (rounding)",
    ),
}
"""Message and suggested fix by kind of fault."""

Bad = dict[str, pl.Series]
"""Boolean mask of the affected rows by kind of fault."""


class Labelled(Protocol):
    """A task with a name and labels, as required by the checks."""

    @property
    def name(self) -> str:
        """Return the task's name."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the task's labels, in order."""


def read_lists(column: pl.Series) -> tuple[pl.Series, Bad]:
    """Read a column of lists, or of texts with numbers separated by spaces.

    Args:
        column: the column as read; a missing value or an empty text means no probabilities.
    Returns: lists of numbers (``LISTS``), null if missing or invalid, and the faults.
    """
    none = pl.repeat(False, len(column), eager=True)
    if column.dtype == pl.Null:
        return column.cast(LISTS), {}
    if column.dtype == pl.String:
        # Count numbers before splitting: a malicious text may contain far more numbers than any task has labels.
        wide = (column.str.count_matches(" ", literal=True) >= MAX_PROBABILITIES) | (
            column.str.len_bytes() > MAX_CHARACTERS[PROBABILITIES]
        )
        wide = wide.fill_null(value=False)
        texts = column.set(wide | (column == "").fill_null(value=False), None)
        lists = texts.str.split(" ").cast(LISTS, strict=False)
    elif isinstance(column.dtype, pl.List | pl.Array) and column.dtype.inner.is_numeric():
        lists = column.cast(pl.List(column.dtype.inner))
        wide = (lists.list.len() > MAX_PROBABILITIES).fill_null(value=False)
        lists = lists.set(wide, None).cast(LISTS, strict=False)
    else:
        return pl.Series(column.name, [None] * len(column), dtype=LISTS), {"number": column.is_not_null()}
    return _null_faults(lists, {"wide": wide}, none)


def read_values(name: str, values: Sequence[Any]) -> tuple[pl.Series, Bad]:
    """Read Python values (from JSON lines) as ``read_lists`` reads a column."""
    wide = [isinstance(value, list) and len(value) > MAX_PROBABILITIES for value in values]
    other = [value is not None and not isinstance(value, list) for value in values]
    lists = [
        [_number(part) for part in value] if isinstance(value, list) and not too_wide else None
        for value, too_wide in zip(values, wide, strict=True)
    ]
    bad = {"wide": pl.Series(wide, dtype=pl.Boolean), "number": pl.Series(other, dtype=pl.Boolean)}
    none = pl.repeat(False, len(values), eager=True)
    return _null_faults(pl.Series(name, lists, dtype=LISTS), bad, none)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < _MOST else None  # refuses NaN, and integers too large for a float


def _null_faults(lists: pl.Series, bad: Bad, none: pl.Series) -> tuple[pl.Series, Bad]:
    """Set invalid lists to null, and record the first fault of each."""
    sums = lists.list.sum()
    whole = lists.list.drop_nulls().list.len() == lists.list.len()
    number = ~(whole & sums.is_finite() & (lists.list.len() > 0))
    outside = (lists.list.min() < 0) | (lists.list.max() > 1)
    off = (sums - 1).abs() > SUM_TOLERANCE
    faults, seen = dict(bad), none
    for kind, rows in (("number", number), ("range", outside), ("sum", off)):
        here = rows.fill_null(value=False) & lists.is_not_null() & ~seen
        faults[kind] = faults.get(kind, none) | here
        seen = seen | here
    return (lists.set(seen, None) if seen.any() else lists), {kind: rows for kind, rows in faults.items() if rows.any()}


class ProbabilityChecks:
    """Checks of probabilities against the labels of tasks, part by part."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._with: dict[str, int] = {}
        self._without: dict[str, int] = {}
        self._elements = 0

    def part(self, rows: pl.DataFrame, task: Labelled, *, has_labels: bool) -> list[Problem]:
        """Check rows of a task.

        Args:
            rows: columns row, prediction and probabilities.
            task: the task.
            has_labels: whether it is a classification task; other tasks must not have probabilities.
        Returns: the problems found. Rows without a usable output may lack probabilities.
        """
        lists, n_labels = rows[PROBABILITIES], len(task.labels)
        given = lists.is_not_null()
        self._elements += int(lists.list.len().sum())
        if self._elements > MAX_LIST_ELEMENTS:
            what, cure = "there are too many probabilities", f"the limit is {MAX_LIST_ELEMENTS:,}"
            return [Problem(what, self._file, f"{self._elements:,} numbers", cure, column=PROBABILITIES)]
        if not has_labels:
            cure = "leave the cells empty"
            what = f"task '{task.name}' has no labels, so probabilities are not allowed"
            return self._first_problem(rows, given, what, lambda value: repr(value)[:80], cure)
        wrong = (lists.list.len() != n_labels).fill_null(value=False)
        cure = f"give one per label, in this order: {', '.join(task.labels[:20])}{' ...' * (n_labels > 20)}"
        what = "the numbers of probabilities and labels differ"
        problems = self._first_problem(
            rows, wrong, what, lambda value: f"{len(value)} probabilities, {n_labels} labels", cure
        )
        return problems + self._partly_present(rows, given, task.name)

    def _partly_present(self, rows: pl.DataFrame, given: pl.Series, task: str) -> list[Problem]:
        """Report a task in which only some rows have probabilities."""
        lacking = ~given & (rows["prediction"] != UNPARSED).fill_null(value=False)
        known = task in self._with and task in self._without
        for marks, first in ((given, self._with), (lacking, self._without)):
            if marks.any():
                first.setdefault(task, int(rows["row"][int(marks.arg_true()[0])]))
        if known or task not in self._with or task not in self._without:
            return []
        what = f"some rows of task '{task}' have probabilities and others do not"
        cure = f"give them for all rows of the task (except '{UNPARSED}'), or for no row"
        found = f"row {self._with[task]:,} has them"
        return [Problem(what, self._file, found, cure, column=PROBABILITIES, row=self._without[task])]

    def _first_problem(
        self, rows: pl.DataFrame, marks: pl.Series, what: str, describe: Any, cure: str
    ) -> list[Problem]:
        if not marks.any():
            return []
        index = int(marks.arg_true()[0])
        found = describe(rows[PROBABILITIES][index].to_list()) + and_more(int(marks.sum()) - 1)
        row = int(rows["row"][index])
        return [Problem(what, self._file, found, cure, column=PROBABILITIES, row=row)]
