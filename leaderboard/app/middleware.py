"""Middleware for every request and response: size limits, security headers, HEAD, and pages with status 404."""

import asyncio
import base64
import hashlib
import os
import re
from collections.abc import Callable, Iterable

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shiftbench.leaderboard.app.answers import not_found_answer
from shiftbench.leaderboard.app.faults import FaultLog
from shiftbench.leaderboard.board.submission import MAX_UPLOAD_BYTES
from shiftbench.leaderboard.pages import addresses
from shiftbench.leaderboard.pages.addresses import GRADIO

FRAMES = "frame-ancestors 'self' https://huggingface.co https://*.hf.space"
"""Sites that may frame the pages: Hugging Face shows a Space in a frame."""
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; "
    f"img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; {FRAMES}"
)
"""Content security policy of all pages but Gradio's: even user text that was not escaped could not run as a script."""
FORM_POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-eval' {scripts}; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; manifest-src 'self'; "
    "worker-src 'self' blob:; form-action 'self'; "
    f"base-uri 'self'; {FRAMES}"
)
"""Content security policy of Gradio's page, which has inline scripts and style sheets; ``scripts`` are the digests of
the inline scripts that may run. Gradio compiles templates to functions, hence ``unsafe-eval``."""
FILE_POLICY = f"default-src 'none'; style-src 'unsafe-inline'; sandbox; {FRAMES}"
"""Content security policy of picture files, which have inline styles."""
EMBED_POLICY = PAGE_POLICY.replace(FRAMES, "frame-ancestors *")
"""Content security policy of content that other sites may frame: a picture and a link."""
OTHER_HEADERS = {"x-content-type-options": "nosniff", "referrer-policy": "strict-origin-when-cross-origin"}
_SCRIPT = re.compile(rb"<script\b[^>]*>(.*?)</script>", re.DOTALL)


class SecurityHeaders:
    """ASGI middleware that adds security headers to every response."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Add the headers to every response; the form's page is buffered, because its policy lists its scripts."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if scope["path"].rstrip("/") == addresses.GRADIO_PAGE:
            await self.app(scope, receive, _FormPage(send).send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                _set_headers(message, _policy_of(scope["path"]))
            await send(message)

        await self.app(scope, receive, with_headers)


def _policy_of(path: str) -> str:
    if path.startswith(addresses.PICTURE):
        return FILE_POLICY
    return EMBED_POLICY if path == addresses.EMBED else PAGE_POLICY


class _FormPage:
    """Buffers a response until it is complete, since its security policy lists the digests of its scripts."""

    def __init__(self, send: Send) -> None:
        self._send, self._parts = send, [b""]
        self._start: Message = {}

    async def send(self, message: Message) -> None:
        """Buffer a part of the response; the last part sends everything."""
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
    """Return the policy of a page with inline scripts: only these and the server's own scripts may run."""
    digests = (base64.b64encode(hashlib.sha256(script).digest()).decode() for script in _SCRIPT.findall(page))
    return FORM_POLICY.format(scripts=" ".join(f"'sha256-{digest}'" for digest in digests))


def _set_headers(message: Message, policy: str) -> None:
    headers = MutableHeaders(scope=message)
    headers["content-security-policy"] = policy
    headers.update(OTHER_HEADERS)


class HeadAsGet:
    """ASGI middleware that handles HEAD as GET; the web server then sends no body.

    FastAPI's routes only accept GET, so Gradio, mounted behind them, would respond with 404. Gradio's endpoints are
    excluded: some of them stream forever.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a HEAD request on as GET."""
        if scope["type"] == "http" and scope["method"] == "HEAD" and not scope["path"].startswith(GRADIO):
            scope = {**scope, "method": "GET"}
        await self.app(scope, receive, send)


