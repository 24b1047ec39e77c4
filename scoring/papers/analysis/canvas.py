"""Panels on one PNG, 1000 pixels wide: a grid of panels below one shared legend.

Colours are Okabe and Ito's (2008), which colour-blind readers can distinguish; line colours are dark enough for labels
of the same colour.
"""

import textwrap
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from shiftbench.scoring.papers.analysis.entries import short_number
from shiftbench.validation.png import draw_png

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, PURPLE, BROWN, SKY, GREY, BLACK = (
    "#0072B2", "#C04F00", "#00795A", "#A8558A", "#8F6A00", "#3A6EA5", "#64748B", "#000000",
)  # fmt: skip
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, BROWN, SKY, GREY)
SCENARIO_COLOURS = {
    "Classic": "#D55E00", "Observed": "#E69F00", "Unobserved": "#56B4E9", "No Challenge": "#0072B2", "Tie": "#BBBBBB",
}  # fmt: skip
_WIDTH = 10.0
"""Inches."""
# Matplotlib's Agg renderer cannot draw more than 2 ** 16 pixels in one direction.
_MOST_INCHES = 600.0
# Minimum distances in pixels between labels, and between ticks.
_LABEL_GAP, _TICK_GAP = 11.0, 36.0
_KEYS_A_ROW = 5
_STYLE = {"axes.titlesize": 9, "axes.titlelocation": "left"}


Dash = Literal["-", "--", ":", "none"]


class Panel(NamedTuple):
    """One panel: the function that draws it, and whether it starts a new row."""

    draw: Callable[["Axes"], None]
    new_row: bool = False


class Margins(NamedTuple):
    """Margins around the axes of every panel, in inches: for ticks, titles and labels at the ends of lines."""

    left: float = 0.7
    right: float = 0.15
    top: float = 0.5
    bottom: float = 0.5


class Key(NamedTuple):
    """An entry of the legend that all panels share."""

    label: str
    colour: str
    dash: Dash = "-"
    marker: str = ""


