"""Columns of text from delimited files: quoted CSV (RFC 4180), and TSV without quoting."""

import codecs
import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import polars as pl

from shiftbench.builders.specs.upstream_file import UpstreamFile, decode
from shiftbench.validation.csv_text import repeated_columns
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean

N_FIELDS = "n_fields"

_ROWS = 50_000
_CUT = "fetch the file again; it may be truncated"
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars", ",": "commas"}


def quoted_csv(*columns: str, header: Sequence[str] = (), separator: str = ",") -> "QuotedCsv":
    """Return a reader of a quoted CSV file.

    Args:
        header: names of all columns, for a file without a header.
        separator: one character.
    """
    return QuotedCsv(columns, tuple(header), separator)


def raw_tsv(*columns: str, header: Sequence[str] = (), ragged: bool = False) -> "RawTsv":
    """Return a reader of a tab-separated file without quoting.

    Args:
        header: names of all columns, for a file without a header.
        ragged: accept lines of any width (see ``RawTsv``).
    """
    return RawTsv(columns, tuple(header), ragged)


@dataclass(frozen=True)
class QuotedCsv:
    """A reader of some columns of a CSV as text, one frame per 50,000 rows; "n/a", "null" and "" are not nulls.

    Misplaced quotes are an error here; polars' parser accepts them. The first row is the header unless ``header`` is
    given; ``separator`` may be a tab.

    Raises: InvalidInput if the file is empty, a column is missing, or a row (data rows from 1) is blank, differs from
        the header in its number of fields, or violates the quoting rules.
    """

    columns: tuple[str, ...]
    header: tuple[str, ...] = ()
    separator: str = ","

    def __call__(self, file: UpstreamFile) -> Iterator[pl.DataFrame]:
        """Read the file from its start."""
        records = self._records(file)
        places = _places(self.columns, next(records), file.path)
        kept = (tuple(record[place] for place in places) for record in records)
        first = True
        while (rows := list(islice(kept, _ROWS))) or first:
            yield pl.DataFrame(rows, schema=_schema(self.columns), orient="row")
            first = False

    def _records(self, file: UpstreamFile) -> Iterator[list[str]]:
        """Yield the header and the rows, all of equal length."""
        path = file.path
        # A record may span lines, so lines keep their original line endings.
        lines = (line for _, text in file.text_blocks() for line in io.StringIO(text, newline=""))
        reader = csv.reader(lines, strict=True, delimiter=self.separator)
        first = 1 if self.header else 0
        width, row = len(self.header), first - 1
        if self.header:
            yield list(self.header)
        try:
            for row, fields in enumerate(reader, start=first):
                width = width or len(fields)
                if not width:
                    raise _empty(path)
                if len(fields) != width:
                    what = f"this row has {len(fields)} fields, the header {width}"
                    found = f"{self.separator.join(fields)[:80]!r} at line {reader.line_num}"
                    cure = f"{_CUT}; or its texts may not be quoted"
                    raise InvalidInput(Problem(what, str(path), found, cure, row=row))
                if row == 1 and self.header:
                    _refuse_header(fields, self.header, path)
                yield fields
        except csv.Error as error:
            found = f"{error} at line {reader.line_num}"
            what, cure = "this row violates the quoting rules of CSV", f"{_CUT}; or it may not be a quoted CSV"
            raise InvalidInput(Problem(what, str(path), found, cure, row=row + 1)) from error
        if row < first:
            raise _empty(path)


