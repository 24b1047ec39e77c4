"""The entries to analyse: one result for each entry and task that has a board."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.scores.estimate import Estimate, Interval
from shiftbench.scoring.scores.shape import OUTSIDE_BASES, Scores, Shift, TaskScores
from shiftbench.validation.cards import Card
from shiftbench.validation.vocabulary import PLACEBO

PROMPTED = ("few-shot", "zero-shot")
"""Paradigms of models that are shown examples, or none, and not trained."""


@dataclass(frozen=True)
class Analysed:
    """One entry with its scores and its dataset; ``rows`` reads its checked predictions."""

    id: str
    card: Card
    folder: DatasetFolder
    scores: Scores
    rows: Callable[[], pl.DataFrame] | None = None


@dataclass(frozen=True)
class Result:
    """One entry's scores of one task.

    Attributes:
        board: the task as boards name it, ``benchmark/task``; only results of one board are compared.
        entry: the entry's name; of the same names on one board, with the start of its id.
        card: its card.
        folder: its dataset.
        task: its scores.
        placebo: the same of the task's placebo; None where it has none.
        rows: reads the entry's checked predictions of all its tasks; None where they are not at hand.
    """

    board: str
    entry: str
    card: Card
    folder: DatasetFolder
    task: TaskScores
    placebo: "Result | None"
    rows: Callable[[], pl.DataFrame] | None = None

    @property
    def complete(self) -> bool:
        """Return whether all shifts are there, so that means over them can be compared with another entry's."""
        summary = self.task.summary
        return summary.complete or (
            summary.basis in OUTSIDE_BASES.values() and summary.n_shifts == len(self.task.domains)
        )

    @property
    def shifts(self) -> list[Shift]:
        """Return the shifts of single sources that have both drops."""
        own = set(self.task.domains)
        single = (shift for shift in self.task.shifts if shift.source in own)
        return [shift for shift in single if shift.sd.value is not None and shift.td.value is not None]

    def score_matrix(self) -> NDArray[np.float64]:
        """Return the scores of single sources, shape (n_domains, n_domains), source by target; NaN where unknown."""
        place = {domain: number for number, domain in enumerate(self.task.domains)}
        matrix = np.full((len(place), len(place)), np.nan)
        cells = [(item.domain, item.domain, item.score) for item in self.task.in_domain]
        cells += [(shift.source, shift.target, shift.st) for shift in self.task.shifts]
        for source, target, estimate in cells:
            if source in place and target in place and estimate.value is not None:
                matrix[place[source], place[target]] = estimate.value
        return matrix


def join_boards(entries: Sequence[Analysed], boards: Mapping[tuple[str, str, str], str]) -> list[Result]:
    """Join entries with the boards that they are on.

    Args:
        entries: entries with their scores.
        boards: each board's name, ``benchmark/task``, by content hash of the data, subset and task.
    Returns: a result for each entry and task that has a board: placebos stand beside their task, candidates nowhere. A
        placebo is the entry's own, or else that of an entry of the same model in another file (see ``_model_facts``).
    """
    on_boards = [
        (boards[key], entry, task)
        for entry in entries
        for task in entry.scores.tasks
        if (key := (entry.card.data, entry.card.subset, task.task)) in boards
    ]
    times = Counter((board, entry.card.name) for board, entry, _ in on_boards)
    dealt = {(entry.id, task.task): task for entry in entries for task in entry.scores.tasks}
    dealt |= {(_model_facts(entry.card), task.task): task for entry in entries for task in entry.scores.tasks}
    results = []
    for board, entry, task in on_boards:
        again = times[board, entry.card.name] > 1
        facts = (board, f"{entry.card.name} ({entry.id[:6]})" if again else entry.card.name, entry.card, entry.folder)
        name = task.task + PLACEBO
        placebo = dealt.get((entry.id, name)) or dealt.get((_model_facts(entry.card), name))
        results.append(Result(*facts, task, Result(*facts, placebo, None) if placebo else None, entry.rows))
    return results


def group_by_board(results: Sequence[Result]) -> Iterator[tuple[str, list[Result]]]:
    """Return the results of each board, boards and entries in the order of their first appearance."""
    for board in dict.fromkeys(result.board for result in results):
        yield board, [result for result in results if result.board == board]


def results_above_floor(board: str, results: Sequence[Result], left_out: list[str]) -> list[Result]:
    """Return one board's results whose mean ST is above chance; note how many are not, as their drops mean nothing."""
    skilled = [result for result in results if not result.task.summary.at_floor]
    if len(skilled) < len(results):
        left_out.append(f"{board}: {n_entries(len(results) - len(skilled))} at chance")
    return skilled


def with_bounds(estimate: Estimate, total: Interval | None = None) -> dict[str, float | str | None]:
    """Return a figure with its bounds: over training runs where they were measured, otherwise over test texts."""
    if total is not None:
        return {"value": estimate.value, "low": total.low, "high": total.high, "interval": "total"}
    kind = None if estimate.low is None else "test sampling"
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high, "interval": kind}


def n_entries(n: int) -> str:
    """Format a number of entries in words.

    >>> n_entries(1), n_entries(2)
    ('1 entry', '2 entries')
    """
    return f"{n:,} entr{'y' if n == 1 else 'ies'}"


def _model_facts(card: Card) -> str:
    """Return what the cards of one model's files have in common: all but how and with what each was made."""
    return card.model_dump_json(exclude={"command", "versions", "tokens", "cost_usd"})


Draw = Callable[[pl.DataFrame, Sequence[str]], bytes]
"""A function that draws the rows, with notes below, as a PNG."""


class Findings(NamedTuple):
    """Rows of numbers (fractions) that a picture is drawn from, and what is left out of them, with the reason.

    The columns are those of the schema beside each analysis (``find_scenarios``: ``scenarios.SCHEMA``, and so on).
    Without a row the reasons say why there is nothing to draw.
    """

    rows: pl.DataFrame
    left_out: tuple[str, ...]


def build_findings(
    rows: Sequence[Mapping[str, Any]], left_out: Sequence[str], why_nothing: str, schema: pl.Schema
) -> Findings:
    """Build the result of an analysis from its rows.

    Args:
        rows: each with a value, or None, for every column.
        left_out: what is not among them, and why.
        why_nothing: the reason where there is no row.
        schema: the columns, in order.
    """
    frame = pl.DataFrame([[row[name] for name in schema] for row in rows], schema=schema, orient="row")
    return Findings(frame, tuple(left_out) if rows else (why_nothing, *left_out))
