"""Rows of splits too large for memory, stored on disk in parts, and external sorting.

A part is a Parquet file of about ``PART_BYTES`` of text. Functions on splits accept ``Rows``: a frame or
``StoredRows``.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol, cast

import polars as pl

PART_BYTES = 1 << 25
"""Approximate memory of the rows of a part."""

_ROWS = 10_000
_PENDING_PARTS = 4
"""Parts that a sorter holds in memory before writing."""


class Rows(Protocol):
    """Common interface of frames and rows on disk."""

    def __len__(self) -> int:
        """Return the number of rows."""
        ...

    def __getitem__(self, name: str, /) -> pl.Series:
        """Return one entire column."""
        ...

    def select(self, *columns: str) -> pl.DataFrame:
        """Return all rows of some columns."""
        ...

    def iter_slices(self, n_rows: int = ..., /) -> Iterator[pl.DataFrame]:
        """Yield the rows in order, at most ``n_rows`` at a time."""
        ...

    @property
    def schema(self) -> pl.Schema:
        """Return the columns' types."""
        ...


@dataclass(frozen=True)
class StoredRows:
    """Rows of one schema in Parquet files, in order, not in memory.

    ``sizes``: number of rows of each file.
    """

    schema: pl.Schema
    paths: tuple[Path, ...] = ()
    sizes: tuple[int, ...] = ()

    @classmethod
    def at(cls, paths: Iterable[Path]) -> "StoredRows":
        """Return the rows of existing Parquet files; without files there are no columns."""
        paths = tuple(paths)
        if not paths:
            return cls(pl.Schema())
        sizes = (pl.scan_parquet(path).select(pl.len()).collect().item() for path in paths)
        return cls(pl.scan_parquet(paths[0]).collect_schema(), paths, tuple(sizes))

    def __len__(self) -> int:
        """Return the number of rows."""
        return sum(self.sizes)

    def __getitem__(self, name: str, /) -> pl.Series:
        """Return one entire column."""
        return self.select(name)[name]

    def select(self, *columns: str) -> pl.DataFrame:
        """Return all rows of some columns."""
        schema = pl.DataFrame(schema={name: self.schema[name] for name in columns})
        # glob=False, because a folder's name may contain brackets or stars.
        parts = (pl.read_parquet(path, columns=list(columns), glob=False) for path in self.paths)
        return pl.concat([schema, *(part.select(columns) for part in parts)])

    def frame(self) -> pl.DataFrame:
        """Return all rows as one frame."""
        return self.select(*self.schema)

    def iter_slices(self, n_rows: int = _ROWS, /) -> Iterator[pl.DataFrame]:
        """Yield the rows in order, at most ``n_rows``, and at most one part, at a time."""
        for frame in self.frames(0, len(self)):
            yield from frame.iter_slices(n_rows)

    def frames(self, start: int, end: int) -> Iterator[pl.DataFrame]:
        """Yield the rows ``start`` to ``end``, one part at a time."""
        for path, size in zip(self.paths, self.sizes, strict=True):
            if start < size and end > 0:
                yield pl.read_parquet(path, glob=False).slice(max(0, start), min(size, end) - max(0, start))
            start, end = start - size, end - size


def in_memory(rows: Rows) -> pl.DataFrame:
    """Return rows as one frame."""
    return rows.frame() if isinstance(rows, StoredRows) else rows.select(*rows.schema)


def concat_rows(rows: Iterable[Rows]) -> Rows:
    """Concatenate rows of one schema; if all are on disk, nothing is copied."""
    rows = list(rows)
    stored = [part for part in rows if isinstance(part, StoredRows)]
    if len(stored) < len(rows):
        return pl.concat(map(in_memory, rows))
    paths = tuple(path for part in stored for path in part.paths)
    return StoredRows(stored[0].schema, paths, tuple(size for part in stored for size in part.sizes))


