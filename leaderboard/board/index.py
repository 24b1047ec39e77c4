"""The index: the current content of a store as frames. Each entry is read once, since entries never change."""

import logging
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import polars as pl

from shiftbench.builders.checksums import file_state
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.board import index_cache
from shiftbench.leaderboard.board.boards import (
    Board,
    Snapshot,
    Unscored,
    board_frame,
    by_content,
    released_frame,
    rows_of,
)
from shiftbench.leaderboard.board.copies import Copies
from shiftbench.leaderboard.board.overall import Benchmark, benchmarks_of, overall_frame
from shiftbench.leaderboard.board.rank_intervals import RankIntervals
from shiftbench.leaderboard.board.rows import HOST_NOTE, entry_rows, rows_frame, unreleased_rows
from shiftbench.leaderboard.release import (
    Meter,
    Released,
    ReleasedBoard,
    Round,
    closed_rounds,
    entry_tasks,
    last_release,
    read_meter,
    released_tasks,
)
from shiftbench.leaderboard.store import ENTRY_ID, Entry, Store, find_folder
from shiftbench.leaderboard.store.log import Moderation
from shiftbench.scoring.scores.shape import Scores
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean

log = logging.getLogger(__name__)

READ_AT_ONCE = 500
"""Number of entries read before the first boards are shown."""
N_SCORES = 300
"""Number of entries whose nested scores are cached in memory."""
_WAITING = "its scores are being computed: try again later"


class _SavedOverall(NamedTuple):
    """An overall board, and the boards it was computed from; it is recomputed when one of them changes."""

    parts: tuple[pl.DataFrame, ...]
    frame: pl.DataFrame


