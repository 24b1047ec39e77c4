"""HEAD requests, which ask whether an address is there and how its answer is labelled, without the answer itself."""

from starlette.types import ASGIApp, Receive, Scope, Send

from shiftbench.leaderboard.pages.addresses import GRADIO


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
