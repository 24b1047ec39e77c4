"""A static copy of a web page, served from memory: the reference of ``python -m benchmarks app``."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

Answers = dict[str, tuple[str, bytes]]
"""Media type and body by path with query."""


def record(page: Any, address: str) -> Answers:
    """Open a URL, and return the responses that the browser received from its server.

    Args:
        page: a playwright page.
        address: URL of the page to copy.
    Returns: every response except redirects and errors, decompressed.
    """
    responses: list[Any] = []

    # Playwright sets attributes on its handlers, which a built-in method does not allow.
    def note(response: Any) -> None:
        responses.append(response)

    page.on("response", note)
    page.goto(address, wait_until="networkidle")
    host = urlsplit(address).netloc
    own = [response for response in responses if response.ok and urlsplit(response.url).netloc == host]
    return {_target(each.url): (each.headers.get("content-type", ""), each.body()) for each in own}


@contextmanager
def serving(answers: Answers) -> Iterator[str]:
    """Serve recorded responses on loopback; yields the server's URL.

    Args:
        answers: result of ``record``.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            media_type, body = answers.get(self.path, ("text/plain", b""))
            self.send_response(200 if self.path in answers else 404)
            self.send_header("Content-Type", media_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Do not log requests."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=10)


def _target(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
