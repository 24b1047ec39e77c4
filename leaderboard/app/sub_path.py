"""Serve below a path of another site, such as https://example.org/domains, behind a proxy that keeps the path.

All pages are written for the root; links and redirects get the path prepended in the response.
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
"""Matches URLs of this server: those with one leading slash, since two begin another host's URL."""


def checked_root_path(text: str) -> str:
    """Return a server's normalised root path: with a leading and no trailing slash, or '' for the root.

    Raises: InvalidInput for an invalid path.

    >>> checked_root_path("domains/"), checked_root_path("/")
    ('/domains', '')
    """
    path = f"/{text.strip('/')}" if text.strip("/") else ""
    if path and not _ROOT_PATH.fullmatch(path):
        cure = "use letters, digits, '-', '_' and '.', such as /domains"
        raise InvalidInput(Problem("this is not a valid path for a server", "root path", f"'{text}'", cure))
    return path


def own_address(request: Request) -> str:
    """Return the server's own URL, such as https://host/domains, as the client reached it."""
    return f"{request.url.scheme}://{request.url.netloc}{root_path_of(request)}"


def root_path_of(request: Request) -> str:
    """Return the path below which the server was reached; '' for the root."""
    return str(request.scope.get(_KEY, ""))


class CutPath:
    """ASGI middleware that removes the root path from requests; it must wrap all middleware that reads paths."""

    def __init__(self, app: ASGIApp, root_path: str) -> None:
        self.app = app
        self._path = root_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Remove the path if present; requests that bypass the proxy, such as health checks, lack it."""
        if scope["type"] == "http":
            path = scope["path"]
            if path == self._path or path.startswith(f"{self._path}/"):
                path = path.removeprefix(self._path) or "/"
            scope = {**scope, "path": path, "raw_path": path.encode(), _KEY: self._path}
        await self.app(scope, receive, send)


class AddPath:
    """ASGI middleware that prepends the root path to links and redirects; it must run before pages are compressed.

    Only attributes in pages are rewritten: quotes in user text are escaped, so no text can look like an attribute.
    Gradio's page contains this site's header as JSON, with a backslash before each quote.
    """

    def __init__(self, app: ASGIApp, root_path: str) -> None:
        self.app = app
        self._path = root_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Buffer a page until it is complete, since its length changes; pass everything else through."""
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
