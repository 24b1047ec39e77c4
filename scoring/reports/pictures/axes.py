"""Shared parts of plots: axes with round ticks, the labelled frame, marks, legends.

Plots are 420 units wide: text of 12 units is readable on a phone, where a unit is slightly less than a pixel.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from shiftbench.scoring.reports.frame.html import Markup, join, tag
from shiftbench.scoring.reports.numbers import MINUS
from shiftbench.scoring.scores.shape import Estimate

N_COLOURS = 7
"""Number of colours for sources and entries (classes ``sb-c0``, ...); with more, colours repeat with other symbols."""
WIDTH = 420
LEFT, RIGHT, TOP = 46, 10, 10
"""Margins of a plot's frame; tick labels, notes and the axis label are below it."""
SIDE = WIDTH - LEFT - RIGHT
"""Width of a frame, and height of a square one."""

_SHAPES = {
    "circle": None,
    "square": "M-.88-.88H.88V.88H-.88Z",
    "diamond": "M0-1.25L1.25 0L0 1.25L-1.25 0Z",
    "triangle": "M0-1.15L1.1.85H-1.1Z",
    "down": "M0 1.15L1.1-.85H-1.1Z",
    "cross": "M-.4-1.1H.4V-.4H1.1V.4H.4V1.1H-.4V.4H-1.1V-.4H-.4Z",
    "star": "M0-1.35L.35-.45L1.3-.42L.56.18L.8 1.1L0 .57L-.8 1.1L-.56.18L-1.3-.42L-.35-.45Z",
    "bow": "M-1.1-1L1.1 1V-1L-1.1 1Z",
}
SYMBOLS = tuple(_SHAPES)


@dataclass(frozen=True)
class Axis:
    """A linear axis from ``low`` at ``start`` to ``high`` at ``end`` (units of the plot).

    ``words`` are the tick labels, if they are not the ticks' values.
    """

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...]
    words: tuple[str, ...] = ()

    @property
    def tick_words(self) -> tuple[str, ...]:
        """The label of each tick."""
        return self.words or tuple(tick_text(tick) for tick in self.ticks)

    def at(self, value: float) -> float:
        """Return the position of a value on the plot, clipped to the axis."""
        part = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)


def round_axis(values: Iterable[float], start: float, end: float, *, n_ticks: int = 6, whole: bool = False) -> Axis:
    """Build an axis that covers some values and ends at round ticks.

    Args:
        values: the values; without any, the axis covers 0 to 1.
        start: position of the low end on the plot.
        end: position of the high end.
        n_ticks: maximum number of intervals between ticks.
        whole: whether ticks are integers.
    """
    found = list(values) or [0.0, 1.0]
    low, high = min(found), max(found)
    if high - low < 1e-9:
        low, high = low - 1, high + 1
    ticks = _round_ticks(low, high, n_ticks, whole=whole)
    return Axis(ticks[0], ticks[-1], start, end, ticks)


def square_axes(values: Iterable[float]) -> tuple[Axis, Axis]:
    """Build a horizontal and a vertical axis with the same limits, within 0 and 100, for a plot with a diagonal."""
    across = round_axis(values, LEFT, LEFT + SIDE)
    ticks = tuple(tick for tick in across.ticks if 0 <= tick <= 100)
    return (Axis(ticks[0], ticks[-1], LEFT, LEFT + SIDE, ticks), Axis(ticks[0], ticks[-1], TOP + SIDE, TOP, ticks))


def _round_ticks(low: float, high: float, n_ticks: int, *, whole: bool) -> tuple[float, ...]:
    """Return ticks from at most ``low`` to at least ``high``: multiples of the smallest sufficient round step.

    matplotlib's ``MaxNLocator`` gives the same ticks, but takes a third of a second to load, too long for a board.
    """
    least = (high - low) / n_ticks
    power = math.floor(math.log10(least))
    steps = (part * 10.0**exponent for exponent in range(power, power + 9) for part in (1, 2, 2.5, 5))
    step = next(step for step in steps if step >= least * (1 - 1e-9) and (not whole or step == round(step)))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return tuple(number * step for number in range(first, last + 1))


def tick_text(value: float) -> str:
    """Format a tick's value.

    >>> tick_text(-2.5), tick_text(40.0), tick_text(0.0)
    ('−2.5', '40', '0')
    """
    return f"{round(value, 6) + 0:g}".replace("-", MINUS)


def picture(title: str, description: str, height: float, *parts: Markup, has_links: bool = False) -> Markup:
    """Build a plot, ``WIDTH`` units wide, that screen readers treat as one image.

    Args:
        title: the accessible name.
        description: text alternative, one or two sentences.
        height: in units.
        parts: elements, from back to front.
        has_links: whether parts contain links; they would be hidden in an image, so the plot is then a group.
    """
    return tag(
        "svg",
        tag("title", title),
        tag("desc", description),
        *parts,
        viewBox=f"0 0 {WIDTH} {height:g}",
        role="group" if has_links else "img",
        class_="sb-picture",
    )


