"""Small pictures of a figure in a table's cell: interval, value and placebo on one scale for the whole column."""

from dataclasses import dataclass

from leaderboard.scoring.shape import Estimate
from leaderboard.views.html import Markup, tag

WIDTH, HEIGHT = 72, 6
_INSET = 4


@dataclass(frozen=True)
class Scale:
    """What a column's pictures span, in fractions."""

    low: float
    high: float

    def place(self, value: float) -> float:
        """Give the place of a value in a picture, from the left; values beyond the scale stand at its end."""
        span = self.high - self.low
        share = (value - self.low) / span if span > 0 else 0.5
        return _INSET + min(max(share, 0.0), 1.0) * (WIDTH - 2 * _INSET)


def picture(estimate: Estimate, scale: Scale, words: str, placebo: float | None = None) -> Markup:
    """Draw a figure: a bar from end to end of its interval, a mark at its value, a hollow one at the placebo's.

    Args:
        estimate: the figure; its value must be known.
        scale: what the column's pictures span.
        words: what the picture says.
        placebo: the same figure of the task's placebo.
    """
    assert estimate.value is not None
    parts = [tag("title", words)]
    middle = HEIGHT / 2
    if scale.low < 0 < scale.high:
        parts.append(_line(scale.place(0), "sb-iv-zero", 0, HEIGHT))
    if estimate.low is not None and estimate.high is not None:
        left, right = scale.place(estimate.low), scale.place(estimate.high)
        parts.append(
            tag("rect", x=_px(left), y=_px(middle - 1.5), width=_px(max(right - left, 1)), height="3", rx="1.5",
                class_="sb-iv-bar")
        )  # fmt: skip
    if placebo is not None:
        parts.append(tag("circle", cx=_px(scale.place(placebo)), cy=_px(middle), r="2.4", class_="sb-iv-placebo"))
    parts.append(_line(scale.place(estimate.value), "sb-iv-value", 0.5, HEIGHT - 0.5))
    box = f"0 0 {WIDTH} {HEIGHT}"
    return tag("svg", *parts, viewBox=box, width=str(WIDTH), height=str(HEIGHT), class_="sb-iv", role="img")


def _line(x: float, class_: str, top: float, bottom: float) -> Markup:
    return tag("line", x1=_px(x), x2=_px(x), y1=_px(top), y2=_px(bottom), class_=class_)


def _px(number: float) -> str:
    return f"{number:.1f}"
