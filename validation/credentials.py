"""Addresses with a user's name and password in them, which no message may show."""

import io
import re
from typing import TextIO

_CREDENTIALS = re.compile(r"\b([a-z][a-z0-9+.-]*://)[^\s/?#'\"<>]*@", re.IGNORECASE)


def without_credentials(text: str) -> str:
    """Return a text with what stands before the host of each address left out.

    >>> without_credentials("no answer from https://ada:s3cret@example.org:5000/runs?x=a@b")
    'no answer from https://***@example.org:5000/runs?x=a@b'
    >>> without_credentials("write to ada@example.org")
    'write to ada@example.org'
    """
    return _CREDENTIALS.sub(r"\1***@", text)


class WithoutCredentials(io.TextIOBase):
    """A stream that passes texts on without the credentials in them.

    Args:
        stream: where they go.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text; an address must be in one piece."""
        self._stream.write(without_credentials(text))
        return len(text)

    def flush(self) -> None:
        """Flush the stream."""
        self._stream.flush()

    def isatty(self) -> bool:
        """Return whether the stream is a terminal."""
        return self._stream.isatty()
