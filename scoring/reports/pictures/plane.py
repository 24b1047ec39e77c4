"""Every shift by its two drops, over the four scenarios."""

from shiftbench.scoring.reports.frame.html import Markup, join, tag
from shiftbench.scoring.reports.pictures.axes import (
    LEFT,
    SIDE,
    SYMBOLS,
    TOP,
    Axis,
    bar_of,
    ends,
    frame,
    legend,
    line,
    mark,
    mark_sign,
    picture,
    round_axis,
    text,
)
from shiftbench.scoring.reports.pictures.colours import colour_class, scenario_class
from shiftbench.scoring.reports.pictures.words import SD_NAME, TD_NAME, shift_words, source_name, sources, with_drops
from shiftbench.scoring.scores.shape import Shift, TaskScores

_QUADRANTS = (("Classic", 1, 1), ("Observed", 1, -1), ("Unobserved", -1, 1), ("No Challenge", -1, -1))
_LEAST_REACH = 2.0


def scenario_plane(task: TaskScores, placebo: TaskScores | None = None) -> Markup:
    """Draw each shift by its drops, SD across and TD up; intervals are crosses, resolved scenarios filled marks.

    Args:
        task: the scores.
        placebo: scores of the task's placebo, whose drops (no shift at all) are a cloud of small hollow marks.
    """
    shifts, dealt = with_drops(task), with_drops(placebo) if placebo else []
    x, y = _axes([*shifts, *dealt])
    order = [source for source in sources(task) if any(shift.source == source for shift in shifts)]
    looks = {source: (SYMBOLS[n % len(SYMBOLS)], colour_class(n)) for n, source in enumerate(order)}
    cloud = [_placebo(shift, x, y) for shift in dealt]
    crosses = [_cross(shift, x, y, looks[shift.source][1]) for shift in shifts]
    marks = [_mark(shift, x, y, *looks[shift.source]) for shift in shifts]
    resolved = sum(shift.resolved for shift in shifts)
    about = (
        f"{len(shifts)} shifts by source drop and target drop, {resolved} of them with a resolved scenario"
        + (f"; {len(dealt)} placebo drops beside them" if dealt else "")
        + ". Every value stands in the table of shifts."
    )
    keys = [(mark_sign(*looks[source]), source_name(source)) for source in order]
    keys.append((mark_sign("circle", "sb-ink", filled=False), "hollow: not resolved"))
    if dealt:
        keys.append((mark_sign("circle", "sb-faint", filled=False), "placebo, no shift at all"))
    drawn = picture(
        "Scenarios: SD and TD of every shift",
        about,
        TOP + SIDE + 44,
        *_quadrants(x, y),
        frame(x, y, SD_NAME, TD_NAME),
        *cloud,
        *crosses,
        *marks,
    )
    return join([legend(keys, "trained on"), drawn])


def _axes(shifts: list[Shift]) -> tuple[Axis, Axis]:
    sd, td = (ends(getattr(shift, name) for shift in shifts) for name in ("sd", "td"))
    # One scale for both drops; a quadrant without a shift keeps room for its name.
    reach = max([_LEAST_REACH, *map(abs, (*sd, *td))])
    room = 0.3 * reach
    low, high = min(-room, *sd, *td), max(room, *sd, *td)
    return round_axis((low, high), LEFT, LEFT + SIDE, n_ticks=8), round_axis((low, high), TOP + SIDE, TOP, n_ticks=8)


def _quadrants(x: Axis, y: Axis) -> list[Markup]:
    parts = []
    for name, right, up in _QUADRANTS:
        x_end, y_end = (x.end if right > 0 else x.start), (y.end if up > 0 else y.start)
        left, top = min(x.at(0), x_end), min(y.at(0), y_end)
        size = {"width": f"{abs(x_end - x.at(0)):.1f}", "height": f"{abs(y_end - y.at(0)):.1f}"}
        class_ = f"sb-tinted {scenario_class(name)}"
        parts.append(tag("rect", x=f"{left:.1f}", y=f"{top:.1f}", class_=class_, **size))
        where = (x_end - 7 * right, y_end + (16 if up > 0 else -8))
        parts.append(text(*where, name, "end" if right > 0 else "start", f"sb-quadrant {scenario_class(name)}"))
    zero = [line(x.at(0), y.start, x.at(0), y.end, "sb-zero"), line(x.start, y.at(0), x.end, y.at(0), "sb-zero")]
    return [*parts, *zero]


def _points(shift: Shift) -> tuple[float, float]:
    assert shift.sd.value is not None
    assert shift.td.value is not None
    return 100 * shift.sd.value, 100 * shift.td.value


def _cross(shift: Shift, x: Axis, y: Axis, colour: str) -> Markup:
    sd, td = _points(shift)
    class_ = f"sb-whisker {colour}"
    upright = bar_of(x.at(sd), y, shift.td, class_)
    if shift.sd.low is None or shift.sd.high is None:
        return upright
    across = line(x.at(100 * shift.sd.low), y.at(td), x.at(100 * shift.sd.high), y.at(td), class_)
    return join([across, upright])


def _mark(shift: Shift, x: Axis, y: Axis, symbol: str, colour: str) -> Markup:
    sd, td = _points(shift)
    return mark(x.at(sd), y.at(td), symbol, colour, filled=shift.resolved, words=shift_words(shift))


def _placebo(shift: Shift, x: Axis, y: Axis) -> Markup:
    sd, td = _points(shift)
    words = f"placebo\n{shift_words(shift)}"
    return mark(x.at(sd), y.at(td), "circle", "sb-faint", filled=False, size=3.5, words=words)
