"""Reading of prediction files in any supported format, with errors that name row and column.

Formats: parquet, JSON lines, CSV, recognised by content, not by file name. Columns: ``source``, ``id``, ``prediction``,
optional ``seed``, ``confidence`` and ``probabilities``. Nothing is guessed: a file mangled by a spreadsheet is refused
with a suggested fix. Files are read in parts, so that refusing one takes little memory.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import polars as pl

from shiftbench.validation.csv_text import CsvCaps, csv_batches, repeated_columns
from shiftbench.validation.limits import MAX_LINE_BYTES, MAX_ROWS, MAX_TEXT_BYTES, check_size
from shiftbench.validation.parquet_file import MAGIC, ParquetFile
from shiftbench.validation.prediction_lines import json_batches
from shiftbench.validation.prediction_values import (
    DTYPES,
    OPTIONAL,
    REQUIRED,
    Faults,
    convert_columns,
    convert_values,
    number_problem,
)
from shiftbench.validation.probabilities import PROBABILITIES
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean

EXCEL_ROWS = 1_048_575  # data rows that fit a worksheet under a header
HEAD_BYTES = 4096
_COLUMNS_CURE = "columns: source, id, prediction; optional: seed, confidence, probabilities"


class PredictionFile:
    """A prediction file; ``parts`` reads it.

    Args:
        path: a parquet, JSON lines or CSV file, recognised by content.
        max_rows: maximum number of rows.
    Raises: InvalidInput when the file is missing, empty, too large or in another format.
    """

    def __init__(self, path: Path, max_rows: int = MAX_ROWS) -> None:
        self.path, self.max_rows = path, max_rows
        self.faults = Faults(str(path))
        """Faults in the values of the parts read so far."""
        if not path.is_file():
            raise InvalidInput(Problem("there is no such prediction file", str(path), cure="check the path"))
        size = path.stat().st_size
        if size == 0:
            raise InvalidInput(
                Problem("the file is empty", str(path), "0 bytes", "run the program that writes it again")
            )
        check_size(size, str(path))
        self._format = _format(path)

    @property
    def is_parquet(self) -> bool:
        """Return whether the file is parquet: it can be read by column, but texts may decompress to far more bytes."""
        return self._format == "parquet"

    def parts(self, columns: Sequence[str] | None = None, most_bytes: int = MAX_TEXT_BYTES) -> Iterator[pl.DataFrame]:
        """Read the rows in file order, in parts of tens of thousands.

        Args:
            columns: columns to read (parquet only). Default: all.
            most_bytes: maximum total bytes of all predictions (parquet only).
        Returns: frames of the columns source, id, prediction (text; lists of tags joined by spaces), seed (Int64, 0
            if the file has none) and, if present, confidence (Float64) and probabilities (lists of Float64, null
            if a row has none). Invalid values are null and recorded in ``faults``.
        Raises: InvalidInput when rows or required columns are missing, or a limit is exceeded.
        """
        try:
            yield from self._filled_parts(columns, most_bytes)
        except InvalidInput as error:
            raise InvalidInput([*self.faults.columns, *error.problems]) from error

    def _filled_parts(self, columns: Sequence[str] | None, most_bytes: int) -> Iterator[pl.DataFrame]:
        first, seen = 0, set[str]()
        names: Sequence[str] | None = None
        for part in self._typed_parts(columns or REQUIRED + OPTIONAL, most_bytes):
            names = names or part.columns
            whole = self._fill_columns(part, names, seen, first)
            first += len(whole)
            if len(whole):
                yield whole
        if not first:
            raise InvalidInput(_no_rows(str(self.path)))

    @cached_property
    def _parquet(self) -> ParquetFile:
        return ParquetFile(self.path, self._check_columns, self.max_rows)

    def _typed_parts(self, columns: Sequence[str], most_bytes: int) -> Iterator[pl.DataFrame]:
        first = 0
        if self._format == "json":
            for lines in json_batches(self.path, self._check_columns, self.max_rows):
                yield convert_values(lines, first, self.faults)
                first += len(lines["id"])
            return
        caps = CsvCaps(self.max_rows, MAX_LINE_BYTES)
        for batch in (
            self._parquet.parts(columns, most_bytes)
            if self.is_parquet
            else csv_batches(self.path, self._check_columns, _no_rows(str(self.path)), caps)
        ):
            yield convert_columns(batch, first, self.faults)
            first += len(batch)

    def _fill_columns(self, part: pl.DataFrame, names: Sequence[str], seen: set[str], first: int) -> pl.DataFrame:
        """Add columns that the part lacks but the first part has: in JSON lines, keys may be missing.

        Args:
            part: the rows.
            names: columns of the first part.
            seen: optional columns in any part so far; updated.
            first: number of rows before these.
        """
        for name in OPTIONAL:
            if name in part.columns and name not in seen:
                self._add_missing(name, 0, first)
            elif name in seen and name not in part.columns and name != PROBABILITIES:
                self._add_missing(name, first, len(part))
            if name in names and name not in part.columns:
                part = part.with_columns(pl.lit(None, dtype=DTYPES[name]).alias(name))
        seen.update(part.columns)
        part = part.select(name for name in part.columns if name in names)
        if "seed" not in part.columns:
            part = part.with_columns(pl.repeat(0, len(part), dtype=pl.Int64).alias("seed"))
        return part.select(name for name in (*REQUIRED, *OPTIONAL) if name in part.columns)

    def _add_missing(self, column: str, first: int, count: int) -> None:
        if count:
            self.faults.add(column, "number", first, repr(None), count)

    def _check_columns(self, names: list[str]) -> None:
        """Raise InvalidInput if required columns are missing; unknown columns are recorded and not read."""
        unknown, others = _column_problems(names, str(self.path))
        self.faults.columns += [problem for problem in unknown if problem not in self.faults.columns]
        if others:
            raise InvalidInput(others)


@dataclass(frozen=True)
class PredictionInput:
    """A prediction file and how to interpret its labels.

    Attributes:
        path: the file.
        labels_by_index: integers are 0-based indices into the task's labels, and are converted to names.
    """

    path: Path
    labels_by_index: bool = False

    @classmethod
    def of(cls, file: "str | Path | PredictionInput") -> "PredictionInput":
        """Convert a path to an input with label names; return a ``PredictionInput`` unchanged."""
        return file if isinstance(file, cls) else cls(Path(str(file)))

    def __str__(self) -> str:
        return str(self.path)


def read_predictions(file: Path | PredictionInput, max_rows: int = MAX_ROWS) -> pl.DataFrame:
    """Read a whole prediction file; the columns are those of ``PredictionFile.parts``.

    Args:
        file: the file; if its labels are given by index, integers become texts.
        max_rows: maximum number of rows.
    Raises: InvalidInput with every problem of its columns and values.
    """
    given = PredictionInput.of(file)
    parts = PredictionFile(given.path, max_rows)
    frame = pl.concat(list(parts.parts()))
    problems, numbers = parts.faults.columns + parts.faults.problems(), parts.faults.take_numbers()
    if len(numbers) and not given.labels_by_index:
        problems.append(number_problem(str(given), numbers[0] + 1, frame["prediction"][numbers[0]], len(numbers)))
    if problems:
        raise InvalidInput(problems)
    return frame


def _format(path: Path) -> str:
    """Return a file's format by its first bytes."""
    with path.open("rb") as stream:
        head = stream.read(HEAD_BYTES)
        while head.isspace() and (more := stream.read(HEAD_BYTES)):
            head = more
    if head.startswith(MAGIC):
        return "parquet"
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith((b"{", b"[")):
        return "json"
    kind = _describe_other_format(start)
    if kind is not None:
        cure = "send predictions as a parquet, JSON lines or CSV file"
        raise InvalidInput(Problem("this is neither parquet, nor JSON lines, nor CSV", str(path), kind, cure))
    return "csv"


