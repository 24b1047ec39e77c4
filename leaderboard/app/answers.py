"""Responses: HTML that browsers revalidate, pages with status 404, and CSV files."""

from collections.abc import Callable, Sequence

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from shiftbench.leaderboard.pages.shell import page, render
from shiftbench.scoring.reports.frame.html import Markup
from shiftbench.validation.report import InvalidInput


def page_or_problems(
    title: str, write: Callable[[], Markup | Response], active: str = "", *, picture: str = ""
) -> Response:
    """Return what ``write`` returns, as a response; if it raises InvalidInput, a page with status 404."""
    try:
        written = write()
    except InvalidInput as error:
        return problems_answer(title, error, active)
    return written if isinstance(written, Response) else page_answer(title, written, active, picture=picture)


def wants_page(request: Request) -> bool:
    """Return whether the client accepts HTML, as browsers do; programs get plain text."""
    return "text/html" in request.headers.get("accept", "")


def problems_answer(title: str, error: InvalidInput, active: str = "") -> Response:
    """Return a page with status 404 that lists an error's problems."""
    return not_found_answer([str(problem) for problem in error.problems], title, active)


def not_found_answer(reasons: Sequence[str], title: str = "Not found", active: str = "") -> Response:
    """Return a page with status 404: a heading, the reasons, and links."""
    return page_answer(title, render("not_found.html", reasons=reasons), active, 404)


def page_answer(
    title: str, body: Markup, active: str = "", status: int = 200, *, picture: str = "", seconds: int = 0
) -> Response:
    """Return a complete page with the given body; ``picture`` and ``seconds`` as in ``shell.page``."""
    return html_answer(page(title, body, active=active, picture=picture, seconds=seconds), status)


def html_answer(text: str | bytes, status: int = 200) -> Response:
    """Return HTML that browsers must revalidate each time."""
    return HTMLResponse(text, status, headers={"Cache-Control": "no-cache"})


def csv_answer(name: str, text: str) -> Response:
    """Return CSV that a browser saves as ``name``."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type="text/csv", headers=headers)
