"""Standard output and standard error that show each character: the last place through which outside text passes.

Escape sequences of a terminal are written by rich and by bars of progress alone.
"""

import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from shiftbench.validation.plain_text import escape_invisible

_MOVES = re.compile(r"\n*(?:\x1b\[A)*")
"""How bars of progress reach their line."""


class PlainStream:
    r"""A text stream that writes an escape in place of each character that does not show.

    Line ends and tabs stay. On a terminal a text may begin with a carriage return, as bars of progress do.

    Args:
        stream: the stream to write to.
    """

    def __init__(self, stream: TextIO) -> None:
        self.unescaped = stream

    def __getattr__(self, name: str) -> Any:
        """Return what the stream itself has."""
        return getattr(self.unescaped, name)

    def write(self, text: str) -> int:
        """Write a text; returns its length."""
        self.unescaped.write(self._escape(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write texts one after the other."""
        for line in lines:
            self.write(line)

    def _escape(self, text: str) -> str:
        begin = end = ""
        if self.unescaped.isatty():
            if _MOVES.fullmatch(text):
                return text
            begin = "\r" * text.startswith("\r")
            end = "\r" * (begin != "" and len(text) > 1 and text.endswith("\r"))
            text = text[len(begin) : len(text) - len(end)]
        # Rows of CSV end in both.
        return begin + "\r\n".join(map(escape_invisible, text.split("\r\n"))) + end


@contextmanager
def plain_streams() -> Iterator[None]:
    """Replace standard output and standard error by streams that show each character, for a while."""
    streams = sys.stdout, sys.stderr
    with open(os.devnull, "w", encoding="utf-8") as nowhere:  # in place of a stream that is closed
        sys.stdout, sys.stderr = (PlainStream(stream or nowhere) for stream in streams)
        try:
            yield
        finally:
            sys.stdout, sys.stderr = streams
