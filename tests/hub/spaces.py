"""Spaces of the loopback Hub: kept and served as dataset repositories of other names."""

from starlette.types import ASGIApp, Receive, Scope, Send

PREFIX = "space-of-"


def stored_name(name: str) -> str:
    """Give the repository that keeps a Space."""
    return f"{PREFIX}{name}"


class Spaces:
    """Middleware: a Space's addresses are those of the dataset repository that keeps it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            for before, after in (("/api/spaces/", "/api/datasets/"), ("/spaces/", "/datasets/")):
                if scope["path"].startswith(before):
                    scope["path"] = after + PREFIX + scope["path"].removeprefix(before)
        await self.app(scope, receive, send)
