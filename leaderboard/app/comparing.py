"""Resolve the ids in a URL to a comparison, and to the page that shows it."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import polars as pl
from threadpoolctl import threadpool_limits

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.app.jobs import Job, Jobs
from shiftbench.leaderboard.app.line import LineFullError
from shiftbench.leaderboard.board import Board, Index, public_message
from shiftbench.leaderboard.pages.compare_page import (
    Chooser,
    Compared,
    EntryOption,
    Pairwise,
    compare_page,
    comparing_page,
)
from shiftbench.leaderboard.store import Entry, find_folder
from shiftbench.scoring.comparing.entries import (
    MAX_ENTRIES,
    MAX_PAIRWISE,
    ComparedEntry,
    compare_in_pairs,
    compare_with_first,
)
from shiftbench.scoring.comparing.shape import Comparison
from shiftbench.scoring.reports.frame.html import Markup
from shiftbench.scoring.reports.frame.site import box
from shiftbench.scoring.scores.examples import Disagreements, disagreements
from shiftbench.scoring.scores.shape import Scores
from shiftbench.validation.report import InvalidInput, Problem

MAX_CHOICES = 200
"""Maximum number of entries offered on the page, best first, in addition to those in the URL."""
MAX_FOUND = 12
"""Maximum number of entries that a search lists."""
Progress = Callable[[int, int], None]
"""Called with the number of finished pairs and the total."""


@dataclass(frozen=True)
class _Asked:
    """A requested comparison: entries and their scores, the dataset, the task."""

    entries: list[Entry]
    scores: list[Scores]
    folder: DatasetFolder
    task: str


def compared(index: Index, ids: Sequence[str], task: str | None) -> Compared:
    """Compare 2 to 4 entries on a task, or on the first task for which all have scores.

    Raises: InvalidInput if they cannot be compared.
    """
    asked = _resolve_request(index, ids[: MAX_ENTRIES + 1], task)
    sides = [_compared_entry(index, entry) for entry in asked.entries]
    # The matrix products are small: several threads would mostly wait for each other.
    with threadpool_limits(1, "blas"):
        pairs = compare_with_first(sides, asked.folder, index.store, asked.task)
    downloadable = frozenset(entry.id for entry in asked.entries if entry.card.allows_download)
    benchmark, differ = asked.folder.manifest.benchmark, _disagreements(sides, pairs, asked)
    year = max(entry.submitted_at for entry in asked.entries)[:4]
    return Compared(sides, asked.scores, pairs, benchmark, asked.task, downloadable, year, differ)


def _disagreements(sides: Sequence[ComparedEntry], pairs: Sequence[Comparison], asked: _Asked) -> Disagreements | None:
    """Return the texts on which the first two entries disagree, for the shift with the largest difference."""
    differences = [(abs(shift.differences[0].value or 0.0), shift) for shift in pairs[0].shifts]
    if not differences:
        return None
    _, shift = max(differences, key=lambda each: each[0])
    files = (sides[0].predictions, sides[1].predictions)
    return disagreements(files, asked.folder, asked.task, shift.source, shift.target)


def compared_in_pairs(index: Index, ids: Sequence[str], task: str | None, progress: Progress) -> Pairwise:
    """Compare up to ``MAX_PAIRWISE`` entries pairwise on a task, or on the first task for which all have scores.

    ``progress`` is called after each pair; entries are returned by score, best first.

    Raises: InvalidInput if they cannot be compared.
    """
    asked = _resolve_request(index, ids[: MAX_PAIRWISE + 1], task)
    sides = [_compared_entry(index, entry) for entry in asked.entries]
    with threadpool_limits(1, "blas"):
        pairs = compare_in_pairs(sides, asked.folder, index.store, asked.task, progress=progress)
    tasks = [next(each for each in scores.tasks if each.task == asked.task) for scores in asked.scores]
    means = [each.id_ood.mean_ood if each.id_ood else each.summary.mean_st for each in tasks]
    by_score = sorted(
        zip(sides, means, strict=True),
        key=lambda each: (each[1].value is None, -(each[1].value or 0.0), each[0].name, each[0].id),
    )
    return Pairwise([side for side, _ in by_score], [mean for _, mean in by_score], pairs, asked.task)


def _resolve_request(index: Index, ids: Sequence[str], task: str | None) -> _Asked:
    entries = [index.entry(identity) for identity in ids]
    scores = [index.scores(entry.id) for entry in entries]
    names = [[part.task for part in each.tasks] for each in scores]
    shared = [name for name in names[0] if all(name in others for others in names)]
    if not shared:
        cure = "choose entries of one board"
        raise InvalidInput(Problem("the entries share no task", " and ".join(entry.id for entry in entries), cure=cure))
    chosen = task if task in shared else shared[0]
    return _Asked(entries, scores, find_folder(entries[0].card, index.folders), chosen)


Found = Compared | Pairwise


class ComparisonPage(NamedTuple):
    """A page's body and status; whether it refreshes because the comparison still runs; and whether it has a result."""

    body: Markup
    status: int = 200
    goes_on: bool = False
    is_done: bool = False


