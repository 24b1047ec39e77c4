"""Bounds on connections: how many there are, and how long one may neither ask nor take what it asked for.

The web server itself (uvicorn) waits for ever for the rest of a request's first lines and for a reader that takes
nothing, so a few hundred sockets that say nothing would shut everybody out.
"""

import asyncio
import logging
from functools import partial
from typing import Any, cast

from uvicorn.protocols.http.h11_impl import H11Protocol

from shiftbench.validation.operating_system import raise_open_files

IDLE_SECONDS = 15.0
"""Within so many seconds a connection has to send a whole request's head, the first and every later one."""
STUCK_SECONDS = 60.0
"""Within so many seconds a reader has to take some 48 KiB of what waits for it."""
SECONDS_BETWEEN_LOOKS = 5.0
MAX_CONNECTIONS = 1_000
WANTED_FILES = 8_192
"""Open files that this process asks the system for; a connection is one, an upload under way another."""


class BoundedConnection(H11Protocol):
    """A connection that is ended when it is idle or stuck.

    Where there are more than ``most``, one without a request under way is ended for the newcomer, the oldest first;
    where all are at work, the oldest of them.
    """

    def __init__(self, *arguments: Any, most: int, **options: Any) -> None:
        super().__init__(*arguments, **options)
        # Anybody could have each of its lines written as often as they like; faults are written by ``BodyLimit``.
        self.logger = logging.Logger("connections", logging.CRITICAL)
        self._most = most
        self._opened = self._idle_since = self.loop.time()
        self._stuck_since: float | None = None
        self._next_look: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Register the connection, and end the oldest idle ones where there are too many."""
        super().connection_made(transport)
        self._look()
        if len(self.connections) > self._most:
            others = (cast(BoundedConnection, other) for other in self.connections if other is not self)
            min(others, key=lambda other: (other.is_at_work(), other._opened)).end()

    def connection_lost(self, exc: Exception | None) -> None:
        """Remove the connection from those that are watched."""
        if self._next_look is not None:
            self._next_look.cancel()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Record since when the reader takes nothing."""
        self._stuck_since = self.loop.time()
        super().pause_writing()

    def resume_writing(self) -> None:
        """Record that the reader took some."""
        self._stuck_since = None
        super().resume_writing()

    def on_response_complete(self) -> None:
        """Record since when the connection has nothing to do; the next request may have come already."""
        self._idle_since = self.loop.time()
        super().on_response_complete()

    def is_at_work(self) -> bool:
        """Return whether a request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    def end(self) -> None:
        """Close the connection at once."""
        self.connections.discard(self)
        self.transport.abort()

    def _look(self) -> None:
        now = self.loop.time()
        if self._next_look is not None:  # while the server was held up it read nothing that may have come
            self._idle_since += max(0.0, now - self._next_look.when())
        if self.is_at_work():
            self._idle_since = now
        is_stuck = self._stuck_since is not None and now - self._stuck_since > STUCK_SECONDS
        if is_stuck or now - self._idle_since > IDLE_SECONDS:
            self.end()
        else:
            self._next_look = self.loop.call_later(SECONDS_BETWEEN_LOOKS, self._look)


def bounded_connections(most: int | None = None) -> Any:
    """Return what uvicorn makes connections with, after raising the soft limit on open files towards ``WANTED_FILES``.

    There are at most ``most`` of them, by default ``MAX_CONNECTIONS``.

    Half of the files that the system allows are left for uploads, the store and the datasets.
    """
    return partial(BoundedConnection, most=min(most or MAX_CONNECTIONS, raise_open_files(WANTED_FILES) // 2))
