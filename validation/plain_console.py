"""A rich console that escapes invisible characters in texts but keeps rich's styles."""

import io
import sys
from collections.abc import Iterable
from typing import Any

from rich.console import Console, RenderableType
from rich.segment import Segment
from rich.text import Text

from shiftbench.validation.plain_text import escape_invisible


class PlainConsole(Console):
    """A console that escapes invisible characters in texts and bypasses ``plain_streams`` for its styles."""

    def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
        """Render to segments, with invisible characters of texts escaped."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(escape_invisible(segment.text), segment.style)


def open_console(*, stderr: bool = False) -> PlainConsole:
    """Open a console on standard output or standard error; 120 columns wide unless it is a terminal."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else 120
    return PlainConsole(file=getattr(stream, "unescaped", stream), width=width)


def print_parts(parts: Iterable[RenderableType], console: Console) -> None:
    """Print lines (without wrapping or markup) and tables or styled texts of rich."""
    for part in parts:
        console.print(part, markup=False, highlight=False, soft_wrap=isinstance(part, str | Text), crop=False)


def printed_text(parts: Iterable[RenderableType]) -> str:
    """Return the output of ``print_parts`` at a width of 120 columns."""
    stream = io.StringIO()
    print_parts(parts, PlainConsole(file=stream, width=120))
    return stream.getvalue().strip("\n")
