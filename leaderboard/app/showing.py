"""Collect the content of an entry's page from the store; some parts are computed on demand."""

from collections.abc import Sequence
from dataclasses import replace

from fastapi.responses import Response

from shiftbench.leaderboard.app.answers import page_answer
from shiftbench.leaderboard.app.live_index import LiveIndex
from shiftbench.leaderboard.board import Board, Index
from shiftbench.leaderboard.board.places import effective_robustness_of, place_of
from shiftbench.leaderboard.pages.entry_page import (
    EntryForecast,
    EntryPage,
    EntryQuery,
    entry_html,
    entry_page,
    gone_page,
    released_page,
)
from shiftbench.leaderboard.release import closed_rounds, nominated_entries
from shiftbench.leaderboard.store import Entry, find_folder
from shiftbench.scoring.reports.frame.html import Markup
from shiftbench.scoring.scores.controls import unseen_drops
from shiftbench.scoring.scores.examples import WrongExample, wrong_examples
from shiftbench.scoring.scores.shape import TaskScores
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean

GONE = 410


def show_entry(live: LiveIndex, query: EntryQuery, base: str) -> Markup | Response:
    """Build the page of an entry; if it was withdrawn, hidden or erased, a response with status 410."""
    index, identity = live.index, query.id
    for what, day in (("hidden", index.hidden_at(identity)), ("erased", index.erased_at(identity)),
                      ("withdrawn", index.withdrawn_at(identity))):  # fmt: skip
        if day is not None:
            return page_answer("Entry", gone_page(identity, what, day), status=GONE)
    if not index.reasons(identity):
        entry = index.entry(identity)
        folder = find_folder(entry.card, index.folders)
        if not folder.has_public_labels:
            tasks = sorted(task for (_, task), each in nominated_entries(index.store).items() if each == identity)
            page = EntryPage(query, entry, None, folder=folder, host_notes=index.host_notes(identity), base=base)
            rounds = closed_rounds(index.store)
            return released_page(page, index.releases(entry, rounds), tasks, has_rounds=bool(rounds))
    return entry_html(replace(find_entry_page(live, query, base), host_notes=index.host_notes(identity)))


def find_entry_page(live: LiveIndex, query: EntryQuery, base: str) -> EntryPage:
    """Return the content of an entry's page.

    Raises: InvalidInput if there is no such entry, it has no such task, or its scores may not be shown.
    """
    index, identity, task = live.index, query.id, query.task
    reasons = index.reasons(identity)
    try:
        entry = index.entry(identity)
    except InvalidInput:
        if not reasons:
            raise
        return EntryPage(query, None, None, reasons)
    if reasons:
        return EntryPage(query, entry, None, reasons)
    folder, store = find_folder(entry.card, index.folders), index.store

    def examples(task: str, source: str, target: str, n: int) -> Sequence[WrongExample]:
        return wrong_examples(store.predictions(entry), folder, task, source, target, n)

    scores = index.scores(identity)  # raises InvalidInput on withheld labels
    if task and task not in (names := [each.task for each in scores.tasks]):
        cure = did_you_mean(task[:80], names)
        raise InvalidInput(Problem("the entry has no such task", identity, f"'{task[:80]}'", cure))
    page = entry_page(query, entry, scores, folder, examples)
    copies = {name: (first, index.entry(first).card.name) for name, first in index.originals(identity).items()}
    page, it, is_statistics = replace(page, copies=copies, base=base), page.it, query.chosen_tab == "Statistics"
    if it is None:
        return page
    if is_statistics and entry.card.pretraining_domains:
        it = replace(it, unseen=unseen_drops(store.table(entry, folder), entry.card, folder, it.task))
    board = _board_of(index, entry, it.task)
    if board is None:
        return replace(page, it=it)
    page = replace(page, place=place_of(index.frame(board), entry.id))
    if is_statistics:
        it = replace(it, above_line=effective_robustness_of(index.frame(board), entry.id))
        page = replace(page, forecast=_forecast_of(live, entry, board))
    return replace(page, it=it)


def _forecast_of(live: LiveIndex, entry: Entry, board: Board) -> EntryForecast:
    """Return an entry's forecasts on a board, or why there are none."""
    forecasts = live.forecasts.of(entry.id)
    if forecasts is None:
        return EntryForecast(board.name, None, live.forecasts.failure(entry.id) or "it has not been computed yet")
    return EntryForecast(
        board.name, forecasts.of(board.task), forecasts.reasons.get(board.task, "there is none for this task")
    )


def _board_of(index: Index, entry: Entry, task: TaskScores) -> Board | None:
    key = (entry.card.data, entry.card.subset, task.task)
    return next((board for board in index.boards() if board.key == key), None)