class Comparisons:
    """Comparisons that pages request, computed by queued jobs, so that a page can show progress."""

    def __init__(self, jobs: Jobs[Found]) -> None:
        self._jobs = jobs

    def ask(self, index: Index, ids: Sequence[str], task: str | None, client: str) -> Job[Found] | None:
        """Return the job for a comparison; None if the URL has fewer than two entries.

        Raises: InvalidInput for too many entries, or unknown ones; LineFullError if the client's queue is full.
        """
        named = named_ids(ids)
        if len(named) > MAX_PAIRWISE:
            cure = f"choose 2 to {MAX_PAIRWISE} entries of one board"
            raise InvalidInput(Problem("too many entries to compare", "compare", f"{len(named):,}", cure))
        index.refuse_unknown(named, task)
        if len(named) < 2:
            return None
        known = task if any(board.task == task for board in index.boards()) else None

        def make(job: Job[Found]) -> Found:
            if len(named) > MAX_ENTRIES:
                return compared_in_pairs(index, named, known, job.report)
            return compared(index, named, known)

        return self._jobs.ask((*named, f"task {known}"), client, make)

    def page(
        self, index: Index, ids: Sequence[str], task: str | None, job: Job[Found] | None, add: str = "", base: str = ""
    ) -> ComparisonPage:
        """Build the page of a comparison: its progress, its result, or why there is none.

        ``add`` is the text in the search box.
        """
        asked = list(dict.fromkeys(named_ids(ids)))
        if job is not None and not job.done.is_set():
            body = comparing_page(len(asked), time.monotonic() - job.begun, job.progress, place=job.place)
            return ComparisonPage(body, goes_on=True)
        found = None if job is None else job.result
        problems = [] if job is None else [public_message(problem, index.names()) for problem in job.problems]
        if job is not None:
            self._jobs.forget(job)  # the store has cached the pairs for the next request
        task = found.task if found is not None else task
        chooser = _chooser(index, asked, task, add)
        return ComparisonPage(compare_page(chooser, found, problems=problems, base=base), is_done=found is not None)


def named_ids(ids: Sequence[str]) -> list[str]:
    """Return the non-empty ids of a URL."""
    return [identity for identity in ids if identity]


def waiting_page(error: LineFullError) -> ComparisonPage:
    """Build the page for a client whose queue is full; browsers reload it automatically."""
    words = f"{error}. This page retries automatically until there is room in the queue."
    return ComparisonPage(box("Waiting for room in the queue", words), 503, goes_on=True)


def no_comparison(index: Index, error: InvalidInput) -> ComparisonPage:
    """Build the page for a URL whose entries cannot be compared: the problems, and a form without selected entries."""
    problems = [public_message(problem, index.names()) for problem in error.problems]
    return ComparisonPage(compare_page(_chooser(index, [], None, ""), None, problems=problems), 404)


def _compared_entry(index: Index, entry: Entry) -> ComparedEntry:
    card = entry.card
    return ComparedEntry(
        entry.id, card.name, index.store.predictions(entry), card.version, card.subset, card.tuning_trials
    )


def _board(index: Index, ids: Sequence[str], task: str | None) -> Board | None:
    """Return the board whose entries are offered: one with the first selected entry, else any board with entries.

    Boards of ``task`` are preferred.
    """
    shown = [board for board in index.boards() if board.folder.has_public_labels]
    boards = [board for board in shown if index.frame(board).height]
    boards.sort(key=lambda board: task not in (None, board.task))  # stable: boards of the task come first
    mine = [board for board in boards if ids and ids[0] in set(index.frame(board)["id"])]
    return next(iter(mine or boards), None)


def _chooser(index: Index, ids: Sequence[str], task: str | None, add: str) -> Chooser:
    """Build the form: selected entries, names to choose from, and search results."""
    choices = _choices(index, _board(index, ids, task), ids)
    labels = {each.id: each for each in choices}
    chosen = [labels.get(each) or EntryOption(each, _name_of(index, each)) for each in ids]
    wanted = add.strip()[:100]
    found = [each for each in choices if each.id not in ids and wanted.casefold() in each.label.casefold()]
    exact = [each for each in found if each.label == wanted]
    return Chooser(chosen, choices, task, wanted, (exact or found)[:MAX_FOUND] if wanted else ())


def add_by_name(index: Index, ids: Sequence[str], task: str | None, add: str) -> str | None:
    """Return the id of the only entry that matches a search; None if there is no match or several."""
    found = _chooser(index, list(ids), task, add).found
    return found[0].id if len(found) == 1 else None


def _name_of(index: Index, identity: str) -> str:
    try:
        return index.entry(identity).card.name
    except InvalidInput:  # listed among the page's problems
        return identity


def _choices(index: Index, board: Board | None, asked: Sequence[str]) -> list[EntryOption]:
    """List the board's best entries, and those in the URL."""
    if board is None:
        return []
    frame = index.frame(board)
    offered = pl.concat([frame.head(MAX_CHOICES), frame[MAX_CHOICES:].filter(pl.col("id").is_in(list(asked)))])
    rows = offered.select("id", "name", "same_name", "submitter").iter_rows()
    return [
        EntryOption(identity, f"{name}{f' ({same})' if same else ''} \N{MIDDLE DOT} {submitter}")
        for identity, name, same, submitter in rows
    ]
