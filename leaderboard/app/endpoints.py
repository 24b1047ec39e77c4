"""The named endpoints that read data (``gradio_client.Client(url).predict(..., api_name=...)``); scores are fractions.

    /boards   -> the names of the boards
    /board    board name, such as "dr/nli" -> its rows, best first, then rows that papers report; 500 per page
    /scores   entry id -> its scores (``shiftbench.scoring.scores.shape.Scores`` as JSON)
    /compare  2 to 4 entry ids, task -> the first entry against each of the others: ranked mean, drops, shifts
    /claim    the same comparison as a claim, which ``shiftbench study verify`` checks from the entries' files

``/check``, ``/submit``, ``/withdraw`` and ``/nominate`` belong to ``shiftbench.leaderboard.app.gradio_page``.
"""

from collections.abc import Callable
from typing import Any

import gradio as gr

from shiftbench.builders.checksums import file_sha256
from shiftbench.leaderboard.app.comparing import compared
from shiftbench.leaderboard.app.gradio_queue import LINE_ID
from shiftbench.leaderboard.app.line import AT_ONCE
from shiftbench.leaderboard.app.live_index import LiveIndex
from shiftbench.leaderboard.board import find_board
from shiftbench.leaderboard.pages.board_data import board_rows
from shiftbench.leaderboard.pages.compare_page import Compared
from shiftbench.scoring.comparing.claims import Claim, ClaimedEntry, make_claim
from shiftbench.scoring.scores.shape import Scores
from shiftbench.validation.report import InvalidInput

PAGE_ROWS = 500
"""Rows per response: Gradio holds responses in memory until they are fetched."""


def add_endpoints(live: LiveIndex) -> None:
    """Add the endpoints to the ``gr.Blocks`` under construction. Clients and MCP users read their docstrings."""

    def boards() -> list[str]:
        """List the names of the leaderboard's boards, one for each benchmark, task and subset."""
        return [board.name for board in live.index.boards()]

    def board(name: str, page: int = 1) -> list[dict[str, Any]]:
        """Return a board's rows, as fractions, best first, then rows that a paper reports; 500 per page.

        Args:
            name: the board's name, such as dr/nli; /boards lists them.
            page: page number, 1-based.
        """
        start, index = PAGE_ROWS * (max(page, 1) - 1), live.index
        rows: list[dict[str, Any]] = _or_error(lambda: board_rows(index, find_board(name, index.boards())))
        return rows[start : start + PAGE_ROWS]

    def scores(entry: str) -> dict[str, Any]:
        """Return all scores of an entry, as fractions.

        Args:
            entry: the entry's id, 16 hexadecimal digits, as boards list it.
        """
        scores: Scores = _or_error(lambda: live.index.scores(entry))
        return scores.model_dump(mode="json")

    def compare(entries: list[str], task: str | None = None) -> list[dict[str, Any]]:
        """Compare the first of 2 to 4 entries with each of the others, on every shift that both have.

        Args:
            entries: their ids.
            task: the task; default: the first that all have.
        """
        comparisons: Compared = _or_error(lambda: compared(live.index, entries, task))
        return [pair.model_dump(mode="json") for pair in comparisons.pairs]

    def claim(entries: list[str], task: str | None = None) -> dict[str, Any]:
        """Compare as ``compare`` does, and write a claim that 'shiftbench study verify' checks from the entries' files.

        Args:
            entries: ids of 2 to 4 entries.
            task: the task; default: the first that all have.
        """
        claim: Claim = _or_error(lambda: _claim_of(compared(live.index, entries, task)))
        return claim.model_dump(mode="json")

    for endpoint in (boards, board, scores):
        gr.api(endpoint, api_name=endpoint.__name__, concurrency_limit=4)
    for in_line in (compare, claim):
        gr.api(in_line, api_name=in_line.__name__, concurrency_limit=AT_ONCE, concurrency_id=LINE_ID)


def _claim_of(comparisons: Compared) -> Claim:
    """Build a claim from a comparison of entries; its files are named by entry id, like downloaded predictions."""
    entries = [
        ClaimedEntry(name=side.id, file=f"{side.id}.parquet", sha256=file_sha256(side.predictions), entry=side.id)
        for side in comparisons.sides
    ]
    return make_claim(comparisons.pairs, entries, benchmark=comparisons.benchmark, task=comparisons.task)


def _or_error(read: Callable[[], Any]) -> Any:
    """Call ``read``, and turn InvalidInput into a Gradio error with the same text."""
    try:
        return read()
    except InvalidInput as error:
        raise gr.Error(str(error), print_exception=False) from error
