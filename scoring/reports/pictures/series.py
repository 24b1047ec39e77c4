"""A picture of scores over periods: intervals, the reference as a band, the trend or step that is shown, the alarm."""

from statistics import fmean

from shiftbench.scoring.reports.frame.html import Markup, join, tag
from shiftbench.scoring.reports.numbers import metric_name, score_text
from shiftbench.scoring.reports.pictures.axes import (
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Axis,
    bar_of,
    ends,
    frame,
    legend,
    line,
    line_sign,
    mark,
    mark_sign,
    picture,
    round_axis,
    sign,
    text,
)
from shiftbench.scoring.scores.shape import AlarmFound, OverTime, PeriodScore

_HEIGHT = 210
_LETTERS = 42
"""Letters of ticks that fit below the frame side by side."""


def score_series(course: OverTime) -> Markup:
    """Draw each period's score from left to right in its order.

    Args:
        course: at least one period with a score.
    """
    periods, found = course.periods, course.alarm
    names = [each.period for each in periods]
    band = [found.mean] if found else []
    y = round_axis(ends([*(each.score for each in periods), *band]), TOP + _HEIGHT, TOP)
    shown = _spread(course)
    low, high = periods[0].place - 0.5, periods[-1].place + 0.5
    ticks, words = tuple(float(each.place) for each in shown), tuple(each.period for each in shown)
    x = Axis(low, high, LEFT, WIDTH - RIGHT, ticks, words)
    parts = [frame(x, y, course.unit, f"{metric_name(course.measure)}, points")]
    keys = [(mark_sign("circle", "sb-accent"), "score, with its 95% interval over other test texts")]
    if found:
        parts.insert(0, _band(found, x, y))
        keys.append((sign(_block(0, 3, 14, 8)), "reference, its 95% interval"))
    if drawn := _fitted(course, x, y):
        parts.append(drawn)
        keys.append((line_sign("sb-identity"), "trend" if course.shown == "trend" else "means before and after"))
    for each in periods:
        if each.score.value is None:
            continue
        at, said = x.at(each.place), f"{each.period}: {score_text(each.score)}, {each.n:,} texts"
        parts.append(bar_of(at, y, each.score, "sb-whisker sb-strong sb-accent"))
        parts.append(mark(at, y.at(100 * each.score.value), "circle", "sb-accent", size=3.5, words=said))
    if found and found.at is not None:
        at = x.at(periods[names.index(found.at)].place)
        anchor = "end" if at > WIDTH / 2 else "start"
        parts.append(line(at, TOP, at, y.start, "sb-zero"))
        parts.append(text(at - 4 if anchor == "end" else at + 4, TOP + 10, "alarm", anchor, "sb-tick"))
    about = f"{len(names)} periods, {names[0]} to {names[-1]}. Every value stands in the table."
    return join([legend(keys), picture("Scores over time", about, TOP + _HEIGHT + 44, *parts)])


def _spread(course: OverTime) -> list[PeriodScore]:
    """Choose periods whose names fit below the frame side by side, the first among them."""
    first, last = course.periods[0].place, course.periods[-1].place
    room = (last - first + 1) * (max(len(each.period) for each in course.periods) + 2) / _LETTERS
    chosen = [course.periods[0]]
    for each in course.periods:
        if each.place - chosen[-1].place >= room:
            chosen.append(each)
    return chosen


def _band(found: AlarmFound, x: Axis, y: Axis) -> Markup:
    low, high = (found.mean.value if end is None else end for end in (found.mean.low, found.mean.high))
    top, bottom = y.at(100 * (high or 0.0)), y.at(100 * (low or 0.0))
    return _block(x.start, top, x.end - x.start, max(bottom - top, 1.0))


def _block(x: float, y: float, width: float, height: float) -> Markup:
    size = {"width": f"{width:.1f}", "height": f"{height:.1f}"}
    return tag("rect", x=f"{x:.1f}", y=f"{y:.1f}", **size, class_="sb-band")


def _fitted(course: OverTime, x: Axis, y: Axis) -> Markup | None:
    """Draw the trend, or the means before and after the step, whichever is shown; None where neither is."""
    known = [each for each in course.periods if each.score.low is not None]
    values = [100 * (each.score.value or 0.0) for each in known]
    if course.shown == "trend" and course.trend is not None:
        slope = 100 * (course.trend.slope.value or 0.0)
        middle, height = fmean(each.place for each in known), fmean(values)
        first, last = known[0].place, known[-1].place
        low, high = (y.at(height + slope * (place - middle)) for place in (first, last))
        return line(x.at(first), low, x.at(last), high, "sb-identity")
    if course.shown == "change" and course.change is not None:
        cut = [each.period for each in known].index(course.change.at)
        parts = []
        for some, own in ((known[:cut], values[:cut]), (known[cut:], values[cut:])):
            height = y.at(fmean(own))
            parts.append(line(x.at(some[0].place - 0.4), height, x.at(some[-1].place + 0.4), height, "sb-identity"))
        return join(parts)
    return None
