"""A bound on what a request may send, before anything reads it."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from leaderboard.submission import MAX_UPLOAD_BYTES

MAX_BODY_BYTES = 2**20
"""Of a request that is no upload: a card, an entry's id, a board's name."""
UPLOAD_PATH = "/gradio_api/upload"


class BodyLimit:
    """ASGI middleware that answers 413 to a request with too large a body, whether it says so before or not."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with its body counted."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        allowed = MAX_UPLOAD_BYTES + MAX_BODY_BYTES if scope["path"].startswith(UPLOAD_PATH) else MAX_BODY_BYTES
        said = dict(scope["headers"]).get(b"content-length", b"0")
        if not said.isdigit() or int(said) > allowed:
            await _refuse(send)
            return
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
                await _refuse(send)


async def _refuse(send: Send) -> None:
    text = b"the request is too large\n"
    headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(text)).encode())]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": text})
