"""Duplicate detection: entries with identical predictions share one row; entries with nearly identical ones are marked.

Only the predictions are compared: for each source and run, the label or text of each test row. The order of rows, file
format, confidences, seed values, names and cards are ignored. Identical predictions have identical scores and nearly
identical ones have similar scores, so prediction files are read only for entries with similar scores: on a board of
10,000 entries each file is compared with its nearest neighbours only.

Entries on withheld labels are not compared, since the result would reveal something about hidden predictions.
"""

import hashlib
import io
import threading
from collections import OrderedDict
from collections.abc import Collection
from contextlib import suppress

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.leaderboard.board.boards import Board
from shiftbench.leaderboard.board.rows import GRID_FIGURES, ID_FIGURES
from shiftbench.leaderboard.store import Store
from shiftbench.validation.report import InvalidInput

NEAR = 0.995
"""Share of equal predictions at or above which an entry is marked."""
N_NEIGHBOURS = 8
"""Number of nearest entries (by scores) with which an entry's predictions are compared."""
MAX_APART = 0.02
"""Largest difference in the mean ST and OOD scores between entries that are compared."""
_N_READ = 64
"""Number of (entry, task) predictions cached in memory."""
_DIGITS = 9
"""Scores are rounded to this many digits: with another row order, later digits of the same scores may differ."""
_BOARD = ["data", "subset", "task"]
_FIGURES = [*GRID_FIGURES, *ID_FIGURES]
_MEANS = ("mean_st", "mean_ood")
_ORDER = ["submitted_at", "id"]
Key = tuple[str, str]
"""An entry and one of its tasks."""

_UNSAVED = 0.01
"""Share of results that may be unsaved; saving rewrites the whole table, so it is not done for each new entry."""
_SAVED = "copies"
_FOUND = pl.Schema({"id": pl.String(), "task": pl.String(), "digest": pl.String(), "near": pl.List(pl.String)})
"""Saved results by entry and task: ``digest`` of the predictions, null if never needed; ``near``, the neighbours with
nearly the same predictions, null if not compared yet."""
NEAR_COPIES = pl.Schema({"id": pl.String(), "nearly_same_as": pl.String()})
"""Entries of a board with nearly the same predictions as an earlier one, and the name of the earlier one."""
_NO_COPIES = pl.DataFrame(schema=NEAR_COPIES)