def chart(
    title: str,
    description: str,
    axes: tuple[Axis, Axis],
    names: tuple[str, str],
    parts: Iterable[Markup],
    keys: Iterable[tuple[Markup, str]],
    *,
    heading: str = "",
    behind: Iterable[Markup] = (),
    below: float = 0,
) -> Markup:
    """Build a framed plot with its legend above.

    Args:
        title: the accessible name.
        description: text alternative.
        axes: horizontal and vertical axis.
        names: labels of both axes.
        parts: elements inside the frame, from back to front.
        keys: signs and labels of the legend.
        heading: heading of the legend.
        behind: elements behind the grid lines.
        below: space for notes below the ticks, in units.
    """
    x, y = axes
    drawn = picture(title, description, y.start + 44 + below, *behind, _frame(x, y, *names, below=below), *parts)
    return join([legend(keys, heading), drawn])


def _frame(x: Axis, y: Axis, x_name: str, y_name: str, *, below: float = 0) -> Markup:
    """Draw grid lines, ticks and the labels of both axes; ``below`` leaves space for notes below the ticks."""
    parts = []
    for value, words in zip(y.ticks, y.tick_words, strict=True):
        parts.append(line(x.start, y.at(value), x.end, y.at(value), "sb-grid"))
        parts.append(text(x.start - 6, y.at(value) + 4, words, "end", "sb-tick"))
    for value, words in zip(x.ticks, x.tick_words, strict=True):
        parts.append(line(x.at(value), y.start, x.at(value), y.start + 4, "sb-axis"))
        parts.append(text(x.at(value), y.start + 17, words, "middle", "sb-tick"))
    parts.append(line(x.start, y.start, x.end, y.start, "sb-axis"))
    middle = (x.start + x.end) / 2
    parts.append(text(middle, y.start + 34 + below, x_name, "middle", "sb-axis-name"))
    where = f"translate(12 {(y.start + y.end) / 2:.1f}) rotate(-90)"
    parts.append(tag("text", y_name, text_anchor="middle", transform=where, class_="sb-axis-name"))
    return join(parts)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """Draw a straight line."""
    return tag("line", x1=f"{x1:.1f}", y1=f"{y1:.1f}", x2=f"{x2:.1f}", y2=f"{y2:.1f}", class_=class_)


def text(x: float, y: float, words: str, anchor: str, class_: str) -> Markup:
    """Draw a text."""
    return tag("text", words, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, class_=class_)


def rect(x: float, y: float, width: float, height: float, class_: str) -> Markup:
    """Draw a rectangle, given its upper left corner."""
    size = {"width": f"{width:.1f}", "height": f"{height:.1f}"}
    return tag("rect", x=f"{x:.1f}", y=f"{y:.1f}", **size, class_=class_)


def path(points: Sequence[tuple[float, float]], class_: str) -> Markup:
    """Draw a line through points."""
    return tag("path", d="M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points), class_=class_)


def mark(
    x: float, y: float, symbol: str, class_: str, *, filled: bool = True, size: float = 5, words: str = ""
) -> Markup:
    """Draw a mark, filled or hollow; ``words`` is its tooltip."""
    title = tag("title", words) if words else Markup("")
    look = f"{class_} {'sb-filled' if filled else 'sb-hollow'}"
    shape = _SHAPES[symbol]
    if shape is None:
        return tag("circle", title, cx=f"{x:.1f}", cy=f"{y:.1f}", r=f"{size:g}", class_=look)
    where = f"translate({x:.1f} {y:.1f}) scale({size:g})"
    return tag("path", title, d=shape, transform=where, class_=look)


def bars(x: Axis, y: Axis, across: Estimate, up: Estimate, class_: str) -> Iterator[Markup]:
    """Draw the horizontal and vertical intervals of a mark; nothing for a value without an interval."""
    left, top = x.at(100 * (across.value or 0.0)), y.at(100 * (up.value or 0.0))
    if across.low is not None and across.high is not None:
        yield line(x.at(100 * across.low), top, x.at(100 * across.high), top, class_)
    if up.low is not None and up.high is not None:
        yield line(left, y.at(100 * up.low), left, y.at(100 * up.high), class_)


def legend(keys: Iterable[tuple[Markup, str]], heading: str = "") -> Markup:
    """Build the legend above a plot: signs with their labels; empty without any."""
    items = [tag("li", sign, " ", words) for sign, words in keys]
    first = [tag("li", heading, class_="sb-legend-name")] if heading else []
    return tag("ul", *first, *items, class_="sb-picture-legend") if items else Markup("")


def sign(*parts: Markup, width: int = 14) -> Markup:
    """Draw a small image for a legend, 14 units high, centred at (width / 2, 7)."""
    box = f"0 0 {width} 14"
    return tag("svg", *parts, viewBox=box, width=str(width), height="14", aria_hidden="true", class_="sb-sign")


def look(number: int) -> tuple[str, str]:
    """Return the symbol and the class of the colour of the n-th source, target or entry.

    >>> look(0), look(8)
    (('circle', 'sb-c0'), ('circle', 'sb-c1'))
    """
    return SYMBOLS[number % len(SYMBOLS)], f"sb-c{number % N_COLOURS}"


def mark_sign(symbol: str, class_: str, *, filled: bool = True) -> Markup:
    """Draw a mark as a legend sign."""
    return sign(mark(7, 7, symbol, class_, filled=filled, size=4.5))


def line_sign(class_: str) -> Markup:
    """Draw a line as a legend sign."""
    return sign(line(1, 7, 21, 7, class_), width=22)


def ends(estimates: Iterable[Estimate]) -> list[float]:
    """List values and ends of intervals, in points: the values that an axis must cover."""
    found = [end for item in estimates for end in (item.value, item.low, item.high)]
    return [100 * end for end in found if end is not None]
