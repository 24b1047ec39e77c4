"""The entries to analyse: one result for each entry and task, from prediction files and from a store."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from tqdm import tqdm

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.board.boards import boards_of
from shiftbench.leaderboard.store import LOCAL_SUBMITTER, Store, folder_of
from shiftbench.leaderboard.store.entries import entry_id
from shiftbench.scoring.scores.estimate import Estimate, Interval
from shiftbench.scoring.scores.score import checked_predictions, score_predictions, token_encoder
from shiftbench.scoring.scores.shape import OUTSIDE_BASES, Scores, Shift, TaskScores
from shiftbench.validation.cards import Card, read_card
from shiftbench.validation.report import InvalidInput, Problem
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


def read_entries(
    files: Sequence[Path], store: Store | None, folders: Sequence[DatasetFolder]
) -> tuple[list[Analysed], list[str]]:
    """Read and score entries. Scores that a store has are read; the same entry is counted once.

    Args:
        files: prediction files, each with its card beside it (``preds.parquet``, ``preds.card.yaml``).
        store: a store, all of whose entries for these datasets are taken.
        folders: the datasets at hand.
    Returns: the entries, those of the store first, and what was left out.
    Raises: InvalidInput with every problem of every file, before any is scored; or when there is no entry.
    """
    at_hand = {folder.content_hash for folder in folders}
    stored = store.entries() if store else []
    known = [entry for entry in stored if entry.card.data in at_hand]
    here = [entry for entry in known if folder_of(entry.card, folders).has_public_labels]
    why = {"for other data": len(stored) - len(known), "on withheld labels": len(known) - len(here)}
    left_out = [f"{n_entries(number)} of the store: {reason}" for reason, number in why.items() if number]
    left_out += [f"entry {identity}: {reason}" for identity, reason in (store.unreadable() if store else {}).items()]
    if store and not stored:
        left_out.append("the store has no entries")
    sent = _checked_files(files, folders, {entry.id for entry in here})
    bar = tqdm(total=len(here) + len(sent), desc="scoring", unit=" entries", disable=None)
    entries = []
    for entry in here:
        assert store is not None
        folder = folder_of(entry.card, folders)
        rows = partial(checked_predictions, store.predictions(entry), folder, entry.card.subset)
        entries.append(Analysed(entry.id, entry.card, folder, store.scores(entry, folder), rows))
        bar.update()
    for identity, (path, card, folder) in sent.items():
        frame = checked_predictions(path, folder, card.subset)
        scored = score_predictions(frame, folder, card.subset, encoder=token_encoder(folder))
        again = partial(checked_predictions, path, folder, card.subset)
        entries.append(Analysed(identity, card, folder, scored.scores, again))
        bar.update()
    bar.close()
    if not entries:
        cure = "give prediction files, or a store with entries for these datasets"
        raise InvalidInput(Problem("there is no entry to analyse", "analyse", "; ".join(left_out), cure))
    return entries, left_out


def _checked_files(
    files: Sequence[Path], folders: Sequence[DatasetFolder], known: set[str]
) -> dict[str, tuple[Path, Card, DatasetFolder]]:
    """Check every file, and return the new ones by the id that they would have in a store of this machine."""
    by_id: dict[str, tuple[Path, Card, DatasetFolder]] = {}
    problems: list[Problem] = []
    for path in tqdm(files, desc="checking", unit=" files", disable=None):
        try:
            card = read_card(_card_beside(path))
            folder = folder_of(card, folders)
            folder.refuse_withheld()
            frame = checked_predictions(path, folder, card.subset)
        except InvalidInput as error:
            problems += error.problems
            continue
        rows = frame.drop("task", "target").sort("source", "seed", "id")
        identity = entry_id(LOCAL_SUBMITTER, card, rows)
        if identity not in known:
            by_id.setdefault(identity, (path, card, folder))
    if problems:
        raise InvalidInput(problems)
    return by_id


def _card_beside(path: Path) -> Path:
    """Find the card beside a prediction file; InvalidInput when either file is missing."""
    card = path.with_name(f"{path.stem}.card.yaml")
    if not path.is_file():
        raise InvalidInput(Problem("there is no such prediction file", str(path), cure="check the path"))
    if not card.is_file():
        raise InvalidInput(Problem("this prediction file has no card beside it", str(path), cure=f"write {card.name}"))
    return card


def find_results(entries: Sequence[Analysed], folders: Sequence[DatasetFolder]) -> list[Result]:
    """Join entries with the boards that they are on.

    Args:
        entries: entries with their scores.
        folders: the datasets that they are for.
    Returns: a result for each entry and task that has a board: placebos stand beside their task, candidates nowhere. A
        placebo is the entry's own, or else that of an entry of the same model in another file (see ``_model_facts``).
    """
    used = {(entry.card.data, entry.card.subset) for entry in entries}
    boards = {board.key: board.name for board in boards_of(folders, used)}
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
