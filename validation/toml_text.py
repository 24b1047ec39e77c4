"""Reading of untrusted TOML with size limits; any invalid input raises ValueError."""

import tomllib
from pathlib import Path
from typing import Any

MAX_BYTES = 256 * 1024
MAX_DOTS = 500
"""Maximum dots per line: tomllib takes minutes for a key with tens of thousands of parts."""


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file.

    Args:
        path: an existing file.
    Returns: its tables.
    Raises: ValueError when it is not TOML in UTF-8, is too large or nested too deeply.
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
        raise ValueError("it is nested too deeply") from None
