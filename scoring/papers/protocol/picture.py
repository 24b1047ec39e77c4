"""A choice of data sets as a picture: similarity of the candidates, and the ID model's scores on them, in one PNG.

Colours are Okabe and Ito's (2008) and cividis, which colour-blind readers can tell apart; all figures are also written
out. What the picture shows is in the command's tables and JSON, too.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from shiftbench.scoring.papers.protocol.choice import DatasetChoice, Decision
from shiftbench.validation.png import draw_panels
from shiftbench.validation.report import InvalidInput, Problem

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDTH = 6.0
"""Inches a panel."""
_ACCENT, _ID, _REST = "#0072B2", "#E69F00", "#BBBBBB"
_MOST_CELLS = 14
# Numbers in a heatmap of more data sets would run into one another.
_LONGEST = 18


def choice_picture(choice: DatasetChoice) -> bytes:
    """Draw a choice: a heatmap where similarity was measured, bars where an ID model was tested.

    Args:
        choice: the choice.
    Returns: the bytes of a PNG; the same for the same choice and matplotlib.
    Raises: InvalidInput when there is neither.
    """
    panels: list[Callable[[Axes], None]] = []
    if choice.similarity:
        panels.append(lambda axis: _heatmap(axis, choice))
    if choice.model is not None:
        panels.append(lambda axis: _bars(axis, choice))
    if not panels:
        what, cure = (
            "there is nothing to draw",
            "set SHIFTBENCH_ENCODER for similarity, give --predictions for scores, or both",
        )
        raise InvalidInput(Problem(what, "--picture", cure=cure))
    height = 1.7 + 0.36 * len(choice.candidates)
    return draw_panels(panels, columns=len(panels), width=_WIDTH * len(panels), heights=[height])


def _heatmap(axis: "Axes", choice: DatasetChoice) -> None:
    from matplotlib import colormaps
    from matplotlib.colors import Normalize

    items = [item for item in choice.candidates if item.name in choice.similarity]
    grid = [[choice.similarity[a.name][b.name] for b in items] for a in items]
    norm = Normalize(min(0.0, *(value for row in grid for value in row)), 1.0)
    colours = colormaps["cividis"]
    axis.imshow(grid, cmap=colours, norm=norm, aspect="auto")
    if len(items) <= _MOST_CELLS:
        for row, values in enumerate(grid):
            for column, value in enumerate(values):
                ink = _ink(colours(norm(value)))
                text = f"{round(100 * value) + 0:d}"
                axis.text(column, row, text, ha="center", va="center", fontsize=8, color=ink)
    names = [_cut(item.name) for item in items]
    axis.set_xticks(range(len(items)), names, rotation=35, ha="right", rotation_mode="anchor")
    axis.set_yticks(range(len(items)), names)
    for labels in (axis.get_xticklabels(), axis.get_yticklabels()):
        for label, item in zip(labels, items, strict=True):
            _set_bold(label, item, choice)
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    axis.set_title(f"{choice.task}: similarity of test texts (cosine x 100)", loc="left")


def _bars(axis: "Axes", choice: DatasetChoice) -> None:
    from matplotlib.patches import Patch

    items = choice.candidates
    for place, item in enumerate(items):
        _bar(axis, place, item, choice)
    axis.set_yticks(range(len(items)), [_cut(item.name) for item in items])
    for label, item in zip(axis.get_yticklabels(), items, strict=True):
        _set_bold(label, item, choice)
    axis.set_ylim(len(items) - 0.5, -0.5)
    axis.tick_params(axis="y", length=0)
    axis.set_xlim(0, 118)  # room for the numbers
    axis.set_xticks(range(0, 101, 20))
    legend = [
        Patch(color=_ID, label="ID"),
        Patch(color=_ACCENT, label="chosen as OOD"),
        Patch(color=_REST, label="not chosen"),
    ]
    place_: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (-0.02, 0.99), "ncols": 3}
    axis.legend(handles=legend, **place_, frameon=False, fontsize=8, handlelength=1.0, borderaxespad=0.2)
    axis.set_title(f"{choice.metric} of the ID model, points; lines: 95% intervals", loc="left", pad=22)


def _bar(axis: "Axes", place: int, item: Decision, choice: DatasetChoice) -> None:
    if item.score is None or item.score.value is None:
        axis.text(1, place, "no score", va="center", fontsize=8)
        return
    value, low, high = item.score.value, item.score.low, item.score.high
    axis.barh(place, 100 * value, 0.7, color=_colour(item, choice))
    end = value
    if low is not None and high is not None:
        for colour, width in (("white", 4), ("black", 2)):  # the bars are dark
            axis.plot([100 * low, 100 * high], [place, place], color=colour, linewidth=width, solid_capstyle="butt")
        end = max(value, high)
    axis.text(100 * end, place, f" {100 * value:.1f}", va="center")


def _colour(item: Decision, choice: DatasetChoice) -> str:
    return _ID if item.name == choice.id else _ACCENT if item.chosen else _REST


def _set_bold(label: Any, item: Decision, choice: DatasetChoice) -> None:
    """Format names of ID and OOD data sets in bold, OOD in the accent colour (orange is too faint on white)."""
    if item.chosen or item.name == choice.id:
        label.set_fontweight("bold")
    if item.chosen:
        label.set_color(_ACCENT)


def _ink(colour: Any) -> str:
    """Choose black or white for text on a colour, by its luminance (Rec. 709)."""
    red, green, blue = colour[:3]
    return "black" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.45 else "white"


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"
