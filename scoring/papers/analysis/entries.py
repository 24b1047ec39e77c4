"""The entries to analyse: a result per entry and task with a board, and results grouped as states of one model."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.scores.shape import OUTSIDE_BASES, Estimate, Interval, Scores, Shift, TaskScores
from shiftbench.validation.cards import Card
from shiftbench.validation.vocabulary import PLACEBO

PROMPTED = ("few-shot", "zero-shot")
"""Paradigms of models that are prompted, with or without examples, rather than trained."""


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
    """One entry's scores on one task.

    Attributes:
        board: the board's name, ``benchmark/task``; only results on the same board are compared.
        entry: the entry's name; with the start of its id if the name is repeated on a board.
        card: its card.
        folder: its dataset.
        task: its scores.
        placebo: its result on the task's placebo; None without one.
        rows: reads the entry's checked predictions on all its tasks; None if they are not available.
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
        """Return whether all shifts are present, so that means can be compared with another entry's."""
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
    """Match entries with the boards that they are on.

    Args:
        entries: entries with their scores.
        boards: each board's name, ``benchmark/task``, by content hash of the data, subset and task.

    Returns: a result per entry and task that has a board; placebos are attached to their task, candidates omitted. A
        placebo is from the same entry, otherwise from another entry of the same model (see ``_model_facts``).
    """
    on_boards = [
        (boards[key], entry, task)
        for entry in entries
        for task in entry.scores.tasks
        if (key := (entry.card.data, entry.card.subset, task.task)) in boards
    ]
    times = Counter((board, entry.card.name) for board, entry, _ in on_boards)
    placebos = {(entry.id, task.task): task for entry in entries for task in entry.scores.tasks}
    placebos |= {(_model_facts(entry.card), task.task): task for entry in entries for task in entry.scores.tasks}
    results = []
    for board, entry, task in on_boards:
        again = times[board, entry.card.name] > 1
        facts = (board, f"{entry.card.name} ({entry.id[:6]})" if again else entry.card.name, entry.card, entry.folder)
        name = task.task + PLACEBO
        placebo = placebos.get((entry.id, name)) or placebos.get((_model_facts(entry.card), name))
        results.append(Result(*facts, task, Result(*facts, placebo, None) if placebo else None, entry.rows))
    return results


def group_by_board(results: Sequence[Result]) -> Iterator[tuple[str, list[Result]]]:
    """Return the results of each board, boards and entries in the order of their first appearance."""
    for board in dict.fromkeys(result.board for result in results):
        yield board, [result for result in results if result.board == board]


def results_above_floor(board: str, results: Sequence[Result], left_out: list[str]) -> list[Result]:
    """Return one board's results whose mean ST is above chance; ``left_out`` gets the number of the others."""
    skilled = [result for result in results if not result.task.summary.at_floor]
    if len(skilled) < len(results):
        left_out.append(f"{board}: {n_entries(len(results) - len(skilled))} whose mean ST is at chance")
    return skilled


def with_bounds(estimate: Estimate, total: Interval | None = None) -> dict[str, float | str | None]:
    """Return a value with its interval: with training variance if it was measured, otherwise over test texts."""
    if total is not None:
        return {"value": estimate.value, "low": total.low, "high": total.high, "interval": "total"}
    kind = None if estimate.low is None else "test sampling"
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high, "interval": kind}


def n_entries(n: int) -> str:
    """Format a number of entries with its noun.

    >>> n_entries(1), n_entries(2)
    ('1 entry', '2 entries')
    """
    return f"{n:,} entr{'y' if n == 1 else 'ies'}"


def _model_facts(card: Card) -> str:
    """Return the card's facts about the model as a comparable string, without facts about a single prediction file."""
    return card.model_dump_json(exclude={"command", "versions", "tokens", "cost_usd"})


Draw = Callable[[pl.DataFrame, Sequence[str]], bytes]
"""Function that draws the rows, with notes below, as a PNG."""


class Findings(NamedTuple):
    """Rows of numbers (fractions) from which a figure is drawn, and what the rows omit, with the reason.

    The columns are those of the schema in each analysis' module (``find_scenarios``: ``scenarios.SCHEMA``, and so on).
    Without any row, the reasons state why there is nothing to plot.
    """

    rows: pl.DataFrame
    left_out: tuple[str, ...]


def build_findings(
    rows: Sequence[Mapping[str, Any]], left_out: Sequence[str], why_nothing: str, schema: pl.Schema
) -> Findings:
    """Build the result of an analysis from its rows.

    Args:
        rows: each with a value, or None, for every column.
        left_out: the entries and boards that the rows omit, each with the reason.
        why_nothing: the reason if there are no rows.
        schema: the columns, in order.
    """
    frame = pl.DataFrame([[row[name] for name in schema] for row in rows], schema=schema, orient="row")
    return Findings(frame, tuple(left_out) if rows else (why_nothing, *left_out))


