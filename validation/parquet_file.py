"""Reading of parquet columns in parts, with limits on the decompressed size.

A few hundred bytes of parquet can expand to gigabytes by compression, dictionaries, run lengths or nesting. So sizes
are checked in the footer, then in every page header (see ``parquet_pages``), then lengths of values are measured while
texts are still dictionary-encoded. Only then are texts decoded, one part at a time.
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from shiftbench.validation import parquet_pages
from shiftbench.validation.limits import (
    MAX_CHARACTERS,
    MAX_LIST_ELEMENTS,
    MAX_PROBABILITIES,
    MAX_TEXT_BYTES,
    check_column_count,
    check_row_count,
    too_long,
    too_much_text,
)
from shiftbench.validation.parquet_pages import RowGroup
from shiftbench.validation.report import InvalidInput, Problem, plural

MAGIC = b"PAR1"
BATCH_ROWS = 131_072
PART_BYTES = 16 * 2**20
"""Maximum decoded bytes of a part."""
MAX_FOOTER_BYTES = 16 * 2**20
MAX_PAGE_BYTES = 32 * 2**20
MAX_PAGES = 100_000
MAX_PAGES_BYTES = 2**30
MAX_ROW_GROUPS = 2_000
MAX_FIXED_BYTES = 32
"""Maximum bytes of a fixed-length value: the widest decimal."""

# Allowed encodings by their number in the format: PLAIN, PLAIN_DICTIONARY, RLE, BIT_PACKED, DELTA_BINARY_PACKED,
# DELTA_LENGTH_BYTE_ARRAY, RLE_DICTIONARY, BYTE_STREAM_SPLIT. DELTA_BYTE_ARRAY (7) can expand without bound.
_ENCODINGS = frozenset({0, 2, 3, 4, 5, 6, 8, 9})
_TEXT = "BYTE_ARRAY"
_DAMAGED = (
    pa.ArrowException,
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
    OSError,
    ValueError,
    IndexError,
    struct.error,
)


class ParquetFile:
    """A parquet file whose footer and page headers are within bounds.

    Args:
        path: the file, which begins with ``MAGIC``.
        check_columns: called with the names of the columns before anything else is checked; raises InvalidInput if they
            are wrong.
        max_rows: maximum number of rows.
    Raises: InvalidInput when the file is damaged, or exceeds the limits of prediction files.
    """

    def __init__(self, path: Path, check_columns: Callable[[list[str]], None], max_rows: int) -> None:
        self.path = path
        footer = _footer(path)
        with _report_damage(path):
            groups = parquet_pages.row_groups(footer)
            # Arrow raises an error for damaged pages, while polars' reader may abort the process.
            with _open_parquet(path) as parquet:
                _check_footer(parquet, groups, str(path), check_columns, max_rows)
                leaves = _leaves(parquet)
            self._codes = [column.path for column in leaves if column.physical_type == _TEXT]
            with path.open("rb") as stream:
                repeated = [column.path.split(".")[0] if column.max_repetition_level > 0 else "" for column in leaves]
                _check_pages(groups, repeated, stream, str(path))

    def parts(self, columns: Sequence[str] | None = None, most_bytes: int = MAX_TEXT_BYTES) -> Iterator[pl.DataFrame]:
        """Read the rows as frames of tens of thousands of rows.

        Args:
            columns: columns to read; missing ones are ignored. Default: all.
            most_bytes: maximum total bytes of all predictions.
        Raises: InvalidInput when a page is damaged, a value is too long, or there is too much text.
        """
        yield from _join_small_parts(self._decode_parts(columns, most_bytes))

    def _decode_parts(self, columns: Sequence[str] | None, most_bytes: int) -> Iterator[pl.DataFrame]:
        n_bytes = row = 0
        with _report_damage(self.path), _open_parquet(self.path, read_dictionary=self._codes) as parquet:
            names = [name for name in parquet.schema_arrow.names if columns is None or name in columns]
            n_rows = BATCH_ROWS // max(1, *map(_fixed_size, parquet.schema_arrow.types), 1)
            for batch in parquet.iter_batches(n_rows, columns=names, use_threads=False):
                lengths = _check_lengths(batch, row, str(self.path))
                n_bytes += int(lengths["prediction"].sum()) if "prediction" in lengths else 0
                if n_bytes > most_bytes:
                    raise InvalidInput(too_much_text(str(self.path), most_bytes))
                row += len(batch)
                for start, end in _cuts(np.sum(list(lengths.values()), axis=0)):
                    yield _decode_texts(batch.slice(start, end - start))


def _join_small_parts(parts: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Concatenate small parts: a row group may have a single row, and checking a part takes milliseconds."""
    waiting: list[pl.DataFrame] = []
    rows = n_bytes = 0
    for part in parts:
        if waiting and (rows + len(part) > BATCH_ROWS or n_bytes + part.estimated_size() > 2 * PART_BYTES):
            yield pl.concat(waiting, rechunk=True)
            waiting, rows, n_bytes = [], 0, 0
        waiting.append(part)
        rows, n_bytes = rows + len(part), n_bytes + int(part.estimated_size())
    if waiting:
        yield pl.concat(waiting, rechunk=True)


