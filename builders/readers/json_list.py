"""A JSON list of objects as frames of text, parsed as a stream: DocNLI's files have a gigabyte each."""

import codecs
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from shiftbench.builders.readers.json_document import RELEASE
from shiftbench.builders.specs.upstream_file import BLOCK, LONGEST_LINE, UpstreamFile
from shiftbench.validation.json_text import parse_json
from shiftbench.validation.report import InvalidInput, Problem

_SPACE = " \t\r\n"
_CUT = "fetch the file again; it may be truncated"


def json_list(*keys: str) -> "JsonList":
    """Return a reader of a JSON list of objects."""
    return JsonList(keys)


@dataclass(frozen=True)
class JsonList:
    """A reader of some keys of a JSON list of objects; about 16 MB are parsed and returned at a time.

    Integers are converted to text.

    Raises: InvalidInput if the file is not a JSON list (row: the line), or an object (row: its number, from 1) lacks a
        key or has a value that is neither text nor an integer.
    """

    keys: tuple[str, ...]

    def __call__(self, file: UpstreamFile) -> Iterator[pl.DataFrame]:
        """Read the file from its start."""
        n_rows, first = 0, True
        for items in _items(file):
            rows = [self._row(item, file, number) for number, item in enumerate(items, start=n_rows + 1)]
            n_rows += len(rows)
            if rows or first:
                yield pl.DataFrame(rows, schema=dict.fromkeys(self.keys, pl.String), orient="row")
            first = False

    def _row(self, item: Any, file: UpstreamFile, number: int) -> tuple[str, ...]:
        if not isinstance(item, dict):
            what = "this item of the list is not an object with keys"
            raise InvalidInput(Problem(what, str(file.path), repr(item)[:80], RELEASE, row=number))
        for key in self.keys:
            value = item.get(key)
            if isinstance(value, bool) or not isinstance(value, str | int):
                what, found = "a key is missing, or neither text nor a whole number", repr(value)[:80]
                raise InvalidInput(Problem(what, str(file.path), found, RELEASE, key=key, row=number))
        return tuple(str(item[key]) for key in self.keys)


def _items(file: UpstreamFile) -> Iterator[list[Any]]:
    """Yield the items of the list in batches as they are read."""
    text = _Text(file)
    with file.stream() as stream:
        decoder = codecs.getincrementaldecoder("utf-8-sig")()
        ended = False
        while not ended:
            read = stream.read(BLOCK)
            ended = not read
            try:
                text.add(decoder.decode(read, final=ended))
            except UnicodeDecodeError as error:
                found = repr(error.object[max(0, error.start - 20) : error.start + 20])
                cure = "this release is UTF-8 throughout; was the file opened and saved in another encoding?"
                raise text.refusal("the file is not UTF-8 from about this line on", found, cure) from error
            yield text.items(ended=ended)


class _Text:
    """The part of a JSON list that has been read but not parsed."""

    def __init__(self, file: UpstreamFile) -> None:
        self._file = file
        self._text = ""
        self._n_lines = 0
        """Number of lines before the unparsed text."""
        self._expected = "["
        """Characters that may come next; ``""`` if an item must come next."""
        self._decode = json.JSONDecoder().raw_decode

    def add(self, text: str) -> None:
        self._text += text

    def items(self, *, ended: bool) -> list[Any]:
        """Parse the items that are complete."""
        items: list[Any] = []
        at = self._skip(0)
        while at < len(self._text):
            sign = self._text[at]
            if sign in self._expected:
                self._expected = {"[": "]{", ",": "{", "]": ""}.get(sign, self._expected)
                if sign != "{":
                    at = self._skip(at + 1)
                    continue
            if "{" not in self._expected:
                what = "there is more text after the list" if not self._expected else "the file is not a JSON list"
                lines = self._expected == "[" and sign == "{"
                cure = "is it JSON lines (one object per line) instead of one list?" if lines else RELEASE
                raise self.refusal(what, repr(self._text[at : at + 40]), cure, at)
            try:
                item, end = self._decode(self._text, at)
                _refuse_half_pairs(self._text, at, end)
            except ValueError as error:
                if not ended and len(self._text) - at < LONGEST_LINE:
                    break  # the item may be incomplete
                raise self.refusal("the list is not JSON", repr(self._text[at : at + 80]), _CUT, at) from error
            if end == len(self._text) and sign not in '{["' and not ended:
                break  # a number may continue
            items.append(item)
            self._expected = ",]"
            at = self._skip(end)
        if ended and self._expected:
            raise self.refusal("the list does not end", repr(self._text[-40:]), _CUT, len(self._text))
        self._n_lines += self._text.count("\n", 0, at)
        self._text = self._text[at:]
        return items

    def refusal(self, what: str, found: str, cure: str, at: int = 0) -> InvalidInput:
        line = self._n_lines + self._text.count("\n", 0, at) + 1
        return InvalidInput(Problem(what, str(self._file.path), found, cure, row=line))

    def _skip(self, at: int) -> int:
        while at < len(self._text) and self._text[at] in _SPACE:
            at += 1
        return at


def _refuse_half_pairs(text: str, start: int, end: int) -> None:
    """Raise InvalidInput for a lone surrogate, which is valid in JSON escapes but not in text."""
    if text.find("\\u", start, end) >= 0:
        json.dumps(parse_json(text[start:end]), ensure_ascii=False).encode()
