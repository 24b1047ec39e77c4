"""A task's board: the answer in words, a picture, and one page of rows. Every text is escaped by ``tag``."""

from collections.abc import Mapping, Sequence
from typing import Any

from shiftbench.leaderboard.board import Board, Index, find_board
from shiftbench.leaderboard.pages.addresses import ROWS, entry_address, forecast_address
from shiftbench.leaderboard.pages.board_answer import answer
from shiftbench.leaderboard.pages.board_chooser import chooser
from shiftbench.leaderboard.pages.board_columns import columns_of, shown_columns
from shiftbench.leaderboard.pages.board_fragment import rows_fragment
from shiftbench.leaderboard.pages.board_notes import about_data, legend, unscored_list
from shiftbench.leaderboard.pages.board_query import FILTERS, BoardQuery
from shiftbench.leaderboard.pages.query import MAX_SEARCH
from shiftbench.leaderboard.pages.scatter_part import scatter
from shiftbench.leaderboard.pages.shell import render
from shiftbench.leaderboard.pages.task_names import board_name
from shiftbench.scoring.reports.frame.html import Markup, join, tag
from shiftbench.scoring.reports.frame.notices import notices
from shiftbench.scoring.reports.frame.site import box
from shiftbench.scoring.reports.numbers import metric_name

_SHOWN_AS = ("sort", "order", "x", "intervals", "reported", "picks")
"""Parts of a question that the form keeps without asking for them."""


def board_page(index: Index, query: BoardQuery) -> Markup:
    """Build the page of a board: the ways to others, the answer, the picture, filters, one page of rows, the legend.

    Args:
        index: the boards.
        query: what the address asks for.
    Returns: what stands below the page's head.
    Raises: InvalidInput when there is no such board.
    """
    boards = index.boards()
    if not boards:
        return no_data()
    board = find_board(query.board, boards)
    benchmarks = index.benchmarks()
    benchmark = next(each for each in benchmarks if each.folder.content_hash == board.folder.content_hash)
    ranked = index.frame(board).filter("complete")
    lead = [
        chooser(benchmarks, boards, benchmark, board),
        notices([board.folder]),
        tag("h1", board_name(board), tag("span", f" {_board_subject(board)}", class_="sb-soft")),
        answer(ranked, _kind_of_target(board), _link_to(board), has_public_labels=board.folder.has_public_labels),
        _form(board, query),
    ]
    picture = scatter(ranked, query, lambda row: (row["name"], entry_address(row["id"], board.task)))
    below = [to_forecasts(board), legend(board), about_data(board), unscored_list(index.unscored())]
    return arrange_page(lead, picture, rows_fragment(index, query), below)


def arrange_page(lead: Sequence[Markup], picture: Markup, rows: Markup, below: Sequence[Markup]) -> Markup:
    """Arrange a page of a table: what leads to it, the picture, the rows, and what stands below.

    The page's script puts other rows in the place of these, and has their number read aloud.
    """
    return join(
        [
            tag("div", tag("div", *lead, class_="sb-lead"), picture, class_="sb-top"),
            tag("p", id="board-said", class_="sb-hidden", role="status"),
            tag("div", rows, id="board-rows", data_address=ROWS),
            *below,
        ]
    )


def no_data() -> Markup:
    """Build what a server without datasets shows."""
    return box("No data", "Start the server with a dataset folder: shiftbench serve --data DIR --store DIR")


def to_forecasts(board: Board | None = None) -> Markup:
    """Build the line that leads to the forecasts of a board, or of all boards."""
    link = tag("a", "Forecasts", href=forecast_address(board.name if board else None))
    return tag("p", link, ": how well these scores can be forecast without labels.", class_="sb-soft")


def _board_subject(board: Board) -> str:
    """Write what a board is of in a few words; its benchmark stands in the tab above it."""
    title, plain = board.info.title, board_name(board)
    parts = [] if title == plain else [title.removeprefix(f"{plain}: ")]
    return ", ".join([*parts, metric_name(board.info.metric)])


def _kind_of_target(board: Board) -> str:
    if board.info.joined_source is not None:
        return "on the target domain"
    return "on unseen domains" if board.info.id_domain is None else "on unseen data sets"


def _link_to(board: Board) -> Any:
    def link(row: Mapping[str, Any]) -> Markup:
        return tag("a", row["name"], href=entry_address(row["id"], board.task))

    return link


def _form(board: Board, query: BoardQuery) -> Markup:
    """Write the filters: a form that any browser can send."""
    return render(
        "board_form.html",
        query=query,
        hidden_names=("board", *_SHOWN_AS),
        filters=FILTERS,
        max_search=MAX_SEARCH,
        columns=columns_of(board),
        shown=shown_columns(board, query.columns),
    )
