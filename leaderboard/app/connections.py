"""Limits on connections: their number, and how long they may be idle or stall.

The web server itself (uvicorn) waits forever for the rest of a request's headers and for a client that does not read,
so a few hundred idle sockets would block all other clients.
"""

import asyncio
import logging
from functools import partial
from typing import Any, cast

from uvicorn.protocols.http.h11_impl import H11Protocol

from shiftbench.validation.operating_system import raise_open_files

IDLE_SECONDS = 15.0
"""Seconds within which a connection must send all headers of a request."""
STUCK_SECONDS = 60.0
"""Seconds within which a client must read about 48 KiB of pending output."""
SECONDS_BETWEEN_LOOKS = 5.0
MAX_CONNECTIONS = 1_000
WANTED_FILES = 8_192
"""Number of open files requested from the system: one per connection, and one per upload in progress."""


class BoundedConnection(H11Protocol):
    """A connection that is closed when it is idle or its client stops reading.

    Above ``most`` connections, a new one closes the oldest idle one, or the oldest of all if none is idle.
    """

    def __init__(self, *arguments: Any, most: int, **options: Any) -> None:
        super().__init__(*arguments, **options)
        # Anybody could trigger these messages any number of times; faults are logged by ``BodyLimit``.
        self.logger = logging.Logger("connections", logging.CRITICAL)
        self._most = most
        self._opened = self._idle_since = self.loop.time()
        self._stuck_since: float | None = None
        self._next_look: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Register the connection; if there are too many, close the oldest idle one."""
        super().connection_made(transport)
        self._look()
        if len(self.connections) > self._most:
            others = (cast(BoundedConnection, other) for other in self.connections if other is not self)
            min(others, key=lambda other: (other.is_at_work(), other._opened)).end()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timer that checks the connection."""
        if self._next_look is not None:
            self._next_look.cancel()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Record the time at which the client stopped reading."""
        self._stuck_since = self.loop.time()
        super().pause_writing()

    def resume_writing(self) -> None:
        """Record that the client reads again."""
        self._stuck_since = None
        super().resume_writing()

    def on_response_complete(self) -> None:
        """Record the time at which the connection became idle, although the next request may already have arrived."""
        self._idle_since = self.loop.time()
        super().on_response_complete()

    def is_at_work(self) -> bool:
        """Return whether a request is being handled."""
        return self.cycle is not None and not self.cycle.response_complete

    def end(self) -> None:
        """Close the connection immediately."""
        self.connections.discard(self)
        self.transport.abort()

    def _look(self) -> None:
        now = self.loop.time()
        if self._next_look is not None:  # do not count time in which the server was blocked and read nothing
            self._idle_since += max(0.0, now - self._next_look.when())
        if self.is_at_work():
            self._idle_since = now
        is_stuck = self._stuck_since is not None and now - self._stuck_since > STUCK_SECONDS
        if is_stuck or now - self._idle_since > IDLE_SECONDS:
            self.end()
        else:
            self._next_look = self.loop.call_later(SECONDS_BETWEEN_LOOKS, self._look)


def bounded_connections(most: int | None = None) -> Any:
    """Return uvicorn's connection factory, after raising the soft limit on open files towards ``WANTED_FILES``.

    There are at most ``most`` connections (default ``MAX_CONNECTIONS``). Half of the files that the system allows are
    reserved for uploads, the store and the datasets.
    """
    return partial(BoundedConnection, most=min(most or MAX_CONNECTIONS, raise_open_files(WANTED_FILES) // 2))
