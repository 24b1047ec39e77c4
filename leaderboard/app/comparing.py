"""From the ids that an address names to a comparison, and to the page that shows it."""

import threading
import time
from collections.abc import Sequence

from threadpoolctl import threadpool_limits

from builders.folder.reader import DatasetFolder
from leaderboard.board import Board, Index, say
from leaderboard.board.ranks import difference_interval, ranked_replicates
from leaderboard.comparing.entries import MAX_ENTRIES, Side, compare_sides
from leaderboard.store import Entry, folder_of
from leaderboard.views.compare_page import Choice, Compared, MeanInterval, compare_page, comparing_page
from leaderboard.views.html import Markup
from validation.report import InvalidInput, Problem

MAX_CHOICES = 200
"""Entries that the page offers, best first; any other one is compared by its address."""
_at_once = threading.BoundedSemaphore(2)
"""Comparing takes seconds of both cores when it is done for the first time."""
SECONDS_UNSEEN = 120.0
"""How long what a comparison found waits for a page that asks again."""
_in_line = threading.BoundedSemaphore(10)
"""Those that compare or wait for it: each holds a thread, of which all pages together have some forty."""


def compared(index: Index, ids: Sequence[str], task: str | None) -> Compared:
    """Compare 2 to 4 entries on a task; without one, on the first that all have.

    Raises: InvalidInput when they cannot be compared.
    """
    entries = [index.entry(identity) for identity in ids[: MAX_ENTRIES + 1]]
    scores = [index.scores(entry.id) for entry in entries]
    folder = folder_of(entries[0].card, index.folders)
    names = [[part.task for part in each.tasks] for each in scores]
    shared = [name for name in names[0] if all(name in others for others in names)]
    if not shared:
        where = " and ".join(entry.id for entry in entries)
        raise InvalidInput(Problem("the entries share no task", where, cure="choose entries of one board"))
    chosen = task if task in shared else shared[0]
    sides = [_side(index, entry) for entry in entries]
    if not _in_line.acquire(blocking=False):
        where = " and ".join(entry.id for entry in entries)
        raise InvalidInput(Problem("many others are comparing now", where, cure="try again in a minute"))
    try:
        # The products are small: several threads would mostly wait for each other.
        with _at_once, threadpool_limits(1, "blas"):
            pairs = compare_sides(sides, folder, index.store, chosen)
    finally:
        _in_line.release()
    downloadable = frozenset(entry.id for entry in entries if entry.card.allows_download)
    intervals = _intervals(index, entries, chosen, folder)
    return Compared(sides, scores, pairs, folder.manifest.benchmark, chosen, downloadable, intervals)


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
        asked, problems, found = list(dict.fromkeys(named)), list[str](), None
        if len(named) > 1:
            job = self._job(index, named, task)
            if not job.done.wait(self._seconds):
                return comparing_page(len(named), time.monotonic() - job.begun), True
            found = job.found
            problems = [say(problem, index.names()) for problem in job.problems]
        board = _board(index, asked, found.task if found else task)
        choices = _choices(index, board)
        return compare_page(choices, asked, found, task=found.task if found else task, problems=problems), False

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
        self.found: Compared | None = None
        self.problems: list[Problem] = []
        self._asked = index, ids, task

    def start(self) -> None:
        threading.Thread(target=self._run, name="comparing", daemon=True).start()

    def _run(self) -> None:
        try:
            self.found = compared(*self._asked)
        except InvalidInput as error:
            self.problems = error.problems
        except Exception:
            self.problems = [Problem("comparing failed", "compare", "a fault of this server", "try again later")]
            raise
        finally:
            self.done.set()


def _side(index: Index, entry: Entry) -> Side:
    card = entry.card
    return Side(entry.id, card.name, index.store.predictions(entry), card.data, card.subset, card.tuning_trials)


def _board(index: Index, ids: Sequence[str], task: str | None) -> Board | None:
    """Give the board whose entries are offered: that of the first entry and the task, or the first that has any."""
    shown = [board for board in index.boards() if board.folder.has_public_labels]
    boards = [board for board in shown if index.frame(board).height]
    boards.sort(key=lambda board: task not in (None, board.task))  # stable: those of the task come first
    mine = [board for board in boards if ids and ids[0] in set(index.frame(board)["id"])]
    return next(iter(mine or boards), None)


def _choices(index: Index, board: Board | None) -> list[Choice]:
    if board is None:
        return []
    rows = index.frame(board).head(MAX_CHOICES).select("id", "name", "same_name", "submitter").iter_rows()
    return [
        Choice(identity, f"{name}{f' ({same})' if same else ''} \N{MIDDLE DOT} {submitter}")
        for identity, name, same, submitter in rows
    ]
