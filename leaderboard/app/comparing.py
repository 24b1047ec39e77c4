"""From the ids that an address names to a comparison, and to the page that shows it."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import polars as pl
from threadpoolctl import threadpool_limits

from builders.folder.reader import DatasetFolder
from leaderboard.board import Board, Index, public_message
from leaderboard.board.ranks import difference_interval, ranked_replicates
from leaderboard.comparing.entries import MAX_ENTRIES, MAX_PAIRWISE, ComparedEntry, compare_in_pairs, compare_with_first
from leaderboard.scoring.shape import Scores
from leaderboard.store import Entry, folder_of
from leaderboard.views.compare_page import Compared, EntryOption, MeanInterval, compare_page, comparing_page
from leaderboard.views.html import Markup
from leaderboard.views.pairwise_part import Pairwise
from validation.report import InvalidInput, Problem

MAX_CHOICES = 200
"""Entries that the page offers, best first, beside those that its address names."""
_at_once = threading.BoundedSemaphore(2)
"""Comparing takes seconds of both cores when it is done for the first time."""
SECONDS_UNSEEN = 120.0
"""How long what a comparison found waits for a page that asks again."""
_in_line = threading.BoundedSemaphore(10)
"""Those that compare or wait for it: each holds a thread, of which all pages together have some forty."""
_in_long_line = threading.BoundedSemaphore(3)
"""Those that compare many entries, which takes minutes: shorter comparisons pass them by between two pairs."""
Progress = Callable[[int, int], None]
"""Called with the numbers of pairs that are done and of all."""


@dataclass(frozen=True)
class _Asked:
    """What a comparison is of: entries and their scores, the dataset, the task."""

    entries: list[Entry]
    scores: list[Scores]
    folder: DatasetFolder
    task: str


def compared(index: Index, ids: Sequence[str], task: str | None) -> Compared:
    """Compare 2 to 4 entries on a task; without one, on the first that all have.

    Raises: InvalidInput when they cannot be compared.
    """
    asked = _resolve_request(index, ids[: MAX_ENTRIES + 1], task)
    sides = [_compared_entry(index, entry) for entry in asked.entries]
    # The products are small: several threads would mostly wait for each other.
    with _place_in(_in_line, asked.entries), _at_once, threadpool_limits(1, "blas"):
        pairs = compare_with_first(sides, asked.folder, index.store, asked.task)
    downloadable = frozenset(entry.id for entry in asked.entries if entry.card.allows_download)
    intervals = _intervals(index, asked.entries, asked.task, asked.folder)
    return Compared(sides, asked.scores, pairs, asked.folder.manifest.benchmark, asked.task, downloadable, intervals)


def compared_in_pairs(index: Index, ids: Sequence[str], task: str | None, progress: Progress) -> Pairwise:
    """Compare up to ``MAX_PAIRWISE`` entries on a task, each with each other one.

    Args:
        index: the entries.
        ids: those to compare.
        task: the task; None takes the first that all have.
        progress: called after each pair.
    Returns: the entries by score, best first, and their pairs.
    Raises: InvalidInput when they cannot be compared.
    """
    asked = _resolve_request(index, ids[: MAX_PAIRWISE + 1], task)
    sides = [_compared_entry(index, entry) for entry in asked.entries]
    with _place_in(_in_long_line, asked.entries), threadpool_limits(1, "blas"):
        pairs = compare_in_pairs(sides, asked.folder, index.store, asked.task, progress=progress, turn=_at_once)
    tasks = [next(each for each in scores.tasks if each.task == asked.task) for scores in asked.scores]
    means = [each.summary.mean_st.value for each in tasks]
    by_score = sorted(
        zip(sides, means, strict=True), key=lambda each: (each[1] is None, -(each[1] or 0.0), each[0].name, each[0].id)
    )
    return Pairwise([side for side, _ in by_score], [mean for _, mean in by_score], pairs, asked.task)


def _resolve_request(index: Index, ids: Sequence[str], task: str | None) -> _Asked:
    entries = [index.entry(identity) for identity in ids]
    scores = [index.scores(entry.id) for entry in entries]
    names = [[part.task for part in each.tasks] for each in scores]
    shared = [name for name in names[0] if all(name in others for others in names)]
    if not shared:
        cure = "choose entries of one board"
        raise InvalidInput(Problem("the entries share no task", _entry_ids(entries), cure=cure))
    chosen = task if task in shared else shared[0]
    return _Asked(entries, scores, folder_of(entries[0].card, index.folders), chosen)


def _entry_ids(entries: Sequence[Entry]) -> str:
    return " and ".join(entry.id for entry in entries)


@contextmanager
def _place_in(line: threading.BoundedSemaphore, entries: Sequence[Entry]) -> Iterator[None]:
    """Occupy one of a queue's places; InvalidInput when all are taken."""
    if not line.acquire(blocking=False):
        raise InvalidInput(Problem("many others are comparing now", _entry_ids(entries), cure="try again in a minute"))
    try:
        yield
    finally:
        line.release()


