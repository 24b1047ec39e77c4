"""What a store holds now, as columns: each entry is read once, since entries never change."""

import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from builders.folder.reader import DatasetFolder
from leaderboard.board import index_cache
from leaderboard.board.boards import Board, board_frame, boards_of, rows_of
from leaderboard.board.ranks import INTERVALS, BoardRanks, Replicates, ranked_replicates
from leaderboard.board.rows import entry_rows, rows_frame
from leaderboard.scoring.disclosure import disclosed
from leaderboard.scoring.shape import Scores
from leaderboard.store import Entry, Store, folder_of
from validation.report import InvalidInput, Problem

_NO_INTERVALS = pl.DataFrame(schema=INTERVALS)
READ_AT_ONCE = 500
"""Entries that are read before they are shown."""
N_SCORES = 300
"""Entries whose nested scores are held in memory."""
_UNSAVED = 0.01
_WAITING = "its scores are being computed: look again in a while"


@dataclass(frozen=True)
class Unscored:
    """An entry that has no scores here, and why. Its name is the model's; the id where the card cannot be read."""

    id: str
    name: str
    reasons: tuple[str, ...]
    files: tuple[int, ...] = ()
    """When its files were written: it is looked at again when that changes."""
    waiting: bool = False
    """Whether it will be scored."""


@dataclass(frozen=True)
class _State:
    """What was found at one look at the store; never changed, so that requests need no lock."""

    rows: pl.DataFrame
    ids: frozenset[str]
    unscored: dict[str, Unscored]
    unread: int = 0
    frames: dict[str, pl.DataFrame] = field(default_factory=dict)
    _boards: list[Board] = field(default_factory=list)

    def boards(self, folders: Sequence[DatasetFolder]) -> list[Board]:
        """Give the tables that there are, found once."""
        if not self._boards:
            used = self.rows.select("data", "subset").unique()
            self._boards[:] = boards_of(folders, set(used.iter_rows()))
        return self._boards


