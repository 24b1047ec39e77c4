"""One-pass sampling: the rows with the smallest keyed hashes in each stratum, independent of row order."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from shiftbench.builders.stored_rows import compact
from shiftbench.validation.json_text import parse_json
from shiftbench.validation.output_files import replace_file

STRATUM = "_stratum"
_HASH = "_hash"
_LARGEST = (1 << 64) - 1
_FEWEST_PENDING = 1_000
_COMPACTED_AT = 5
"""Frames kept alive before compaction; compacting after every frame would cost as much as hashing."""
_STATE = "reservoir"
_N_OWN = 2
"""Number of the reservoir's internal columns."""


class Reservoir:
    """A sample of ``size`` rows per stratum, without repeated texts, independent of row order.

    Rows are chosen by a hash of their identity, so the sample is the same on every machine and changes little when rows
    are added to the file. Among rows with the same identity, the smallest in the order of all columns is kept. At most
    about 1.25 times the sample is in memory.
    """

    def __init__(self, size: int, identity: Sequence[str], key: str) -> None:
        """Set the rows per stratum (at least 1), the columns that identify a row (null as ''), and a key."""
        self.size = size
        self.identity = tuple(identity)
        self.n_taken = 0
        self.n_repeats = 0
        """Number of repeated identities noticed within strata; rows rejected by their hash are not examined."""
        self._key = hashlib.sha256(key.encode()).digest()
        self._held = pl.DataFrame(schema={STRATUM: pl.Int64, _HASH: pl.UInt64})
        self._limits: dict[int, int] = {}
        """The largest hash in the sample, for each full stratum."""
        self._pending: list[pl.DataFrame] = []
        self._n_pending = 0

    def take(self, frame: pl.DataFrame) -> None:
        """Add rows; the integer column ``_stratum`` contains their strata.

        Raises: ValueError when a stratum is null.
        """
        if frame[STRATUM].null_count():
            raise ValueError(f"{frame[STRATUM].null_count()} rows have no stratum")
        frame = frame.with_columns(pl.col(STRATUM).cast(pl.Int64), identity_hash(frame, self.identity, self._key))
        self.n_taken += len(frame)
        limit = pl.col(STRATUM).replace_strict(self._limits, default=_LARGEST, return_dtype=pl.UInt64)
        rows = frame.filter(pl.col(_HASH) <= limit)
        if not len(rows) and self._held.width > _N_OWN:
            return
        self._pending.append(rows)  # an empty frame defines the columns
        if len(self._pending) >= _COMPACTED_AT:
            self._pending = [compact(pl.concat(self._pending, rechunk=False))]
        self._n_pending += len(rows)
        if self._n_pending > max(len(self._held) // 4, _FEWEST_PENDING):
            self._merge()

    def rows(self) -> pl.DataFrame:
        """Return the sample sorted by hash, without the stratum column; without columns if no frame was added."""
        self._merge()
        return self._held.sort(_HASH, STRATUM).drop(_HASH, STRATUM)

    def save(self, path: Path) -> None:
        """Write the current sample and the numbers of rows added and of repeats to ``path``, atomically."""
        self._merge()
        state = {"size": self.size, "n_taken": self.n_taken, "n_repeats": self.n_repeats}
        with replace_file(path) as new:
            self._held.write_parquet(new, compression="uncompressed", metadata={_STATE: json.dumps(state)})

    def load(self, path: Path) -> None:
        """Replace the state by one saved by a reservoir with the same parameters.

        Raises: ValueError if the file was saved with another size.
        """
        state = parse_json(pl.read_parquet_metadata(path)[_STATE])
        if state["size"] != self.size:
            raise ValueError(f"{path} contains {state['size']} rows of each stratum, not {self.size}")
        self.n_taken, self.n_repeats = state["n_taken"], state["n_repeats"]
        self._pending, self._n_pending = [], 0
        self._hold(pl.read_parquet(path))

    def _merge(self) -> None:
        """Merge pending rows into the sample: keep the smallest hashes of each stratum."""
        if not self._pending:
            return
        rows = pl.concat([self._held, *self._pending] if self._held.width > _N_OWN else self._pending, rechunk=False)
        distinct = _each_once(rows)
        self.n_repeats += len(rows) - len(distinct)
        self._pending, self._n_pending = [], 0
        place = pl.int_range(pl.len()).over(STRATUM)
        self._hold(compact(distinct.sort(STRATUM, _HASH).filter(place < self.size)))

    def _hold(self, rows: pl.DataFrame) -> None:
        self._held = rows
        full = rows.group_by(STRATUM).agg(pl.len(), pl.col(_HASH).max()).filter(pl.col("len") == self.size)
        self._limits = dict(full.select(STRATUM, _HASH).iter_rows())


def _each_once(rows: pl.DataFrame) -> pl.DataFrame:
    """Keep one row per hash: the first in the order of all columns. Only repeated rows, which are few, are sorted."""
    repeated = rows.select(STRATUM, _HASH).is_duplicated()
    if not repeated.any():
        return rows
    others = sorted({*rows.columns} - {STRATUM, _HASH})
    first = rows.filter(repeated).sort(STRATUM, _HASH, *others)
    first = first.unique([STRATUM, _HASH], keep="first", maintain_order=True)
    return pl.concat([rows.filter(~repeated), first], rechunk=False)


def identity_hash(frame: pl.DataFrame, identity: Sequence[str], key: bytes) -> pl.Series:
    """Hash the identity columns of each row to 64 bits with BLAKE2b, independent of version and platform."""
    columns = [pl.col(column).cast(pl.String).fill_null("") for column in identity]
    texts = frame.select(pl.concat_str(columns, separator="\x1f").cast(pl.Binary)).to_series()
    return hash_texts(texts, key).alias(_HASH)


def hash_texts(texts: pl.Series, key: bytes = b"") -> pl.Series:
    """Hash binary texts without nulls to 64 bits with BLAKE2b, independent of version and platform."""
    digests = b"".join(hashlib.blake2b(text, digest_size=8, key=key).digest() for text in texts)
    return pl.Series(np.frombuffer(digests, dtype=">u8").astype(np.uint64))
