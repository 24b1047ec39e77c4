"""Bounds on what a request may send and say, before anything reads it."""

import shutil
from pathlib import Path

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from leaderboard.board.submission import MAX_UPLOAD_BYTES
from leaderboard.views import addresses

MAX_BODY_BYTES = 2**20
"""Of a request that is no upload: a card, an entry's id, a board's name."""
MIN_FREE_BYTES = 2**30
"""Of the disk that uploads go to: anybody may upload, and a store on a full disk takes no entry."""
_NAMING_HEADERS = frozenset({b"host", b"x-forwarded-host", b"x-forwarded-proto", b"x-gradio-server"})


class BodyLimit:
    """ASGI middleware that answers 413 to a request with too large a body, whether it says so before or not.

    Uploads for which the disk of ``uploads`` has no room, with those under way, are answered 503, and paths of Gradio
    that nothing here uses 404.
    """

    def __init__(self, app: ASGIApp, uploads: Path) -> None:
        self.app = app
        self._uploads = uploads
        self._under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with its body counted."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if scope["path"].startswith(addresses.CLOSED):
            await _refuse(send, 404, b"there is nothing here\n")
            return
        upload = scope["path"].startswith(addresses.UPLOAD)
        allowed = MAX_UPLOAD_BYTES + MAX_BODY_BYTES if upload else MAX_BODY_BYTES
        said = dict(scope["headers"]).get(b"content-length")
        if said is not None and (not said.isdigit() or int(said) > allowed):
            await _refuse(send, 413, b"the request is too large\n")
        elif not upload:
            await self._counted(scope, receive, send, allowed)
        else:
            await self._with_room(scope, receive, send, allowed if said is None else int(said))

    async def _with_room(self, scope: Scope, receive: Receive, send: Send, allowed: int) -> None:
        if shutil.disk_usage(_existing(self._uploads)).free < MIN_FREE_BYTES + self._under_way + allowed:
            await _refuse(send, 503, b"there is no room for uploads now: try again in an hour\n")
            return
        self._under_way += allowed
        try:
            await self._counted(scope, receive, send, allowed)
        finally:
            self._under_way -= allowed

    async def _counted(self, scope: Scope, receive: Receive, send: Send, allowed: int) -> None:
        left, answered, refused = allowed, False, False

        async def counted() -> Message:
            nonlocal left, refused
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                refused = True
                # To what reads it, as if the sender had gone.
                return {"type": "http.disconnect"}
            return message

        async def noted(message: Message) -> None:
            nonlocal answered
            if not refused:
                answered = True
                await send(message)

        try:
            await self.app(scope, counted, noted)
        finally:
            if refused and not answered:
                await _refuse(send, 413, b"the request is too large\n")


class OwnAddress:
    """ASGI middleware that tells the MCP server this server's own address, whatever a request calls it.

    Gradio has tools run by a client of its own, which it sends for good to the address that the first request names:
    anybody could have this server fetch from anywhere, and all later calls, tokens included, go there.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, one for the MCP server with the address that its connection came in at."""
        if scope["type"] == "http" and scope["path"].startswith(addresses.MCP):
            host, port = (scope.get("server") or ("", None))[:2]
            address = f"{f'[{host}]' if ':' in host else host}:{port or 0}"
            kept = [(name, value) for name, value in scope["headers"] if name not in _NAMING_HEADERS]
            scope = {**scope, "scheme": "http", "headers": [(b"host", address.encode()), *kept]}
        await self.app(scope, receive, send)


def _existing(folder: Path) -> Path:
    return next(each for each in (folder, *folder.absolute().parents) if each.exists())


async def _refuse(send: Send, status: int, text: bytes) -> None:
    headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(text)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text})
