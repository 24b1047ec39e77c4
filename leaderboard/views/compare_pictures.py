"""Pictures of a comparison: a bar for each difference, and the drops of all entries by shift."""

from collections.abc import Sequence

from leaderboard.views.html import Markup, join, tag
from leaderboard.views.numbers import drop_points
from leaderboard.views.pictures.axes import (
    RIGHT,
    SYMBOLS,
    WIDTH,
    legend,
    line,
    mark,
    mark_sign,
    picture,
    round_axis,
    text,
    tick_text,
)
from leaderboard.views.pictures.colours import colour_class

_BAR = (96.0, 10.0)
"""Width and height of a difference's bar."""
_ROW, _TOP, _NAMES, _LETTERS = 22, 26, 160, 25


def difference_bar(value: float, most: float, better: str | None) -> Markup:
    """Draw a difference as a bar from the middle; filled where it is significant, else an outline."""
    width, height = _BAR
    middle = width / 2
    length = middle * abs(value) / most if most else 0.0
    bar = tag(
        "rect",
        x=f"{middle if value >= 0 else middle - length:.1f}",
        y="2",
        width=f"{length:.1f}",
        height=f"{height - 4:g}",
        class_="sb-sure" if better else "sb-unsure",
    )
    size = {"viewBox": f"0 0 {width:g} {height:g}", "width": f"{width:g}", "height": f"{height:g}"}
    return tag(
        "svg", bar, line(middle, 0, middle, height, "sb-axis"), class_="sb-difference", aria_hidden="true", **size
    )


def drop_dots(
    figure: str, names: Sequence[str], shifts: Sequence[str], values: Sequence[Sequence[float | None]]
) -> Markup | None:
    """Draw a drop of all entries, a line for each shift; None where there is none to draw.

    Args:
        figure: which drop.
        names: of the entries.
        shifts: of the rows.
        values: fractions, one sequence of the rows' an entry.
    """
    known = [100 * value for each in values for value in each if value is not None]
    if not known:
        return None
    x = round_axis([0.0, *known], _NAMES, WIDTH - RIGHT, n_ticks=5)
    bottom = _TOP + _ROW * len(shifts)
    parts = [line(x.at(value), _TOP - 4, x.at(value), bottom, "sb-grid") for value in x.ticks]
    parts += [text(x.at(value), _TOP - 9, tick_text(value), "middle", "sb-tick") for value in x.ticks]
    parts.append(line(x.at(0), _TOP - 4, x.at(0), bottom, "sb-zero"))
    for row, shift in enumerate(shifts):
        middle = _TOP + _ROW * row + _ROW / 2
        short = shift if len(shift) <= _LETTERS else f"{shift[: _LETTERS - 1]}\N{HORIZONTAL ELLIPSIS}"
        parts.append(text(_NAMES - 8, middle + 4, short, "end", "sb-row-name"))
        for number, (name, each) in enumerate(zip(names, values, strict=True)):
            value = each[row]
            if value is not None:
                words = f"{name}, {shift}: {figure} {drop_points(value)}"
                place = x.at(100 * value)
                parts.append(mark(place, middle, SYMBOLS[number], colour_class(number), size=4.5, words=words))
    said = "Every value stands in the table of differences and on the entries' pages."
    keys = [(mark_sign(SYMBOLS[number], colour_class(number)), name) for number, name in enumerate(names)]
    return join([legend(keys), picture(f"{figure} by shift", said, bottom + 6, *parts)])