class Copies:
    """Finds copies among the entries of a store. Thread-safe.

    ``originals`` maps each copy that ``fold`` removed (entry, task) to the id of the earliest entry with the same
    predictions.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.originals: dict[Key, str] = {}
        self._digests: dict[Key, str] = {}
        self._runs: OrderedDict[Key, pl.DataFrame] = OrderedDict()
        self._compared: set[Key] = set()
        self._pairs: dict[str, set[tuple[str, str]]] = {}  # by task: near entries, whose agreement never changes
        self._near: dict[tuple[str, str, str], pl.DataFrame] = {}
        self._n_unsaved = 0
        self._lock = threading.Lock()
        self._load()

    def fold(self, rows: pl.DataFrame, public: Collection[str]) -> pl.DataFrame:
        """Remove later copies: keep the earliest of the entries with the same predictions on a board.

        Only data in ``public`` (content hashes) is compared. Retained rows get a column ``copies``: name and submitter
        of the removed entries, the earliest first.
        """
        rounded = rows.filter(pl.col("data").is_in(list(public))).select(
            "id", *_BOARD, *_ORDER[:1], "name", "submitter", pl.col(_FIGURES).round(_DIGITS)
        )
        alike = rounded.filter(pl.len().over([*_BOARD, *_FIGURES]) > 1)
        digests = [self._digest(identity, task) for identity, task in alike.select("id", "task").iter_rows()]
        same = alike.with_columns(pl.Series("digest", digests, pl.String)).sort(_ORDER)
        by_digest = [*_BOARD, "digest"]
        label = pl.concat_str("name", pl.lit(" (by "), "submitter", pl.lit(")"))
        first = same.group_by(by_digest, maintain_order=True).agg(pl.col("id").first(), label.slice(1).alias("copies"))
        with_copies = first.filter(pl.col("copies").list.len() > 0).select(*_BOARD, "id", "copies")
        originals = first.select(*by_digest, original="id")
        later = same.join(originals, on=by_digest).filter(pl.col("id") != pl.col("original"))
        self.originals = {(copy, task): each for copy, task, each in later.select("id", "task", "original").iter_rows()}
        left = rows.join(later.select(*_BOARD, "id"), on=[*_BOARD, "id"], how="anti", maintain_order="left")
        return left.join(with_copies, on=[*_BOARD, "id"], how="left", maintain_order="left")

    def near(self, board: Board) -> pl.DataFrame:
        """Return the results of ``find_near`` on a board, as ``NEAR_COPIES``."""
        return self._near.get(board.key, _NO_COPIES)

    def find_near(self, board: Board, rows: pl.DataFrame) -> None:
        """Compare a board's new entries with those of similar scores; slow if there are many."""
        if not board.folder.has_public_labels:
            return
        rows = rows.sort("mean_st")  # neighbours are read one after the other
        ids, figures = rows["id"].to_list(), rows.select(_FIGURES).to_numpy()
        new = [place for place, identity in enumerate(ids) if (identity, board.task) not in self._compared]
        for place in new:
            identity, pairs = ids[place], self._pairs.setdefault(board.task, set())
            others = (ids[other] for other in _neighbours(figures, place))
            pairs |= {(identity, other) for other in others if self._agreement(identity, other, board.task) >= NEAR}
            self._compared.add((identity, board.task))
        self._near[board.key] = _marks(rows, self._pairs.get(board.task, ()))
        self._n_unsaved += len(new)
        if self._n_unsaved > _UNSAVED * len(self._compared):
            self._n_unsaved = 0
            self._save()

    def _load(self) -> None:
        for identity, task, digest, near in read_copies(self._store).iter_rows():
            if digest is not None:
                self._digests[identity, task] = digest
            if near is not None:
                self._compared.add((identity, task))
                self._pairs.setdefault(task, set()).update((identity, other) for other in near)

    def _save(self) -> None:
        near: dict[Key, list[str]] = {key: [] for key in self._compared}
        for task, pairs in self._pairs.items():
            for identity, other in sorted(pairs):
                near[identity, task].append(other)
        digests = dict(self._digests)  # a copy, since another thread may add to it
        rows = [(*key, digests.get(key), near.get(key)) for key in sorted(near.keys() | digests.keys())]
        content = io.BytesIO()
        pl.DataFrame(rows, schema=_FOUND, orient="row").write_parquet(content)
        with suppress(InvalidInput):  # a store that cannot be written is still shown
            self._store.cache_index({_SAVED: content.getvalue()})

    def _digest(self, identity: str, task: str) -> str:
        """Return a digest of an entry's predictions on a task, or the entry's id if they cannot be read."""
        key = (identity, task)
        if key not in self._digests:
            try:
                runs = self._read(identity, task)
            except (InvalidInput, OSError, pl.exceptions.PolarsError):
                return identity
            content = hashlib.sha256()
            for (source,), of_source in runs.group_by("source", maintain_order=True):
                by_run = of_source.group_by("run", maintain_order=True).agg("id", "prediction")
                answers = by_run.select("id", "prediction").iter_rows()
                of_runs = sorted(hashlib.sha256(repr(row).encode()).hexdigest() for row in answers)
                content.update(repr([source, of_runs]).encode())
            self._digests[key] = content.hexdigest()
            self._n_unsaved += 1
        return self._digests[key]

    def _agreement(self, a: str, b: str, task: str) -> float:
        """Return the share of equal predictions, run by run, among the rows that either entry predicts.

        If one entry has more runs of a source, only its first ones are compared.
        """
        try:
            first, second = self._read(a, task), self._read(b, task)
        except (InvalidInput, OSError, pl.exceptions.PolarsError):
            return 0.0
        same = ["source", "run", "id"]
        if first.height and first.select(same).equals(second.select(same)):  # much faster, and the usual case
            return float((first["prediction"] == second["prediction"]).sum() / first.height)
        n_runs = first.group_by("source").agg(n=pl.col("run").max()).join(
            second.group_by("source").agg(m=pl.col("run").max()), on="source", how="full", coalesce=True
        ).select("source", most=pl.min_horizontal("n", "m"))  # fmt: skip
        parts = [each.join(n_runs, on="source").filter(pl.col("run") <= pl.col("most")) for each in (first, second)]
        whole = parts[0].join(parts[1], on=["source", "run", "id"], how="full")
        equal = (whole["prediction"] == whole["prediction_right"]).sum()
        return float(equal / whole.height) if whole.height else 0.0

    def _read(self, identity: str, task: str) -> pl.DataFrame:
        """Read an entry's predictions on a task, sorted: source, run index, id and prediction."""
        key = (identity, task)
        with self._lock:
            if key in self._runs:
                self._runs.move_to_end(key)
                return self._runs[key]
        path = self._store.predictions(self._store.entry(identity))
        rows = pl.read_parquet(path)
        seed = pl.col("seed") if "seed" in rows.columns else pl.lit(0)
        runs = (
            rows.filter(pl.col("id").str.split("/").list.get(1) == task)
            .select("source", seed.rank("dense").over("source").alias("run"), "id", "prediction")
            .sort("source", "run", "id")
        )
        with self._lock:
            self._runs[key] = runs
            while len(self._runs) > _N_READ:
                self._runs.popitem(last=False)
        return runs