def picture(
    panels: Sequence[Panel],
    *,
    columns: int,
    heights: float | Sequence[float],
    margins: Margins,
    title: str,
    keys: Sequence[Key] = (),
    notes: Sequence[str] = (),
) -> bytes:
    """Draw panels row by row.

    Args:
        panels: in reading order, at least one.
        columns: maximum number of panels side by side.
        heights: inches of each row, including margins: one for all, or (with one column) one per panel.
        margins: inside each panel's cell of the grid.
        title: above all panels, in bold.
        keys: legend entries that apply to all panels.
        notes: lines below the panels, such as a note that the data are synthetic.

    Returns: the bytes of a PNG, deterministic given panels and matplotlib version.
    """
    columns = min(columns, len(panels))
    places, n_rows = _places(panels, columns)
    each = [heights] * n_rows if isinstance(heights, int | float) else list(heights)
    fitting = max(1, sum(below <= _MOST_INCHES for below in accumulate(each)))
    if n_rows > fitting:
        notes = [*notes, f"The first {fitting} of {n_rows} rows of panels; all values are in the CSV."]
        n_rows, each = fitting, each[:fitting]
    note_lines = [line for note in notes for line in textwrap.wrap(note, 150)]
    head, foot = 0.4 + 0.22 * -(-len(keys) // _KEYS_A_ROW), 0.1 + 0.18 * len(note_lines)
    total = head + sum(each) + foot

    def draw(figure: "Figure") -> None:
        figure.text(0.012, 1 - 0.1 / total, title, weight="bold", va="top", fontsize=11)
        _legend(figure, keys, total)
        for panel, (row, column) in zip(panels, places, strict=True):
            if row >= n_rows:
                continue
            wide, bottom = _WIDTH / columns, total - head - sum(each[: row + 1])
            box = (
                (column * wide + margins.left) / _WIDTH,
                (bottom + margins.bottom) / total,
                (wide - margins.left - margins.right) / _WIDTH,
                (each[row] - margins.top - margins.bottom) / total,
            )
            panel.draw(figure.add_axes(box))
        for number, line in enumerate(reversed(note_lines)):
            figure.text(0.012, (0.08 + 0.18 * number) / total, line, fontsize=8, color=GREY)

    return draw_png(_WIDTH, total, draw, _STYLE)


def shorten_name(text: str, longest: int) -> str:
    """Shorten a name that would overlap the next one."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def value_range(values: Sequence[float | None], *, zero: bool = False) -> tuple[float, float]:
    """Return axis limits, in points, that cover all values (fractions) with a margin, and 0 if requested."""
    known = [100 * value for value in values if value is not None] + ([0.0] if zero else [])
    low, high = min(known, default=0.0), max(known, default=1.0)
    room = max(0.06 * (high - low), 0.5)
    return low - room, high + room


def count_axis(axis: "Axes", values: Sequence[int], *, spread_evenly: bool) -> None:
    """Set up an axis of counts, with a tick at each value that fits.

    Args:
        axis: the panel.
        values: the counts, >= 0, at least two different ones.
        spread_evenly: whether to use a logarithmic scale (with 0 next to 1), for counts of very different magnitude.
    """
    distinct = sorted(set(values))
    if spread_evenly:
        axis.set_xscale("symlog", base=2, linthresh=max(1, min((value for value in distinct if value), default=1)))
    axis.set_xlim(distinct[0], distinct[-1])
    pixels = [float(axis.transData.transform((value, 0))[0]) for value in distinct]
    ticks: list[int] = []
    last = -np.inf
    for value, pixel in zip(distinct, pixels, strict=True):
        if pixel - last > _TICK_GAP:
            ticks.append(value)
            last = pixel
    axis.set_xticks(ticks, [short_number(value) for value in ticks])
    axis.set_xticks([], minor=True)
    room = 0.04 * (pixels[-1] - pixels[0])
    back = axis.transData.inverted().transform
    axis.set_xlim(back((pixels[0] - room, 0))[0], back((pixels[-1] + room, 0))[0])


def whole_ticks(axis: "Axes") -> None:
    """Set the ticks of a horizontal axis at whole numbers."""
    from matplotlib.ticker import MaxNLocator

    axis.xaxis.set_major_locator(MaxNLocator(integer=True))


def end_labels(axis: "Axes", ends: Sequence[tuple[float, str, str]]) -> None:
    """Write a label next to the right end of each line; labels that would overlap are moved apart.

    Args:
        axis: the panel, with its limits set.
        ends: each line's end on the vertical axis, its label and its colour.
    """
    order = sorted(ends)
    pixels = np.array([axis.transData.transform((0, value))[1] for value, _, _ in order])
    places = _moved_apart(pixels, _LABEL_GAP)
    for (_, label, colour), place in zip(order, places, strict=True):
        height = axis.transAxes.inverted().transform((0, place))[1]
        axis.text(1.02, height, label, transform=axis.transAxes, color=colour, va="center", fontsize=8)


def _moved_apart(pixels: np.ndarray, gap: float) -> np.ndarray:
    """Move ascending positions apart to a minimum gap; each crowded group stays centred."""
    groups: list[tuple[float, int]] = []  # middle and number of labels
    for pixel in pixels:
        groups.append((float(pixel), 1))
        while len(groups) > 1:
            (low, n_low), (high, n_high) = groups[-2:]
            if high - low >= gap * (n_low + n_high) / 2:
                break
            groups[-2:] = [((low * n_low + high * n_high) / (n_low + n_high), n_low + n_high)]
    return np.array([middle + gap * (number - (n - 1) / 2) for middle, n in groups for number in range(n)])


def _places(panels: Sequence[Panel], columns: int) -> tuple[list[tuple[int, int]], int]:
    places, row, column = [], 0, 0
    for panel in panels:
        if column == columns or (panel.new_row and column):
            row, column = row + 1, 0
        places.append((row, column))
        column += 1
    return places, row + 1


def _legend(figure: "Figure", keys: Sequence[Key], total: float) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=key.colour, linestyle=key.dash, marker=key.marker, markersize=5, label=key.label)
        for key in keys
    ]
    if handles:
        # Legends are filled by columns; keys read from left to right.
        n_rows = -(-len(handles) // _KEYS_A_ROW)
        blank = Line2D([], [], linestyle="none", label=" ")
        handles += [blank] * (n_rows * _KEYS_A_ROW - len(handles))
        handles = [handles[row * _KEYS_A_ROW + column] for column in range(_KEYS_A_ROW) for row in range(n_rows)]
        figure.legend(
            handles=handles, loc="upper left", bbox_to_anchor=(0.0, 1 - 0.3 / total), ncols=_KEYS_A_ROW,
            frameon=False, fontsize=8, handlelength=2.2, columnspacing=1.4,
        )  # fmt: skip
