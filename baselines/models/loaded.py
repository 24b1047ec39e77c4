"""What every loaded model has: the interface, counts of what it could not read, and refusals that name a row."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from shiftbench.validation.report import InvalidInput, Problem, did_you_mean, first_line


@dataclass
class TextCounts:
    """How many rows a model was asked about, and how many of them it read only in part or had nothing to read of.

    Attributes:
        rows: all rows; each call of ``predict`` adds its own.
        empty: rows of which an input is empty or white space alone.
        truncated: rows whose texts are longer than the model reads; None where that is not known.
        endings: of a language model's answers, how many ended in which way.
    """

    rows: int = 0
    empty: int = 0
    truncated: int | None = None
    endings: dict[str, int] = field(default_factory=dict)

    @property
    def truncated_share(self) -> float | None:
        """Return the share of the rows so far whose texts were cut; None if that is not known."""
        return None if self.truncated is None or not self.rows else self.truncated / self.rows

    def add_truncated(self, n: int) -> None:
        """Count rows that were cut."""
        self.truncated = (self.truncated or 0) + n

    def add(self, other: "TextCounts") -> None:
        """Count the rows of another part, too."""
        self.rows += other.rows
        self.empty += other.empty
        if other.truncated is not None:
            self.add_truncated(other.truncated)
        self.endings = dict(Counter(self.endings) + Counter(other.endings))

    def since(self, earlier: "TextCounts") -> "TextCounts":
        """Return what was counted after an earlier state."""
        truncated = None if self.truncated is None else self.truncated - (earlier.truncated or 0)
        endings = dict(Counter(self.endings) - Counter(earlier.endings))
        return TextCounts(self.rows - earlier.rows, self.empty - earlier.empty, truncated, endings)


class RowFailure(InvalidInput):
    """A model failed at one row or gave nonsense for it.

    Attributes:
        row: place of the row among those asked about, from 0.
        done: the predictions of all rows before it.
    """

    def __init__(self, problem: Problem, row: int, done: pl.DataFrame) -> None:
        super().__init__(replace(problem, row=row + 1))
        self.row, self.done = row, done


@dataclass
class LoadedModel(ABC):
    """A model that answers the rows of one task. A kind of model gives ``_predict``.

    Attributes:
        name: its name, as cards name it.
        inputs: the input columns of the task.
        revision: commit of a Hub model; None of any other.
        notes: what the user must know of how it was loaded, a sentence each.
        facts: keys of the card that are known of it, such as ``base_model``.
        version: JSON data that changes when the model does, for work that is taken up again.
        libraries: distributions whose versions its predictions depend on.
        part_rows: rows to ask about at once; a stop loses at most this many predictions.
        counts: what was asked so far, and what of it could not be read whole.
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
            rows: the input columns of the task, as ``DatasetFolder.split`` has them; other columns are not read.
        Returns: as many rows with ``prediction`` (labels, lists of tags, answers or texts) and, where the model has
            them, ``confidence`` (float) and ``probabilities`` (lists of floats in the order of the task's labels).
        Raises: RowFailure where the model fails at a row, with the predictions of the rows before it.
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
        """Predict rows that have all inputs."""


def count_empty(rows: pl.DataFrame, inputs: Sequence[str]) -> int:
    """Count rows of which an input is empty or white space; an empty title does not count.

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
    """Build the refusal of one row, counted from 0, with the predictions of the rows before it."""
    return RowFailure(Problem(what, model, found, cure), row, done)


def describe_error(error: BaseException) -> str:
    """Describe an error of somebody else's code by its kind and the first line of what it says.

    >>> describe_error(ValueError("no such word")), describe_error(MemoryError())
    ('ValueError: no such word', 'MemoryError')
    """
    kind, line = type(error).__name__, first_line(error)
    return kind if line == kind else f"{kind}: {line}"