def slices_of(
    rows: Rows, n_bytes: int | None = None, *, start: int = 0, end: int | None = None
) -> Iterator[pl.DataFrame]:
    """Yield rows in order, in slices of about ``n_bytes``; nothing if there are no rows.

    Args:
        rows: the rows.
        n_bytes: approximate size of a slice; None: the size of a part.
        start: index of the first row.
        end: index after the last row; None: up to the end.
    """
    stop = len(rows) if end is None else end
    if isinstance(rows, StoredRows):
        frames = rows.frames(start, stop)
    else:
        frames = in_memory(rows).slice(start, stop - start).iter_slices(_ROWS)
    for frame in frames:
        n_slices = -(-frame_bytes(frame) // (n_bytes or PART_BYTES)) or 1
        yield from frame.iter_slices(max(1, -(-len(frame) // n_slices)))


def compact(frame: pl.DataFrame) -> pl.DataFrame:
    """Copy a frame, because filtered texts may keep the original frame in memory."""
    # The oldest compatibility level has no string views, so converting to it copies the texts.
    return cast(pl.DataFrame, pl.from_arrow(frame.to_arrow(compat_level=pl.CompatLevel.oldest())))


def frame_bytes(frame: pl.DataFrame) -> int:
    """Estimate the memory of a frame's rows, without other content of its buffers."""
    return sum(_column_bytes(column) for column in frame)


def _column_bytes(column: pl.Series) -> int:
    # Polars stores 16 bytes per text in addition to its characters, and an offset of 8 bytes per list. Numbers take
    # less than the 16 bytes assumed here.
    if isinstance(column.dtype, pl.Struct):
        return sum(_column_bytes(part) for part in column.struct.unnest())
    if isinstance(column.dtype, pl.List):
        return 8 * len(column) + _column_bytes(column.explode(empty_as_null=False))
    return 16 * len(column) + (int(column.str.len_bytes().sum()) if column.dtype == pl.String else 0)


class RowWriter:
    """Collects rows in order, either on disk (in parts, in a new folder) or in memory (in one frame)."""

    def __init__(self, folder: Path | None) -> None:
        """Create the folder; None collects the rows in memory."""
        if folder is not None:
            folder.mkdir(parents=True)
        self._folder = folder
        self._pending: list[pl.DataFrame] = []
        self._n_bytes = 0
        self._paths: list[Path] = []
        self._sizes: list[int] = []
        self._schema: pl.Schema | None = None

    def add(self, rows: Rows) -> None:
        """Add rows; an empty frame still defines the columns."""
        self._schema = self._schema or rows.schema
        for frame in slices_of(rows):
            self._pending.append(frame)
            self._n_bytes += frame_bytes(frame)
            if self._n_bytes >= PART_BYTES and self._folder is not None:
                self._write(self._folder)

    def rows(self) -> Rows:
        """Write pending rows, and return all rows added."""
        assert self._schema is not None, "no frame was added"
        if self._folder is None:
            return pl.concat([pl.DataFrame(schema=self._schema), *self._pending])
        self._write(self._folder)
        return StoredRows(self._schema, tuple(self._paths), tuple(self._sizes))

    def _write(self, folder: Path) -> None:
        if self._pending:
            frame = pl.concat(self._pending, rechunk=False)
            path = folder / f"{len(self._paths):05}.parquet"
            write_part(frame, path)
            self._paths.append(path)
            self._sizes.append(len(frame))
            self._pending, self._n_bytes = [], 0


def write_part(frame: pl.DataFrame, path: Path) -> None:
    """Write a frame as a part of stored rows; raise FileExistsError if the part exists."""
    try:
        path.touch(exist_ok=False)
    except FileExistsError as error:  # overwriting it would change the rows of another reading
        raise FileExistsError(error.errno, "a part for other rows is already stored there", str(path)) from error
    frame.write_parquet(path, compression="lz4", statistics=False)


class Sorter:
    """Sorts rows on disk by a text column: rows are partitioned into ranges, which are sorted separately."""

    def __init__(self, folder: Path, by: str, bounds: pl.Series) -> None:
        """Set a new folder, the column, and the lower bounds of all ranges but the first, ascending."""
        folder.mkdir(parents=True)
        self._folder, self._by = folder, by
        self._bounds = bounds
        self._pending: list[list[pl.DataFrame]] = [[] for _ in range(len(bounds) + 1)]
        self._n_bytes = 0
        self._paths: list[list[Path]] = [[] for _ in self._pending]

    @classmethod
    def of(cls, folder: Path, texts: pl.Series, n_bytes: int) -> "Sorter":
        """Return an empty sorter with ranges of about the size of a part.

        Args:
            folder: a new folder.
            texts: the texts to sort, all or a sample, in any order; the series has the column's name.
            n_bytes: size of all rows to sort.
        """
        n_ranges = -(-n_bytes // PART_BYTES) or 1
        ordered = texts.sort()
        places = [len(ordered) * number // n_ranges for number in range(1, n_ranges)] if len(ordered) else []
        return cls(folder, texts.name, ordered.gather(places).unique().sort())

    def add(self, frame: pl.DataFrame) -> None:
        """Add rows in any order."""
        range_ = self._bounds.search_sorted(frame[self._by], side="right").alias("_range")
        for (number,), part in frame.with_columns(range_).partition_by("_range", as_dict=True).items():
            self._pending[int(number)].append(part.drop("_range"))
        self._n_bytes += frame_bytes(frame)
        if self._n_bytes >= _PENDING_PARTS * PART_BYTES:
            self._write()

    def frames(self) -> Iterator[pl.DataFrame]:
        """Yield the sorted rows, one range at a time, and delete each range from disk."""
        for pending, paths in zip(self._pending, self._paths, strict=True):
            parts = [*(pl.read_parquet(path, glob=False) for path in paths), *pending]
            pending.clear()
            for path in paths:
                path.unlink()
            if parts:
                yield pl.concat(parts, rechunk=False).sort(self._by)

    def _write(self) -> None:
        for number, (pending, paths) in enumerate(zip(self._pending, self._paths, strict=True)):
            if pending:
                path = self._folder / f"{number}-{len(paths)}.parquet"
                write_part(pl.concat(pending, rechunk=False), path)
                paths.append(path)
                pending.clear()
        self._n_bytes = 0


@contextmanager
def scratch_folder(beside: Path) -> Iterator[Path]:
    """Yield a new folder on the same disk as a path; delete it afterwards."""
    beside.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{beside.name}-rows-", dir=beside.parent) as place:
        yield Path(place)
