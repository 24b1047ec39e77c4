"""Forecasts over the truth: one method on every shift of every entry; on the dashed line it is right."""

from collections.abc import Sequence
from typing import NamedTuple

from leaderboard.views.html import Markup, join
from leaderboard.views.numbers import points
from leaderboard.views.pictures.axes import (
    LEFT,
    RIGHT,
    SYMBOLS,
    TOP,
    WIDTH,
    Axis,
    frame,
    legend,
    line,
    line_sign,
    mark,
    mark_sign,
    picture,
    round_axis,
)
from leaderboard.views.pictures.colours import N_COLOURS, colour_class

MOST_MARKS = 400
"""Marks on the picture: of more, every second, third ... shift is drawn."""
_SIDE = WIDTH - LEFT - RIGHT


class Forecast(NamedTuple):
    """One forecast: entry, source, target, what was forecast and what came, as fractions."""

    entry: str
    source: str
    target: str
    value: float
    truth: float


def forecast_plane(method: str, found: Sequence[Forecast], metric: str, others: Sequence[Forecast] = ()) -> Markup:
    """Draw one method's forecasts (up) over the truth (across), a mark a shift.

    Args:
        method: its title.
        found: at least one forecast; targets have colours where there are few of them.
        metric: what is forecast, in words.
        others: forecasts of a picture beside it, which has the same axes.
    """
    shown = found[:: -(-len(found) // MOST_MARKS)]
    across = _within(
        round_axis([100 * end for each in (*found, *others) for end in (each.value, each.truth)], LEFT, LEFT + _SIDE)
    )
    up = Axis(across.low, across.high, TOP + _SIDE, TOP, across.ticks)
    targets = sorted({each.target for each in found})
    few = len(targets) <= N_COLOURS
    looks = {
        name: (SYMBOLS[number % len(SYMBOLS)], colour_class(number)) if few else ("circle", "sb-accent")
        for number, name in enumerate(targets)
    }
    marks = [
        mark(across.at(100 * each.truth), up.at(100 * each.value), *looks[each.target], size=3.6, words=_words(each))
        for each in shown
    ]
    keys = [(mark_sign(*looks[name]), name) for name in targets] if few else []
    off = sum(abs(each.value - each.truth) for each in found) / len(found)
    high = sum(each.value > each.truth for each in found)
    said = (
        f"{len(found):,} forecasts by {method}: off by {points(off)} points on average, "
        f"too high on {high:,} of them, above the dashed line."
    )
    drawn = picture(
        f"Forecasts by {method} over the truth",
        said,
        up.start + 44,
        frame(across, up, f"true {metric}, points", "forecast, points"),
        line(across.start, up.start, across.end, up.end, "sb-identity"),
        *marks,
    )
    heading = "tested on" if few else ""
    return join([legend([*keys, (line_sign("sb-identity"), "forecast is right")], heading), drawn])


def _words(each: Forecast) -> str:
    values = f"forecast {points(each.value)}, true score {points(each.truth)}"
    return f"{each.entry}\n{each.source} to {each.target}: {values}"


def _within(axis: Axis) -> Axis:
    """Cut an axis of fractions in points at 0 and 100."""
    ticks = tuple(tick for tick in axis.ticks if 0 <= tick <= 100)
    return Axis(ticks[0], ticks[-1], axis.start, axis.end, ticks)
