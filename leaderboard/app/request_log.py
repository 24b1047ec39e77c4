"""The server's request log: an id per request, also sent as a response header; one line per slow request, or for all.

No line contains a visitor's address, a query or a header: the only visitor input is the path, escaped.
"""

import contextvars
import json
import secrets
import sys
import time
from datetime import UTC, datetime
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADER = "X-Request-Id"
SLOW_SECONDS = 5.0
"""Default time above which a request is logged as slow: pages take milliseconds, and longer checks are queued."""
MAX_SLOW_PER_MINUTE = 30
"""Maximum number of slow requests logged per minute (unless all are logged), since any client can cause them."""
MAX_PATH = 200
request_id: contextvars.ContextVar[str] = contextvars.ContextVar("request_id", default="")
"""The id of the current request."""


def write_line(level: str, event: str, facts: dict[str, Any], *, as_json: bool) -> None:
    """Write one line of the server's log to standard error, in ASCII.

    As JSON it has ``at``, ``level``, ``event``, the request's ``id`` if there is one, and the facts.
    """
    known = {"id": request_id.get()} if request_id.get() and "id" not in facts else {}
    if as_json:
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        text = json.dumps({"at": at, "level": level, "event": event, **known, **facts})
    else:
        text = " ".join([event, *(f"{name}={escaped(str(value))}" for name, value in {**known, **facts}.items())])
    print(text, file=sys.stderr, flush=True)


def escaped(text: str) -> str:
    r"""Return a text in printable ASCII on one line.

    >>> escaped("a\nb\x1b[2J\u202e")
    'a\\nb\\x1b[2J\\u202e'
    """
    return ascii(text)[1:-1]


class RequestLog:
    """Outermost ASGI middleware: assigns an id to each request, and logs slow requests, or all."""

    def __init__(self, app: ASGIApp, *, as_json: bool, every: bool, slow_seconds: float) -> None:
        self.app = app
        self._as_json, self._every, self._slow_seconds = as_json, every, slow_seconds
        self._minute, self._n_slow = 0, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request under a new id."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        identity, start = secrets.token_hex(8), time.monotonic()
        token = request_id.set(identity)
        status, n_bytes, seconds = 0, 0, None

        async def noted(message: Message) -> None:
            nonlocal status, n_bytes, seconds
            if message["type"] == "http.response.start":
                # Time to the first byte: some streams only end when the client leaves.
                status, seconds = message["status"], time.monotonic() - start
                MutableHeaders(scope=message)[HEADER] = identity
            n_bytes += len(message.get("body", b""))
            await send(message)

        try:
            await self.app(scope, receive, noted)
        finally:
            request_id.reset(token)
            seconds = time.monotonic() - start if seconds is None else seconds
            is_slow = seconds > self._slow_seconds
            if self._every or (is_slow and self._may_write()):
                facts = {
                    "id": identity,
                    "method": scope["method"][:20],
                    "path": scope["path"][:MAX_PATH],
                    "status": status,
                    "ms": round(1e3 * seconds, 1),
                    "bytes": n_bytes,
                }
                write_line("warning" if is_slow else "info", "slow request" if is_slow else "request", facts,
                           as_json=self._as_json)  # fmt: skip

    def _may_write(self) -> bool:
        """Return whether another slow request may be logged this minute."""
        minute = int(time.monotonic() // 60)
        if minute != self._minute:
            self._minute, self._n_slow = minute, 0
        self._n_slow += 1
        return self._n_slow <= MAX_SLOW_PER_MINUTE
