"""What a running server does beside answering: looks for entries that others added, scores and forecasts them."""

import threading
import time
from contextlib import suppress

from shiftbench.leaderboard.app.faults import FaultLog
from shiftbench.leaderboard.board import Index
from shiftbench.leaderboard.board.forecasts import ForecastIndex
from shiftbench.validation.report import InvalidInput

SECONDS_BETWEEN_LOOKS = 60
"""How often the store's place is asked for entries that came by another way; a Hub repository is far."""
SECONDS_AFTER_FAULT = 5.0
_SECONDS_FRESH = 1.0


class Keeper:
    """Keeps an index up to date while a server runs: ``start`` and ``stop`` come from the application's lifespan."""

    def __init__(self, index: Index, faults: FaultLog | None = None) -> None:
        self._index = index
        self.forecasts = ForecastIndex(index)
        self.faults = faults or FaultLog()
        self._looked = time.monotonic()
        self._stopped = threading.Event()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread that reads new entries and scores them."""
        self._thread = threading.Thread(target=self._run, name="keeper", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread; an entry whose scoring is under way is scored again by the next server."""
        self._stopped.set()
        self._wake.set()
        with suppress(InvalidInput):  # the place cannot be written now: what was refused is lost to the log alone
            self._index.store.flush_notes()

    @property
    def index(self) -> Index:
        """Return the index with what was added to the store's folder, which is read once a second at most."""
        # While the entries of a first start are still being read, a look would wait for all of them.
        if not self._index.unread and time.monotonic() - self._looked > _SECONDS_FRESH:
            self._looked = time.monotonic()
            try:
                self._index.refresh()
            except InvalidInput as error:
                self._index.store.behind = str(error)  # the board shows it, with what was there before
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
                # A fault of ours must neither end all looking and scoring nor go unseen.
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
            self._index.store.refresh()
        except InvalidInput:
            return  # the store says so itself (``Store.behind``), and the board shows it
        self._index.refresh()
