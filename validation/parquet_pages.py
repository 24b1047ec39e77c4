"""Locations and headers of a parquet file's pages, read without decompressing.

The sizes in a footer cannot be trusted; readers allocate memory by the page headers, so limits must be checked there.
Footer and headers are Thrift structs in the compact protocol; see https://github.com/apache/parquet-format
(FileMetaData, PageHeader) and the Thrift specification. They are parsed here because arrow aborts the process when it
reads the columns of a row group with damaged statistics.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

DATA, INDEX, DICTIONARY, DATA_V2 = range(4)
_DETAILS = {DATA: (5, 2), DICTIONARY: (7, 2), DATA_V2: (8, 4)}
"""By page type: field number of the type-specific header, and field number of the encoding within it."""
_WINDOWS = (2**13, 2**20)
"""Bytes read in search of a page header's end: first attempt, second attempt."""
_MAX_NESTING = 12
_WIDTHS = {1: 0, 2: 0, 3: 1, 7: 8}
"""Size in bytes by Thrift type: true and false (encoded in the type), byte, double."""
_Fields = dict[int, "int | _Fields | list[_Fields]"]
"""A parsed struct: values by field number."""

# Field numbers below are those of the parquet format: in FileMetaData 4 are the row groups; in RowGroup 1 are the
# columns and 3 is the number of rows; in ColumnChunk 1 is the path of another file and 3 the ColumnMetaData, with 7
# total_compressed_size, 9 data_page_offset, 11 dictionary_page_offset; in PageHeader 1 to 3 are type, uncompressed and
# compressed size.


@dataclass(frozen=True)
class Chunk:
    """A column chunk: offset of its first page and total bytes of its pages."""

    start: int
    length: int


@dataclass(frozen=True)
class RowGroup:
    """A row group: its stated number of rows, and its chunks in column order."""

    rows: int
    chunks: tuple[Chunk, ...]


def row_groups(footer: bytes) -> list[RowGroup]:
    """Parse the row groups of a footer; ValueError if it is invalid or refers to pages in another file."""
    try:
        groups = _struct(footer, 0, 0)[0].get(4, [])
    except IndexError as error:
        raise ValueError("the footer is truncated") from error
    return [RowGroup(_number(group, 3), tuple(map(_chunk, _structs(group, 1)))) for group in _list(groups)]


def _chunk(fields: _Fields) -> Chunk:
    facts = fields.get(3)
    if not isinstance(facts, dict) or 1 in fields:
        raise ValueError("a column is in another file")
    start, dictionary = _number(facts, 9), facts.get(11, 0)
    if isinstance(dictionary, int) and 0 < dictionary < start:
        start = dictionary
    return Chunk(start, _number(facts, 7))


def _number(fields: _Fields, number: int) -> int:
    value = fields.get(number)
    if not isinstance(value, int) or value < 0:
        raise ValueError("a number is missing or negative")
    return value


def _structs(fields: _Fields, number: int) -> list[_Fields]:
    return _list(fields.get(number, []))


def _list(value: "int | _Fields | list[_Fields]") -> list[_Fields]:
    if not isinstance(value, list):
        raise ValueError("a list is missing")
    return value


@dataclass(frozen=True)
class Page:
    """A page: type, uncompressed bytes, number of values (including nulls and list elements), encoding."""

    kind: int
    unpacked_bytes: int
    values: int
    encoding: int