@dataclass(frozen=True)
class RawTsv:
    r"""A reader of some columns of a TSV as text, one frame per block; "NA", "" and '"' are ordinary texts.

    Lines end in LF or CRLF; a carriage return elsewhere is a character. The first line is the header unless
    ``header`` is given.

    If the file is ``ragged``, one empty field at the end of a line (after a trailing tab) is removed, and the column
    ``n_fields`` contains the number of remaining fields, as text, for a step that drops lines of another width. Missing
    columns are empty.

    Raises: InvalidInput with the line (as row) if the file is empty, a column is missing, or a line is not UTF-8 or
        differs from the header in its number of fields (unless the file is ``ragged``).
    """

    columns: tuple[str, ...]
    header: tuple[str, ...] = ()
    ragged: bool = False

    def __call__(self, file: UpstreamFile) -> Iterator[pl.DataFrame]:
        """Read the file from its position, in blocks."""
        first_line = decode(file.first_line(), file.path).removeprefix("\ufeff")
        if not first_line and not self.header:
            raise _empty(file.path)
        header = list(self.header) or first_line.split("\t")
        places = _places(self.columns, header, file.path)
        if self.header:
            _refuse_header(first_line.split("\t"), self.header, file.path)
        block = b""
        for first, block in file.blocks():
            lines, number = block, first
            if first == 1 and self.header:
                lines = block.removeprefix(codecs.BOM_UTF8)
            elif first == 1:
                lines, number = block.partition(b"\n")[2], 2
            if self.ragged:
                yield self._find_ragged_row(lines, number, places, file.path)
            else:
                yield self._frame(lines, number, len(header), places, file.path)
        if not block and not file.position.offset:
            raise _empty(file.path)

    def _frame(self, lines: bytes, first: int, width: int, places: Sequence[int], path: Path) -> pl.DataFrame:
        if not lines:
            return pl.DataFrame(schema=_schema(self.columns))
        _check_widths(lines, first, width, path)
        # Every line has the same width, so each width-th field belongs to one column. Polars' CSV parser is as fast but
        # strips carriage returns from fields, and slices of polars' split keep the whole block in memory.
        text = decode(lines, path, first).removesuffix("\n").removesuffix("\r")
        fields = text.replace("\r\n", "\t").replace("\n", "\t").split("\t")
        columns = zip(self.columns, places, strict=True)
        return pl.DataFrame({name: fields[place::width] for name, place in columns}, schema=_schema(self.columns))

    def _find_ragged_row(self, lines: bytes, first: int, places: Sequence[int], path: Path) -> pl.DataFrame:
        rows = []
        for line in decode(lines, path, first).removesuffix("\n").split("\n") if lines else ():
            fields = line.removesuffix("\r").split("\t")
            if not fields[-1]:
                fields.pop()
            rows.append((*(fields[place] if place < len(fields) else "" for place in places), str(len(fields))))
        return pl.DataFrame(rows, schema=_schema((*self.columns, N_FIELDS)), orient="row")


def _schema(columns: Sequence[str]) -> dict[str, type[pl.String]]:
    return dict.fromkeys(columns, pl.String)


def _empty(path: Path) -> InvalidInput:
    return InvalidInput(Problem("the file is empty", str(path), cure=_CUT))


def _places(columns: Sequence[str], header: list[str], path: Path) -> list[int]:
    """Return the positions of the columns in the header."""
    parted = next((name for sign, name in _SEPARATORS.items() if len(header) == 1 and sign in header[0]), None)
    if parted is not None:
        what, cure = (
            f"the columns are separated by {parted}",
            "fetch the original file of the release, not an exported copy",
        )
        raise InvalidInput(Problem(what, str(path), f"header {header[0][:80]!r}", cure))
    problems = [problem for problem in repeated_columns(header, str(path)) if problem.column in columns]
    problems += [
        Problem("this column is missing", str(path), f"columns {header}", did_you_mean(name, header), column=name)
        for name in columns
        if name not in header
    ]
    if problems:
        raise InvalidInput(problems)
    return [header.index(name) for name in columns]


def _refuse_header(fields: Sequence[str], header: Sequence[str], path: Path) -> None:
    """Raise InvalidInput if the first row is a header, which upstream does not have."""
    names = {name.casefold() for name in header}
    if 2 * len({field.strip().casefold() for field in fields} & names) > len(names):
        what, cure = "the first row is a header, and this release has none", "delete the first line"
        raise InvalidInput(Problem(what, str(path), repr(list(fields))[:80], cure, row=1))


def _check_widths(lines: bytes, first: int, width: int, path: Path) -> None:
    """Raise InvalidInput at the first line that has more or fewer fields than the header."""
    characters = np.frombuffer(lines, dtype=np.uint8)
    ends = np.flatnonzero(characters == ord("\n"))
    if not lines.endswith(b"\n"):
        ends = np.append(ends, len(lines))
    tabs_before = np.searchsorted(np.flatnonzero(characters == ord("\t")), ends)
    wrong = np.flatnonzero(np.diff(tabs_before, prepend=0) != width - 1)
    if not len(wrong):
        return
    line = int(wrong[0])
    start = int(ends[line - 1]) + 1 if line else 0
    n_fields = lines.count(b"\t", start, int(ends[line])) + 1
    what = f"this line has {n_fields} fields, the header {width}"
    found = repr(lines[start : min(int(ends[line]), start + 80)])
    cure = f"{_CUT}; a tab or line break inside a text splits it"
    raise InvalidInput(Problem(what, str(path), found, cure, row=first + line))
