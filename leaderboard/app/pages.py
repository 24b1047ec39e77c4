"""The pages' routes: each reads what was asked for and has ``shiftbench.leaderboard.pages`` write it."""

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response

from shiftbench.leaderboard.app.answers import (
    csv_answer,
    html_answer,
    page_answer,
    page_or_problems,
    problems_answer,
    wants_page,
)
from shiftbench.leaderboard.app.callers import Callers
from shiftbench.leaderboard.app.entry_routes import add_entry_routes
from shiftbench.leaderboard.app.keeper import Keeper
from shiftbench.leaderboard.app.line import Line
from shiftbench.leaderboard.board import Index, find_board
from shiftbench.leaderboard.board.forecasts import ForecastsFound
from shiftbench.leaderboard.pages import addresses
from shiftbench.leaderboard.pages.about_page import about_page
from shiftbench.leaderboard.pages.board_data import board_csv, overall_csv
from shiftbench.leaderboard.pages.board_fragment import rows_fragment
from shiftbench.leaderboard.pages.board_page import board_page
from shiftbench.leaderboard.pages.board_query import BoardQuery, OverallQuery
from shiftbench.leaderboard.pages.data_page import data_page
from shiftbench.leaderboard.pages.forecast_board import Shown, forecast_csv, forecast_page
from shiftbench.leaderboard.pages.overall_page import overall_fragment, overall_page
from shiftbench.leaderboard.pages.shell import script
from shiftbench.scoring.forecasting.methods import TITLES
from shiftbench.scoring.reports.frame.site import style_sheet
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean

A_YEAR = "public, max-age=31536000, immutable"


def add_pages(app: FastAPI, keeper: Keeper, line: Line, callers: Callers) -> None:
    """Add the pages' routes; they are read only, and answer everybody alike."""
    _add_board(app, keeper)
    add_entry_routes(app, keeper, line, callers)
    add_forecast_routes(app, keeper)
    app.add_exception_handler(InvalidInput, _no_such_thing)

    # The addresses of static files carry a digest of the content.
    @app.get(addresses.STYLE_SHEET)
    def css() -> Response:
        return Response(style_sheet(), media_type="text/css", headers={"Cache-Control": A_YEAR})

    @app.get(addresses.SCRIPT)
    def js() -> Response:
        return Response(script(), media_type="text/javascript", headers={"Cache-Control": A_YEAR})

    @app.get(addresses.DATA)
    def data(task: str = "") -> Response:
        return page_or_problems("Data", lambda: data_page(keeper.index.folders, task), "data")

    @app.get(addresses.ABOUT)
    def about() -> Response:
        return page_answer("About", about_page(len(keeper.index.scored_ids()), keeper.index.updated()), "about")

    @app.get(addresses.HEALTH)
    def healthz() -> Response:
        return PlainTextResponse("ok")


def _no_such_thing(request: Request, error: Exception) -> Response:
    """Answer for rows and files that cannot be shown, such as those of a board that is not there."""
    if isinstance(error, InvalidInput) and wants_page(request):
        return problems_answer("Leaderboard", error)
    return PlainTextResponse(f"{error}\n", 404)


def _add_board(app: FastAPI, keeper: Keeper) -> None:
    @app.get(addresses.BOARD)
    def board(request: Request) -> Response:
        entry = request.query_params.get("entry")
        if entry is not None:  # the address that an entry had before it got a page of its own
            return RedirectResponse(addresses.entry_address(entry))
        if "board" in request.query_params:
            return page_or_problems("", lambda: board_page(*_parse_query(request, keeper)), "board")
        return page_or_problems("", lambda: overall_page(*_parse_overall_query(request, keeper)), "board")

    @app.get(addresses.ROWS)
    def rows(request: Request) -> Response:
        if "board" in request.query_params:
            return html_answer(rows_fragment(*_parse_query(request, keeper)))
        return html_answer(overall_fragment(*_parse_overall_query(request, keeper)))

    @app.get(addresses.BOARD_CSV)
    def board_as_csv(request: Request) -> Response:
        return csv_answer("board.csv", board_csv(*_parse_query(request, keeper)))

    @app.get(addresses.OVERALL_CSV)
    def overall_as_csv(request: Request) -> Response:
        return csv_answer("overall.csv", overall_csv(*_parse_overall_query(request, keeper)))


def _parse_query(request: Request, keeper: Keeper) -> tuple[Index, BoardQuery]:
    index = keeper.index
    return index, BoardQuery.parse(request.query_params.multi_items(), index)


def _parse_overall_query(request: Request, keeper: Keeper) -> tuple[Index, OverallQuery]:
    index = keeper.index
    return index, OverallQuery.parse(request.query_params.multi_items(), index)


def add_forecast_routes(app: FastAPI, keeper: Keeper) -> None:
    """Add the routes; they are read only, and answer everybody alike."""

    @app.get(addresses.FORECAST)
    def forecast(request: Request) -> Response:
        return page_or_problems("Forecasts", lambda: forecast_page(*_resolve_request(request, keeper)))

    @app.get(addresses.FORECAST_CSV)
    def as_csv(request: Request) -> Response:
        return csv_answer("forecasts.csv", forecast_csv(_resolve_request(request, keeper)[1]))

    @app.get(addresses.FORECAST_JSON)
    def as_json(request: Request) -> Response:
        _, found = _resolve_request(request, keeper)
        compared = found.compared.model_copy(update={"left_out": tuple(found.left_out)})
        return JSONResponse(compared.model_dump(mode="json"))


def _resolve_request(request: Request, keeper: Keeper) -> tuple[Shown, ForecastsFound]:
    """Find the board that an address names, or all of them, and their forecasts."""
    index, name = keeper.index, request.query_params.get("board")
    boards = index.boards()
    board = find_board(name, boards) if name else None
    method = request.query_params.get("method", "")
    if method and method not in TITLES:
        raise InvalidInput(
            Problem("there is no such method", "forecast", f"'{method[:80]}'", did_you_mean(method[:80], list(TITLES)))
        )
    shown = Shown(board, boards, index.benchmarks(), method)
    return shown, keeper.forecasts.on([board] if board else boards)
