"""Reproducible PNG figures: their bytes depend only on the content and matplotlib's version.

matplotlib is imported lazily. It is part of the extra 'pictures'; commands that draw check for it before any work.
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
    "text.parse_math": False,  # names may contain a dollar sign
}


def has_pictures() -> bool:
    """Return whether the extra 'pictures' is installed."""
    return find_spec("matplotlib") is not None


def picture_style(style: Mapping[str, Any] | None = None) -> AbstractContextManager[None]:
    """Return a context with the common matplotlib style, independent of the user's settings.

    Args:
        style: settings that extend or override the common style.
    """
    import matplotlib.style

    return matplotlib.style.context(["default", {**_STYLE, **(style or {})}])


def draw_png(
    width: float, height: float, draw: Callable[["Figure"], None], style: Mapping[str, Any] | None = None
) -> bytes:
    """Draw a figure on a white background, independent of the user's matplotlib settings and of pyplot's state.

    Args:
        width: width in inches, at 100 pixels per inch.
        height: height in inches.
        draw: draws the content on an empty figure.
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
    """Draw panels in a grid, row by row, without overlapping labels.

    Args:
        panels: functions that each draw on their axes; at least one.
        columns: number of panels per row.
        width: width of the figure, in inches.
        heights: height of each row, in inches; as many rows as the panels need.
    Returns: the bytes of a PNG; cells without a panel are empty.
    """

    def draw(figure: "Figure") -> None:
        figure.set_layout_engine("constrained", h_pad=0.12, w_pad=0.12)
        axes = figure.subplots(len(heights), columns, squeeze=False, height_ratios=heights).ravel()
        for axis, panel in zip(axes, panels, strict=False):
            panel(axis)
        for axis in axes[len(panels) :]:
            axis.set_axis_off()

    return draw_png(width, sum(heights), draw)
