"""Reading one line of JSON as text that may be kept: every reader of JSON lines refuses the same."""

import json
from typing import Any


def json_line(line: bytes) -> Any:
    """Parse a line of JSON lines.

    Raises: ValueError when it is not JSON in UTF-8, or a text in it is none; RecursionError when it nests too deep.
    """
    content = json.loads(line)
    # JSON can escape half a surrogate pair, which no text may hold.
    if b"\\u" in line:
        json.dumps(content, ensure_ascii=False).encode()
    return content