def _describe_other_format(start: bytes) -> str | None:
    """Return a description of a file that is clearly not CSV; None if it may be CSV."""
    if start.startswith(b"version https://git-lfs"):
        return "a Git LFS pointer instead of the file: run 'git lfs pull'"
    if start.startswith(b"PK\x03\x04"):
        return "a zip archive (or a spreadsheet)"
    if start.lower().startswith((b"<!doc", b"<html")):
        return "a web page: check the download link"
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return None  # UTF-16, which the CSV reader reports
    first = start.split(b"\n")[0].decode(errors="ignore").replace("\t", "").replace("\r", "")
    return None if first.isprintable() else f"bytes {start[:16]!r}"


def _no_rows(file: str) -> Problem:
    return Problem("the file contains no predictions", file, "0 rows", "run the program that writes it again")


def _column_problems(columns: list[str], file: str) -> tuple[list[Problem], list[Problem]]:
    """Find unknown columns, and columns that are missing or repeated."""
    allowed = REQUIRED + OPTIONAL
    shown = [name[:80] for name in columns]
    unknown = [
        Problem("unknown column", file, f"'{name}'", _column_cure(name), column=name)
        for name in dict.fromkeys(shown)
        if name not in allowed
    ]
    others = repeated_columns(shown, file)
    others += [
        Problem("a column is missing", file, f"columns {', '.join(shown) or 'none'}", _COLUMNS_CURE, column=name)
        for name in REQUIRED
        if name not in columns
    ]
    return unknown, others


def _column_cure(name: str) -> str:
    if name == "" or name.startswith(("Unnamed: ", "__index_level_")):
        return "it seems to be the index of a pandas frame: write the file with index=False"
    nearest = did_you_mean(name, REQUIRED + OPTIONAL)
    return nearest if nearest.endswith("?") else _COLUMNS_CURE