def _intervals(index: Index, entries: Sequence[Entry], task: str, folder: DatasetFolder) -> list[MeanInterval | None]:
    """Return the interval of the ranked mean's difference of the first entry and each other ranked one."""
    key = (folder.content_hash, entries[0].card.subset, task)
    board = next((board for board in index.boards() if board.key == key), None)
    if board is None:
        return [None] * (len(entries) - 1)
    rows = {row["id"]: row for row in index.frame(board).filter("complete").iter_rows(named=True)}
    drawn = [
        ranked_replicates(index.store.table(entry, folder), rows[entry.id], board.info) if entry.id in rows else None
        for entry in entries
    ]
    first = drawn[0]
    return [
        MeanInterval(*difference_interval(first, other)) if first is not None and other is not None else None
        for other in drawn[1:]
    ]


class Comparisons:
    """Comparisons that pages ask for: made in the background, so that a page can say how far one is.

    Args:
        seconds: how long a page waits for one before it says so.
    """

    def __init__(self, seconds: float = 1.0) -> None:
        self._seconds = seconds
        self._jobs: dict[tuple[str, ...], _Job] = {}
        self._lock = threading.Lock()

    def page(self, index: Index, ids: Sequence[str], task: str | None) -> tuple[Markup, bool]:
        """Build the page: a comparison where the address names one that can be made, else why there is none.

        Returns: the page, and whether it is to be asked for again because the comparison goes on.
        """
        named = [identity for identity in ids if identity]
        asked, problems, comparisons = list(dict.fromkeys(named)), list[str](), None
        if len(named) > 1:
            job = self._job(index, named, task)
            if not job.done.wait(self._seconds):
                return comparing_page(len(named), time.monotonic() - job.begun, job.progress), True
            comparisons = job.found
            problems = [public_message(problem, index.names()) for problem in job.problems]
        board = _board(index, asked, comparisons.task if comparisons else task)
        choices = _choices(index, board, asked)
        return compare_page(
            choices, asked, comparisons, task=comparisons.task if comparisons else task, problems=problems
        ), False

    def _job(self, index: Index, ids: Sequence[str], task: str | None) -> "_Job":
        """Return the job that makes a comparison: one that goes on, or has ended and was not shown, or a new one."""
        key = (*ids, f"task {task}")
        with self._lock:
            for each, job in list(self._jobs.items()):
                if job.done.is_set() and time.monotonic() - job.begun > SECONDS_UNSEEN:
                    del self._jobs[each]
            job = self._jobs.get(key) or _Job(index, list(ids), task)
            if job.done.is_set():
                del self._jobs[key]  # the pairs are kept by the store; whoever asks next has them from there
            elif key not in self._jobs:
                self._jobs[key] = job
                job.start()
            return job


class _Job:
    """One comparison, made by a thread of its own."""

    def __init__(self, index: Index, ids: Sequence[str], task: str | None) -> None:
        self.done, self.begun = threading.Event(), time.monotonic()
        self.found: Compared | Pairwise | None = None
        self.progress: tuple[int, int] | None = None
        self.problems: list[Problem] = []
        self._resolve_request = index, ids, task

    def start(self) -> None:
        threading.Thread(target=self._run, name="comparing", daemon=True).start()

    def _run(self) -> None:
        try:
            if len(self._resolve_request[1]) > MAX_ENTRIES:
                self.found = compared_in_pairs(*self._resolve_request, self._report)
            else:
                self.found = compared(*self._resolve_request)
        except InvalidInput as error:
            self.problems = error.problems
        except Exception:
            self.problems = [Problem("comparing failed", "compare", "a fault of this server", "try again later")]
            raise
        finally:
            self.done.set()

    def _report(self, n_done: int, n_pairs: int) -> None:
        self.progress = n_done, n_pairs


def _compared_entry(index: Index, entry: Entry) -> ComparedEntry:
    card = entry.card
    return ComparedEntry(
        entry.id, card.name, index.store.predictions(entry), card.data, card.subset, card.tuning_trials
    )


def _board(index: Index, ids: Sequence[str], task: str | None) -> Board | None:
    """Return the board whose entries are offered: that of the first entry and the task, or the first that has any."""
    shown = [board for board in index.boards() if board.folder.has_public_labels]
    boards = [board for board in shown if index.frame(board).height]
    boards.sort(key=lambda board: task not in (None, board.task))  # stable: those of the task come first
    mine = [board for board in boards if ids and ids[0] in set(index.frame(board)["id"])]
    return next(iter(mine or boards), None)


def _choices(index: Index, board: Board | None, asked: Sequence[str]) -> list[EntryOption]:
    """List the board's best entries, and those that the address names."""
    if board is None:
        return []
    frame = index.frame(board)
    offered = pl.concat([frame.head(MAX_CHOICES), frame[MAX_CHOICES:].filter(pl.col("id").is_in(list(asked)))])
    rows = offered.select("id", "name", "same_name", "submitter").iter_rows()
    return [
        EntryOption(identity, f"{name}{f' ({same})' if same else ''} \N{MIDDLE DOT} {submitter}")
        for identity, name, same, submitter in rows
    ]
