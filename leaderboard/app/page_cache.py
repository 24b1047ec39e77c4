"""Cache of rendered board pages, emptied when anything on a board changes."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

from fastapi.responses import Response

from shiftbench.leaderboard.app.answers import html_answer
from shiftbench.leaderboard.board import Index

MOST_PAGES = 100


class PageCache:
    """Cached HTML pages that depend only on their URL and the index. Thread-safe.

    Servers with withheld labels cache none, since their pages also depend on rounds and feedback.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._parts: Sequence[object] = ()
        self._pages: OrderedDict[str, bytes] = OrderedDict()

    def answer(self, index: Index, address: str, write: Callable[[], Response]) -> Response:
        """Return the cached page of a URL, or else render it with ``write`` and cache it if its status is 200."""
        parts = index.parts()
        if parts is None:
            return write()
        with self._lock:
            if len(parts) != len(self._parts) or any(a is not b for a, b in zip(parts, self._parts, strict=True)):
                self._parts, self._pages = parts, OrderedDict()
            pages = self._pages
            page = pages.get(address)
        if page is not None:
            return html_answer(page)
        response = write()
        if response.status_code == 200:
            with self._lock:
                pages[address] = bytes(response.body)
                while len(pages) > MOST_PAGES:
                    pages.popitem(last=False)
        return response
