"""Gradio's application, which takes longer to load than all else: loaded after the first page, or when asked for."""

import asyncio
import gc
from collections.abc import Callable

from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from shiftbench.leaderboard.app.faults import FaultLog
from shiftbench.leaderboard.pages.addresses import HEALTH

SECONDS_AFTER_FIRST_PAGE = 1.0
"""A browser that has the first page still fetches its style sheet and script."""


class LaterGradio:
    """ASGI application that answers in the place of Gradio's until that is mounted.

    ``mount`` imports Gradio, mounts its application and returns it; it runs in a thread. The lifespan lasts until
    ``stop``.
    """

    def __init__(self, mount: Callable[[], FastAPI], faults: FaultLog) -> None:
        self._mount, self._faults = mount, faults
        self._running: asyncio.Task[None] | None = None
        self._app: asyncio.Future[FastAPI] | None = None
        self._stopped = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, once the application is there; a fault in its making is a fault of each request."""
        app = await asyncio.shield(self.begin())
        await app(scope, receive, send)

    def begin(self) -> "asyncio.Future[FastAPI]":
        """Begin to load the application, the first time; return what it will be."""
        if self._app is None:
            self._app = asyncio.get_running_loop().create_future()
            self._running = asyncio.create_task(self._run(self._app))
        return self._app

    async def stop(self) -> None:
        """End the application's lifespan."""
        self._stopped.set()
        if self._running is not None:
            await self._running

    async def _run(self, loaded: "asyncio.Future[FastAPI]") -> None:
        # A task of its own, because what a lifespan opens has to be closed by the task that opened it.
        try:
            app = await asyncio.to_thread(self._mount)
            if gc.get_freeze_count():  # what the start has made stays: collections need not look through it
                gc.freeze()
            async with app.router.lifespan_context(app):
                loaded.set_result(app)
                await self._stopped.wait()
        except Exception as fault:
            self._faults.write(fault)
            if not loaded.done():
                loaded.set_exception(fault)
                loaded.exception()  # no request may come that asks for it


class AfterFirstPage:
    """ASGI middleware that calls ``begin`` a second after the first answer that is more than a sign of life."""

    def __init__(self, app: ASGIApp, begin: Callable[[], object]) -> None:
        self.app = app
        self._begin: Callable[[], object] | None = begin

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the application does."""
        await self.app(scope, receive, send)
        if self._begin is not None and scope["type"] == "http" and scope["path"] != HEALTH:
            asyncio.get_running_loop().call_later(SECONDS_AFTER_FIRST_PAGE, self._begin)
            self._begin = None