@contextmanager
def _report_damage(path: Path) -> Iterator[None]:
    """Convert reader errors of a damaged file to InvalidInput."""
    try:
        yield
    except MemoryError:
        raise
    except _DAMAGED as error:
        cure = "write or copy the file again; it may be truncated"
        raise InvalidInput(Problem("the Parquet file cannot be read", str(path), "damaged content", cure)) from error


def _open_parquet(path: Path, **options: Any) -> pq.ParquetFile:
    return pq.ParquetFile(
        path,
        buffer_size=2**20,
        thrift_string_size_limit=MAX_FOOTER_BYTES,
        thrift_container_size_limit=MAX_PAGES,
        arrow_extensions_enabled=False,
        page_checksum_verification=True,
        **options,
    )


def _leaves(parquet: pq.ParquetFile) -> list[Any]:
    return [parquet.schema.column(number) for number in range(parquet.metadata.num_columns)]


def _footer(path: Path) -> bytes:
    size = path.stat().st_size
    with path.open("rb") as stream:
        stream.seek(max(0, size - 8))
        tail = stream.read(8)
        if tail[-4:] != MAGIC:
            found = f"{tail[-4:]!r} at its end"
            raise InvalidInput(Problem("the Parquet file is truncated", str(path), found, "write or copy it again"))
        n_bytes = int.from_bytes(tail[:4], "little")
        if MAX_FOOTER_BYTES < n_bytes <= size:
            raise InvalidInput(_too_large(str(path), f"a footer of {n_bytes:,} bytes"))
        stream.seek(max(0, size - 8 - n_bytes))
        return stream.read(min(n_bytes, MAX_FOOTER_BYTES))


def _too_large(file: str, found: str) -> Problem:
    cure = "write only the columns of predictions, with the defaults of polars, pandas or pyarrow"
    return Problem("the Parquet file contains more than a prediction file needs", file, found, cure)


def _check_footer(
    parquet: pq.ParquetFile,
    groups: list[RowGroup],
    file: str,
    check_columns: Callable[[list[str]], None],
    max_rows: int,
) -> None:
    metadata = parquet.metadata
    check_column_count(metadata.num_columns, file)
    leaves = _leaves(parquet)
    if any(column.max_definition_level > 4 or column.max_repetition_level > 1 for column in leaves):
        what, cure = "a column is nested too deeply", "give texts, or for tags a list of texts"
        raise InvalidInput(Problem(what, file, cure=cure))
    for column in leaves:
        if column.physical_type == "FIXED_LEN_BYTE_ARRAY" and column.length > MAX_FIXED_BYTES:
            raise InvalidInput(_too_large(file, f"a column whose values have {column.length:,} bytes each"))
    check_columns(parquet.schema_arrow.names)
    widest = max(map(_fixed_size, parquet.schema_arrow.types), default=0)
    if widest > MAX_PROBABILITIES:  # a fixed-size list allocates all its values even for a null row
        raise InvalidInput(_too_large(file, f"lists of {widest:,} values each"))
    check_row_count(metadata.num_rows, file, max_rows)
    if len(groups) > MAX_ROW_GROUPS:
        raise InvalidInput(_too_large(file, plural(len(groups), "row group")))
    whole = all(len(group.chunks) == len(leaves) for group in groups) and len(groups) == metadata.num_row_groups
    if not whole or sum(group.rows for group in groups) != metadata.num_rows:
        raise ValueError("the row groups do not match the file")


def _fixed_size(kind: pa.DataType) -> int:
    """Return the length of a fixed-size list type; 0 for other types."""
    return int(kind.list_size) if pa.types.is_fixed_size_list(kind) else 0


