"""A console of rich that escapes what does not show in texts, and writes rich's own styles as they are."""

import io
import sys
from collections.abc import Iterable
from typing import Any

from rich.console import Console, RenderableType
from rich.segment import Segment
from rich.text import Text

from shiftbench.validation.plain_text import escape_invisible


class PlainConsole(Console):
    """A console whose texts show each character; its styles pass ``plain_streams``."""

    def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
        """Render to segments, with an escape in place of each character of a text that does not show."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(escape_invisible(segment.text), segment.style)


def open_console(*, stderr: bool = False) -> PlainConsole:
    """Open standard output, or standard error, for tables; a pipe has no width of its own and gets 120 columns."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else 120
    return PlainConsole(file=getattr(stream, "unescaped", stream), width=width)


def print_parts(parts: Iterable[RenderableType], console: Console) -> None:
    """Print lines, which are not wrapped and hold no markup, and tables or styled texts of rich."""
    for part in parts:
        console.print(part, markup=False, highlight=False, soft_wrap=isinstance(part, str | Text), crop=False)


def printed_text(parts: Iterable[RenderableType]) -> str:
    """Return what ``print_parts`` prints on 120 columns."""
    stream = io.StringIO()
    print_parts(parts, PlainConsole(file=stream, width=120))
    return stream.getvalue().strip("\n")
