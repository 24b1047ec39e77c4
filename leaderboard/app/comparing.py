"""From the ids that an address names to a comparison, and to the page that shows it."""

import threading
from collections.abc import Sequence

from threadpoolctl import threadpool_limits

from leaderboard.board import Board, Index, say
from leaderboard.comparing.entries import MAX_ENTRIES, Side, compare_sides
from leaderboard.store import Entry, folder_of
from leaderboard.views.compare_page import Choice, Compared, compare_page
from leaderboard.views.html import Markup
from validation.report import InvalidInput, Problem

MAX_CHOICES = 200
"""Entries that the page offers, best first; any other one is compared by its address."""
_at_once = threading.BoundedSemaphore(2)
"""Comparing takes seconds of both cores when it is done for the first time."""
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
    return Compared(sides, scores, pairs, folder.manifest.benchmark, chosen, downloadable)


def comparison_page(index: Index, ids: Sequence[str], task: str | None) -> Markup:
    """Give the page: a comparison where the address names one that can be made, else why there is none."""
    problems: list[str] = []
    found = None
    asked = [identity for identity in dict.fromkeys(ids) if identity]
    if len([identity for identity in ids if identity]) > 1:
        try:
            found = compared(index, [identity for identity in ids if identity], task)
        except InvalidInput as error:
            problems = [say(problem, index.names()) for problem in error.problems]
    board = _board(index, asked, found.task if found else task)
    return compare_page(_choices(index, board), asked, found, task=found.task if found else task, problems=problems)


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
