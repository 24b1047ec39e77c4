"""Reading of prediction files in JSON lines, in batches: one object per line and prediction."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from shiftbench.validation.json_text import json_line
from shiftbench.validation.limits import MAX_LINE_BYTES, check_column_count, check_row_count, line_too_long
from shiftbench.validation.report import InvalidInput, Problem

BATCH_LINES = 100_000
BATCH_BYTES = 4 * 2**20
"""Size at which a batch ends: parsed values take up to about twenty times the memory of their text."""
_BLOCK_BYTES = 4 * 2**20
_CURE = "write one JSON object per line, each key once"


def json_batches(
    path: Path, check_columns: Callable[[list[str]], None], max_rows: int
) -> Iterator[dict[str, list[Any]]]:
    """Read JSON lines as batches of columns; missing keys are None.

    Args:
        path: the file; blank lines are skipped.
        check_columns: called with all keys of a batch; raises InvalidInput if they are wrong.
        max_rows: maximum number of lines.
    Raises: InvalidInput when a line is not a JSON object or too long, or there are too many lines.
    """
    file = str(path)
    with path.open("rb") as stream:
        check_row_count(
            sum(block.count(b"\n") for block in iter(lambda: stream.read(_BLOCK_BYTES), b"")), file, max_rows
        )
    with path.open("rb") as stream:
        rows = _parse_lines(stream, file)
        while batch := _batch(rows):
            names = list(dict.fromkeys(name for row in batch for name in row))
            check_column_count(len(names), file)
            check_columns(names)
            yield {name: [row.get(name) for row in batch] for name in names}


def _batch(rows: Iterator[tuple[dict[str, Any], int]]) -> list[dict[str, Any]]:
    batch, n_bytes = [], 0
    for row, size in rows:
        batch.append(row)
        n_bytes += size
        if len(batch) == BATCH_LINES or n_bytes >= BATCH_BYTES:
            break
    return batch


def _parse_lines(stream: BinaryIO, file: str) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield each line's object and its size in bytes."""
    number = 0
    while line := stream.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(line) > MAX_LINE_BYTES:
            raise InvalidInput(line_too_long(file, number))
        if not line.strip():
            continue
        try:
            row = json_line(line, once=True)
        except ValueError as error:
            raise InvalidInput(_invalid_line("this line is not JSON text", line, number, file)) from error
        if not isinstance(row, dict):
            raise InvalidInput(_invalid_line("this line is not a JSON object", line, number, file))
        yield row, len(line)


def _invalid_line(what: str, line: bytes, number: int, file: str) -> Problem:
    return Problem(what, file, repr(line[:80]), _CURE, row=number)
