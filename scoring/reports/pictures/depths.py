"""How deep each target's test texts lie in a source: one box a target, from the 5th to the 95th percentile."""

from collections.abc import Mapping, Sequence

from shiftbench.scoring.reports.frame.html import Markup, tag
from shiftbench.scoring.reports.pictures.axes import RIGHT, WIDTH, Axis, line, picture, round_axis
from shiftbench.scoring.reports.pictures.rows import row_grid, row_name

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_ROW, _TOP, _NAMES, _LETTERS = 22, 26, 120, 18


def depth_boxes(source: str, quantiles: Mapping[str, Sequence[float]], span: tuple[float, float]) -> Markup:
    """Draw one source's picture.

    Args:
        source: the source.
        quantiles: of each target's depths, at ``QUANTILES``; the source itself is one of the targets.
        span: lowest and highest depth of any of the task's pictures, so that they share a scale.
    """
    x = round_axis(span, _NAMES, WIDTH - RIGHT, n_ticks=5)
    bottom = _TOP + _ROW * len(quantiles)
    parts = [row_grid(x, _TOP, bottom)]
    parts += [
        _row(target, values, x, _TOP + _ROW * number, own=target == source)
        for number, (target, values) in enumerate(quantiles.items())
    ]
    said = "; ".join(f"{target} median {values[2]:.2f}" for target, values in quantiles.items())
    return picture(f"Depth of test texts in {source}", said, bottom + 6, *parts)


def _row(target: str, values: Sequence[float], x: Axis, top: float, *, own: bool) -> Markup:
    middle = top + _ROW / 2
    low, left, median, right, high = (x.at(value) for value in values)
    words = f"{target}: " + ", ".join(
        f"{100 * part:.0f}% below {value:.3f}" for part, value in zip(QUANTILES, values, strict=True)
    )
    box = tag(
        "rect",
        x=f"{left:.1f}",
        y=f"{top + 4:.1f}",
        width=f"{max(right - left, 0.5):.1f}",
        height=f"{_ROW - 8}",
        class_="sb-depth-own" if own else "sb-depth",
    )
    return tag(
        "g",
        tag("title", words),
        row_name(target, x, middle, _LETTERS),
        line(low, middle, high, middle, "sb-axis"),
        box,
        line(median, top + 3, median, top + _ROW - 3, "sb-median"),
    )
