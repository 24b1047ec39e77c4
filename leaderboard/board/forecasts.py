"""Forecasts of an index's entries: read from the cache, computed in the background, compared by board."""

import threading
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl
from threadpoolctl import threadpool_limits

from shiftbench.leaderboard.board.boards import Board
from shiftbench.leaderboard.board.index import Index, public_message
from shiftbench.leaderboard.board.overall import one_entry_per_model
from shiftbench.leaderboard.store import find_folder
from shiftbench.scoring.forecasting.comparison import Forecasted, compare_methods
from shiftbench.scoring.forecasting.entries import EntryForecasts
from shiftbench.scoring.forecasting.shape import MethodComparison
from shiftbench.validation.report import InvalidInput

MAX_ENTRIES = 100
"""Maximum number of models compared on a board, those with the newest entries: more would take seconds per page."""
_MAX_CACHED, _MAX_COMPARED = 1_000, 40
FAILED = "forecasting failed on this server"
ANOTHER_ENTRY = "replaced by a newer or more complete entry of the same model and submitter"


@dataclass(frozen=True)
class ForecastsFound:
    """Forecasts on some boards: those of each model, and the comparison of methods.

    ``n_waiting`` of the ``n_entries`` entries are not forecast yet; ``left_out`` has the reasons why others have no
    forecasts.
    """

    found: Sequence[Forecasted]
    compared: MethodComparison
    n_entries: int
    n_waiting: int
    left_out: Sequence[str]


class ForecastIndex:
    """Forecasts of the entries of an index. Thread-safe.

    Args:
        index: the entries; those on withheld labels have no forecasts.
    """

    def __init__(self, index: Index) -> None:
        self._index = index
        self._lock, self._comparing = threading.Lock(), threading.Lock()
        self._cache: OrderedDict[str, EntryForecasts] = OrderedDict()
        self._settled: set[str] = set()
        self._failed: dict[str, str] = {}
        self._looked: frozenset[str] | None = None
        self._compared: OrderedDict[tuple[tuple[str, str], ...], MethodComparison] = OrderedDict()

    @property
    def has_new(self) -> bool:
        """Whether entries were added or removed since the last call of ``waiting``."""
        return self._looked is not self._index.scored_ids()

    def waiting(self) -> list[str]:
        """List the entries to forecast: those on public labels without stored forecasts."""
        looked = self._index.scored_ids()
        boards = [board for board in self._index.boards() if board.folder.has_public_labels]
        ids = sorted({identity for board in boards for identity in self._index.frame(board)["id"]} - self._settled)
        found = [identity for identity in ids if self.of(identity) is None]
        if not found:
            self._looked = looked
        return found

    def of(self, identity: str) -> EntryForecasts | None:
        """Return an entry's stored forecasts; None if they are not computed yet or failed."""
        with self._lock:
            if identity in self._cache:
                self._cache.move_to_end(identity)
                return self._cache[identity]
        found = self._index.store.forecasts(identity)
        if found is not None:
            with self._lock:
                self._cache[identity] = found
                self._settled.add(identity)
                while len(self._cache) > _MAX_CACHED:
                    self._cache.popitem(last=False)
        return found

    def failure(self, identity: str) -> str | None:
        """Return why an entry could not be forecast here; None for all others."""
        return self._failed.get(identity)

    def compute(self, identity: str) -> None:
        """Forecast an entry and store the result; if the entry cannot be forecast, record the reason.

        Raises: any error other than InvalidInput, since it is a bug; a generic reason is recorded first.
        """
        reason: str | None = FAILED
        try:
            entry = self._index.entry(identity)
            with threadpool_limits(1, "blas"):
                self._index.store.forecast_again(entry, find_folder(entry.card, self._index.folders))
            reason = None
        except InvalidInput as error:
            reason = "; ".join(public_message(problem, self._index.names()) for problem in error.problems)
        finally:
            with self._lock:
                self._settled.add(identity)
                if reason is not None:
                    self._failed[identity] = reason

    def on(self, boards: Sequence[Board]) -> ForecastsFound:
        """Collect the forecasts of boards, one entry per model; boards with withheld labels are skipped."""
        found: list[Forecasted] = []
        names: list[tuple[str, str]] = []
        reasons: Counter[str] = Counter()
        n_entries = n_waiting = 0
        for board in boards:
            if not board.folder.has_public_labels:
                continue
            every = self._index.frame(board)
            rows = one_entry_per_model(every).sort("date", "id", descending=True)
            n_entries += every.height
            if rows.height < every.height:
                reasons[ANOTHER_ENTRY] += every.height - rows.height
            if rows.height > MAX_ENTRIES:
                reasons["older than the compared entries"] += rows.height - MAX_ENTRIES
            for identity, name in rows.select("id", "name").head(MAX_ENTRIES).iter_rows():
                made = self.of(identity)
                if made is None:
                    failure = self.failure(identity)
                    n_waiting += failure is None
                    reasons.update([failure] if failure else [])
                elif (task := made.of(board.task)) is not None:
                    found.append(Forecasted(board.name, f"{name} ({identity[:6]})", task))
                    names.append((board.name, identity))
                else:
                    reasons[made.reasons.get(board.task, FAILED)] += 1
        left_out = [f"{n:,} of {n_entries:,} entries: {why}" for why, n in reasons.most_common()]
        return ForecastsFound(found, self._comparison(names, found), n_entries, n_waiting, left_out)

    def _comparison(self, names: Sequence[tuple[str, str]], found: Sequence[Forecasted]) -> MethodComparison:
        """Compare methods; cached by entries."""
        key = tuple(names)
        with self._comparing:
            if key not in self._compared:
                self._compared[key] = compare_methods(found)
                while len(self._compared) > _MAX_COMPARED:
                    self._compared.popitem(last=False)
            return self._compared[key]


def forecast_rows(found: ForecastsFound) -> pl.DataFrame:
    """Build the table of all forecasts with the true scores.

    Returns: one row per board, entry, shift and method: ``board``, ``entry``, ``source``, ``target``, ``method``,
        ``forecast``, ``low`` and ``high`` (null without interval), ``level`` (of the interval), ``truth``; fractions.
    """
    rows = [
        (
            each.board, each.model, shift.source, shift.target, one.method, one.value, one.low, one.high,
            None if one.low is None else shift.level, shift.truth,
        )
        for each in found.found
        for shift in each.task.shifts
        for one in shift.forecasts
        if one.value is not None
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=FORECAST_ROWS, orient="row")


FORECAST_ROWS = pl.Schema(
    {
        "board": pl.String(), "entry": pl.String(), "source": pl.String(), "target": pl.String(),
        "method": pl.String(), "forecast": pl.Float64(), "low": pl.Float64(), "high": pl.Float64(),
        "level": pl.Float64(), "truth": pl.Float64(),
    }
)  # fmt: skip
"""Columns of ``forecast_rows``."""
