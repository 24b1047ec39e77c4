"""Columns of a Parquet file as text, for data sets only available as Parquet on the Hub (Civil Comments, ToxiGen)."""

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from shiftbench.builders.specs.upstream_file import UpstreamFile
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean, first_line

_ROWS = 50_000


def parquet_rows(*columns: str) -> "ParquetRows":
    """Return a reader of a Parquet file."""
    return ParquetRows(columns)


@dataclass(frozen=True)
class ParquetRows:
    """A reader of some columns of a Parquet file as text, in frames of at most 50,000 rows.

    Integers become digits, floats their shortest exact text (``0.5``), booleans ``true`` and ``false``. Nulls stay
    null; the step keep_filled drops them.

    Raises: InvalidInput if the file is gzipped or zipped, damaged or not Parquet, or a column is missing or contains
        neither text nor numbers.
    """

    columns: tuple[str, ...]

    def __call__(self, file: UpstreamFile) -> Iterator[pl.DataFrame]:
        """Read the whole file, by path because Parquet requires random access."""
        if file.path.suffix in {".gz", ".zip"}:
            what = "compressed Parquet files cannot be read"
            raise InvalidInput(
                Problem(what, str(file.path), f"'{file.path.name}'", "unpack it; Parquet itself is compressed")
            )
        try:
            with pq.ParquetFile(file.path) as parquet:
                self._check(parquet.schema_arrow, file)
                for batch in parquet.iter_batches(_ROWS, columns=list(self.columns)):
                    yield self._frame(pl.DataFrame(batch))
                if not parquet.metadata.num_rows:
                    yield self._frame(pl.DataFrame(parquet.schema_arrow.empty_table()))
        except (pa.ArrowException, OSError) as error:
            what, cure = "the file is damaged, or is not Parquet", "fetch the file again; it may be truncated"
            raise InvalidInput(Problem(what, str(file.path), first_line(error), cure)) from error

    def _frame(self, frame: pl.DataFrame) -> pl.DataFrame:
        return frame.select(pl.col(name).cast(pl.String) for name in self.columns)

    def _check(self, schema: pa.Schema, file: UpstreamFile) -> None:
        found = f"columns {schema.names}"
        problems = [
            Problem("this column is missing", str(file.path), found, did_you_mean(name, schema.names), column=name)
            for name in self.columns
            if name not in schema.names
        ] or [
            Problem("this column contains neither text nor numbers", str(file.path), str(kind), column=name)
            for name in self.columns
            if not _is_plain(kind := schema.field(name).type)
        ]
        if problems:
            raise InvalidInput(problems)


def _is_plain(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_integer, pa.types.is_floating)
    return pa.types.is_boolean(kind) or any(test(kind) for test in tests)
