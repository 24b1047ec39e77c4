"""Base class of loaded models, counts of unreadable rows, and errors that name a row."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from shiftbench.validation.report import InvalidInput, Problem, did_you_mean, first_line


@dataclass
class TextCounts:
    """Number of rows given to a model, and of those that it could not read in full.

    Attributes:
        rows: all rows; each call of ``predict`` adds its rows.
        empty: rows with an input that is empty or only white space.
        truncated: rows whose texts exceed the model's maximum length; None if unknown.
        endings: finish reasons of a language model's responses, with their counts.
    """

    rows: int = 0
    empty: int = 0
    truncated: int | None = None
    endings: dict[str, int] = field(default_factory=dict)

    @property
    def truncated_share(self) -> float | None:
        """Return the share of rows so far whose texts were truncated; None if unknown."""
        return None if self.truncated is None or not self.rows else self.truncated / self.rows

    def add_truncated(self, n: int) -> None:
        """Add a number of truncated rows."""
        self.truncated = (self.truncated or 0) + n

    def add(self, other: "TextCounts") -> None:
        """Add the counts of another part."""
        self.rows += other.rows
        self.empty += other.empty
        if other.truncated is not None:
            self.add_truncated(other.truncated)
        self.endings = dict(Counter(self.endings) + Counter(other.endings))

    def since(self, earlier: "TextCounts") -> "TextCounts":
        """Return the difference from an earlier copy of the counts."""
        truncated = None if self.truncated is None else self.truncated - (earlier.truncated or 0)
        endings = dict(Counter(self.endings) - Counter(earlier.endings))
        return TextCounts(self.rows - earlier.rows, self.empty - earlier.empty, truncated, endings)


class RowFailure(InvalidInput):
    """The model failed, or its output is invalid, at a row (0-based ``row``); ``done``: predictions before it."""

    def __init__(self, problem: Problem, row: int, done: pl.DataFrame) -> None:
        super().__init__(replace(problem, row=row + 1))
        self.row, self.done = row, done


@dataclass
class LoadedModel(ABC):
    """A model that predicts the rows of one task. Subclasses define ``_predict``.

    Attributes:
        name: its name on cards.
        inputs: the input columns of the task.
        revision: commit of a Hub model; None for other models.
        notes: notes to the user on how it was loaded, one sentence each.
        facts: known fields of the card, such as ``base_model``.
        version: JSON data that changes when the model does; a resumed run compares it.
        libraries: distributions whose versions its predictions depend on.
        part_rows: rows per part; an interruption loses at most this many predictions.
        counts: number of rows so far, and of those not read in full.
    """

    name: str
    inputs: tuple[str, ...]
    revision: str | None = None
    notes: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    version: Any = None
    libraries: tuple[str, ...] = ()
    part_rows: int = 1024
    counts: TextCounts = field(default_factory=TextCounts)

    def predict(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Predict rows.

        Args:
            rows: the input columns of the task, as in ``DatasetFolder.split``; other columns are ignored.
        Returns: one row per input row with ``prediction`` (labels, lists of tags, answers or texts) and, if available,
            ``confidence`` (float) and ``probabilities`` (lists of floats in the order of the task's labels).
        Raises: RowFailure if the model fails at a row, with the predictions of the rows before it.
        """
        missing = [name for name in self.inputs if name not in rows.columns]
        if missing:
            raise InvalidInput(
                Problem("an input column is missing", self.name, cure=did_you_mean(name, rows.columns), column=name)
                for name in missing
            )
        self.counts.rows += len(rows)
        self.counts.empty += count_empty(rows, self.inputs)
        return self._predict(rows)

    @abstractmethod
    def _predict(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Predict rows, all of whose input columns exist."""


def count_empty(rows: pl.DataFrame, inputs: Sequence[str]) -> int:
    """Count rows with an input that is empty or only white space; an empty title does not count.

    >>> count_empty(pl.DataFrame({"a": ["x", " ", "y"], "b": ["", "z", "z"]}), ["a", "b"])
    2
    """
    empty = [
        pl.col(name).list.len() == 0 if rows.schema[name] == pl.List else pl.col(name).str.strip_chars() == ""
        for name in inputs
        if name != "title"
    ]
    return int(rows.select(pl.any_horizontal(empty).sum()).item()) if empty and len(rows) else 0


def refuse_row(model: str, what: str, row: int, found: str, cure: str, done: pl.DataFrame) -> RowFailure:
    """Build the error for one row (0-based index), with the predictions of the rows before it."""
    return RowFailure(Problem(what, model, found, cure), row, done)


def describe_error(error: BaseException) -> str:
    """Describe an error raised by user or library code: its type and the first line of its message.

    >>> describe_error(ValueError("no such word")), describe_error(MemoryError())
    ('ValueError: no such word', 'MemoryError')
    """
    kind, line = type(error).__name__, first_line(error)
    return kind if line == kind else f"{kind}: {line}"