class Index:
    """All entries of a store, scored on the datasets of this server. Thread-safe.

    Entries for other data are listed without scores. With ``background``, entries without scores wait until ``score``
    is called, instead of being scored when found.
    """

    def __init__(self, folders: Sequence[DatasetFolder], store: Store, *, background: bool = False) -> None:
        self.folders = tuple(folders)
        self._by_content = by_content(folders)
        self.store = store
        self.background = background
        self._failed: dict[str, Unscored] = {}
        self._lock = threading.Lock()  # one refresh of the store at a time
        self._scores: OrderedDict[str, Scores] = OrderedDict()
        self._scores_lock = threading.Lock()
        self._stamps = {content: index_cache.stamp(folder) for content, folder in self._by_content.items()}
        rows = index_cache.read_rows(store)
        known = pl.DataFrame(list(self._stamps.items()), schema={"data": pl.String, "stamp": pl.String}, orient="row")
        rows = rows.join(known, on=["data", "stamp"], how="semi")
        self._copies = Copies(store)
        self._moderation = store.moderation
        self._snapshot = self._snapshot_of(rows, {})
        self._overall: dict[str, _SavedOverall] = {}
        self._ranks = RankIntervals(store, self._copies, saved=self._snapshot.ids)
        # The first entries are already shown while the rest are read.
        self._reader = threading.Thread(target=self.refresh, name="reading entries", daemon=True)
        is_more = self._read_some()
        self._ranks.start(self._snapshot)
        if is_more:
            self._reader.start()

    def refresh(self) -> None:
        """Read new entries of the store, and drop withdrawn ones.

        An entry without scores is read again when its files change, since missing data may have arrived.
        """
        while self._read_some():
            pass

    def _read_some(self) -> bool:
        """Read at most ``READ_AT_ONCE`` entries from the store; return whether more remain."""
        with self._lock:
            snapshot = self._snapshot
            present = self.store.ids()
            gone = snapshot.ids.difference(present)
            unchanged = {
                identity: snapshot.unscored[identity]
                for identity in present
                if identity in snapshot.unscored and snapshot.unscored[identity].files == self._files(identity)
            }
            new = [identity for identity in present if identity not in snapshot.ids and identity not in unchanged]
            done = self.store.moderation
            # An entry that waited to be read may have been withdrawn.
            is_same = not new and not gone and len(unchanged) == len(snapshot.unscored)
            if is_same and done.version == self._moderation.version and not snapshot.unread:
                return False
            self._moderation = done
            read, unscored = self._read_entries(new[:READ_AT_ONCE])
            rows = snapshot.every.filter(~pl.col("id").is_in(list(gone))) if gone else snapshot.every
            rows = pl.concat([rows, read], how="diagonal") if not read.is_empty() else rows
            unread = max(len(new) - READ_AT_ONCE, 0)
            self._snapshot = self._snapshot_of(rows, unchanged | unscored, unread)
            with self._scores_lock:
                for identity in gone:
                    self._scores.pop(identity, None)
            if not unread:
                self._ranks.start(self._snapshot)  # inside the lock, so that the newest snapshot is passed last
        return unread > 0

    def _snapshot_of(self, every: pl.DataFrame, unscored: dict[str, Unscored], unread: int = 0) -> Snapshot:
        """Build a snapshot from rows: apply the host's names and notes, and remove copies."""
        public = {content for content, folder in self._by_content.items() if folder.has_public_labels}
        names, notes = (
            pl.col("id").replace_strict(dict(known) or {"": ""}, default=None, return_dtype=pl.String)
            for known in (self._moderation.names, self._moderation.notes)
        )
        of_host = [pl.coalesce(names, column).alias(column) for column in ("name", "model")]
        rows = self._copies.fold(every.with_columns(*of_host, notes.alias(HOST_NOTE)), public)
        return Snapshot(self.folders, every, rows, frozenset(every["id"]), unscored, unread)

    @property
    def unread(self) -> int:
        """Count the entries still to be read: more than 0 only after a start without an index cache."""
        return self._snapshot.unread

    @property
    def moderation(self) -> Moderation:
        """Return the combined effect of the host's actions, as the boards currently show it."""
        return self._moderation

    def boards(self) -> list[Board]:
        """List the boards (see ``boards_of``)."""
        return list(self._snapshot.boards())

    def frame(self, board: Board) -> pl.DataFrame:
        """Return a board's entries, one row each: complete ones by rank (ties share a rank), then partial ones.

        Returns: the columns of ``rows.SCHEMA``, the board's scores on single domains, then ``boards.PLACES``.
        """
        snapshot, ranks = self._snapshot, self._ranks.of(board.key)
        rows = snapshot.frames.get(board.name)
        if rows is None:
            rows = snapshot.frames[board.name] = board_frame(board, snapshot.rows)
            snapshot.placed.pop(board.name, None)
        if not board.folder.has_public_labels:
            return released_frame(rows, self.release(board))
        if rows.height and ranks.height and snapshot.placed.get(board.name) is not ranks:
            complete = rows.filter("complete")
            if complete.height == ranks.height and complete["id"].is_in(ranks["id"].implode()).all():
                # A left join keeps the order of the rows.
                placed = [name for name in ranks.columns if name != "id"]
                rows = rows.drop(placed).join(ranks, on="id", how="left", maintain_order="left")
                snapshot.frames[board.name] = rows
                snapshot.placed[board.name] = ranks
        return rows

    def near_copies(self, board: Board) -> pl.DataFrame:
        """Return a board's entries with nearly the same predictions as an earlier one, as far as computed."""
        return self._copies.near(board)

    def parts(self) -> list[object] | None:
        """List the objects that the boards' pages are built from; any change replaces at least one of them.

        Caches compare them by identity. None if labels are withheld.
        """
        if not all(folder.has_public_labels for folder in self.folders):
            return None
        boards = [part for board in self._snapshot.boards() for part in (self.frame(board), self.near_copies(board))]
        ranks = [self._ranks.of_benchmark(benchmark) for benchmark in self.benchmarks()]
        return [self._snapshot, self.store.behind, *boards, *ranks]

    def originals(self, identity: str) -> dict[str, str]:
        """Return, by task, the earlier entry with identical predictions, whose row the board shows instead."""
        return {task: first for (copy, task), first in self._copies.originals.items() if copy == identity}

    def benchmarks(self) -> list[Benchmark]:
        """List the benchmarks, each with an overall board."""
        return benchmarks_of(self._snapshot.boards())

    def overall(self, benchmark: Benchmark) -> pl.DataFrame:
        """Return a benchmark's overall board (see ``shiftbench.leaderboard.board.overall.overall_frame``)."""
        frames = {board.task: self.frame(board) for board in benchmark.boards}
        parts = (*frames.values(), self._ranks.of_benchmark(benchmark))
        saved = self._overall.get(benchmark.name)
        if (
            saved is None
            or len(saved.parts) != len(parts)
            or any(a is not b for a, b in zip(saved.parts, parts, strict=True))
        ):
            saved = _SavedOverall(parts, overall_frame(benchmark, frames, parts[-1]))
            self._overall[benchmark.name] = saved
        return saved.frame

    def release(self, board: Board) -> tuple[str, ReleasedBoard] | None:
        """Return the last round's name and its results on a board of withheld labels; None before the first."""
        return None if board.folder.has_public_labels else last_release(closed_rounds(self.store), board.key)

    def meter(self, board: Board) -> Meter | None:
        """Return a board's meter (``release.meter``); None if its labels are public, or too few for feedback."""
        folder = board.folder
        return None if folder.has_public_labels else read_meter(self.store, folder, board.task, board.subset)

    def releases(self, entry: Entry, rounds: Sequence[Round]) -> dict[str, tuple[str, Released]]:
        """Return an entry's results in the last of some closed rounds, with the round's name, by board."""
        releases = {}
        for board in self.boards():
            if board.folder.has_public_labels:
                continue
            name, released = last_release(rounds, board.key) or ("", None)
            for each in released.entries if released else ():
                if each.entry == entry.id:
                    releases[board.name] = (name, each)
        return releases

    def has_entries(self, board: Board) -> bool:
        """Return whether a board has any entry."""
        return not rows_of(board, self._snapshot.rows).is_empty()

    def entry(self, identity: str) -> Entry:
        """Read an entry; InvalidInput if the store has no such id, or its card is damaged."""
        self._refuse_absent(identity)
        return self.store.entry(identity)

    def _refuse_absent(self, identity: str) -> None:
        snapshot, done = self._snapshot, self.store.moderation
        if identity in done.hidden or identity in done.erased:
            self.store.entry(identity)  # raises InvalidInput with the reason
        if identity not in snapshot.ids and identity not in snapshot.unscored:
            raise InvalidInput(Problem("there is no such entry", "leaderboard", f"'{identity[:40]}'", "see the board"))

    def refuse_unknown(self, ids: Iterable[str], task: str | None) -> None:
        """Raise InvalidInput if an id has no entry, or no dataset has the task; nothing is read from disk."""
        for identity in ids:
            self._refuse_absent(identity)
        tasks = list(dict.fromkeys(name for folder in self.folders for name in folder.manifest.tasks))
        if task and tasks and task not in tasks:
            raise InvalidInput(
                Problem("there is no such task", "leaderboard", f"'{task[:80]}'", did_you_mean(task[:80], tasks))
            )

    def hidden_at(self, identity: str) -> str | None:
        """Return when the host hid an entry (ISO 8601); None if it is not hidden."""
        return self.store.moderation.hidden.get(identity)

    def host_notes(self, identity: str) -> list[str]:
        """List the host's remarks for an entry's page: that it was renamed, and the note on it."""
        done = self.store.moderation
        renamed = ["The leaderboard's host gave this entry its name."] if identity in done.names else []
        return [*renamed, *([done.notes[identity]] if identity in done.notes else [])]

    def erased_at(self, identity: str) -> str | None:
        """Return when an entry's files were erased (ISO 8601); None if they were not."""
        return self.store.moderation.erased.get(identity)

    def withdrawn_at(self, identity: str) -> str | None:
        """Return when an entry was withdrawn (ISO 8601); None if it was not, or if the id is malformed."""
        return self.store.withdrawn_at(identity) if ENTRY_ID.fullmatch(identity) else None

    def scored_ids(self) -> frozenset[str]:
        """Return the ids of the entries with scores."""
        return self._snapshot.ids

    def updated(self) -> str | None:
        """Return the day (ISO, UTC) on which the newest scored entry was submitted; None without entries."""
        day = self._snapshot.rows["date"].max()
        return day if isinstance(day, str) else None

    def scores(self, identity: str) -> Scores:
        """Return an entry's scores; InvalidInput with the reason if it has none (always on withheld labels)."""
        with self._scores_lock:
            if identity in self._scores:
                self._scores.move_to_end(identity)
                return self._scores[identity]
        if reasons := self.reasons(identity):  # never score a waiting entry within a request
            raise InvalidInput(Problem("the entry has no scores here", identity, "; ".join(reasons)))
        entry = self.entry(identity)
        scores = self.store.scores(entry, find_folder(entry.card, self.folders))
        with self._scores_lock:
            self._scores[identity] = scores
            while len(self._scores) > N_SCORES:
                self._scores.popitem(last=False)
        return scores

    def reasons(self, identity: str) -> tuple[str, ...]:
        """Return why an entry has no scores; empty if it has."""
        unscored = self._snapshot.unscored.get(identity)
        return unscored.reasons if unscored else ()

    def unscored(self) -> list[Unscored]:
        """List the entries without scores."""
        return list(self._snapshot.unscored.values())

    def waiting(self) -> list[str]:
        """List the entries that are still to be scored."""
        return [each.id for each in self.unscored() if each.waiting]

    def score(self, identity: str) -> None:
        """Score a waiting entry. If it cannot be scored, list it with the reason."""
        files = self._files(identity)
        name = identity
        try:
            entry = self.store.entry(identity)
            name = entry.card.name
            self.store.scores(entry, find_folder(entry.card, self.folders))
        except Exception as error:
            self._failed[identity] = Unscored(identity, name, self._reasons(error), files)
        with self._lock:
            unscored = {key: each for key, each in self._snapshot.unscored.items() if key != identity}
            self._snapshot = replace(self._snapshot, unscored=unscored)
        self.refresh()

    def names(self) -> dict[str, str]:
        """Map this server's paths to the text that replaces them in messages to users."""
        paths = {str(folder.path): f"the {folder.manifest.benchmark} dataset" for folder in self.folders}
        return {**paths, str(self.store.root): "the store"}

    def settle(self, seconds: float = 60) -> bool:
        """Wait until all entries are read and the intervals of ranks are computed; return whether that is done."""
        if self._reader.ident is not None:
            self._reader.join(seconds)
        return not self.unread and self._ranks.wait(seconds)

    def _files(self, identity: str) -> tuple[int, ...]:
        files = self.store.entry_files(identity)
        states = (file_state(path) if path.is_file() else [0] for path in (files.card, files.predictions))
        return tuple(fact for state in states for fact in state)

    def _read_entries(self, identities: Iterable[str]) -> tuple[pl.DataFrame, dict[str, Unscored]]:
        rows, unscored = [], {}
        for identity in identities:
            name, files = identity, self._files(identity)
            if identity in self._failed and self._failed[identity].files == files:
                unscored[identity] = self._failed[identity]
                continue
            try:
                entry = self.store.entry(identity)
                name = entry.card.name
                folder = find_folder(entry.card, self.folders)
                rows_of_entry = self._rows_of_entry(entry, folder)
                if rows_of_entry is None:
                    unscored[identity] = Unscored(identity, name, (_WAITING,), files, waiting=True)
                    continue
                if not rows_of_entry:
                    raise InvalidInput(Problem("it has only placebo predictions", identity))
                rows += rows_of_entry
            except Exception as error:
                unscored[identity] = Unscored(identity, name, self._reasons(error), files)
        return rows_frame(rows), unscored

    def _rows_of_entry(self, entry: Entry, folder: DatasetFolder) -> list[dict[str, Any]] | None:
        """Return an entry's rows; None if it waits to be scored."""
        stamp = self._stamps[entry.card.data]
        if not folder.has_public_labels:
            there = entry_tasks(self.store, entry)
            return list(unreleased_rows(entry, [name for name in released_tasks(folder) if name in there], stamp))
        scores = self.store.stored_scores(entry, folder) if self.background else self.store.scores(entry, folder)
        return None if scores is None else list(entry_rows(entry, scores, stamp))

    def _reasons(self, error: Exception) -> tuple[str, ...]:
        """Format why an entry has no scores; a bug is logged, and does not stop the other entries."""
        if isinstance(error, InvalidInput):
            return tuple(public_message(problem, self.names()) for problem in error.problems)
        log.error("an entry was not scored", exc_info=error)
        return ("scoring failed on this server",)


def public_message(problem: Problem, names: dict[str, str]) -> str:
    """Format a problem as one line without any path of this machine; ``names`` maps paths to their replacements.

    >>> public_message(Problem("the file is empty", "/srv/up/a.csv", "0 bytes"), {"/srv/up/a.csv": "a.csv"})
    'a.csv: the file is empty; found 0 bytes'
    >>> public_message(Problem("the store has no such entry", "store", "'0123'"), {"store": "our folder"})
    "our folder: the store has no such entry; found '0123'"
    """
    text = str(replace(problem, file=names.get(problem.file, problem.file)))
    # Longest first, since a path may be the prefix of another. A bare name, such as "store", may be an ordinary word.
    for path in sorted(names, key=len, reverse=True):
        text = text.replace(path, names[path]) if "/" in path else text
    return text