def pages(stream: BinaryIO, start: int, length: int) -> Iterator[Page]:
    """Yield the pages of a column chunk.

    Args:
        stream: the file.
        start: offset of the chunk's first page.
        length: bytes of the chunk.
    Raises: ValueError when a page header is invalid, or a page extends beyond the chunk.
    """
    end = start + length
    while start < end:
        fields, header_bytes = _header(stream, start, end)
        kind, unpacked, packed = (fields.get(number) for number in (1, 2, 3))
        if not isinstance(kind, int) or not isinstance(unpacked, int) or not isinstance(packed, int):
            raise ValueError("a page header lacks a field")
        start += header_bytes + packed
        if unpacked < 0 or packed < 0 or start > end:
            raise ValueError("a page has an impossible size")
        own, encoding_field = _DETAILS.get(kind, (0, 0))
        details = fields.get(own, {1: 0, 0: 0} if kind not in _DETAILS else {})
        if not isinstance(details, dict):
            raise ValueError("a page header lacks a field")
        values, encoding = details.get(1), details.get(encoding_field)
        if not isinstance(values, int) or not isinstance(encoding, int) or values < 0:
            raise ValueError("a page header lacks a field")
        yield Page(kind, unpacked, values, encoding)


def _header(stream: BinaryIO, start: int, end: int) -> tuple[_Fields, int]:
    # Most headers are short, but statistics may contain long texts.
    for window in _WINDOWS:
        stream.seek(start)
        data = stream.read(min(window, end - start))
        try:
            return _struct(data, 0, 0)
        except IndexError:
            continue
    raise ValueError("a page header is truncated")


def _struct(data: bytes, at: int, nesting: int) -> tuple[_Fields, int]:
    """Parse a struct; return its fields by number and the end position.

    Numbers, structs and lists of structs are returned; any other value is skipped and returned as 0.
    """
    if nesting > _MAX_NESTING:
        raise ValueError("a page header is nested too deeply")
    fields: _Fields = {}
    number = 0
    while True:
        head = data[at]
        at += 1
        if head == 0:
            return fields, at
        # Low bits: type (4 to 6 integers, 8 bytes, 9 list, 10 set, 12 struct). High bits: step from the last number.
        kind, step = head & 15, head >> 4
        if step:
            number += step
        else:
            number, at = _zigzag(data, at)
        # Readers differ in which of two values they use.
        if number in fields:
            raise ValueError("a page header contains a field twice")
        if kind == 12:
            fields[number], at = _struct(data, at, nesting + 1)
        elif kind in (4, 5, 6):
            fields[number], at = _zigzag(data, at)
        elif kind == 9 and data[at] & 15 == 12:
            fields[number], at = _struct_list(data, at, nesting)
        else:
            fields[number], at = 0, _skip_value(data, at, kind, nesting)


def _struct_list(data: bytes, at: int, nesting: int) -> tuple[list[_Fields], int]:
    size, at = _list_size(data, at)
    structs = []
    for _ in range(size):
        fields, at = _struct(data, at, nesting + 1)
        structs.append(fields)
    return structs, at


def _skip_value(data: bytes, at: int, kind: int, nesting: int) -> int:
    """Return the position after a value that is not needed."""
    if kind in _WIDTHS:
        return at + _WIDTHS[kind]
    if kind in (4, 5, 6):
        return _varint(data, at)[1]
    if kind == 8:
        length, at = _varint(data, at)
        return at + length
    if kind in (9, 10):
        return _skip_list(data, at, nesting)
    if kind == 12:
        return _struct(data, at, nesting + 1)[1]
    raise ValueError("a page header has a field of an unknown type")


def _skip_list(data: bytes, at: int, nesting: int) -> int:
    kind = data[at] & 15
    size, at = _list_size(data, at)
    if nesting > _MAX_NESTING:
        raise ValueError("a list is nested too deeply")
    for _ in range(size):
        at = at + 1 if kind in (1, 2) else _skip_value(data, at, kind, nesting + 1)
    return at


def _list_size(data: bytes, at: int) -> tuple[int, int]:
    size = data[at] >> 4
    at += 1
    if size == 15:
        size, at = _varint(data, at)
    if size > len(data):
        raise ValueError("a list is longer than the footer")
    return size, at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("a page header has an invalid number")


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    value, at = _varint(data, at)
    return (value >> 1) ^ -(value & 1), at
