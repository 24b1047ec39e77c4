"""Reading of untrusted JSON; any invalid input raises ValueError."""

import json
from typing import Any


def parse_json(content: str | bytes) -> Any:
    """Parse a whole JSON document.

    Args:
        content: the document; bytes in UTF-8.
    Returns: the parsed value.
    Raises: ValueError when it is not JSON, or is nested too deeply.

    >>> parse_json("[" * 100_000)
    Traceback (most recent call last):
    ...
    ValueError: it is nested too deeply
    """
    return _decode(_ANY, content.decode("utf-8-sig") if isinstance(content, bytes) else content)


def json_line(line: bytes, *, once: bool = False) -> Any:
    """Parse a line of JSON lines.

    Args:
        line: its bytes.
        once: refuse repeated keys of an object; otherwise the last value is used.
    Returns: the parsed value.
    Raises: ValueError when it is not JSON in UTF-8, is nested too deeply, or contains an invalid string.
    """
    content = _decode(_ONCE if once else _ANY, line.decode().removeprefix("\ufeff"))
    # JSON escapes can encode half a surrogate pair, which is not valid text.
    if b"\\u" in line:
        json.dumps(content, ensure_ascii=False).encode()
    return content


def _decode(decoder: json.JSONDecoder, text: str) -> Any:
    try:
        return decoder.decode(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the keys and values of a JSON object; ValueError if a key is repeated."""
    content = dict(pairs)
    if len(content) != len(pairs):
        raise ValueError("a key is given twice")
    return content


_ANY = json.JSONDecoder()
_ONCE = json.JSONDecoder(object_pairs_hook=refuse_repeated_keys)