class Index:
    """All entries of a store, against the datasets at hand. Safe to be used by several threads.

    Args:
        folders: the datasets; entries for others are listed without scores.
        store: the entries.
        background: entries without scores wait for somebody to call ``score``, instead of being scored when found.
    """

    def __init__(self, folders: Sequence[DatasetFolder], store: Store, *, background: bool = False) -> None:
        self.folders = tuple(folders)
        self.store = store
        self.background = background
        self._failed: dict[str, Unscored] = {}
        self._lock = threading.Lock()  # one look at the store at a time
        self._scores: OrderedDict[str, Scores] = OrderedDict()
        self._scores_lock = threading.Lock()
        self._stamps = {folder.content_hash: index_cache.stamp(self._folder(folder.content_hash)) for folder in folders}
        rows = index_cache.read_rows(store.root)
        known = pl.DataFrame(list(self._stamps.items()), schema={"data": pl.String, "stamp": pl.String}, orient="row")
        rows = rows.join(known, on=["data", "stamp"], how="semi")
        self._saved = frozenset(rows["id"])
        self._state = _State(rows, self._saved, {})
        self._ranks = _Ranks(self)
        # Many entries are read while the first ones are shown.
        self._reader = threading.Thread(target=self.refresh, name="reading entries", daemon=True)
        if self._look():
            self._reader.start()
        self._ranks.start()

    def refresh(self) -> None:
        """Look what the store holds now: read what is new, drop what was withdrawn.

        An entry without scores is looked at again when its files changed: what it lacked may have arrived.
        """
        while self._look():
            pass

    def _look(self) -> bool:
        """Look at the store once, read at most ``READ_AT_ONCE`` entries, and tell whether some are left."""
        with self._lock:
            state = self._state
            present = self.store.ids()
            gone = state.ids.difference(present)
            kept_out = {
                identity: state.unscored[identity]
                for identity in present
                if identity in state.unscored and state.unscored[identity].files == self._files(identity)
            }
            new = [identity for identity in present if identity not in state.ids and identity not in kept_out]
            # What was still to be read may have been withdrawn.
            if not new and not gone and len(kept_out) == len(state.unscored) and not state.unread:
                return False
            read, unscored = self._read(new[:READ_AT_ONCE])
            rows = state.rows.filter(~pl.col("id").is_in(list(gone))) if gone else state.rows
            rows = pl.concat([rows, read], how="diagonal") if not read.is_empty() else rows
            unread = max(len(new) - READ_AT_ONCE, 0)
            self._state = _State(rows, frozenset(rows["id"]), kept_out | unscored, unread)
            with self._scores_lock:
                for identity in gone:
                    self._scores.pop(identity, None)
        if not unread:
            self._ranks.start()
        return unread > 0

    @property
    def unread(self) -> int:
        """Number of entries that are still to be read: just after the start of a server that had nothing kept."""
        return self._state.unread

    def boards(self) -> list[Board]:
        """List the tables there are (see ``boards_of``)."""
        return list(self._state.boards(self.folders))

    def frame(self, board: Board) -> pl.DataFrame:
        """Give a board's entries, a row each: complete ones by rank, equal scores sharing it, then partial ones.

        Returns: the columns of ``rows.SCHEMA`` with the board's own scores on single domains, and rank, rank_low and
            rank_high (null of partial entries; the interval also while it is being computed), same_name (the first
            digits of the id where two entries have one name) and words (what is searched, in lower case).
        """
        state, ranks = self._state, self._ranks.of(board.key)
        found = state.frames.get(board.name)
        if found is None:
            found = state.frames[board.name] = board_frame(board, state.rows)
        if found.height and found["rank_low"].null_count() == found.height and ranks.height:
            complete = found.filter("complete")
            if complete.height == ranks.height and complete["id"].is_in(ranks["id"].implode()).all():
                # A left join keeps the order of the rows.
                found = found.drop("rank_low", "rank_high").join(ranks, on="id", how="left", maintain_order="left")
                state.frames[board.name] = found
        return found

    def has_entries(self, board: Board) -> bool:
        """Tell whether a board has any entry."""
        return not rows_of(board, self._state.rows).is_empty()

    def entry(self, identity: str) -> Entry:
        """Read an entry; InvalidInput when the store has none of that id, or its card is damaged."""
        state = self._state
        if identity not in state.ids and identity not in state.unscored:
            raise InvalidInput(Problem("there is no such entry", "leaderboard", f"'{identity[:40]}'", "see the board"))
        return _card(self.store, identity)

    def scores(self, identity: str) -> Scores:
        """Give an entry's scores as they may be shown; InvalidInput says why there are none."""
        with self._scores_lock:
            if identity in self._scores:
                self._scores.move_to_end(identity)
                return self._scores[identity]
        if reasons := self.reasons(identity):  # none of those that wait is scored by who asks
            raise InvalidInput(Problem("the entry has no scores here", identity, "; ".join(reasons)))
        entry = self.entry(identity)
        folder = folder_of(entry.card, self.folders)
        found = disclosed(self.store.scores(entry, folder), folder)
        with self._scores_lock:
            self._scores[identity] = found
            while len(self._scores) > N_SCORES:
                self._scores.popitem(last=False)
        return found

    def reasons(self, identity: str) -> tuple[str, ...]:
        """Say why an entry has no scores here; empty when it has."""
        found = self._state.unscored.get(identity)
        return found.reasons if found else ()

    def unscored(self) -> list[Unscored]:
        """List the entries that have no scores here."""
        return list(self._state.unscored.values())

    def waiting(self) -> list[str]:
        """List the entries that are to be scored."""
        return [found.id for found in self.unscored() if found.waiting]

    def score(self, identity: str) -> None:
        """Score an entry that waits for it. One that cannot be scored is listed with the reason."""
        files = self._files(identity)
        name = identity
        try:
            entry = _card(self.store, identity)
            name = entry.card.name
            self.store.scores(entry, folder_of(entry.card, self.folders))
        except Exception as error:
            self._failed[identity] = Unscored(identity, name, self._why(error), files)
        with self._lock:
            unscored = {key: found for key, found in self._state.unscored.items() if key != identity}
            self._state = replace(self._state, unscored=unscored)
        self.refresh()

    def looks(self, identity: str) -> int:
        """Count the entries of the same submitter against the same data: looks at its labels."""
        entry = self.entry(identity)
        return self.store.looks(entry.submitter, entry.card.data)

    def names(self) -> dict[str, str]:
        """Server paths and the words that stand for them in what users read."""
        paths = {str(folder.path): f"the {folder.manifest.benchmark} dataset" for folder in self.folders}
        return {**paths, str(self.store.root): "the store"}

    def settle(self, seconds: float = 60) -> bool:
        """Wait until all entries are read and the intervals of ranks are there; tells whether they are."""
        if self._reader.ident is not None:
            self._reader.join(seconds)
        return not self.unread and self._ranks.wait(seconds)

    def _folder(self, data: str) -> DatasetFolder:
        same = [folder for folder in self.folders if folder.content_hash == data]
        return min(same, key=lambda folder: folder.manifest.withholds_labels)

    def _files(self, identity: str) -> tuple[int, ...]:
        paths = ((self.store.root / "entries" / identity / name) for name in ("card.json", "predictions.parquet"))
        return tuple(path.stat().st_mtime_ns if path.is_file() else 0 for path in paths)

    def _read(self, identities: Iterable[str]) -> tuple[pl.DataFrame, dict[str, Unscored]]:
        rows, unscored = [], {}
        for identity in identities:
            name, files = identity, self._files(identity)
            if identity in self._failed and self._failed[identity].files == files:
                unscored[identity] = self._failed[identity]
                continue
            try:
                entry = _card(self.store, identity)
                name = entry.card.name
                folder = folder_of(entry.card, self.folders)
                scores = self.store.kept_scores(entry, folder) if self.background else self.store.scores(entry, folder)
                if scores is None:
                    unscored[identity] = Unscored(identity, name, (_WAITING,), files, waiting=True)
                    continue
                found = list(entry_rows(entry, disclosed(scores, folder), self._stamps[entry.card.data]))
                if not found:
                    raise InvalidInput(Problem("it has predictions of placebos alone", identity))
                rows += found
            except Exception as error:
                unscored[identity] = Unscored(identity, name, self._why(error), files)
        return rows_frame(rows), unscored

    def _why(self, error: Exception) -> tuple[str, ...]:
        """Say why an entry has no scores; a fault of ours must neither stop the others nor go unseen."""
        if isinstance(error, InvalidInput):
            return tuple(say(problem, self.names()) for problem in error.problems)
        traceback.print_exception(error)
        return ("its scoring failed on this server",)


