"""Serving below a path of another site, such as https://example.org/domains, behind a proxy that passes the path on.

All pages are written as if they were at the root; what leads to one is given the path on its way out.
"""

import re

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shiftbench.validation.report import InvalidInput, Problem

_KEY = "shiftbench.root_path"
_ROOT_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)+")
_ATTRIBUTE = re.compile(rb'(\b(?:href|src|action|formaction|data-[a-z-]+)=\\?")(?=/(?!/))')
_ADDRESS = re.compile(r"(^|; url=)(?=/(?!/))")
"""What leads to this server: an address that begins with one slash, for two begin that of another host."""


def checked_root_path(text: str) -> str:
    """Return a path below which a server is reached, with a slash before and none after; '' for the root.

    Raises: InvalidInput for what is no such path.

    >>> checked_root_path("domains/"), checked_root_path("/")
    ('/domains', '')
    """
    path = f"/{text.strip('/')}" if text.strip("/") else ""
    if path and not _ROOT_PATH.fullmatch(path):
        cure = "write letters, digits, '-', '_' and '.', such as /domains"
        raise InvalidInput(Problem("this is no path that a server can have", "root path", f"'{text}'", cure))
    return path


def own_address(request: Request) -> str:
    """Return the server's own address, such as https://host/domains: the one by which it was reached."""
    return f"{request.url.scheme}://{request.url.netloc}{root_path_of(request)}"


def root_path_of(request: Request) -> str:
    """Return the path below which the server was reached, '' for the root."""
    return str(request.scope.get(_KEY, ""))


class CutPath:
    """ASGI middleware, outside all that looks at addresses: a request is passed on as one to the root."""

    def __init__(self, app: ASGIApp, root_path: str) -> None:
        self.app = app
        self._path = root_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Cut the path off where it is there; others ask past the proxy, as health checks do."""
        if scope["type"] == "http":
            path = scope["path"]
            if path == self._path or path.startswith(f"{self._path}/"):
                path = path.removeprefix(self._path) or "/"
            scope = {**scope, "path": path, "raw_path": path.encode(), _KEY: self._path}
        await self.app(scope, receive, send)


class AddPath:
    """ASGI middleware, inside what reads or packs pages: what leads to this server leads below its path.

    Of pages only attributes are rewritten: a quote in anybody's text is escaped, so no text can look like one. Gradio's
    page has our header as JSON, with a backslash before each quote.
    """

    def __init__(self, app: ASGIApp, root_path: str) -> None:
        self.app = app
        self._path = root_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Keep a page back until it is whole, for its length changes; let everything else through."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start: Message = {}
        parts: list[bytes] = []

        async def send_below(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name in {"location", "refresh"}.intersection(headers.keys()):
                    headers[name] = _ADDRESS.sub(rf"\1{self._path}", headers[name])
                if headers.get("content-type", "").startswith("text/html"):
                    start = message
                    return
            elif start:
                parts.append(message.get("body", b""))
                if message.get("more_body", False):
                    return
                page = _ATTRIBUTE.sub(rb"\1" + self._path.encode(), b"".join(parts))
                MutableHeaders(scope=start)["content-length"] = str(len(page))
                await send(start)
                message = {**message, "body": page}
            await send(message)

        await self.app(scope, receive, send_below)
