"""Pictures of a ranking: rank intervals with the groups that are tied, and a matrix of pairs; as SVG and as PNG.

Both writers draw one list of shapes. The SVG has the page's colours where it stands on one, and its own elsewhere.
"""

import io
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from shiftbench.scoring.comparing.unit_ranks import Ranking
from shiftbench.scoring.reports.frame.html import Markup, join, tag

WIDTH, _NAMES, _ROW, _TOP, _BARS = 420, 168, 18, 26, 8
_LETTERS = 22
MAX_BARS = 12
"""Groups of ties that are drawn; they are named in words, too."""
_COLOURS = {
    "ink": "var(--sb-ink, #0f172a)", "soft": "var(--sb-soft, #475569)", "line": "var(--sb-line, #e2e8f0)",
    "accent": "var(--sb-accent, #0f766e)", "shade": "var(--sb-shade, #e6f6f3)",
    "gain": "var(--sb-gain, #2f7fd1)", "loss": "var(--sb-loss, #d9480f)",
}  # fmt: skip


class Shape(NamedTuple):
    """A rectangle from (x, y), a dot around it, or a text that begins (or ends: ``end``) there, with its words."""

    kind: Literal["box", "dot", "text", "end"]
    x: float
    y: float
    width: float
    height: float
    colour: str
    words: str = ""


class Picture(NamedTuple):
    """Shapes on a sheet, and what the picture says."""

    width: float
    height: float
    title: str
    shapes: Sequence[Shape]