class _Ranks:
    """Intervals of ranks, computed by a thread in the background: of many entries they take a while."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self._boards: dict[tuple[str, str, str], BoardRanks] = {}
        self._found: dict[tuple[str, str, str], pl.DataFrame] = {}
        self._replicates: dict[index_cache.Key, Replicates] | None = None
        self._thread: threading.Thread | None = None
        self._again = False
        self._lock = threading.Lock()

    def of(self, key: tuple[str, str, str]) -> pl.DataFrame:
        """Give the intervals last computed for a board."""
        return self._found.get(key, _NO_INTERVALS)

    def start(self) -> None:
        """Compute what the index does not have yet."""
        with self._lock:
            self._again = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="rank intervals", daemon=True)
                self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Wait until nothing is left to compute; tells whether that is so."""
        end = time.monotonic() + seconds
        # One that ends may have begun another.
        while (thread := self._thread) is not None and time.monotonic() < end:
            thread.join(max(end - time.monotonic(), 0))
        return self._thread is None

    def _run(self) -> None:
        try:
            while self._wanted():
                self._update()
        finally:
            with self._lock:
                # Something may have been wanted between the last look and here.
                again, self._thread = self._again, None
        if again:
            self.start()

    def _wanted(self) -> bool:
        with self._lock:
            wanted, self._again = self._again, False
        return wanted

    def _update(self) -> None:
        index, state = self.index, self.index._state
        if self._replicates is None:
            self._replicates = index_cache.read_replicates(index.store.root)
            self._found = index_cache.read_intervals(index.store.root)
        anew = False
        for board in index.boards():
            complete = rows_of(board, state.rows).filter("complete")
            ranks = self._boards.get(board.key)
            if ranks is None and set(self.of(board.key)["id"]) == set(complete["id"]):
                continue  # as it was kept
            if ranks is None or not set(ranks.ids).issubset(complete["id"]):
                ranks = self._boards[board.key] = BoardRanks()
                anew = True
            new = self._of_board(board, complete.filter(~pl.col("id").is_in(ranks.ids)))
            if new or board.key not in self._found or self._found[board.key].height != len(ranks.ids):
                ranks.add(new)
                self._found[board.key] = ranks.intervals()
        self._save(state, anew)

    def _of_board(self, board: Board, complete: pl.DataFrame) -> dict[str, Replicates | None]:
        """Give the replicates of a board's entries, read where they are not known; None where that fails."""
        assert self._replicates is not None
        found: dict[str, Replicates | None] = {}
        for row in complete.select("id", "task", "basis", "trained_on").iter_rows(named=True):
            key = (row["id"], row["task"])
            drawn = self._replicates.get(key)
            if drawn is None:
                try:
                    table = self.index.store.table(self.index.entry(row["id"]), board.folder)
                    drawn = ranked_replicates(table, row, board.info)
                except InvalidInput:
                    pass  # it was withdrawn meanwhile, or its predictions are damaged
            found[row["id"]] = drawn
            if drawn is not None:
                self._replicates[key] = drawn
        return found

    def _save(self, state: _State, anew: bool) -> None:
        """Keep on disk what was read, when it is more than a small part of all, or a board was compared anew."""
        index = self.index
        unsaved = len(state.ids ^ index._saved)
        if not anew and (not unsaved or unsaved < _UNSAVED * len(state.ids)):
            return
        replicates = {key: drawn for key, drawn in (self._replicates or {}).items() if key[0] in state.ids}
        try:
            index_cache.write(index.store.root, state.rows, replicates, self._found)
        except OSError:
            return  # a store that cannot be written is still shown
        index._saved = state.ids


def say(problem: Problem, names: dict[str, str]) -> str:
    """Give a problem as one line in which no path of this machine appears.

    >>> say(Problem("the file is empty", "/srv/up/a.csv", "0 bytes"), {"/srv/up/a.csv": "a.csv"})
    'a.csv: the file is empty; found 0 bytes'
    >>> say(Problem("the store has no such entry", "store", "'0123'"), {"store": "our folder"})
    "our folder: the store has no such entry; found '0123'"
    """
    text = str(replace(problem, file=names.get(problem.file, problem.file)))
    # Longest first: a path may begin with another one. A folder's bare name, such as "store", may be any word.
    for path in sorted(names, key=len, reverse=True):
        text = text.replace(path, names[path]) if "/" in path else text
    return text


def _card(store: Store, identity: str) -> Entry:
    """Read an entry's card; one that is damaged on disk is input that is refused, like any other."""
    try:
        return store.entry(identity)
    except (ValueError, KeyError, TypeError) as error:
        found = type(error).__name__
        raise InvalidInput(Problem("the entry's card is damaged", identity, found, "submit the file again")) from error
