"""Background work of a running server: find entries that others added, score them, and compute forecasts."""

import math
import threading
import time
from contextlib import suppress

from shiftbench.leaderboard.app.faults import FaultLog
from shiftbench.leaderboard.board import Index
from shiftbench.leaderboard.board.forecasts import ForecastIndex
from shiftbench.validation.report import InvalidInput

SECONDS_BETWEEN_LOOKS = 60
"""Seconds between checks of the store for entries added elsewhere; a Hub repository is slow to query."""
SECONDS_AFTER_FAULT = 5.0
COMPARISON_BYTES = 2**30
"""Maximum size of all cached comparisons in the store, in bytes."""
_SECONDS_BETWEEN_TRIMS = 600
_SECONDS_FRESH = 1.0


class LiveIndex:
    """Keeps an index up to date while a server runs; the application's lifespan calls ``start`` and ``stop``."""

    def __init__(self, index: Index, faults: FaultLog | None = None, comparison_bytes: int = COMPARISON_BYTES) -> None:
        self._index, self._comparison_bytes = index, comparison_bytes
        self._trimmed = -math.inf
        self.forecasts = ForecastIndex(index)
        self.faults = faults or FaultLog()
        self._looked = time.monotonic()
        self._stopped = threading.Event()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread that reads new entries and scores them."""
        self._thread = threading.Thread(target=self._run, name="live index", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread; an entry that is being scored is scored again after a restart."""
        self._stopped.set()
        self._wake.set()
        with suppress(InvalidInput):  # the store cannot be written now: only the log entries of rejected files are lost
            self._index.store.flush_notes()

    @property
    def index(self) -> Index:
        """Return the index, refreshed from the store's folder at most once a second."""
        # During the first load, a refresh would wait for all entries.
        if not self._index.unread and time.monotonic() - self._looked > _SECONDS_FRESH:
            self._looked = time.monotonic()
            try:
                self._index.refresh()
            except InvalidInput as error:
                self._index.store.behind = str(error)  # the board shows this message with the old content
        if self._index.waiting() or self.forecasts.has_new:
            self._wake.set()
        return self._index

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._score()
                self._forecast()
                self._wake.wait(SECONDS_BETWEEN_LOOKS)
                self._wake.clear()
                self._look()
            except Exception as fault:
                # A bug must neither stop this thread nor go unnoticed.
                self.faults.write(fault)
                self._stopped.wait(SECONDS_AFTER_FAULT)

    def _score(self) -> None:
        for identity in self._index.waiting():
            if self._stopped.is_set():
                return
            self._index.score(identity)

    def _forecast(self) -> None:
        """Forecast the waiting entries; an entry that arrives meanwhile is scored first."""
        for identity in self.forecasts.waiting():
            if self._stopped.is_set() or self._index.waiting():
                self._wake.set()
                return
            self.forecasts.compute(identity)

    def _look(self) -> None:
        try:
            self._index.store.flush_notes()
            if time.monotonic() - self._trimmed > _SECONDS_BETWEEN_TRIMS:
                self._index.store.trim_comparisons(self._comparison_bytes)
                self._trimmed = time.monotonic()
            self._index.store.refresh()
        except InvalidInput:
            return  # the store records the error (``Store.behind``), and the board shows it
        self._index.refresh()
