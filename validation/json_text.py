"""Reading JSON from outside: every reader refuses the same, and fails with a ValueError whatever it is given."""

import json
from typing import Any


def parse_json(content: str | bytes) -> Any:
    """Parse a whole JSON document.

    Args:
        content: the document; bytes in UTF-8.
    Returns: what it holds, as Python values.
    Raises: ValueError when it is not JSON, or nests too deep to be read.

    >>> parse_json("[" * 100_000)
    Traceback (most recent call last):
    ...
    ValueError: it nests too deep
    """
    return _decode(_ANY, content.decode("utf-8-sig") if isinstance(content, bytes) else content)


def json_line(line: bytes, *, once: bool = False) -> Any:
    """Parse a line of JSON lines.

    Args:
        line: its bytes.
        once: refuse an object that gives a key twice; otherwise its last value counts.
    Returns: what the line holds, as Python values.
    Raises: ValueError when it is not JSON in UTF-8, nests too deep, or a text in it is none.
    """
    content = _decode(_ONCE if once else _ANY, line.decode().removeprefix("\ufeff"))
    # JSON can escape half a surrogate pair, which no text may hold.
    if b"\\u" in line:
        json.dumps(content, ensure_ascii=False).encode()
    return content


def _decode(decoder: json.JSONDecoder, text: str) -> Any:
    try:
        return decoder.decode(text)
    except RecursionError:
        raise ValueError("it nests too deep") from None


def refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the keys and values of a JSON object; ValueError when a key is given twice."""
    content = dict(pairs)
    if len(content) != len(pairs):
        raise ValueError("a key is given twice")
    return content


_ANY = json.JSONDecoder()
_ONCE = json.JSONDecoder(object_pairs_hook=refuse_repeated_keys)
