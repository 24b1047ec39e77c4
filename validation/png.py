"""Pictures as PNG, whose bytes depend on what is drawn and on matplotlib's version alone; it is loaded when called.

It comes with the extra 'pictures', without which commands that draw refuse before they work.
"""

import io
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DPI = 100
_STYLE = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.parse_math": False,  # names may hold a dollar sign
}


def has_pictures() -> bool:
    """Return whether the extra 'pictures' is installed."""
    return find_spec("matplotlib") is not None


def picture_style(style: Mapping[str, Any] | None = None) -> AbstractContextManager[None]:
    """Return a context with the settings of all our pictures, whatever the user's own are.

    Args:
        style: matplotlib settings besides, or instead of, those of all our pictures.
    """
    import matplotlib.style

    return matplotlib.style.context(["default", {**_STYLE, **(style or {})}])


def draw_png(
    width: float, height: float, draw: Callable[["Figure"], None], style: Mapping[str, Any] | None = None
) -> bytes:
    """Draw a picture on a white ground.

    The user's own matplotlib settings do not change it, and no global state of pyplot is touched.

    Args:
        width: in inches, at 100 pixels an inch.
        height: likewise.
        draw: puts what is to be seen on an empty figure.
        style: as for ``picture_style``.
    Returns: the bytes of a PNG.
    """
    from matplotlib.figure import Figure

    with picture_style(style):
        figure = Figure(figsize=(width, height), dpi=_DPI, facecolor="white")
        draw(figure)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=_DPI, facecolor="white", metadata={"Software": None})
    return buffer.getvalue()


def draw_panels(
    panels: Sequence[Callable[["Axes"], None]], *, columns: int, width: float, heights: Sequence[float]
) -> bytes:
    """Draw panels row by row, so far apart that neither they nor the words around them overlap.

    Args:
        panels: each draws on its axes; at least one.
        columns: panels a row.
        width: of the picture, in inches.
        heights: of each row, in inches; as many rows as the panels need.
    Returns: the bytes of a PNG; places without a panel stay white.
    """

    def draw(figure: "Figure") -> None:
        figure.set_layout_engine("constrained", h_pad=0.12, w_pad=0.12)
        axes = figure.subplots(len(heights), columns, squeeze=False, height_ratios=heights).ravel()
        for axis, panel in zip(axes, panels, strict=False):
            panel(axis)
        for axis in axes[len(panels) :]:
            axis.set_axis_off()

    return draw_png(width, sum(heights), draw)
