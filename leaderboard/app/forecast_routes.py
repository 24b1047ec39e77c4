"""The routes of the forecast page, and of its figures as CSV and JSON."""

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response

from shiftbench.leaderboard.app.answers import csv_answer, page_or_problems
from shiftbench.leaderboard.app.keeper import Keeper
from shiftbench.leaderboard.board import find_board
from shiftbench.leaderboard.board.forecasts import ForecastsFound
from shiftbench.leaderboard.pages import addresses
from shiftbench.leaderboard.pages.forecast_board import Shown, forecast_csv, forecast_page
from shiftbench.scoring.forecasting.methods import TITLES
from shiftbench.scoring.reports.frame.html import Markup
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean


def add_forecast_routes(app: FastAPI, keeper: Keeper) -> None:
    """Add the routes; they are read only, and answer everybody alike."""

    @app.get(addresses.FORECAST)
    def forecast(request: Request) -> Response:
        return page_or_problems("Forecasts", lambda: _page(request, keeper))

    @app.get(addresses.FORECAST_CSV)
    def as_csv(request: Request) -> Response:
        return csv_answer("forecasts.csv", forecast_csv(_resolve_request(request, keeper)[1]))

    @app.get(addresses.FORECAST_JSON)
    def as_json(request: Request) -> Response:
        _, found = _resolve_request(request, keeper)
        compared = found.compared.model_copy(update={"left_out": tuple(found.left_out)})
        return JSONResponse(compared.model_dump(mode="json"))


def _page(request: Request, keeper: Keeper) -> Markup:
    return forecast_page(*_resolve_request(request, keeper))


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
