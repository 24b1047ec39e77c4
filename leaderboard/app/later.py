"""Deferred loading of Gradio's application, the slowest part: after the first page, or on its first request."""

import asyncio
import gc
from collections.abc import Callable

from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from shiftbench.leaderboard.app.faults import FaultLog
from shiftbench.leaderboard.pages.addresses import HEALTH

SECONDS_AFTER_FIRST_PAGE = 1.0
"""Delay after the first page, during which the browser still fetches its style sheet and script."""


class LaterGradio:
    """ASGI application that stands in for Gradio's until Gradio's is mounted.

    ``mount`` imports Gradio, mounts its application and returns it; it runs in a thread. The lifespan lasts until
    ``stop`` is called.
    """

    def __init__(self, mount: Callable[[], FastAPI], faults: FaultLog) -> None:
        self._mount, self._faults = mount, faults
        self._running: asyncio.Task[None] | None = None
        self._app: asyncio.Future[FastAPI] | None = None
        self._stopped = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request once the application is loaded; if loading failed, every request raises that error."""
        app = await asyncio.shield(self.begin())
        await app(scope, receive, send)

    def begin(self) -> "asyncio.Future[FastAPI]":
        """Start loading the application, unless already started; return a future that resolves to it."""
        if self._app is None:
            self._app = asyncio.get_running_loop().create_future()
            self._running = asyncio.create_task(self._run(self._app))
        return self._app

    async def stop(self) -> None:
        """Stop the application's lifespan."""
        self._stopped.set()
        if self._running is not None:
            await self._running

    async def _run(self, loaded: "asyncio.Future[FastAPI]") -> None:
        # A separate task, because a lifespan must be closed by the task that opened it.
        try:
            app = await asyncio.to_thread(self._mount)
            if gc.get_freeze_count():  # loaded objects are permanent: exclude them from garbage collection
                gc.freeze()
            async with app.router.lifespan_context(app):
                loaded.set_result(app)
                await self._stopped.wait()
        except Exception as fault:
            self._faults.write(fault)
            if not loaded.done():
                loaded.set_exception(fault)
                loaded.exception()  # mark it as retrieved: there may be no request


class AfterFirstPage:
    """ASGI middleware that calls ``begin`` a second after the first response other than a health check."""

    def __init__(self, app: ASGIApp, begin: Callable[[], object]) -> None:
        self.app = app
        self._begin: Callable[[], object] | None = begin

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and schedule ``begin`` once."""
        await self.app(scope, receive, send)
        if self._begin is not None and scope["type"] == "http" and scope["path"] != HEALTH:
            asyncio.get_running_loop().call_later(SECONDS_AFTER_FIRST_PAGE, self._begin)
            self._begin = None