def read_copies(store: Store) -> pl.DataFrame:
    """Read the saved results (``_FOUND``); an empty frame if the file is missing, damaged or has another schema."""
    try:
        saved = pl.read_parquet(store.index_file(_SAVED))
    except (OSError, pl.exceptions.PolarsError):
        return pl.DataFrame(schema=_FOUND)
    return saved if saved.schema == _FOUND else pl.DataFrame(schema=_FOUND)


def _neighbours(figures: NDArray[np.float64], place: int) -> list[int]:
    """Return the indices of the rows with the nearest scores, among those whose means differ by at most ``MAX_APART``.

    Args:
        figures: ``_FIGURES`` of all rows, sorted by the first of ``_MEANS``; NaN where undefined.
        place: index of the row.
    """
    first, last = 0, len(figures)
    mean = figures[place, _FIGURES.index(_MEANS[0])]
    if not np.isnan(mean):
        means = figures[:, _FIGURES.index(_MEANS[0])]
        means = np.where(np.isnan(means), -np.inf, means)  # undefined ones were sorted to the front
        first, last = np.searchsorted(means, [mean - MAX_APART, mean + MAX_APART], side="right")
    window = figures[first:last]
    apart = np.abs(window - figures[place])
    apart[np.isnan(window) & np.isnan(figures[place])] = 0.0
    # Entries are not near if only one of them has a score.
    is_near = (apart[:, [_FIGURES.index(name) for name in _MEANS]] <= MAX_APART).all(axis=1)
    is_near[place - first] = False
    (places,) = np.nonzero(is_near)
    distance = np.nan_to_num(apart[places], nan=MAX_APART).mean(axis=1)
    return [int(first + each) for each in places[np.argsort(distance, kind="stable")[:N_NEIGHBOURS]]]


def _marks(rows: pl.DataFrame, pairs: Collection[tuple[str, str]]) -> pl.DataFrame:
    """Return the later entry of each near pair on a board, with the name of the earliest entry near it."""
    rows = rows.filter(pl.col("id").is_in(list({each for pair in pairs for each in pair})))
    order = {identity: number for number, identity in enumerate(rows.sort(_ORDER)["id"])}
    names = dict(rows.select("id", "name").iter_rows())
    earliest: dict[str, str] = {}
    for a, b in pairs:
        if a in order and b in order:
            first, later = sorted((a, b), key=order.__getitem__)
            known = earliest.get(later)
            earliest[later] = first if known is None else min(first, known, key=order.__getitem__)
    marks = [{"id": later, "nearly_same_as": names[first]} for later, first in earliest.items()]
    return pl.DataFrame(marks, schema=NEAR_COPIES, orient="row")
