"""Standard streams that escape invisible characters, as the last defence against untrusted text.

Only rich and progress bars may write terminal escape sequences.
"""

import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from shiftbench.validation.plain_text import escape_invisible

_MOVES = re.compile(r"\n*(?:\x1b\[A)*")
"""Cursor movements of progress bars."""


class PlainStream:
    r"""A text stream that escapes invisible characters.

    Line ends and tabs are kept. On a terminal a text may begin with a carriage return, as progress bars do.

    Args:
        stream: the stream to write to.
    """

    def __init__(self, stream: TextIO) -> None:
        self.unescaped = stream

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the underlying stream."""
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
        # Keep "\r\n", which ends rows of CSV.
        return begin + "\r\n".join(map(escape_invisible, text.split("\r\n"))) + end


@contextmanager
def plain_streams() -> Iterator[None]:
    """Replace standard output and standard error by ``PlainStream`` within the block."""
    streams = sys.stdout, sys.stderr
    with open(os.devnull, "w", encoding="utf-8") as nowhere:  # replaces a closed stream
        sys.stdout, sys.stderr = (PlainStream(stream or nowhere) for stream in streams)
        try:
            yield
        finally:
            sys.stdout, sys.stderr = streams
