"""Small pictures of a figure in a table's cell: interval, value and placebo on one scale for the whole column."""

from dataclasses import dataclass

from shiftbench.scoring.reports.frame.html import Markup, escape
from shiftbench.scoring.scores.shape import Estimate

WIDTH, HEIGHT = 72, 6
_INSET = 4


@dataclass(frozen=True)
class Scale:
    """What a column's pictures span, in fractions."""

    low: float
    high: float

    def place(self, value: float) -> float:
        """Compute the place of a value in a picture, from the left; values beyond the scale stand at its end."""
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
    # Written out, because a board has hundreds: of all that stands here only the words are text.
    parts = [f"<title>{escape(words)}</title>"]
    if scale.low < 0 < scale.high:
        parts.append(_vertical_line(scale.place(0), "sb-iv-zero", 0, HEIGHT))
    if estimate.low is not None and estimate.high is not None:
        left, right = scale.place(estimate.low), scale.place(estimate.high)
        place = f'x="{_px(left)}" y="{_px(HEIGHT / 2 - 1.5)}" width="{_px(max(right - left, 1))}"'
        parts.append(f'<rect {place} height="3" rx="1.5" class="sb-iv-bar"></rect>')
    if placebo is not None:
        place = f'cx="{_px(scale.place(placebo))}" cy="{_px(HEIGHT / 2)}"'
        parts.append(f'<circle {place} r="2.4" class="sb-iv-placebo"></circle>')
    parts.append(_vertical_line(scale.place(estimate.value), "sb-iv-value", 0.5, HEIGHT - 0.5))
    box = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    return Markup(f'<svg {box} class="sb-iv" role="img">{"".join(parts)}</svg>')


def _vertical_line(x: float, class_: str, top: float, bottom: float) -> str:
    return f'<line x1="{_px(x)}" x2="{_px(x)}" y1="{_px(top)}" y2="{_px(bottom)}" class="{class_}"></line>'


def _px(number: float) -> str:
    return f"{number:.1f}"
