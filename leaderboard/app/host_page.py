"""A host's actions through the server: a form, and the same URL for programs.

Only accounts that the configuration lists as hosts may act; they sign in as submitters do. A program sends the form's
fields with a token and ``Accept: application/json``; ``shiftbench board hide ... --to URL`` is one.
"""

from collections.abc import Collection
from typing import Any
from urllib.parse import urlencode

from fastapi.responses import JSONResponse, Response
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.routing import Route

from shiftbench.leaderboard.app.answers import page_answer, wants_page
from shiftbench.leaderboard.app.identity import (
    Callers,
    is_own_page,
    session_user,
    signed_in_submitter,
    space_name,
)
from shiftbench.leaderboard.app.live_index import LiveIndex
from shiftbench.leaderboard.app.signing_in import SignIns, sessions
from shiftbench.leaderboard.pages import addresses
from shiftbench.leaderboard.pages.shell import render
from shiftbench.leaderboard.store.hosting import MAX_WORDS, Act, Order, perform
from shiftbench.validation.report import InvalidInput, Problem

MAX_FIELDS, MAX_FIELD_BYTES = 10, 8 * 1024
REFUSED, FORBIDDEN = 422, 403


class HostPage:
    """Request handlers of the page."""

    def __init__(self, live: LiveIndex, callers: Callers, hosts: Collection[str]) -> None:
        self._live, self._callers, self._hosts = live, callers, frozenset(hosts)

    def routes(self, sign_ins: SignIns) -> list[Route]:
        """Return the page's routes with session support; none if no host is configured."""
        if not self._hosts:
            return []
        known = sessions(sign_ins)
        return [
            Route(addresses.HOST, self._show, methods=["GET"], middleware=known),
            Route(addresses.HOST, self._act, methods=["POST"], middleware=known),
        ]

    async def _show(self, request: Request) -> Response:
        return self._page(request, {}, "", [])

    async def _act(self, request: Request) -> Response:
        if not is_own_page(request.headers):  # before reading the body
            return self._page(request, {}, "", ["Send this form from the leaderboard's own page."], FORBIDDEN)
        async with request.form(max_files=0, max_fields=MAX_FIELDS, max_part_size=MAX_FIELD_BYTES) as form:
            fields = {key: value for key, value in form.items() if isinstance(value, str)}
            return await run_in_threadpool(self._answer, request, form, fields)

    def _answer(self, request: Request, form: FormData, fields: dict[str, str]) -> Response:
        try:
            host = signed_in_submitter(session_user(request.scope.get("session", {})), request.headers)
            self._callers.learn(request.headers, host)
            if host not in self._hosts:
                raise InvalidInput(Problem("this account is not a host of this leaderboard", "host", f"'{host}'"))
        except InvalidInput as error:
            return self._page(request, fields, "", [str(each) for each in error.problems], FORBIDDEN)
        try:
            done = perform(self._live.index.store, _order(fields), host)
        except InvalidInput as error:
            return self._page(request, fields, "", [str(each) for each in error.problems], REFUSED)
        self._live.index.refresh()
        return self._page(request, {}, done, [])

    def _page(
        self, request: Request, fields: dict[str, str], done: str, problems: list[str], status: int = 200
    ) -> Response:
        if not wants_page(request):
            return JSONResponse({"done": done, "problems": problems}, status)
        name = session_user(request.scope.get("session", {}))
        target = f"{addresses.SIGN_IN}?{urlencode({'_target_url': addresses.HOST})}"
        facts: dict[str, Any] = {
            "is_host": name in self._hosts,
            "name": name,
            "sign_in": target if space_name() is not None else "",
            "acts": [act.value for act in Act],
            "fields": fields,
            "done": done,
            "problems": problems,
            "most": MAX_WORDS,
        }
        page = page_answer("Host", render("host.html", **facts), "", status)
        page.headers["Cache-Control"] = "no-store"
        return page


def _order(fields: dict[str, str]) -> Order:
    """Parse the form's action; InvalidInput for an unknown action, or an unconfirmed erasure."""
    act = fields.get("act", "")
    if act not in list(Act):
        raise InvalidInput(Problem("there is no such action", "act", f"'{act[:40]}'", f"one of {', '.join(Act)}"))
    if act == Act.ERASE and fields.get("confirm") != "yes":
        raise InvalidInput(Problem("erasing cannot be undone", "confirm", cure="confirm it and send it again"))
    return Order(Act(act), fields.get("target", ""), fields.get("reason", ""), fields.get("text", ""))
