"""JSON lines as frames of text, parsed by polars; rows that its lenient parser may have altered are parsed again."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from shiftbench.builders.specs.upstream_file import UpstreamFile, decode
from shiftbench.validation.json_text import json_line
from shiftbench.validation.report import InvalidInput, Problem

_BOM = b"\xef\xbb\xbf"
_OTHER_RELEASE = "is this the upstream release that the build expects?"
_CUT_OFF = "fetch the file again; it may be truncated"


def json_lines(*keys: str, optional: Sequence[str] = (), lists: Sequence[str] = ()) -> "JsonLines":
    """Return a reader of JSON lines.

    Args:
        optional: keys that a row may lack (null).
        lists: keys of lists of text; rows, and whole files, may lack them.
    """
    return JsonLines(keys, tuple(optional), tuple(lists))


@dataclass(frozen=True)
class JsonLines:
    """A reader of some keys of JSON lines, one frame per block.

    Numbers are converted to text: with a fraction (``5.0``) if the first line has one, otherwise as short as possible;
    booleans to ``true`` and ``false``. ``optional`` keys may be absent or null, but not in every row of a file.
    """

    keys: tuple[str, ...]
    optional: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()

    def __call__(self, file: UpstreamFile) -> Iterator[pl.DataFrame]:
        """Read the rows of a file in frames of text columns: ``keys`` and ``optional``, then ``lists``.

        Raises: InvalidInput with the line that is not JSON, lacks a key or has a list or an object as its value; or
            with the optional key that no row has.
        """
        begun_before = file.position.offset > 0
        absent = set(self.optional)
        n_rows = 0
        for frame in self._frames(file):
            absent = _still_absent(absent, frame)
            n_rows += len(frame)
            yield frame
        if absent and begun_before:
            absent = self._absent_from(file.path)
        if absent and (n_rows or begun_before):
            what = "no row has the key"
            raise InvalidInput([Problem(what, str(file.path), cure=_OTHER_RELEASE, key=key) for key in sorted(absent)])
        if not n_rows and not begun_before:
            yield pl.DataFrame(schema=dict.fromkeys((*self.keys, *self.optional), pl.String) | self._list_types())

    def _absent_from(self, path: Path) -> set[str]:
        """Find the optional keys that have no value in any row; reading stops once every key has had one."""
        absent = set(self.optional)
        with UpstreamFile(path) as file:
            for frame in self._frames(file):
                absent = _still_absent(absent, frame)
                if not absent:
                    break
        return absent

    def _frames(self, file: UpstreamFile) -> Iterator[pl.DataFrame]:
        schema = self._schema(file)
        for first, block in file.blocks():
            lines = _Lines(file.path, first, block.removeprefix(_BOM) if first == 1 else block)
            yield self._frame(lines, schema, n_lines=file.position.lines - first + 1)

    def _schema(self, file: UpstreamFile) -> dict[str, Any]:
        """Return a schema with a float type for keys with fractions: otherwise polars converts 5.0 to the text 5."""
        line = file.first_line().removeprefix(_BOM)
        if line.lstrip().startswith(b"["):
            what, cure = (
                "the file is one JSON list, not one object per line",
                "fetch the release's JSON lines, or convert the list with jq -c '.[]'",
            )
            raise InvalidInput(Problem(what, str(file.path), repr(line[:80]), cure, row=1))
        row = _object(file.path, 1, line) if line.strip() else {}
        fractions = {key for key, value in row.items() if isinstance(value, float)}
        schema = {key: pl.Float64 if key in fractions else pl.String for key in (*self.keys, *self.optional)}
        return schema | self._list_types()

    def _list_types(self) -> dict[str, Any]:
        return dict.fromkeys(self.lists, pl.List(pl.String))

    def _frame(self, lines: "_Lines", schema: Mapping[str, Any], n_lines: int) -> pl.DataFrame:
        try:
            frame = pl.read_ndjson(lines.block, schema=schema)
        except pl.exceptions.PolarsError as error:
            raise self._first_fault(lines, schema, str(error)) from error
        if len(frame) != n_lines and len(frame) != len(lines.numbered()):
            raise self._first_fault(lines, schema, f"{len(frame)} rows in {len(lines.numbered())} lines")
        frame = frame.with_columns(pl.exclude(self.lists).cast(pl.String))
        doubtful = frame.select(pl.any_horizontal(self._doubts())).to_series().arg_true()
        if len(doubtful):
            numbered = lines.numbered()
            for row in doubtful:
                number, line = numbered[row]
                self._check(lines.path, number, line, schema)
        return frame

    def _doubts(self) -> Iterator[pl.Expr]:
        """Yield masks of rows to parse again: polars converts lists and objects to text, lone surrogates to NUL."""
        for key in (*self.keys, *self.optional):
            text = pl.col(key).str
            doubt = text.starts_with("[") | text.starts_with("{") | text.contains("\0", literal=True)
            yield doubt.fill_null(key in self.keys)

    def _first_fault(self, lines: "_Lines", schema: Mapping[str, Any], found: str) -> InvalidInput:
        """Find the line that polars rejected, as polars does not report it."""
        for number, line in lines.numbered():
            self._check(lines.path, number, line, schema)
            try:
                pl.read_ndjson(line, schema=schema)
            except pl.exceptions.PolarsError as error:
                return _line_problem(lines.path, number, "this line cannot be read", str(error), _OTHER_RELEASE)
        return _line_problem(lines.path, lines.first, "the lines from here on cannot be read", found, _OTHER_RELEASE)

    def _check(self, path: Path, number: int, line: bytes, schema: Mapping[str, Any]) -> None:
        row = _object(path, number, line)
        for key, kind in schema.items():
            value = row.get(key)
            if value is None and key in (*self.optional, *self.lists):
                continue
            if key in self.lists:
                if isinstance(value, list) and all(isinstance(part, str) for part in value):
                    continue
                what = "a key is not a list of texts"
                raise InvalidInput(Problem(what, str(path), _short(value), _OTHER_RELEASE, column=key, row=number))
            if kind == pl.Float64 and (isinstance(value, bool) or not isinstance(value, int | float)):
                what = "a key is missing, or not a number as in the first row"
            elif not isinstance(value, str | int | float):  # bool is a subclass of int
                what = "a key is missing, or neither text nor a number"
            else:
                continue
            raise InvalidInput(Problem(what, str(path), _short(value), _OTHER_RELEASE, column=key, row=number))


@dataclass(frozen=True)
class _Lines:
    """A block of lines; ``first`` is the number of its first line."""

    path: Path
    first: int
    block: bytes

    def numbered(self) -> list[tuple[int, bytes]]:
        """Return the non-blank lines with their numbers, one per row."""
        lines = enumerate(self.block.split(b"\n"), start=self.first)
        return [(number, line) for number, line in lines if line and not line.isspace()]


def _object(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        row = json_line(line)
    except ValueError as error:
        decode(line, path, number)  # raises if the line is not UTF-8
        raise _line_problem(path, number, "this line is not JSON", repr(line[:80]), _CUT_OFF) from error
    if not isinstance(row, dict):
        raise _line_problem(path, number, "this line is not an object with keys", _short(row), _OTHER_RELEASE)
    return row


def _still_absent(keys: set[str], frame: pl.DataFrame) -> set[str]:
    return {key for key in keys if frame[key].null_count() == len(frame)}


def _line_problem(path: Path, number: int, what: str, found: str, cure: str) -> InvalidInput:
    return InvalidInput(Problem(what, str(path), found, cure, row=number))


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else shown[:80] + " ..."
