"""What every answer has, whoever wrote it: headers, an answer to HEAD, a page where nothing is at an address."""

import base64
import hashlib
import re

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shiftbench.leaderboard.app.answers import page_answer
from shiftbench.leaderboard.pages import addresses
from shiftbench.leaderboard.pages.addresses import BOARD, GRADIO
from shiftbench.scoring.reports.frame.html import Markup, join, tag
from shiftbench.scoring.reports.frame.site import box

FRAMES = "frame-ancestors 'self' https://huggingface.co https://*.hf.space"
"""Who may show the pages inside theirs: Hugging Face shows a Space that way."""
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; "
    f"img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; {FRAMES}"
)
"""No text of a user's could run even if it were not escaped."""
FORM_POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-eval' {scripts}; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; manifest-src 'self'; "
    "worker-src 'self' blob:; form-action 'self'; "
    f"base-uri 'self'; {FRAMES}"
)
"""For Gradio's page, which has scripts and style sheets in its text: of scripts only those that this server sent.
Gradio makes functions of the templates of its components, hence ``unsafe-eval``: it lets no text of a page run."""
OTHER_HEADERS = {"x-content-type-options": "nosniff", "referrer-policy": "strict-origin-when-cross-origin"}
_SCRIPT = re.compile(rb"<script\b[^>]*>(.*?)</script>", re.DOTALL)


class SecurityHeaders:
    """ASGI middleware that adds the headers to every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Add the headers to every answer; the form's page is read whole, because its policy lists its scripts."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if scope["path"].rstrip("/") == addresses.SUBMIT:
            # Its scripts are looked for in the text, which therefore must not come packed.
            unpacked = [(name, value) for name, value in scope["headers"] if name != b"accept-encoding"]
            await self.app({**scope, "headers": unpacked}, receive, _FormPage(send).send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                _set_headers(message, PAGE_POLICY)
            await send(message)

        await self.app(scope, receive, with_headers)


class _FormPage:
    """Holds an answer back until it is whole, for its policy lists the digests of the scripts in it."""

    def __init__(self, send: Send) -> None:
        self._send, self._parts = send, [b""]
        self._start: Message = {}

    async def send(self, message: Message) -> None:
        """Take a part of the answer; the last one sends all."""
        if message["type"] == "http.response.start":
            self._start = message
            return
        self._parts.append(message.get("body", b""))
        if message.get("more_body", False):
            return
        body = b"".join(self._parts)
        is_html = Headers(raw=self._start["headers"]).get("content-type", "").startswith("text/html")
        _set_headers(self._start, form_policy(body) if is_html else PAGE_POLICY)
        await self._send(self._start)
        await self._send({"type": "http.response.body", "body": body})


def form_policy(page: bytes) -> str:
    """Return the policy of a page that has scripts in its text: these and the server's own run, no other."""
    digests = (base64.b64encode(hashlib.sha256(script).digest()).decode() for script in _SCRIPT.findall(page))
    return FORM_POLICY.format(scripts=" ".join(f"'sha256-{digest}'" for digest in digests))


def _set_headers(message: Message, policy: str) -> None:
    headers = MutableHeaders(scope=message)
    headers["content-security-policy"] = policy
    headers.update(OTHER_HEADERS)


class HeadAsGet:
    """ASGI middleware that answers HEAD as GET; the web server sends no body then.

    FastAPI's routes take GET alone, so Gradio, mounted behind them, would answer that their pages are not there.
    Gradio's endpoints are left alone: some of them answer without end.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a HEAD request on as GET."""
        if scope["type"] == "http" and scope["method"] == "HEAD" and not scope["path"].startswith(GRADIO):
            scope = {**scope, "method": "GET"}
        await self.app(scope, receive, send)


class NotFoundPages:
    """ASGI middleware that answers 404 with a page where a browser asks for one outside Gradio's endpoints."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Replace answers of status 404 that have no page of their own."""
        wants_page = scope["type"] == "http" and "text/html" in Headers(scope=scope).get("accept", "")
        if not wants_page or scope["path"].startswith(GRADIO):
            await self.app(scope, receive, send)
            return
        is_replaced = False

        async def with_page(message: Message) -> None:
            nonlocal is_replaced
            if message["type"] == "http.response.start" and message["status"] == 404:
                is_replaced = not Headers(raw=message["headers"]).get("content-type", "").startswith("text/html")
                if is_replaced:
                    await page_answer("Not found", _body(), status=404)(scope, receive, send)
            if not is_replaced:
                await send(message)

        await self.app(scope, receive, with_page)


def _body() -> Markup:
    to_board = tag("p", tag("a", "See the leaderboard", href=BOARD, class_="sb-button"), class_="sb-actions")
    return join(
        [box("There is no such page here", "The address may be mistyped, or from another leaderboard."), to_board]
    )
