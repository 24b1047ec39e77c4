"""Reading TOML from outside: bounded, and failing with a ValueError whatever the file holds."""

import tomllib
from pathlib import Path
from typing import Any

MAX_BYTES = 256 * 1024
MAX_DOTS = 500
"""In a line: Python's reader takes minutes over a key of tens of thousands of parts."""


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file.

    Args:
        path: a file that is there.
    Returns: its tables.
    Raises: ValueError when it is not TOML in UTF-8, is larger or nests deeper than settings need to.
    """
    if (size := path.stat().st_size) > MAX_BYTES:
        raise ValueError(f"{size:,} bytes, more than {MAX_BYTES:,}")
    text = path.read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), start=1):
        if line.count(".") > MAX_DOTS:
            raise ValueError(f"more than {MAX_DOTS} dots (at line {number})")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it nests too deep") from None
