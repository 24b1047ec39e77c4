"""The log of the loopback Hub, and the faults it can be set to show: at the n-th request of a kind, or of any."""

import asyncio
import random
import re
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Literal

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

_REPO = r"/api/datasets/[^/]+/[^/]+"
KINDS = {
    "whoami": r"GET /api/whoami-v2",
    "create_repo": r"POST /api/repos/create",
    "validate_yaml": r"POST /api/validate-yaml",
    "branch": rf"POST {_REPO}/branch/.+",
    "tag": rf"POST {_REPO}/tag/.+",
    "preupload": rf"POST {_REPO}/preupload/.+",
    "commit": rf"POST {_REPO}/commit/.+",
    "paths_info": rf"POST {_REPO}/paths-info/.+",
    "refs": rf"GET {_REPO}/refs",
    "tree": rf"GET {_REPO}/tree/.+",
    "info": rf"GET {_REPO}(/revision/.+)?",
    "lfs_batch": r"POST /datasets/.+/info/lfs/objects/batch",
    "lfs_put": r"PUT /lfs/.+",
    "resolve": r"(GET|HEAD) /datasets/[^/]+/[^/]+/resolve/.+",
}
"""Kinds of requests: each a pattern of method and path."""
ANY = "any"
HELD_SECONDS = 60.0


@dataclass
class Fault:
    """What goes wrong at one request.

    ``status``: this answer instead; ``cut``: the connection is closed; ``hold``: nothing more happens until
    ``Faults.release``, then it is closed or, where ``then`` says so, answered; ``slow``: 16 KiB of the answer each
    20 ms. With ``landed`` the request is carried out first, and only the answer goes wrong. ``after``: bytes of the
    request that are read before. ``times``: at so many requests, one after the other.
    """

    kind: str
    nth: int = 1
    does: Literal["status", "cut", "hold", "slow"] = "status"
    status: int = 500
    headers: dict[str, str] = field(default_factory=dict)
    landed: bool = False
    after: int = 0
    times: int = 1
    then: Literal["cut", "go on"] = "cut"


def random_faults(n_requests: int, rng: random.Random) -> list[Fault]:
    """Draw a fault for one request in ten, of any kind."""
    faults = []
    for nth in range(1, n_requests):
        if rng.random() < 0.1:
            status, landed = rng.choice([408, 409, 412, 429, 500, 502, 503, 504]), rng.random() < 0.5
            # A held request waits for its end in one of few threads of the Hub: these are rare.
            does: Any = rng.choices(["status", "cut", "hold"], [6, 4, 0.1])[0]
            faults.append(Fault("any", nth=nth, does=does, status=status, landed=landed))
    return faults


@dataclass
class Entry:
    """A line of the log: one request as it was answered; status 0 where it was not."""

    kind: str
    method: str
    path: str
    received: int = 0
    status: int = 0
    range: str | None = None


class Faults:
    """A counter of requests by kind, which keeps the log and triggers the planned faults."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.log: list[Entry] = []
        self.counts: Counter[str] = Counter()
        self.faults: list[Fault] = []
        self.held = threading.Event()
        self._released = threading.Event()

    def plan(self, *faults: Fault) -> None:
        """Start counting anew, with these faults ahead; the log starts anew, too."""
        self.counts.clear()
        self.log.clear()
        self.held.clear()
        self._released.clear()
        self.faults = list(faults)

    def release(self) -> None:
        """Release held requests: their connections are closed."""
        self._released.set()

    def kinds(self) -> Counter[str]:
        """Count the answered requests of the log by kind."""
        return Counter(entry.kind for entry in self.log)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer a request, as an ASGI application."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        # A branch named a/b comes as a%2Fb; decoded it would be two parts of the path.
        scope["path"] = (
            scope["raw_path"].split(b"?")[0].decode().replace("%2F", "\0").replace("%20", " ").replace("\0", "%2F")
        )
        entry = self._entry(scope)
        fault = self._next(entry.kind)

        async def counted() -> Message:
            message = await receive()
            entry.received += len(message.get("body", b""))
            return message

        async def noted(message: Message) -> None:
            entry.status = message.get("status", entry.status)
            await send(message)

        if fault is None:
            await self.app(scope, counted, noted)
        else:
            await self._fail(fault, scope, counted, noted, send.__self__.transport)  # type: ignore[attr-defined]

    def _entry(self, scope: MutableMapping[str, Any]) -> Entry:
        line = f"{scope['method']} {scope['path']}"
        kind = next((name for name, pattern in KINDS.items() if re.fullmatch(pattern, line)), "other")
        entry = Entry(kind, scope["method"], scope["path"])
        entry.range = dict(scope["headers"]).get(b"range", b"").decode() or None
        self.log.append(entry)
        return entry

    def _next(self, kind: str) -> Fault | None:
        self.counts.update((kind, ANY))
        for fault in self.faults:
            if fault.kind in (kind, ANY) and 0 <= self.counts[fault.kind] - fault.nth < fault.times:
                return fault
        return None

    async def _fail(
        self, fault: Fault, scope: MutableMapping[str, Any], receive: Receive, send: Send, transport: Any
    ) -> None:
        if fault.does == "slow":
            await self.app(scope, receive, _slowly(send))
            return
        if fault.landed:
            await self.app(scope, receive, _silent)
        elif fault.does == "status":
            await _read(receive)
        elif fault.after:
            await _read(receive, fault.after)
        if fault.does == "status":
            headers = [(name.lower().encode(), value.encode()) for name, value in fault.headers.items()]
            await send({"type": "http.response.start", "status": fault.status, "headers": headers})
            await send({"type": "http.response.body", "body": b'{"error": "told to fail"}'})
            return
        if fault.does == "hold":
            self.held.set()
            await asyncio.to_thread(self._released.wait, HELD_SECONDS)
            if fault.then == "go on":
                await self.app(scope, receive, send)
                return
        transport.abort()


async def _silent(message: Message) -> None:
    """Send nothing."""


async def _read(receive: Receive, at_most: int | None = None) -> None:
    read, more = 0, True
    while more and (at_most is None or read < at_most):
        message = await receive()
        read += len(message.get("body", b""))
        more = message.get("more_body", False)


def _slowly(send: Send) -> Send:
    async def slow(message: Message) -> None:
        body = message.get("body", b"")
        while len(body) > 16_384:
            await send({"type": "http.response.body", "body": body[:16_384], "more_body": True})
            await asyncio.sleep(0.02)
            body = body[16_384:]
        await send({**message, "body": body} if "body" in message else message)

    return slow
