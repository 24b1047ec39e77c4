"""Pictures of pages as files, for links and frames on other sites: ``/picture.svg``, ``/picture.png``, ``/embed``.

Parameters: the URL of a page (``of``) and, if the page has several pictures, the picture's name. Without a name, it is
the page's main picture: the gaps of a board's top entries, the gaps of an entry's worst shifts, or a comparison's
differences.
Pictures are drawn at each request, so embedded ones stay up to date.
"""

import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

from fastapi import FastAPI, Request
from fastapi.responses import Response

from shiftbench.leaderboard.app.answers import html_answer
from shiftbench.leaderboard.app.comparing import compared
from shiftbench.leaderboard.app.live_index import LiveIndex
from shiftbench.leaderboard.app.showing import find_entry_page
from shiftbench.leaderboard.app.sub_path import own_address
from shiftbench.leaderboard.board import Board, Index, find_benchmark, find_board
from shiftbench.leaderboard.pages import addresses
from shiftbench.leaderboard.pages.board_page import fullest_board, gap_keys
from shiftbench.leaderboard.pages.board_table import estimate
from shiftbench.leaderboard.pages.compare_page import comparison_picture
from shiftbench.leaderboard.pages.entry_page import EntryPage, EntryQuery
from shiftbench.leaderboard.pages.shell import render, style_address
from shiftbench.leaderboard.pages.task_names import board_name
from shiftbench.scoring.comparing.entries import MAX_ENTRIES
from shiftbench.scoring.reports.frame.html import Markup
from shiftbench.scoring.reports.frame.parts import Gap
from shiftbench.scoring.reports.numbers import drop_text, score_text
from shiftbench.scoring.reports.pictures.files import card_svg, png_file, svg_file
from shiftbench.scoring.reports.pictures.rows import MOST_ROWS, gap_picture
from shiftbench.scoring.reports.pictures.words import shift_name
from shiftbench.scoring.reports.score_words import verdict
from shiftbench.validation.report import InvalidInput, Problem

SECONDS_FRESH = 300
"""Cache lifetime of a picture."""
_AT_ONCE = threading.BoundedSemaphore(1)
"""Allows one PNG rendering at a time; each takes a fifth of a second of processor time."""


class SharedPicture(NamedTuple):
    """A picture with its title and a sentence, and the URL of its page."""

    title: str
    sentence: str
    drawn: Markup
    address: str


def add_sharing_routes(app: FastAPI, live: LiveIndex) -> None:
    """Add the sharing routes; they are read-only, and the same for every user."""
    fresh = {"Cache-Control": f"public, max-age={SECONDS_FRESH}"}

    @app.get(f"{addresses.PICTURE}.svg")
    def svg(of: str = "", name: str = "") -> Response:
        shared = find_picture(live, of, name)
        return Response(svg_file(shared.drawn, shared.title), media_type="image/svg+xml", headers=fresh)

    @app.get(f"{addresses.PICTURE}.png")
    def png(of: str = "", name: str = "") -> Response:
        shared = find_picture(live, of, name)
        text = svg_file(shared.drawn, shared.title) if name else card_svg(shared.drawn, shared.title, shared.sentence)
        return Response(_png(text, 2.0 if name else 1.0), media_type="image/png", headers=fresh)

    @app.get(addresses.EMBED)
    def embed(request: Request, of: str = "", name: str = "") -> Response:
        shared = find_picture(live, of, name)
        return html_answer(render("embed.html", shared=shared, base=own_address(request), style_sheet=style_address()))


@lru_cache(maxsize=64)
def _png(text: str, zoom: float) -> bytes:
    with _AT_ONCE:
        return png_file(text, zoom=zoom)


def find_picture(live: LiveIndex, of: str, name: str) -> SharedPicture:
    """Draw a page's picture.

    Raises: InvalidInput if there is no page at that URL, or it has no such picture.
    """
    parts = urlsplit(of[:2_000])
    pairs = parse_qsl(parts.query)
    query = dict(pairs)
    if parts.path == addresses.ENTRY:
        keys = ("id", "task", "tab", "shift", "show")
        found = find_entry_page(live, EntryQuery(*(query.get(key, "") for key in keys)), "")
        return _of_entry(found, name, of)
    if parts.path == addresses.COMPARE:
        ids = [value for key, value in pairs if key == "id" and value]
        return _of_comparison(live.index, ids, query.get("task"), of)
    if parts.path == addresses.BOARD:
        return _of_board(live.index, query, of)
    raise InvalidInput(
        Problem("this page has no image", "picture", f"'{of[:80]}'", "copy a link below Share on a page")
    )


def _of_entry(page: EntryPage, name: str, of: str) -> SharedPicture:
    if page.entry is None or page.it is None:
        raise InvalidInput(Problem("this entry has no scores to plot", page.query.id))
    title = f"{page.entry.card.name}, {page.task_words(page.it.task.task)}"
    if not name:
        worst = page.it.worst(MOST_ROWS)
        rows = [(shift_name(each), Gap.of(shift_name(each), each.ss, each.st, each.sd)) for each in worst]
        return SharedPicture(title, verdict(page.it.task), gap_picture(rows, title), of)
    drawn = [*page.it.pictures, *([page.it.reliability] if page.it.reliability else [])]
    for each in drawn:
        if each.id == name:
            return SharedPicture(f"{each.title}: {title}", each.caption, each.drawn, of)
    names = ", ".join(each.id for each in drawn)
    raise InvalidInput(Problem("this page has no such image", "picture", f"'{name[:80]}'", f"one of {names}"))


def _of_comparison(index: Index, ids: list[str], task: str | None, of: str) -> SharedPicture:
    index.refuse_unknown(ids, task)
    kept = [index.store.comparison(ids[0], other) or index.store.comparison(other, ids[0]) for other in ids[1:]]
    if not 2 <= len(ids) <= MAX_ENTRIES or not all(kept):
        cure = f"open the comparison of 2 to {MAX_ENTRIES} entries first"
        raise InvalidInput(Problem("this comparison has no image yet", "picture", f"'{of[:80]}'", cure))
    title, sentence, drawn = comparison_picture(compared(index, ids, task))
    return SharedPicture(title, sentence, drawn, of)


def _of_board(index: Index, query: Mapping[str, str], of: str) -> SharedPicture:
    """Draw the top entries of the requested board.

    Without one, ``fullest_board`` chooses a board of the requested benchmark, or else of all benchmarks.
    """
    boards: Sequence[Board] = index.boards()
    if query.get("board"):
        boards = [find_board(query["board"], boards)]
    elif query.get("benchmark"):
        boards = find_benchmark(query["benchmark"], index.benchmarks()).boards
    if not boards:
        raise InvalidInput(Problem("there is no board to plot", "picture"))
    board = fullest_board(index, boards)
    rows = index.frame(board).filter("complete").head(MOST_ROWS).to_dicts() if board.folder.has_public_labels else []
    scores = [(str(row["name"]), [estimate(row, key) for key in gap_keys(board)]) for row in rows]
    sentence = "No entry is ranked yet."
    if scores:
        name, (_, away, loss) = scores[0]
        lost = f" and loses {drop_text(loss)} points" if loss.value is not None else ""
        sentence = f"'{name}' scores {score_text(away)} under shift{lost}."
    title = f"{board.folder.manifest.title.partition(':')[0]}: {board_name(board)}"
    return SharedPicture(
        title, sentence, gap_picture([(name, Gap.of(name, *each)) for name, each in scores], title), of
    )
