"""A server of upstream files on the loopback interface, whose paths say how it answers: ``/404/...``, ``/page/...``."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

BODY = b"text\tlabel\nthe fan is broken\t1\n"


class _Upstream(BaseHTTPRequestHandler):
    """Answers by the first part of the path; what was asked is kept in ``asked``."""

    asked: list[tuple[str, str]]
    files: Mapping[str, bytes]

    def do_HEAD(self) -> None:
        self.asked.append(("HEAD", self.path))
        self._answer()

    def do_GET(self) -> None:
        self.asked.append(("GET", self.path))
        self._answer()

    def _answer(self) -> None:
        kind = self.path.strip("/").partition("/")[0]
        code, body = 200, self.files.get(self.path, BODY)
        headers: dict[str, str] = {"Content-Type": "text/plain", "Content-Length": str(len(body))}
        if kind.isdigit():
            code = int(kind)
            headers["Location"] = "/whole/file.tsv"
        elif kind == "page":
            headers["Content-Type"] = "text/html; charset=utf-8"
        elif kind == "ranges" and self.command == "HEAD":
            code = 405
        elif kind == "ranges":
            assert self.headers["Range"] == "bytes=0-0"
            headers |= {"Content-Length": "1", "Content-Range": f"bytes 0-0/{len(body)}"}
            code, body = 206, body[:1]
        elif kind == "unsaid":
            del headers["Content-Length"]
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


@contextmanager
def running_upstream(files: Mapping[str, bytes] | None = None) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Run the server; yields its address and what it was asked.

    Args:
        files: contents by path; other paths have ``BODY``.
    """
    asked: list[tuple[str, str]] = []
    with ThreadingHTTPServer(
        ("127.0.0.1", 0), type("Upstream", (_Upstream,), {"asked": asked, "files": files or {}})
    ) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()