def _check_pages(groups: list[RowGroup], repeated: list[str], stream: BinaryIO, file: str) -> None:
    """Raise InvalidInput for pages that decompress to too much, independently of the footer.

    ``repeated`` contains the column name of each chunk with lists, and ``""`` for other chunks.
    """
    n_pages = n_bytes = 0
    elements = [0] * len(repeated)
    for group in groups:
        for column, chunk in enumerate(group.chunks):
            for page in parquet_pages.pages(stream, chunk.start, chunk.length):
                n_pages += 1
                n_bytes += page.unpacked_bytes
                elements[column] += page.values if page.kind != parquet_pages.DICTIONARY else 0
                if n_pages > MAX_PAGES:
                    raise InvalidInput(_too_large(file, f"more than {MAX_PAGES:,} pages"))
                if page.unpacked_bytes > MAX_PAGE_BYTES:
                    raise InvalidInput(_too_large(file, f"a page of {page.unpacked_bytes:,} bytes"))
                if page.encoding not in _ENCODINGS:
                    raise InvalidInput(_too_large(file, f"a page with encoding {page.encoding}"))
                if n_bytes > MAX_PAGES_BYTES:
                    raise InvalidInput(_too_large(file, f"more than {MAX_PAGES_BYTES:,} bytes in its pages"))
    for column, n in enumerate(elements):
        if repeated[column] and n > MAX_LIST_ELEMENTS:
            raise InvalidInput(_too_many_elements(file, repeated[column], n))


def _too_many_elements(file: str, column: str, n: int) -> Problem:
    if column == "probabilities":
        cure = f"the limit is {MAX_LIST_ELEMENTS:,}"
        return Problem("there are too many probabilities in lists", file, f"{n:,} numbers", cure, column=column)
    cure = "join the tags of a row by single spaces, as one text"
    return Problem("there are too many tags in lists", file, f"{n:,} tags", cure)


def _check_lengths(batch: pa.RecordBatch, row: int, file: str) -> dict[str, npt.NDArray[np.int64]]:
    """Measure the byte length of each value while texts are still dictionary-encoded, which takes little memory."""
    lengths_of = {}
    for name in batch.schema.names:
        lengths_of[name] = lengths = _byte_lengths(batch[name])
        # This is only a bound; the exact limit in characters is checked later, for all formats.
        most = _most_bytes(name)
        if len(lengths) and int(lengths.max()) > most:
            found = f"more than {most:,} bytes"
            raise InvalidInput(too_long(file, name, row + int((lengths > most).argmax()) + 1, found))
    return lengths_of


def _cuts(row_bytes: npt.NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Split rows into slices (start, end) of at most ``PART_BYTES`` decoded bytes, or of a single row."""
    ends, start = np.cumsum(row_bytes), 0
    while start < len(ends):
        before = int(ends[start - 1]) if start else 0
        end = max(start + 1, int(np.searchsorted(ends, before + PART_BYTES, side="right")))
        yield start, end
        start = end


def _decode_texts(batch: pa.RecordBatch) -> pl.DataFrame:
    """Decode dictionary-encoded texts."""
    columns = {name: batch[name].cast(_decoded_type(batch[name].type)) for name in batch.schema.names}
    for column in columns.values():
        column.validate(full=True)
    # Convert column by column, to ignore untrusted schema metadata.
    return pl.DataFrame({name: pl.from_arrow(column) for name, column in columns.items()})


def _decoded_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return kind.value_type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return pa.large_list(_decoded_type(kind.value_type))
    if pa.types.is_decimal256(kind):
        return pa.float64()  # polars has no such type
    return kind


def _byte_lengths(array: pa.Array) -> npt.NDArray[np.int64]:
    """Return the byte length of each value (of a list: its elements joined by spaces), shape (n_rows,)."""
    kind = array.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _list_lengths(array)
    if pa.types.is_dictionary(kind):
        each = np.append(_byte_lengths(array.dictionary), 0)  # the last entry is for null
        lengths: npt.NDArray[np.int64] = each[_fill_nulls(array.indices, len(each) - 1)]
        return lengths
    if pa.types.is_string(kind) or pa.types.is_binary(kind) or _is_large(kind):
        return np.asarray(_fill_nulls(pc.binary_length(array), 0), np.int64)
    return np.full(len(array), 8, np.int64)


def _list_lengths(array: pa.Array) -> npt.NDArray[np.int64]:
    parts = np.asarray(_fill_nulls(pc.list_value_length(array), 0), np.int64)
    if parts.max(initial=0) > _most_bytes("prediction"):
        return parts  # so many elements exceed the limit regardless of their content
    ends = np.cumsum(parts)
    totals = np.zeros(int(parts.sum()) + 1, np.int64)
    np.cumsum(_byte_lengths(array.flatten()), out=totals[1:])
    return np.asarray(totals[ends] - totals[ends - parts] + parts)


def _fill_nulls(array: pa.Array, value: int) -> Any:
    return pc.fill_null(array, value).to_numpy(zero_copy_only=False)


def _most_bytes(column: str) -> int:
    return 4 * MAX_CHARACTERS[column]  # a UTF-8 character has at most four bytes


def _is_large(kind: pa.DataType) -> bool:
    return bool(pa.types.is_large_string(kind) or pa.types.is_large_binary(kind))