STATE = ("parameters", "tunable_parameters", "training_size", "shots", "step")
"""Card fields in which the states of a model may differ."""
_WORDS: dict[str, Callable[[Any], str]] = {
    "parameters": lambda n: f"{short_number(n)} parameters",
    "tunable_parameters": lambda n: f"{short_number(n)} tunable",
    "tuned": lambda whole: "all tuned" if whole else "part tuned",
    "training_size": lambda n: f"{short_number(n)} examples",
    "shots": lambda n: f"{n:,} shots",
    "step": lambda n: f"step {n:,}",
    "model_selection": lambda rule: f"selection: {rule}",
    "extra_data": lambda data: f"with {data}",
}


def state_value(result: Result, key: str) -> int | None:
    """Return the value of a result for a key of ``STATE``; None if its card does not state it.

    A zero-shot model has 0 shots. The default training size of a trained model is the mean number of train rows of its
    domains.
    """
    value: int | None = getattr(result.card, key)
    if value is None and key == "shots" and result.card.paradigm == "zero-shot":
        return 0
    if value is None and key == "training_size" and result.card.paradigm == "fine-tuned":
        domains = result.folder.task(result.task.task).domains
        rows = [domains[item.domain].splits["train"].rows for item in result.task.in_domain]
        return round(fmean(rows)) if rows else None
    return value


def series_of(results: Sequence[Result], varies: Sequence[str]) -> dict[str, list[Result]]:
    """Group the results of one board by model; the results of one model are its states.

    Two results are states of one model if their cards have the same family (or base model, or name) and agree in all
    fields except ``varies``. If two of them would then have the same values of ``varies``, such as two methods on one
    base model, results with different names are separated.

    Args:
        results: of one board.
        varies: keys of ``STATE``.

    Returns: each model's results, sorted by ``varies``, by a name for the model.
    """
    keyed: dict[tuple[tuple[str, Any], ...], list[Result]] = {}
    for result in results:
        keyed.setdefault(tuple(_shared_facts(result, varies).items()), []).append(result)
    apart: dict[tuple[tuple[str, Any], ...], list[Result]] = {}
    for key, states in keyed.items():
        places = [tuple(state_value(result, name) for name in varies) for result in states]
        for result in states:
            named = (*key, ("name", result.card.name)) if len(set(places)) < len(places) else key
            apart.setdefault(named, []).append(result)
    names = _distinct_names([dict(key) for key in apart])
    return {
        name: sorted(states, key=lambda result: tuple(state_value(result, key) or 0 for key in varies))
        for name, states in zip(names, apart.values(), strict=True)
    }


def short_number(n: int) -> str:
    """Format a count compactly.

    >>> [short_number(n) for n in (0, 1024, 40_000, 22_700_000, 7_000_000_000)]
    ['0', '1,024', '40k', '22.7M', '7B']
    """
    for size, unit in ((10**9, "B"), (10**6, "M"), (10**3, "k")):
        if n >= max(size, 10_000):
            return f"{n / size:.3g}{unit}"
    return f"{n:,}"


def _shared_facts(result: Result, varies: Sequence[str]) -> dict[str, Any]:
    """Return the facts that all states of a model have in common."""
    card = result.card
    sizes_differ = "parameters" in varies
    model = (card.family or card.base_model) if sizes_differ else (card.base_model or card.family)
    prompted = "shots" in varies and card.paradigm in PROMPTED
    facts: dict[str, Any] = {"model": model or card.name, "paradigm": "prompted" if prompted else card.paradigm}
    facts |= {key: getattr(card, key) for key in STATE if key not in varies}
    if sizes_differ and "tunable_parameters" not in varies:
        # A larger model also has more tunable parameters.
        facts["tunable_parameters"] = None
        facts["tuned"] = card.tunable_parameters in (None, card.parameters)
    return facts | {"model_selection": card.model_selection, "extra_data": card.extra_data}


def _distinct_names(keys: Sequence[dict[str, Any]]) -> list[str]:
    """Return short names of models; equal names are extended by the facts in which the models differ."""
    names: list[str] = []
    for key in keys:
        alike = [other for other in keys if other["model"] == key["model"]]
        differ = [name for name in key if any(other.get(name) != key[name] for other in alike)]
        parts = [_WORDS.get(name, str)(key[name]) for name in differ if key[name] is not None]
        name = ", ".join([key["model"], *parts])
        # Two different numbers may round to the same text.
        again = sum(other == name or other.startswith(f"{name} #") for other in names)
        names.append(f"{name} #{again + 1}" if again else name)
    return names
