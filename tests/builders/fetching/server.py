"""A server on the loopback interface that serves invented releases, and fails as servers do."""

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FORM = b"<!DOCTYPE html>\n<html><body><form>Please tell us who you are, and sign.</form></body></html>\n"


@dataclass
class Answer:
    """What one request gets.

    ``status``: this one, with ``body`` and ``headers``; else the file, as whole or in part as it is asked for.
    ``cut``: the connection ends after so many bytes of it. ``stall``: seconds of silence after these bytes.
    """

    status: int | None = None
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None
    stall: float = 0


@dataclass
class Served:
    """A file. ``faults`` answer the first requests; ``ranges``: parts can be asked for; ``rate``: bytes a second.

    ``validators``: the headers that tell it from others; None for a strong ETag. ``conditions``: If-Range is heeded.
    ``length``: its size is sent; without
    it the body ends with the connection, or comes in chunks.
    """

    body: bytes
    faults: list[Answer] = field(default_factory=list)
    ranges: bool = True
    rate: int | None = None
    validators: dict[str, str] | None = None
    conditions: bool = True
    length: bool = True
    chunked: bool = False
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Asked:
    """A request, and the bytes of a body that were handed to the network for it."""

    path: str
    range: str | None
    sent: int = 0
    status: int = 0
    method: str = "GET"


class Release:
    """Files by path, and the requests that came for them."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.files: dict[str, Served] = {}
        self.log: list[Asked] = []
        self.lock = threading.Lock()

    @property
    def sent(self) -> int:
        """Return the bytes of all bodies."""
        with self.lock:
            return sum(asked.sent for asked in self.log)

    def asked(self, path: str) -> list[tuple[str | None, int]]:
        """Return the range and the status of each request for a file."""
        return [(asked.range, asked.status) for asked in self.log if asked.path == path]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    release: Release

    def do_GET(self) -> None:
        asked = Asked(self.path, self.headers.get("Range"), method=self.command)
        with self.release.lock:
            self.release.log.append(asked)
            served = self.release.files.get(self.path)
            answer = served.faults.pop(0) if served and served.faults else Answer()
        self.close_connection = True
        with suppress(OSError):  # the client has gone
            if served is None:
                self._answer(asked, 404, b"Not Found", {})
            elif answer.status is not None:
                self._answer(asked, answer.status, answer.body, answer.headers)
            else:
                self._serve(asked, served, answer)

    do_HEAD = do_GET  # noqa: N815 - the library's name

    def _answer(self, asked: Asked, status: int, body: bytes, headers: dict[str, str]) -> None:
        self._begin(asked, status, {"Content-Length": str(len(body)), **headers})
        if self.command != "HEAD":
            self.wfile.write(body)

    def _begin(self, asked: Asked, status: int, headers: dict[str, str]) -> None:
        asked.status = status
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()

    def _serve(self, asked: Asked, served: Served, answer: Answer) -> None:
        tag = {"ETag": f'"{md5(served.body, usedforsecurity=False).hexdigest()}"'}
        validators = tag if served.validators is None else served.validators
        wanted = self.headers.get("If-Range")
        start, last, status = 0, len(served.body) - 1, 200
        headers = {"Content-Type": "application/octet-stream", **validators, **served.headers}
        part = re.fullmatch(r"bytes=(\d+)-(\d*)", asked.range or "")
        if part and served.ranges and (wanted is None or not served.conditions or wanted in validators.values()):
            start, status = int(part[1]), 206
            if start >= len(served.body):
                self._answer(asked, 416, b"", {"Content-Range": f"bytes */{len(served.body)}"})
                return
            last = int(part[2] or len(served.body) - 1)
            headers["Content-Range"] = f"bytes {start}-{last}/{len(served.body)}"
        body = served.body[start : last + 1]
        if served.length:
            headers["Content-Length"] = str(len(body))
        elif served.chunked:
            headers["Transfer-Encoding"] = "chunked"
        self._begin(asked, status, headers)
        if self.command == "HEAD":
            return
        end = len(body) if answer.cut is None else answer.cut
        step = 8_192
        for at in range(0, end, step):
            piece = body[at : min(at + step, end)]
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece) if served.chunked else piece)
            with self.release.lock:
                asked.sent += len(piece)
            if served.rate:
                time.sleep(len(piece) / served.rate)
        if answer.stall:
            self.wfile.flush()
            time.sleep(answer.stall)
        if served.chunked and answer.cut is None:
            self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing to standard error."""


@contextmanager
def running_release() -> Iterator[Release]:
    """Serve on a free port, in threads of this process, until the block ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads, server.block_on_close = True, False
    release = Release(f"http://127.0.0.1:{server.server_address[1]}")
    server.RequestHandlerClass = type("Handler", (_Handler,), {"release": release})
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield release
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=10)
