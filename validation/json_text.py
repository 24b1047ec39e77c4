"""Reading one line of JSON as text that may be kept: every reader of JSON lines refuses the same."""

import json
from typing import Any


def json_line(line: bytes, *, once: bool = False) -> Any:
    """Parse a line of JSON lines.

    Args:
        line: its bytes.
        once: refuse an object that gives a key twice; otherwise its last value counts.
    Returns: what the line holds, as Python values.
    Raises: ValueError when it is not JSON in UTF-8, or a text in it is none; RecursionError when it nests too deep.
    """
    content = (_ONCE if once else _ANY).decode(line.decode().removeprefix("\ufeff"))
    # JSON can escape half a surrogate pair, which no text may hold.
    if b"\\u" in line:
        json.dumps(content, ensure_ascii=False).encode()
    return content


def refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the keys and values of a JSON object; ValueError when a key is given twice."""
    content = dict(pairs)
    if len(content) != len(pairs):
        raise ValueError("a key is given twice")
    return content


_ANY = json.JSONDecoder()
_ONCE = json.JSONDecoder(object_pairs_hook=refuse_repeated_keys)
