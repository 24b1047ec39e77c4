"""The gap as a picture by itself: a line for each row, from the score in domain to the score under shift."""

from collections.abc import Sequence

from shiftbench.scoring.reports.frame.html import Markup, join, tag
from shiftbench.scoring.reports.frame.parts import Gap
from shiftbench.scoring.reports.numbers import points
from shiftbench.scoring.reports.pictures.axes import Axis, ends, legend, line, picture, round_axis, sign, text
from shiftbench.scoring.reports.pictures.words import shorten

_ROW, _TOP, _NAMES, _LETTERS, _RIGHT = 22, 8, 150, 24, 12
MOST_ROWS = 12
"""Rows of a picture: more are too small where a link is shown."""


def gap_picture(rows: Sequence[tuple[str, Gap]], title: str) -> Markup:
    """Draw in domain (filled) and under shift (open), with 95% intervals.

    Args:
        rows: names and gaps, in their order; the first ``MOST_ROWS`` are drawn.
        title: what the picture is of.
    """
    shown = rows[:MOST_ROWS]
    x = round_axis(ends([each for _, gap in shown for each in (gap.home, gap.away)]), _NAMES, 420 - _RIGHT, n_ticks=5)
    bottom = _TOP + _ROW * len(shown)
    grid = [line(x.at(tick), _TOP, x.at(tick), bottom, "sb-grid") for tick in x.ticks]
    ticks = [
        text(x.at(tick), bottom + 15, words, "middle", "sb-tick")
        for tick, words in zip(x.ticks, x.tick_words, strict=True)
    ]
    drawn = [_row(name, gap, x, _TOP + _ROW * number + _ROW / 2) for number, (name, gap) in enumerate(shown)]
    words = "; ".join(gap.words for _, gap in shown) or "No scores."
    return join([_KEY, picture(title, words, bottom + 20, *grid, *ticks, *drawn)])


def _row(name: str, gap: Gap, x: Axis, y: float) -> Markup:
    parts = [text(_NAMES - 8, y + 4, shorten(name, _LETTERS), "end", "sb-row-name")]
    sides = [(side, each) for side, each in (("home", gap.home), ("away", gap.away)) if each.value is not None]
    for side, each in sides:
        if each.low is not None and each.high is not None:
            parts.append(line(x.at(100 * each.low), y, x.at(100 * each.high), y, f"sb-gap-bar sb-gap-{side}"))
    if len(sides) == 2:
        home, away = (x.at(100 * (each.value or 0.0)) for _, each in sides)
        parts.append(line(home, y, away, y, "sb-gap-line"))
    for side, each in sides:
        place = x.at(100 * (each.value or 0.0))
        parts.append(
            tag(
                "circle",
                tag("title", points(each.value)),
                cx=f"{place:.1f}",
                cy=f"{y:.1f}",
                r="4.5",
                class_=f"sb-gap-dot-{side}",
            )
        )
    return tag("g", tag("title", gap.words), *parts)


def _dot(side: str) -> Markup:
    return sign(tag("circle", cx="7", cy="7", r="4.5", class_=f"sb-gap-dot-{side}"))


_KEY = legend([(_dot("home"), "in domain"), (_dot("away"), "under shift, with 95% intervals")])