def interval_picture(ranking: Ranking) -> Picture:
    """Draw the rank interval of each model; models tied for first are shaded, groups of ties are bars at the right."""
    n = len(ranking.models)
    bars = tie_groups(ranking)[:MAX_BARS]
    left, right = _NAMES, WIDTH - 8 - _BARS * len(bars)
    step = (right - left) / max(n - 1, 1)
    shapes = []
    tied = set(ranking.tied_first)
    for row, model in enumerate(ranking.models):
        y = _TOP + _ROW * row
        if model.name in tied:
            shapes.append(Shape("box", 0, y, WIDTH, _ROW, "shade"))
    for place in sorted({1, (n + 1) // 2, n}):
        x = left + step * (place - 1)
        shapes += [
            Shape("text", x, _TOP - 8, 0, 0, "soft", str(place)),
            Shape("box", x, _TOP, 0.5, _ROW * n, "line"),
        ]
    for row, model in enumerate(ranking.models):
        y = _TOP + _ROW * row
        name = model.name if len(model.name) <= _LETTERS else model.name.rpartition("/")[2]
        name = name if len(name) <= _LETTERS else name[: _LETTERS // 2] + "…" + name[-_LETTERS // 2 + 1 :]
        shapes.append(Shape("end", left - 8, y + 13, 0, 0, "ink", name))
        if model.best_rank is not None and model.worst_rank is not None:
            x, end = left + step * (model.best_rank - 1), left + step * (model.worst_rank - 1)
            words = f"{model.name}: rank {model.rank} [{model.best_rank}, {model.worst_rank}]"
            shapes.append(Shape("box", x, y + 7, max(end - x, 1), 4, "accent", words))
        shapes.append(Shape("dot", left + step * (model.rank - 1), y + 9, 4, 4, "ink"))
    for number, (first, last) in enumerate(bars):
        x, y = right + 6 + _BARS * number, _TOP + _ROW * first
        words = f"not told apart: {ranking.models[first].name} to {ranking.models[last].name}"
        shapes.append(Shape("box", x, y + 2, 4, _ROW * (last - first + 1) - 4, "soft", words))
    return Picture(WIDTH, _TOP + _ROW * n + 8, "Rank intervals, and groups of models not told apart", shapes)


def pair_picture(ranking: Ranking) -> Picture:
    """Draw the matrix of pairs: blue where the model of the row is better, orange where it is worse, else nothing."""
    n = len(ranking.models)
    side = WIDTH - 2.0
    cell = side / n
    shapes = [Shape("box", 1, 1, side, side, "line"), Shape("box", 1.5, 1.5, side - 1, side - 1, "shade")]
    colour = {"+": "gain", "-": "loss"}
    for row, letters in enumerate(ranking.pairs):
        ends = [0, *(place for place in range(1, n) if letters[place] != letters[place - 1]), n]
        for start, end in pairwise(ends):
            if letters[start] in colour:
                at = (1 + cell * start, 1 + cell * row)
                # A little higher than a row, so that no line of the ground shows between rows.
                shapes.append(Shape("box", *at, cell * (end - start), 1.1 * cell, colour[letters[start]]))
    return Picture(WIDTH, WIDTH, "Pairs of models, best first: coloured where they are told apart", shapes)


def tie_groups(ranking: Ranking) -> list[tuple[int, int]]:
    """Find the groups of neighbours none of which are told apart: first and last place, none within another.

    A group of one is none.
    """
    found: list[tuple[int, int]] = []
    n, last = len(ranking.pairs), -1
    for first in range(n):
        end = first
        while end + 1 < n and all(ranking.pairs[row][end + 1] == "." for row in range(first, end + 1)):
            end += 1
        if end > max(last, first):
            found.append((first, end))
            last = end
    return found


def svg(picture: Picture) -> Markup:
    """Write a picture as SVG, which stands on a page or in a file by itself."""
    box = f"0 0 {picture.width:g} {picture.height:g}"
    style = f"width:100%;max-width:{1.5 * picture.width:g}px;height:auto;font:11px system-ui,sans-serif"
    shapes = join(_svg_shape(shape) for shape in picture.shapes)
    return tag(
        "svg", tag("title", picture.title), shapes,
        xmlns="http://www.w3.org/2000/svg", viewBox=box, role="img", style=style,
    )  # fmt: skip


def _svg_shape(shape: Shape) -> Markup:
    colour, number = _COLOURS[shape.colour], "{:.2f}".format
    if shape.kind in ("text", "end"):
        anchor = "end" if shape.kind == "end" else "middle"
        return tag("text", shape.words, x=number(shape.x), y=number(shape.y), text_anchor=anchor, fill=colour)
    said = [tag("title", shape.words)] if shape.words else []
    if shape.kind == "dot":
        return tag("circle", *said, cx=number(shape.x), cy=number(shape.y), r=number(shape.width), fill=colour)
    sides = {"width": number(shape.width), "height": number(shape.height)}
    return tag("rect", *said, x=number(shape.x), y=number(shape.y), fill=colour, **sides)


def png(picture: Picture) -> bytes:
    """Write a picture as PNG (extra 'pictures')."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Circle, Rectangle

    figure = Figure(figsize=(picture.width / 60, picture.height / 60), dpi=144)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, picture.width), ylim=(picture.height, 0))
    axes.axis("off")
    for shape in picture.shapes:
        colour = _COLOURS[shape.colour].rpartition(" ")[2].rstrip(")")
        if shape.kind in ("text", "end"):
            side = "right" if shape.kind == "end" else "center"
            axes.text(shape.x, shape.y, shape.words, color=colour, ha=side, va="baseline", fontsize=11)
        elif shape.kind == "dot":
            axes.add_patch(Circle((shape.x, shape.y), shape.width, color=colour))
        else:
            axes.add_patch(Rectangle((shape.x, shape.y), shape.width, shape.height, color=colour, linewidth=0))
    out = io.BytesIO()
    figure.savefig(out, format="png")
    return out.getvalue()


def group_words(ranking: Ranking) -> Iterator[str]:
    """Write each group of ties: from which model to which."""
    for first, last in tie_groups(ranking):
        yield f"'{ranking.models[first].name}' to '{ranking.models[last].name}' ({last - first + 1})"
