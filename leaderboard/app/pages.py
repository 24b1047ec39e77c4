"""The pages' routes: each reads what was asked for and has ``leaderboard.views`` write it."""

from collections.abc import Callable, Sequence

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response

from leaderboard.app.comparing import comparison_page
from leaderboard.app.keeper import Keeper
from leaderboard.board import Index
from leaderboard.board.effective import AboveLine, effective_robustness_of
from leaderboard.release import nominated
from leaderboard.scoring.examples import WrongExample, wrong_examples
from leaderboard.scoring.shape import TaskScores
from leaderboard.scoring.unseen import Unseen, unseen_drops
from leaderboard.store import folder_of
from leaderboard.views import addresses
from leaderboard.views.about_page import about_page
from leaderboard.views.board_data import board_csv
from leaderboard.views.board_fragment import rows_fragment
from leaderboard.views.board_page import board_page
from leaderboard.views.board_query import BoardQuery
from leaderboard.views.data_page import data_page
from leaderboard.views.entry_page import entry_page
from leaderboard.views.html import Markup
from leaderboard.views.overall_page import overall_fragment, overall_page
from leaderboard.views.overall_query import OverallQuery
from leaderboard.views.released_page import released_page
from leaderboard.views.site import box, page, script, style_sheet
from validation.report import InvalidInput, Problem

A_YEAR = "public, max-age=31536000, immutable"


def add_pages(app: FastAPI, keeper: Keeper) -> None:
    """Add the pages' routes; they are read only, and answer everybody alike."""
    _add_static(app)
    _add_board(app, keeper)
    _add_entries(app, keeper)
    app.add_exception_handler(InvalidInput, _no_such_thing)

    @app.get(addresses.DATA)
    def data(task: str = "") -> Response:
        return _page("Data", data_page(keeper.index.folders, task), "data")

    @app.get(addresses.ABOUT)
    def about() -> Response:
        return _page("About", about_page(), "about")

    @app.get(addresses.HEALTH)
    def healthz() -> Response:
        return PlainTextResponse("ok")


def _no_such_thing(_: Request, error: Exception) -> Response:
    """Answer what cannot be shown, such as the rows of a server without datasets."""
    return PlainTextResponse(f"{error}\n", 404)


def _add_static(app: FastAPI) -> None:
    # Their addresses carry a digest of the content.
    @app.get(addresses.STYLE_SHEET)
    def css() -> Response:
        return Response(style_sheet(), media_type="text/css", headers={"Cache-Control": A_YEAR})

    @app.get(addresses.SCRIPT)
    def js() -> Response:
        return Response(script(), media_type="text/javascript", headers={"Cache-Control": A_YEAR})


def _add_board(app: FastAPI, keeper: Keeper) -> None:
    @app.get(addresses.BOARD)
    def board(request: Request) -> Response:
        entry = request.query_params.get("entry")
        if entry is not None:  # the address that an entry had before it got a page of its own
            return RedirectResponse(addresses.entry_address(entry))
        if "board" in request.query_params:
            return _page("", board_page(*_asked(request, keeper)), "board")
        return _page("", overall_page(*_asked_overall(request, keeper)), "board")

    @app.get(addresses.ROWS)
    def rows(request: Request) -> Response:
        if "board" in request.query_params:
            return _html(rows_fragment(*_asked(request, keeper)))
        return _html(overall_fragment(*_asked_overall(request, keeper)))

    @app.get(addresses.BOARD_CSV)
    def csv(request: Request) -> Response:
        text = board_csv(*_asked(request, keeper))
        headers = {"Content-Disposition": 'attachment; filename="board.csv"'}
        return Response(text, media_type="text/csv", headers=headers)


def _asked(request: Request, keeper: Keeper) -> tuple[Index, BoardQuery]:
    index = keeper.index
    return index, BoardQuery.parse(request.query_params.multi_items(), index)


def _asked_overall(request: Request, keeper: Keeper) -> tuple[Index, OverallQuery]:
    index = keeper.index
    return index, OverallQuery.parse(request.query_params.multi_items(), index)


def _add_entries(app: FastAPI, keeper: Keeper) -> None:
    @app.get(addresses.ENTRY)
    def entry(id: str = "", task: str = "") -> Response:
        return _found("Entry", lambda: _entry(keeper.index, id, task or None))

    @app.get(addresses.SCORES)
    def scores(id: str = "") -> Response:
        try:
            return JSONResponse(keeper.index.scores(id).model_dump(mode="json"))
        except InvalidInput as error:
            return JSONResponse({"problems": [str(problem) for problem in error.problems]}, 404)

    @app.get(addresses.PREDICTIONS)
    def predictions(id: str = "") -> Response:
        return _found("Predictions", lambda: _predictions(keeper.index, id))

    @app.get(addresses.COMPARE)
    def compare(request: Request) -> Response:
        ids: Sequence[str] = request.query_params.getlist("id")
        task = request.query_params.get("task")
        return _page("Compare", comparison_page(keeper.index, ids, task), "compare")


def _entry(index: Index, identity: str, task: str | None) -> Markup:
    reasons = index.reasons(identity)
    try:
        entry = index.entry(identity)
    except InvalidInput:
        if not reasons:
            raise
        return entry_page(identity, None, None, reasons)
    if reasons:
        return entry_page(identity, entry, None, reasons)
    folder = folder_of(entry.card, index.folders)
    store = index.store
    if not folder.has_public_labels:
        tasks = sorted(task for (_, task), each in nominated(store).items() if each == identity)
        return released_page(entry, folder, index.releases(entry), tasks)

    def examples(task: str, source: str, target: str) -> Sequence[WrongExample]:
        return wrong_examples(store.predictions(entry), folder, task, source, target)

    def unseen(task: TaskScores) -> Unseen | None:
        if not entry.card.pretraining_domains:
            return None
        return unseen_drops(store.table(entry, folder), entry.card, folder, task)

    def above_line(task: TaskScores) -> AboveLine | None:
        key = (entry.card.data, entry.card.subset, task.task)
        board = next((board for board in index.boards() if board.key == key), None)
        return effective_robustness_of(index.frame(board), entry.id) if board else None

    return entry_page(
        identity,
        entry,
        index.scores(identity),
        task=task,
        folder=folder,
        examples=examples,
        unseen=unseen,
        above_line=above_line,
    )


def _predictions(index: Index, identity: str) -> Response:
    """Give an entry's prediction file, which lets anybody compute its scores again, where labels are public."""
    entry = index.entry(identity)
    if not folder_of(entry.card, index.folders).has_public_labels:
        what = "predictions are not given out where labels are withheld"
        raise InvalidInput(Problem(what, identity, cure="ask who sent them"))
    name = f"{entry.id}.parquet"
    path = index.store.predictions(entry)
    return FileResponse(path, media_type="application/octet-stream", filename=name)


def _found(title: str, write: Callable[[], Markup | Response], active: str = "") -> Response:
    """Answer with a page, or a file; what is not there gets a page, too, and the status that says so."""
    try:
        found = write()
        return found if isinstance(found, Response) else _page(title, found, active)
    except InvalidInput as error:
        return _page(title, box("Not found", *(str(problem) for problem in error.problems)), active, 404)


def _page(title: str, body: Markup, active: str = "", status: int = 200) -> Response:
    return _html(page(title, body, active=active), status)


def _html(text: str, status: int = 200) -> Response:
    return HTMLResponse(text, status, headers={"Cache-Control": "no-cache"})
