"""A page for a person who asks for an address that is not there; programs keep the short answer."""

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shiftbench.leaderboard.app.answers import page_answer
from shiftbench.leaderboard.pages.addresses import BOARD, GRADIO
from shiftbench.scoring.reports.frame.html import Markup, join, tag
from shiftbench.scoring.reports.frame.site import box


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
