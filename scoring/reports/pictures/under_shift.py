"""Entries by their score under shift, over their score in domain, their size, cost or date."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import Literal

from shiftbench.scoring.reports.frame.html import Markup, join, tag
from shiftbench.scoring.reports.numbers import points, score_text
from shiftbench.scoring.reports.pictures.axes import (
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Axis,
    bar_of,
    ends,
    frame,
    identity_line,
    legend,
    line,
    line_sign,
    mark,
    mark_sign,
    path,
    picture,
    round_axis,
    text,
)
from shiftbench.scoring.reports.pictures.words import shorten
from shiftbench.scoring.scores.shape import Estimate

Across = Literal["", "parameters", "cost", "date"]
AXIS_NAMES: dict[Across, str] = {
    "": "in domain, points",
    "parameters": "parameters",
    "cost": "cost of prompting, US dollars",
    "date": "date of submission",
}
_HEIGHT = 128
_LETTERS = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "K"))
_LONGEST = 24


@dataclass(frozen=True)
class Point:
    """One entry.

    Attributes:
        name: the entry's name.
        address: of its page.
        x: its score in domain as a fraction; parameters, dollars (both above 0) or the date's ordinal are values alone.
        y: its score under shift, a fraction.
        is_tied: whether it cannot be told from the leader.
    """

    name: str
    address: str
    x: Estimate
    y: Estimate
    is_tied: bool


def under_shift_plane(found: Sequence[Point], across: Across) -> Markup:
    """Draw each entry's score under shift (up), with intervals, the Pareto line, and in domain the line of no loss.

    Args:
        found: the entries, at least one, each with both values; the first one is named on the picture.
        across: what the picture has across; of scores in domain more is better, of all else less is.
    """
    x, y = _across(found, across), round_axis(ends(point.y for point in found), TOP + _HEIGHT, TOP, n_ticks=4)
    places = [(x.at(_value(point, across)), y.at(100 * (point.y.value or 0))) for point in found]
    front = pareto_front([_value(point, across) for point in found], [point.y.value or 0 for point in found], across)
    said = f"{len(found)} entries by score under shift and {AXIS_NAMES[across]}; each is a link. "
    keys = [
        (mark_sign("circle", "sb-accent"), "leader and ties"),
        (mark_sign("circle", "sb-faint"), "others"),
        (line_sign("sb-front"), "Pareto line"),
    ]
    identity = identity_line(x, y) if not across else Markup("")
    if not across:
        keys.append((line_sign("sb-identity"), "no loss"))
    # The best stand in front.
    order = sorted(range(len(found)), key=lambda number: found[number].y.value or 0)
    marks = [_link(found[number], across, *places[number], x, y) for number in order]
    drawn = picture(
        f"Score under shift over {AXIS_NAMES[across]}",
        said + "The same figures stand in the table.",
        TOP + _HEIGHT + 40,
        frame(x, y, AXIS_NAMES[across], "under shift"),
        identity,
        path(_steps([places[number] for number in front], is_up=bool(across)), "sb-front"),
        *marks,
        _label(found[0], *places[0]),
        has_links=True,
    )
    return join([drawn, legend(keys)])


def pareto_front(across: Sequence[float], up: Sequence[float], kind: Across) -> list[int]:
    """Find the entries that no other one beats on both axes, from left to right.

    Args:
        across: scores in domain (more is better), or parameters, cost or dates (less is better).
        up: scores under shift, more is better.
        kind: what is across.
    Returns: their numbers; of equal ones the first.

    >>> pareto_front([0.9, 0.8, 0.7], [0.6, 0.7, 0.5], ""), pareto_front([10, 20, 30], [0.6, 0.5, 0.7], "parameters")
    ([1, 0], [0, 2])
    """
    is_more = not kind
    order = sorted(range(len(up)), key=lambda number: (-across[number] if is_more else across[number], -up[number]))
    found: list[int] = []
    for number in order:
        if not found or up[number] > up[found[-1]]:
            found.append(number)
    return found[::-1] if is_more else found


def _value(point: Point, across: Across) -> float:
    value = point.x.value or 0.0
    return 100 * value if not across else value if across == "date" else math.log10(value)


def _across(found: Sequence[Point], across: Across) -> Axis:
    start, end = LEFT, WIDTH - RIGHT
    if not across:
        return round_axis(ends(point.x for point in found), start, end)
    values = [_value(point, across) for point in found]
    if across == "date":
        axis = round_axis(values, start, end, n_ticks=3, whole=True)
        words = tuple(date.fromordinal(int(tick)).isoformat() for tick in axis.ticks)
    else:
        axis = round_axis([math.floor(min(values)), math.ceil(max(values))], start, end, whole=True)
        words = tuple(_short(10**tick) for tick in axis.ticks)
    return Axis(axis.low, axis.high, start, end, axis.ticks, words)


def _short(value: float) -> str:
    """Format a power of ten in few letters.

    >>> _short(1e7), _short(100.0), _short(0.01)
    ('10M', '100', '0.01')
    """
    size, letter = next(((size, letter) for size, letter in _LETTERS if value >= size), (1, ""))
    return f"{value / size:g}{letter}"


def _steps(places: Sequence[tuple[float, float]], *, is_up: bool) -> list[tuple[float, float]]:
    """Return the corners of the line through a front: it rises with cost and size, and falls with score."""
    corners = list(places[:1])
    for (left, upper), (right, lower) in pairwise(places):
        corners += [(right, upper) if is_up else (left, lower), (right, lower)]
    return corners


def _link(point: Point, across: Across, left: float, top: float, x: Axis, y: Axis) -> Markup:
    colour = "sb-accent" if point.is_tied else "sb-faint"
    parts = [bar_of(left, y, point.y, f"sb-whisker {colour}")]
    if not across and point.x.low is not None and point.x.high is not None:
        parts.append(line(x.at(100 * point.x.low), top, x.at(100 * point.x.high), top, f"sb-whisker {colour}"))
    words = f"{point.name}: under shift {score_text(point.y)}, {_x_words(point, across)}"
    parts.append(mark(left, top, "circle", colour, size=4.5, words=words))
    # Rows of the table lead to the same pages, so that the keyboard need not pass through every mark.
    return tag("a", *parts, href=point.address, tabindex="-1")


def _x_words(point: Point, across: Across) -> str:
    value = point.x.value or 0.0
    if not across:
        return f"in domain {score_text(point.x)}"
    if across == "date":
        return f"submitted {date.fromordinal(int(value)).isoformat()}"
    return f"{value:,.0f} parameters" if across == "parameters" else f"{value:,.2f} US dollars"


def _label(point: Point, left: float, top: float) -> Markup:
    """Write the first entry's name beside its mark, on the side that has room."""
    is_right = left > (LEFT + WIDTH) / 2
    words = f"{shorten(point.name, _LONGEST)} {points(point.y.value)}"
    return text(left + (-8 if is_right else 8), top - 6, words, "end" if is_right else "start", "sb-point-name")


def stated(values: Iterable[float | None]) -> bool:
    """Return whether at least two entries state a value that a picture can place."""
    return sum(value is not None and value > 0 for value in values) >= 2