class NotFoundPages:
    """ASGI middleware that replaces 404 responses by a page if the client accepts HTML, except Gradio's endpoints."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Replace 404 responses that are not HTML."""
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
                    await not_found_answer(
                        ["There is no such page; the URL may be mistyped, or belong to another leaderboard."]
                    )(scope, receive, send)
            if not is_replaced:
                await send(message)

        await self.app(scope, receive, with_page)


MAX_BODY_BYTES = 2**20
"""Limit for a request that is not an upload: a card, an entry's id, a board's name."""
SECONDS_TO_BEGIN = 20.0
BYTES_PER_SECOND = 16 * 1024
"""Minimum rate of a body, after a grace period of ``SECONDS_TO_BEGIN``."""
_LOOK_AT_DISK = 2**20
_NAMING_HEADERS = frozenset(
    {b"host", b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto", b"x-gradio-server"}
)
MAX_PATH_BYTES = 255
"""Limit on the path of a URL: the usual limit on file names, beyond which the operating system raises an error."""
_TOO_LONG = (414, b"this URL is too long\n")
_TWO_LENGTHS = (400, b"send either Content-Length or Transfer-Encoding, not both\n")
_TOO_LARGE = (413, b"the request is too large\n")
_TOO_SLOW = (408, b"the request did not arrive in time\n")
_NO_ROOM = (503, b"there is no disk space for uploads: try again in an hour\n")


class BodyLimit:
    """ASGI middleware that rejects request bodies: 413 too large, 408 too slow, 503 no disk space for an upload.

    Also rejected are requests with two body lengths (400), since a proxy might use the other one, and paths longer than
    any route's (414).

    Disk space is checked as the bytes arrive: an announced length reserves none. Unused paths of Gradio get 404. A
    fault of the application gets 500 and is logged once.
    """

    def __init__(
        self, app: ASGIApp, has_room: Callable[[], bool], faults: FaultLog, max_upload_bytes: int = MAX_UPLOAD_BYTES
    ) -> None:
        self.app = app
        self._max_upload_bytes = max_upload_bytes
        self._has_room, self._faults = has_room, faults

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count a request's body while passing it on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path, headers = scope["path"], dict(scope["headers"])
        if len(path.encode()) > MAX_PATH_BYTES:
            await _refuse(send, *_TOO_LONG)
            return
        if {b"content-length", b"transfer-encoding"} <= headers.keys():
            await _refuse(send, *_TWO_LENGTHS)
            return
        if path.startswith(addresses.CLOSED) or (
            path.startswith(addresses.GRADIO) and not path.startswith(addresses.OPEN)
        ):
            await _refuse(send, 404, b"not found\n")
            return
        upload = path.rstrip("/") in (addresses.UPLOAD, addresses.SUBMIT)
        allowed = self._max_upload_bytes + MAX_BODY_BYTES if upload else MAX_BODY_BYTES
        said = headers.get(b"content-length")
        if said is not None and (not said.isdigit() or int(said) > allowed):
            await _refuse(send, *_TOO_LARGE)
        elif upload and not self._has_room():
            await _refuse(send, *_NO_ROOM)
        else:
            body = _Body(receive, allowed, self._has_room if upload else None)
            await self._answer(scope, body, send)

    async def _answer(self, scope: Scope, body: "_Body", send: Send) -> None:
        answered = False

        async def noted(message: Message) -> None:
            nonlocal answered
            if body.refusal is None or answered:
                answered = True
                await send(message)

        refusal = None
        try:
            await self.app(scope, body.receive, noted)
        except ClientDisconnect:
            pass  # the client disconnected, or sent an invalid body: not a fault of the application
        except Exception as fault:
            if body.refusal is None:  # otherwise the fault is a consequence of the truncated body
                self._faults.write(fault)
                refusal = (500, b"internal error of the server\n")
        if not answered and (refusal := body.refusal or refusal) is not None:
            await _refuse(send, *refusal)


class _Body:
    """A request's body while it arrives; ``refusal`` is the response that rejects it, if any."""

    def __init__(self, receive: Receive, allowed: int, has_room: Callable[[], bool] | None) -> None:
        self.refusal: tuple[int, bytes] | None = None
        self._receive, self._allowed, self._has_room = receive, allowed, has_room
        self._arrived, self._looked_at, self._is_whole = 0, 0, False
        self._begun = asyncio.get_running_loop().time()

    async def receive(self) -> Message:
        """Return the next message; once the body is rejected, pretend that the client disconnected."""
        if self._is_whole:
            return await self._receive()  # waits for the client to disconnect
        if self.refusal is None:
            try:
                async with asyncio.timeout_at(self._begun + SECONDS_TO_BEGIN + self._arrived / BYTES_PER_SECOND):
                    message = await self._receive()
            except TimeoutError:
                self.refusal = _TOO_SLOW
            else:
                self._count(message)
        return message if self.refusal is None else {"type": "http.disconnect"}

    def _count(self, message: Message) -> None:
        self._arrived += len(message.get("body", b""))
        self._is_whole = not message.get("more_body", False)
        if self._arrived > self._allowed:
            self.refusal = _TOO_LARGE
        elif self._has_room is not None and self._arrived - self._looked_at >= _LOOK_AT_DISK:
            self._looked_at = self._arrived
            if not self._has_room():
                self.refusal = _NO_ROOM


class OwnAddress:
    """ASGI middleware that replaces addresses in a request's headers by this server's own.

    Gradio takes the URL of its page and responses from ``X-Forwarded-Host`` and ``X-Gradio-Server``, which anybody may
    send: ``/config`` and ``/gradio`` would then contain any host. Only the request's own host is used; on a Space, one
    of the Space's hosts (``SPACE_HOST``).

    Gradio runs MCP tools through its own client, which permanently uses the address in the first request: anybody could
    make this server fetch from anywhere, and all later calls, tokens included, would go there. So the
    host of MCP requests is replaced by the address of the socket at which they arrived. Gradio's client repeats their
    headers, and its own address may count as a proxy's, so ``X-Forwarded-For`` is set to the original sender.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        hosts = (name.strip().lower() for name in os.environ.get("SPACE_HOST", "").split(","))
        self._space_hosts = [name.encode() for name in hosts if name]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass every request on with headers that contain no other address."""
        if scope["type"] == "http":
            is_mcp = scope["path"].startswith(addresses.MCP)
            scope = _to_own_socket(scope) if is_mcp else {**scope, "headers": self._own_headers(scope["headers"])}
        await self.app(scope, receive, send)

    def _own_headers(self, headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        """Return headers with this server's host; it remains visible that a proxy forwarded the request."""
        sent = list(headers)
        host = next((value for name, value in sent if name == b"host"), b"")
        if self._space_hosts and host.lower() not in self._space_hosts:
            host = self._space_hosts[0]
        own = {b"host": host, b"x-forwarded-host": host}
        return [(name, own.get(name, value)) for name, value in sent if name != b"x-gradio-server"]


def _to_own_socket(scope: Scope) -> Scope:
    """Return an MCP request whose host is the address of the socket that accepted its connection."""
    host, port = (scope.get("server") or ("", None))[:2]
    address = f"{f'[{host}]' if ':' in host else host}:{port or 0}"
    other_headers = [(name, value) for name, value in scope["headers"] if name not in _NAMING_HEADERS]
    if scope.get("client"):
        other_headers.append((b"x-forwarded-for", scope["client"][0].encode("latin-1")))
    # Without the trailing slash, Gradio would redirect to this server's own URL, which may be hidden.
    path = f"{addresses.MCP}/" if scope["path"] == addresses.MCP else scope["path"]
    return {**scope, "path": path, "scheme": "http", "headers": [(b"host", address.encode()), *other_headers]}


async def _refuse(send: Send, status: int, text: bytes) -> None:
    headers = [
        (b"content-type", b"text/plain"),
        (b"content-length", str(len(text)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text})
