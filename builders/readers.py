"""Readers of upstream formats: a file in, a frame out, errors that name file and row."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from validation.json_text import json_line
from validation.report import InvalidInput, Problem


def json_lines(*keys: str) -> "JsonLines":
    """Read JSON lines, keeping these keys as text; texts such as "null" or "n/a" stay what they are."""
    return JsonLines(keys)


class JsonLines:
    """A reader of JSON lines that keeps some keys."""

    def __init__(self, keys: Sequence[str]) -> None:
        self.keys = tuple(keys)

    def __call__(self, path: Path) -> pl.DataFrame:
        """Read a file into text columns named by the keys."""
        columns: dict[str, list[str]] = {key: [] for key in self.keys}
        with path.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                if not line.strip():
                    continue
                row = self._row(line, path, number)
                for key, values in columns.items():
                    values.append(row[key])
        return pl.DataFrame(columns, schema=dict.fromkeys(self.keys, pl.String))

    def _row(self, line: bytes, path: Path, number: int) -> dict[str, str]:
        try:
            row: dict[str, str] = json_line(line)
        except (ValueError, RecursionError) as error:
            cure = "fetch the file again; it may be cut off"
            raise InvalidInput(
                Problem("this line is not JSON", str(path), repr(line[:80]), cure, row=number)
            ) from error
        for key in self.keys:
            if not isinstance(row, dict) or not isinstance(row.get(key), str):
                found = repr(row.get(key)) if isinstance(row, dict) else type(row).__name__
                cure = "is this the upstream release that the build expects?"
                raise InvalidInput(
                    Problem("a key is missing or not text", str(path), found, cure, column=key, row=number)
                )
        return row
