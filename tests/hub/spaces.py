"""Spaces and models of the loopback Hub: kept and served as dataset repositories of other names."""

import re

from starlette.types import ASGIApp, Receive, Scope, Send

PREFIX, MODEL_PREFIX = "space-of-", "model-of-"
_FILE_OF_MODEL = re.compile(r"/(?!datasets/|spaces/|api/|lfs/)[^/]+/[^/]+/resolve/")


def stored_name(name: str) -> str:
    """Return the repository that keeps a Space."""
    return f"{PREFIX}{name}"


def stored_model(name: str) -> str:
    """Return the repository that keeps a model."""
    return f"{MODEL_PREFIX}{name}"


class OtherRepositories:
    """Middleware: addresses of Spaces and models are those of the dataset repositories that keep them."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            for before, after in (
                ("/api/spaces/", f"/api/datasets/{PREFIX}"),
                ("/spaces/", f"/datasets/{PREFIX}"),
                ("/api/models/", f"/api/datasets/{MODEL_PREFIX}"),
            ):
                if scope["path"].startswith(before):
                    scope["path"] = after + scope["path"].removeprefix(before)
            if _FILE_OF_MODEL.match(scope["path"]):
                scope["path"] = f"/datasets/{MODEL_PREFIX}{scope['path'].removeprefix('/')}"
        await self.app(scope, receive, send)
