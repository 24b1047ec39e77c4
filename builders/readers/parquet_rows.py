"""Columns of a Parquet file as text, as the Hub has data sets that fit no other form (Civil Comments, ToxiGen)."""

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
    """A reader of Parquet that keeps some columns as text, a frame per 50,000 rows at most.

    Whole numbers become digits, others their shortest exact text (``0.5``), truth values as ``true`` and
    ``false``. What the file itself marks as missing stays missing; keep_filled drops it by name.

    Raises: InvalidInput when the file is compressed from outside, damaged or not Parquet, or a column is missing or
        holds neither text nor numbers.
    """

    columns: tuple[str, ...]

    def __call__(self, file: UpstreamFile) -> Iterator[pl.DataFrame]:
        """Read the file from its start: by path, for Parquet is read from its end."""
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
            what, cure = "the file is damaged, or is not Parquet", "fetch the file again; it may be cut off"
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
            Problem("this column holds neither text nor numbers", str(file.path), str(kind), column=name)
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
