"""Routes of the pages: each parses the request and calls ``shiftbench.leaderboard.pages`` to render the response."""

import io
import json
import zipfile
from collections.abc import Iterator, Sequence

import polars as pl
from fastapi import FastAPI, Request
from fastapi.responses import (
    FileResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.concurrency import run_in_threadpool

from shiftbench.leaderboard.app.answers import (
    csv_answer,
    html_answer,
    page_answer,
    page_or_problems,
    problems_answer,
    wants_page,
)
from shiftbench.leaderboard.app.comparing import Comparisons, Found, add_by_name, named_ids, no_comparison, waiting_page
from shiftbench.leaderboard.app.identity import Callers
from shiftbench.leaderboard.app.jobs import Jobs
from shiftbench.leaderboard.app.line import Line, LineFullError
from shiftbench.leaderboard.app.live_index import LiveIndex
from shiftbench.leaderboard.app.page_cache import PageCache
from shiftbench.leaderboard.app.sharing import add_sharing_routes
from shiftbench.leaderboard.app.showing import show_entry
from shiftbench.leaderboard.app.sub_path import own_address
from shiftbench.leaderboard.board import Index, find_board
from shiftbench.leaderboard.board.forecasts import ForecastsFound
from shiftbench.leaderboard.board.rows import HOST_NOTE
from shiftbench.leaderboard.pages import addresses
from shiftbench.leaderboard.pages.board_data import board_csv, overall_csv
from shiftbench.leaderboard.pages.board_page import (
    board_page,
    domains_page,
    overall_fragment,
    overall_page,
    rows_fragment,
)
from shiftbench.leaderboard.pages.board_query import BoardQuery, OverallQuery
from shiftbench.leaderboard.pages.data_page import data_page
from shiftbench.leaderboard.pages.entry_page import EntryQuery
from shiftbench.leaderboard.pages.forecast_board import Shown, forecast_csv, forecast_page
from shiftbench.leaderboard.pages.front_page import front_page
from shiftbench.leaderboard.pages.shell import about_page, script
from shiftbench.leaderboard.store import Entry, find_folder
from shiftbench.scoring.comparing.entries import MAX_ENTRIES
from shiftbench.scoring.reports.frame.site import style_sheet
from shiftbench.validation.report import InvalidInput, Problem

A_YEAR = "public, max-age=31536000, immutable"


def add_pages(app: FastAPI, live: LiveIndex, line: Line, callers: Callers, title: str = "", text: str = "") -> None:
    """Add the routes of all pages; they are read-only, and the same for every user.

    ``title`` and ``text`` are the host's, for the front page.
    """
    _add_board(app, live, title, text)
    add_entry_routes(app, live, line, callers)
    add_forecast_routes(app, live)
    add_sharing_routes(app, live)
    app.add_exception_handler(InvalidInput, _no_such_thing)

    # URLs of static files contain a digest of the content.
    @app.get(addresses.STYLE_SHEET)
    def css() -> Response:
        return Response(style_sheet(), media_type="text/css", headers={"Cache-Control": A_YEAR})

    @app.get(addresses.SCRIPT)
    def js() -> Response:
        return Response(script(), media_type="text/javascript", headers={"Cache-Control": A_YEAR})

    @app.get(addresses.DATA)
    def data(task: str = "") -> Response:
        return page_or_problems("Data", lambda: data_page(live.index.folders, task), "data")

    @app.get(addresses.ABOUT)
    def about() -> Response:
        return page_answer("About", about_page(len(live.index.scored_ids()), live.index.updated()), "about")

    @app.get(addresses.HEALTH)
    def healthz() -> Response:
        return PlainTextResponse("ok")


def _no_such_thing(request: Request, error: Exception) -> Response:
    """Respond to a request for something that does not exist, such as the rows of an unknown board."""
    if isinstance(error, InvalidInput) and wants_page(request):
        return problems_answer("Leaderboard", error)
    return PlainTextResponse(f"{error}\n", 404)


def _add_board(app: FastAPI, live: LiveIndex, title: str, text: str) -> None:
    cache = PageCache()

    @app.get(addresses.BOARD)
    def board(request: Request) -> Response:
        return cache.answer(live.index, str(request.url), lambda: render_board(request))

    def render_board(request: Request) -> Response:
        entry = request.query_params.get("entry")
        if entry is not None:  # former URL of an entry's page
            return RedirectResponse(addresses.entry_address(entry))
        base = own_address(request)
        if "board" in request.query_params:
            picture = base + addresses.picture_address("png", addresses.board_address(request.query_params["board"]))
            return page_or_problems(
                "", lambda: board_page(*_parse_query(request, live), base), "board", picture=picture
            )
        if "benchmark" in request.query_params or "q" in request.query_params:
            of = addresses.address_of(addresses.BOARD, benchmark=request.query_params.get("benchmark", ""))
            picture = base + addresses.picture_address("png", of)
            return page_or_problems(
                "", lambda: overall_page(*_parse_overall_query(request, live), base), "board", picture=picture
            )
        picture = base + addresses.picture_address("png", addresses.BOARD)
        return page_or_problems("", lambda: front_page(live.index, title, text, base), "board", picture=picture)

    @app.get(addresses.DOMAINS)
    def domains(request: Request, board: str = "") -> Response:
        def write() -> Response:
            return page_or_problems("Domains", lambda: domains_page(live.index, board), "board")

        return cache.answer(live.index, str(request.url), write)

    @app.get(addresses.ROWS)
    def rows(request: Request) -> Response:
        return cache.answer(live.index, str(request.url), lambda: render_rows(request))

    def render_rows(request: Request) -> Response:
        if "board" in request.query_params:
            return html_answer(rows_fragment(*_parse_query(request, live)))
        return html_answer(overall_fragment(*_parse_overall_query(request, live)))

    @app.get(addresses.BOARD_CSV)
    def board_as_csv(request: Request) -> Response:
        return csv_answer("board.csv", board_csv(*_parse_query(request, live)))

    @app.get(addresses.OVERALL_CSV)
    def overall_as_csv(request: Request) -> Response:
        return csv_answer("overall.csv", overall_csv(*_parse_overall_query(request, live)))


def _parse_query(request: Request, live: LiveIndex) -> tuple[Index, BoardQuery]:
    index = live.index
    return index, BoardQuery.parse(request.query_params.multi_items(), index)


def _parse_overall_query(request: Request, live: LiveIndex) -> tuple[Index, OverallQuery]:
    index = live.index
    return index, OverallQuery.parse(request.query_params.multi_items(), index)


def add_forecast_routes(app: FastAPI, live: LiveIndex) -> None:
    """Add the forecast routes; they are read-only, and the same for every user."""

    @app.get(addresses.FORECAST)
    def forecast(request: Request) -> Response:
        return page_or_problems("Forecasts", lambda: forecast_page(*_resolve_request(request, live)))

    @app.get(addresses.FORECAST_CSV)
    def as_csv(request: Request) -> Response:
        return csv_answer("forecasts.csv", forecast_csv(_resolve_request(request, live)[1]))

    @app.get(addresses.FORECAST_JSON)
    def as_json(request: Request) -> Response:
        _, found = _resolve_request(request, live)
        compared = found.compared.model_copy(update={"left_out": tuple(found.left_out)})
        return JSONResponse(compared.model_dump(mode="json"))


def _resolve_request(request: Request, live: LiveIndex) -> tuple[Shown, ForecastsFound]:
    """Find the board in a URL, or all boards, and their forecasts."""
    index, name = live.index, request.query_params.get("board")
    boards = index.boards()
    board = find_board(name, boards) if name else None
    shown = Shown(board, boards, index.benchmarks())
    return shown, live.forecasts.on([board] if board else boards)


SECONDS_BETWEEN_LOOKS = 2


def add_entry_routes(app: FastAPI, live: LiveIndex, line: Line, callers: Callers) -> None:
    """Add the entry routes; they are read-only, and the same for every user. Comparisons are queued."""

    @app.get(addresses.ENTRY)
    def entry(
        request: Request, id: str = "", task: str = "", tab: str = "", shift: str = "", show: str = ""
    ) -> Response:
        query = EntryQuery(id, task, tab, shift, show)
        base = own_address(request)
        picture = base + addresses.picture_address("png", query.address())
        return page_or_problems("Entry", lambda: show_entry(live, query, base), picture=picture)

    @app.get(addresses.SCORES)
    def scores(request: Request, id: str = "") -> Response:
        try:
            return JSONResponse(live.index.scores(id).model_dump(mode="json"))
        except InvalidInput as error:
            if wants_page(request):
                return problems_answer("Scores", error)
            return JSONResponse({"problems": [str(problem) for problem in error.problems]}, 404)

    @app.get(addresses.PREDICTIONS)
    def predictions(id: str = "") -> Response:
        return page_or_problems("Predictions", lambda: _predictions(live.index, id))

    jobs: Jobs[Found] = Jobs(line, live.faults)
    comparisons = Comparisons(jobs)

    @app.get(addresses.COMPARE)
    async def compare(request: Request) -> Response:
        ids: Sequence[str] = request.query_params.getlist("id")
        task, add = request.query_params.get("task"), request.query_params.get("add", "")
        index, base = await run_in_threadpool(lambda: live.index), own_address(request)
        if add and (found_id := await run_in_threadpool(add_by_name, index, named_ids(ids), task, add)) is not None:
            return RedirectResponse(addresses.compare_address([*named_ids(ids), found_id], task), 303)
        try:
            job = await run_in_threadpool(comparisons.ask, index, ids, task, callers.of(request).name)
        except InvalidInput as error:
            found = await run_in_threadpool(no_comparison, index, error)
        except LineFullError as error:
            found = waiting_page(error)
        else:
            if job is not None:
                await jobs.wait(job)
            found = await run_in_threadpool(comparisons.page, index, ids, task, job, add, base)
        of = addresses.compare_address(named_ids(ids), task)
        picture = base + addresses.picture_address("png", of) if found.is_done and len(ids) <= MAX_ENTRIES else ""
        seconds = SECONDS_BETWEEN_LOOKS if found.goes_on else 0
        return page_answer("Compare", found.body, "compare", found.status, picture=picture, seconds=seconds)

    @app.get(addresses.ALL_SCORES)
    def all_scores() -> Response:
        return Response(scores_parquet(live.index), media_type=PARQUET, headers=_attached("scores.parquet"))

    @app.get(addresses.ALL_PREDICTIONS)
    def all_predictions() -> Response:
        chunks = predictions_archive(live.index)
        return StreamingResponse(chunks, media_type="application/zip", headers=_attached("predictions.zip"))


PARQUET = "application/vnd.apache.parquet"


def _attached(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}


def _predictions(index: Index, identity: str) -> Response:
    """Return an entry's prediction file, from which anybody can recompute its scores, if downloads are allowed."""
    entry = index.entry(identity)
    if not find_folder(entry.card, index.folders).has_public_labels:
        what = "predictions on withheld labels cannot be downloaded"
        raise InvalidInput(Problem(what, identity, cure="ask the submitter"))
    if not entry.card.allows_download:
        raise InvalidInput(Problem("its card does not allow downloads", identity, cure="ask the submitter"))
    path = index.store.predictions(entry)
    return FileResponse(path, media_type="application/octet-stream", filename=f"{entry.id}.parquet")


CHUNK = 1 << 20
_PRIVATE = ("submitter", "stamp", "submitted_at", "copies", "look_alike", HOST_NOTE)
"""Columns of a board's rows that are omitted in downloads, since they concern accounts or this server."""


def scores_parquet(index: Index) -> bytes:
    """Build a table of all scores: columns of ``shiftbench.leaderboard.board.rows.SCHEMA``, and scores by domain.

    Returns: Parquet, one row per entry and task of boards with public labels; the first column is the board's name.
    """
    frames = [
        index.frame(board).select(pl.lit(board.name).alias("board"), pl.exclude(*_PRIVATE, "words"))
        for board in index.boards()
        if board.folder.has_public_labels and index.has_entries(board)
    ]
    content = io.BytesIO()
    (pl.concat(frames, how="diagonal") if frames else pl.DataFrame({"board": []})).write_parquet(content)
    return content.getvalue()


def shared_entries(index: Index) -> list[Entry]:
    """List the entries whose predictions may be shared in bulk: public labels, and a card that allows it."""
    return [entry for entry in map(index.entry, sorted(index.scored_ids())) if is_shared(index, entry)]


def is_shared(index: Index, entry: Entry) -> bool:
    """Return whether an entry's predictions may be shared in bulk."""
    return entry.card.allows_bulk and find_folder(entry.card, index.folders).has_public_labels


def predictions_archive(index: Index) -> Iterator[bytes]:
    """Build a ZIP archive of ``cards.jsonl``, ``<entry>.parquet`` and, if submitted, ``<entry>.validation.parquet``.

    Returns: its bytes, in pieces of about a MiB, so that the archive is never in memory as a whole.
    """
    written = _Pieces()
    entries = shared_entries(index)
    # Parquet is already compressed.
    with zipfile.ZipFile(written, "w", zipfile.ZIP_STORED) as archive:
        cards = [{"entry": entry.id, **entry.card.model_copy(update={"contact": None}).as_dict()} for entry in entries]
        archive.writestr("cards.jsonl", "".join(json.dumps(card, ensure_ascii=False) + "\n" for card in cards))
        for entry in entries:
            files = {f"{entry.id}.parquet": index.store.predictions(entry)}
            if (held_out := index.store.validation(entry)) is not None:
                files[f"{entry.id}.validation.parquet"] = held_out
            for name, path in files.items():
                with path.open("rb") as file, archive.open(name, "w") as member:
                    while chunk := file.read(CHUNK):
                        member.write(chunk)
                        yield written.take()
    yield written.take()


class _Pieces(io.RawIOBase):
    """A write-only buffer for an archive, emptied piece by piece."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, piece: bytes) -> int:  # type: ignore[override]
        self._pieces.append(bytes(piece))
        return len(piece)

    def take(self) -> bytes:
        """Return and clear what was written since the last call."""
        taken = b"".join(self._pieces)
        self._pieces.clear()
        return taken
