"""Intervals of ranks, computed in the background from snapshots of the index, and saved in the store."""

import threading
import time

import polars as pl

from shiftbench.leaderboard.board import index_cache
from shiftbench.leaderboard.board.boards import Board, Snapshot, rows_of
from shiftbench.leaderboard.board.copies import Copies
from shiftbench.leaderboard.board.overall import (
    NO_RANKS,
    Benchmark,
    OverallRanks,
    benchmarks_of,
    line_key,
    newest_entries,
)
from shiftbench.leaderboard.board.ranks import INTERVALS, BoardRanks, Replicates, ranked_replicates
from shiftbench.leaderboard.store import Store
from shiftbench.validation.report import InvalidInput

_NO_INTERVALS = pl.DataFrame(schema=INTERVALS)
_UNSAVED = 0.01
"""Share of entries that may be missing in the cache; saving rewrites whole tables, so not each new entry is saved."""


class RankIntervals:
    """Intervals of ranks, computed by a background thread, because many entries take a while.

    After the ranks, which users wait for, the thread runs ``copies.find_near``. ``saved`` has the ids of the entries
    whose rows are already in the store's cache.
    """

    def __init__(self, store: Store, copies: Copies, *, saved: frozenset[str]) -> None:
        self._store, self._copies = store, copies
        self._saved = saved
        self._boards: dict[tuple[str, str, str], BoardRanks] = {}
        self._found: dict[tuple[str, str, str], pl.DataFrame] = {}
        self._overall: dict[str, OverallRanks] = {}
        self._found_overall: dict[str, pl.DataFrame] = {}
        self._replicates: dict[index_cache.Key, Replicates] | None = None
        self._thread: threading.Thread | None = None
        self._wanted: Snapshot | None = None
        self._lock = threading.Lock()

    def of(self, key: tuple[str, str, str]) -> pl.DataFrame:
        """Return the last computed intervals of a board."""
        return self._found.get(key, _NO_INTERVALS)

    def of_benchmark(self, benchmark: Benchmark) -> pl.DataFrame:
        """Return the last computed ranks of a benchmark's lines (``shiftbench.leaderboard.board.overall``)."""
        return self._found_overall.get(benchmark.folder.content_hash, NO_RANKS)

    def start(self, snapshot: Snapshot) -> None:
        """Compute the missing intervals of a snapshot; a newer snapshot replaces one that still waits."""
        with self._lock:
            self._wanted = snapshot
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="rank intervals", daemon=True)
                self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Wait until everything is computed; return False after a timeout."""
        end = time.monotonic() + seconds
        # A thread that exits may have started another one.
        while (thread := self._thread) is not None and time.monotonic() < end:
            thread.join(max(end - time.monotonic(), 0))
        return self._thread is None

    def _run(self) -> None:
        try:
            while (snapshot := self._take_wanted()) is not None:
                self._update(snapshot)
        finally:
            with self._lock:
                # A snapshot may have arrived after the last check.
                snapshot, self._thread = self._wanted, None
        if snapshot is not None:
            self.start(snapshot)

    def _take_wanted(self) -> Snapshot | None:
        with self._lock:
            snapshot, self._wanted = self._wanted, None
        return snapshot

    def _update(self, snapshot: Snapshot) -> None:
        if self._replicates is None:
            self._replicates = index_cache.read_replicates(self._store)
            self._found = index_cache.read_intervals(self._store)
        was_reset = False
        for board in snapshot.boards():
            complete = rows_of(board, snapshot.rows).filter("complete")
            ranks = self._boards.get(board.key)
            if ranks is None and set(self.of(board.key)["id"]) == set(complete["id"]):
                continue  # the cached intervals are still valid
            if ranks is None or not set(ranks.ids).issubset(complete["id"]):
                ranks = self._boards[board.key] = BoardRanks()
                was_reset = True
            new = self._board_replicates(board, complete.filter(~pl.col("id").is_in(ranks.ids)))
            if new or board.key not in self._found or self._found[board.key].height != len(ranks.ids):
                ranks.add(new)
                self._found[board.key] = ranks.intervals()
        self._save(snapshot, was_reset)
        for benchmark in benchmarks_of(snapshot.boards()):
            if benchmark.folder.has_public_labels:
                self._update_overall(benchmark, snapshot)
        for board in snapshot.boards():
            self._copies.find_near(board, rows_of(board, snapshot.rows))

    def _update_overall(self, benchmark: Benchmark, snapshot: Snapshot) -> None:
        """Rank the submitted models that cover all tasks; recompute if one was removed or has a new entry."""
        key, boards = benchmark.folder.content_hash, benchmark.boards
        named = pl.concat([rows_of(board, snapshot.rows) for board in boards])
        newest = newest_entries(named).select("task", "id", line=line_key())
        by_line = {
            line: dict(zip(tasks, ids, strict=True))
            for line, tasks, ids in newest.group_by("line", maintain_order=True).agg("task", "id").iter_rows()
            if len(tasks) == len(boards)
        }
        entries = {line: tuple(ids[task] for task in benchmark.tasks) for line, ids in by_line.items()}
        ranks = self._overall.get(key)
        if ranks is None or any(entries.get(line) != ids for line, ids in ranks.entries.items()):
            ranks = self._overall[key] = OverallRanks(benchmark.tasks)
        new = {line: ids for line, ids in entries.items() if line not in ranks.entries}
        if new:
            asked = [each for ids in new.values() for each in ids]
            drawn = {
                board.task: self._board_replicates(
                    board, rows_of(board, snapshot.rows).filter(pl.col("id").is_in(asked))
                )
                for board in boards
            }
            ranks.add(
                new,
                {
                    line: [drawn[task].get(identity) for task, identity in zip(benchmark.tasks, ids, strict=True)]
                    for line, ids in new.items()
                },
            )
        if new or key not in self._found_overall or self._found_overall[key].height != len(entries):
            self._found_overall[key] = ranks.intervals() if entries else NO_RANKS

    def _board_replicates(self, board: Board, complete: pl.DataFrame) -> dict[str, Replicates | None]:
        """Return the replicates of a board's entries, reading missing ones; None if that fails."""
        assert self._replicates is not None
        replicates: dict[str, Replicates | None] = {}
        for row in complete.select("id", "task", "basis", "trained_on").iter_rows(named=True):
            key = (row["id"], row["task"])
            drawn = self._replicates.get(key)
            if drawn is None:
                try:
                    table = self._store.table(self._store.entry(row["id"]), board.folder)
                    drawn = ranked_replicates(table, row, board.info)
                except InvalidInput:
                    pass  # the entry was withdrawn meanwhile, or its predictions are damaged
            replicates[row["id"]] = drawn
            if drawn is not None:
                self._replicates[key] = drawn
        return replicates

    def _save(self, snapshot: Snapshot, was_reset: bool) -> None:
        """Save the tables if more than a small share is unsaved, or if a board was recomputed."""
        unsaved = len(snapshot.ids ^ self._saved)
        if not was_reset and (not unsaved or unsaved < _UNSAVED * len(snapshot.ids)):
            return
        replicates = {key: drawn for key, drawn in (self._replicates or {}).items() if key[0] in snapshot.ids}
        try:
            index_cache.write(self._store, snapshot.every, replicates, self._found)
        except InvalidInput:
            return  # a read-only store can still be shown
        self._saved = snapshot.ids
