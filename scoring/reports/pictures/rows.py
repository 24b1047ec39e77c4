"""What pictures of rows share: ticks above them, their names, and the box in which many of them scroll."""

from shiftbench.scoring.reports.frame.html import Markup, join, tag
from shiftbench.scoring.reports.pictures.axes import Axis, line, text
from shiftbench.scoring.reports.pictures.words import shorten


def row_grid(x: Axis, top: float, bottom: float) -> Markup:
    """Draw the grid lines behind the rows from ``top`` to ``bottom``, with ticks above."""
    parts = []
    for value, words in zip(x.ticks, x.tick_words, strict=True):
        parts.append(line(x.at(value), top - 4, x.at(value), bottom, "sb-grid"))
        parts.append(text(x.at(value), top - 9, words, "middle", "sb-tick"))
    return join(parts)


def row_name(name: str, x: Axis, middle: float, n_letters: int) -> Markup:
    """Write a row's name before its axis, cut to some letters; ``middle`` is the middle of the row."""
    return text(x.start - 8, middle + 4, shorten(name, n_letters), "end", "sb-row-name")


def row_box(drawn: Markup, label: str) -> Markup:
    """Build the box in which a picture of many rows scrolls; ``label`` says what it shows."""
    return tag("div", drawn, class_="sb-tall", tabindex="0", role="region", aria_label=label)
