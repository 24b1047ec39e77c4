"""Forecasts over the truth: one method on every shift of every entry; on the dashed line it is right."""

from collections.abc import Sequence
from typing import NamedTuple

from shiftbench.scoring.reports.frame.html import Markup, join
from shiftbench.scoring.reports.numbers import points
from shiftbench.scoring.reports.pictures.axes import (
    LEFT,
    SIDE,
    SYMBOLS,
    cut_axis,
    frame,
    identity_line,
    legend,
    line_sign,
    mark,
    mark_sign,
    picture,
    round_axis,
    square_axes,
)
from shiftbench.scoring.reports.pictures.colours import N_COLOURS, colour_class

MOST_MARKS = 400
"""Marks on the picture: of more, every second, third ... shift is drawn."""


class ForecastMark(NamedTuple):
    """One forecast: entry, source, target, what was forecast and what came, as fractions."""

    entry: str
    source: str
    target: str
    value: float
    truth: float


def forecast_plane(
    method: str, found: Sequence[ForecastMark], metric: str, others: Sequence[ForecastMark] = ()
) -> Markup:
    """Draw one method's forecasts (up) over the truth (across), a mark a shift.

    Args:
        method: its title.
        found: at least one forecast; targets have colours where there are few of them.
        metric: what is forecast, in words.
        others: forecasts of a picture beside it, which has the same axes.
    """
    shown = found[:: -(-len(found) // MOST_MARKS)]
    values = [100 * end for each in (*found, *others) for end in (each.value, each.truth)]
    across, up = square_axes(cut_axis(round_axis(values, LEFT, LEFT + SIDE)))
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
        identity_line(across, up),
        *marks,
    )
    heading = "tested on" if few else ""
    return join([legend([*keys, (line_sign("sb-identity"), "forecast is right")], heading), drawn])


def _words(each: ForecastMark) -> str:
    values = f"forecast {points(each.value)}, true score {points(each.truth)}"
    return f"{each.entry}\n{each.source} to {each.target}: {values}"
