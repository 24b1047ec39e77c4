"""Framed plots: shifts by their drops, Depth F1 over lambda, confidence metrics, scores over time."""

from collections.abc import Iterable, Iterator
from statistics import fmean

from shiftbench.metrics.depth import LAMBDAS
from shiftbench.scoring.reports.frame.html import Markup, tag
from shiftbench.scoring.reports.numbers import metric_name, points, score_text
from shiftbench.scoring.reports.pictures import axes as draw
from shiftbench.scoring.reports.pictures.axes import Axis
from shiftbench.scoring.reports.pictures.words import (
    SD_NAME,
    TD_NAME,
    shift_name,
    shift_words,
    source_name,
    sources,
    summarised,
    with_drops,
)
from shiftbench.scoring.scores.shape import Confidence, Estimate, OverTime, Shift, TaskScores
from shiftbench.validation.report import plural

_HEIGHT = 250
_QUADRANTS = (("Classic", 1, 1), ("Observed", 1, -1), ("Unobserved", -1, 1), ("No Challenge", -1, -1))
_LEAST_REACH = 2.0
_NONE = Estimate(value=None)


def scenario_plane(task: TaskScores, placebo: TaskScores | None = None) -> Markup:
    """Draw each shift by its drops, SD on x and TD on y; crosses are intervals, filled marks resolved scenarios.

    The drops of the placebo (no shift at all) are small hollow marks.
    """
    shifts, placebos = with_drops(task), with_drops(placebo) if placebo else []
    # One scale for both drops; empty quadrants are large enough for their name.
    reached = draw.ends(drop for shift in (*shifts, *placebos) for drop in (shift.sd, shift.td))
    room = 0.3 * max([_LEAST_REACH, *map(abs, reached)])
    span = min(-room, *reached), max(room, *reached)
    x, y = (
        draw.round_axis(span, draw.LEFT, draw.LEFT + draw.SIDE, n_ticks=8),
        draw.round_axis(span, draw.TOP + draw.SIDE, draw.TOP, n_ticks=8),
    )
    order = [source for source in sources(task) if any(shift.source == source for shift in shifts)]
    looks = {source: draw.look(number) for number, source in enumerate(order)}

    def place(shift: Shift) -> tuple[float, float]:
        return x.at(100 * (shift.sd.value or 0.0)), y.at(100 * (shift.td.value or 0.0))

    cloud = [
        draw.mark(*place(each), "circle", "sb-faint", filled=False, size=3.5, words=f"placebo\n{shift_words(each)}")
        for each in placebos
    ]
    crosses = [
        part for each in shifts for part in draw.bars(x, y, each.sd, each.td, f"sb-whisker {looks[each.source][1]}")
    ]
    marks = [
        draw.mark(*place(each), *looks[each.source], filled=each.resolved, words=shift_words(each)) for each in shifts
    ]
    about = (
        f"{len(shifts)} shifts by source drop and target drop, {sum(each.resolved for each in shifts)} of them with a "
        f"resolved scenario{f'; also {len(placebos)} shifts of the placebo' if placebos else ''}. "
        "All values are in the table of shifts."
    )
    keys = [(draw.mark_sign(*looks[source]), source_name(source)) for source in order]
    keys.append((draw.mark_sign("circle", "sb-ink", filled=False), "hollow: not resolved"))
    if placebos:
        keys.append((draw.mark_sign("circle", "sb-faint", filled=False), "placebo (no shift)"))
    drawn, names = [*cloud, *crosses, *marks], (SD_NAME, TD_NAME)
    title, behind = "Scenarios: SD and TD of every shift", _quadrants(x, y)
    return draw.chart(title, about, (x, y), names, drawn, keys, heading="trained on", behind=behind)


def _quadrants(x: Axis, y: Axis) -> Iterator[Markup]:
    for name, right, up in _QUADRANTS:
        x_end, y_end = (x.end if right > 0 else x.start), (y.end if up > 0 else y.start)
        left, top = min(x.at(0), x_end), min(y.at(0), y_end)
        class_ = f"sb-{name.lower().replace(' ', '-')}"
        yield draw.rect(left, top, abs(x_end - x.at(0)), abs(y_end - y.at(0)), f"sb-tinted {class_}")
        anchor = "end" if right > 0 else "start"
        yield draw.text(x_end - 7 * right, y_end + (16 if up > 0 else -8), name, anchor, f"sb-quadrant {class_}")
    yield draw.line(x.at(0), y.start, x.at(0), y.end, "sb-zero")
    yield draw.line(x.start, y.at(0), x.end, y.at(0), "sb-zero")


def has_depth(task: TaskScores) -> bool:
    """Return whether any shift has depth-weighted scores."""
    return any(shift.depth_f1 for shift in task.shifts)


def depth_curves(task: TaskScores) -> Markup:
    """Draw mean Depth F1 over lambda with its interval, each shift as a thin line, and effective numbers of texts."""
    found = summarised(task)
    shifts = [shift for shift in found if shift.depth_f1]
    thin = [(shift_name(shift), shift.depth_f1) for shift in shifts if len(shifts) > 1]  # a single one is its own mean
    means = {str(key): task.summary.depth_f1.get(str(key), _NONE) for key in LAMBDAS}
    x = Axis(-4, 94, draw.LEFT, draw.WIDTH - draw.RIGHT, tuple(map(float, LAMBDAS)))
    single = [Estimate(value=each.value) for _, curve in thin for each in curve.values()]
    y = draw.round_axis(draw.ends([*means.values(), *single]), draw.TOP + _HEIGHT, draw.TOP)

    def places(curve: dict[str, Estimate]) -> list[tuple[float, float]]:
        return [(x.at(int(key)), y.at(100 * each.value)) for key, each in curve.items() if each.value is not None]

    parts = [draw.text(x.at(int(key)), y.start + 31, words, "middle", "sb-below") for key, words in _effective(found)]
    parts += [tag("g", tag("title", name), draw.path(places(curve), "sb-thin")) for name, curve in thin]
    name = f"mean of {plural(task.summary.n_shifts, 'shift')}" if thin else "Depth F1"
    parts.append(draw.path(places(means), "sb-curve sb-accent"))
    for key, each in means.items():
        if each.value is not None:
            at = x.at(int(key)), y.at(100 * each.value)
            parts += draw.bars(x, y, Estimate(value=int(key) / 100), each, "sb-whisker sb-strong sb-accent")
            parts.append(draw.mark(*at, "circle", "sb-accent", size=4, words=f"{name}\nλ = {key}: {score_text(each)}"))
    keys = [(_curve_sign("circle", "sb-accent"), name)]
    keys += [(draw.line_sign("sb-thin"), "one shift")] if thin else []
    keys.append((draw.sign(draw.text(7, 11, "n", "middle", "sb-below")), "effective number of texts"))
    about = f"{name}, from λ = {LAMBDAS[0]} to {LAMBDAS[-1]}."
    names = ("λ: most source-like texts excluded, %", "Depth F1, points")
    return draw.chart("Depth F1 by lambda", about, (x, y), names, parts, keys, below=16)


def _curve_sign(symbol: str, class_: str) -> Markup:
    return draw.sign(draw.line(1, 7, 21, 7, f"sb-curve {class_}"), draw.mark(11, 7, symbol, class_, size=4), width=22)


def _effective(shifts: Iterable[Shift]) -> Iterator[tuple[str, str]]:
    """Format the range of the effective number of texts, by lambda."""
    sizes: dict[str, list[float]] = {}
    for shift in shifts:
        for key, size in shift.effective_n.items():
            sizes.setdefault(key, []).append(size)
    for key, found in sizes.items():
        yield key, "\N{EN DASH}".join(dict.fromkeys((_short(min(found)), _short(max(found)))))


def _short(number: float) -> str:
    """Format a number compactly.

    >>> _short(87.4), _short(1234.0)
    ('87', '1.2k')
    """
    return f"{number:.0f}" if number < 1000 else f"{number / 1000:.1f}k"


_SIDES = ("in domain", "out of domain")


def reliability(found: Confidence) -> Markup:
    """Draw the reliability diagram: accuracy over confidence in equal-mass bins; dashed: perfect calibration."""
    both = zip(_SIDES, map(draw.look, (0, 1)), (found.curves_in_domain, found.curves_out), strict=True)
    known = [(side, look, curves) for side, look, curves in both if curves is not None]
    axes = x, y = draw.square_axes(100 * end for *_, each in known for end in (*each.confidence, *each.accuracy))
    parts, said = [draw.line(x.start, y.start, x.end, y.end, "sb-identity")], []
    for side, look, each in known:
        bins = list(zip(each.confidence, each.accuracy, strict=True))
        parts.append(draw.path([(x.at(100 * across), y.at(100 * up)) for across, up in bins], f"sb-curve {look[1]}"))
        for across, up in bins:
            words = f"{side}\nconfidence {points(across)}, accuracy {points(up)}"
            parts.append(draw.mark(x.at(100 * across), y.at(100 * up), *look, size=3.4, words=words))
        means = points(fmean(each.confidence)), points(fmean(each.accuracy))  # of equal-mass bins
        said.append(f"{side}: mean confidence {means[0]}, accuracy {means[1]}.")
    keys = [
        *((_curve_sign(*look), side) for side, look, _ in known),
        (draw.line_sign("sb-identity"), "perfect calibration"),
    ]
    names, title = ("confidence", "accuracy"), "Reliability: accuracy by confidence"
    return draw.chart(title, " ".join(said), axes, names, parts, keys)


_SERIES_HEIGHT = 210
_LETTERS = 42
"""Number of letters of tick labels that fit below the frame."""


def score_series(course: OverTime) -> Markup:
    """Draw the scores of at least one period in order, with the reference, the trend or step, and the alarm."""
    periods, found = course.periods, course.alarm
    mean = [found.mean] if found else []
    y = draw.round_axis(draw.ends([*(each.score for each in periods), *mean]), draw.TOP + _SERIES_HEIGHT, draw.TOP)
    shown = [periods[0]]  # the periods whose labels fit
    room = (periods[-1].place - periods[0].place + 1) * (max(len(each.period) for each in periods) + 2) / _LETTERS
    for each in periods:
        shown += [each] if each.place - shown[-1].place >= room else []
    ticks, words = tuple(float(each.place) for each in shown), tuple(each.period for each in shown)
    x = Axis(periods[0].place - 0.5, periods[-1].place + 0.5, draw.LEFT, draw.WIDTH - draw.RIGHT, ticks, words)
    keys = [(draw.mark_sign("circle", "sb-accent"), "score, with 95% interval for the sampling of test texts")]
    behind = []
    if found:
        low, high = (y.at(100 * (found.mean.value or 0.0 if end is None else end))
                     for end in (found.mean.low, found.mean.high))  # fmt: skip
        behind.append(draw.rect(x.start, high, x.end - x.start, max(low - high, 1.0), "sb-band"))
        keys.append((draw.sign(draw.rect(0, 3, 14, 8, "sb-band")), "reference, its 95% interval"))
    parts = list(_fitted(course, x, y))
    if parts:
        keys.append((draw.line_sign("sb-identity"), "trend" if course.shown == "trend" else "means before and after"))
    for each in periods:
        if each.score.value is not None:
            at, said = x.at(each.place), f"{each.period}: {score_text(each.score)}, {each.n:,} texts"
            parts += draw.bars(x, y, Estimate(value=each.place / 100), each.score, "sb-whisker sb-strong sb-accent")
            parts.append(draw.mark(at, y.at(100 * each.score.value), "circle", "sb-accent", size=3.5, words=said))
    if found and found.at is not None:
        at = x.at(next(each.place for each in periods if each.period == found.at))
        anchor = "end" if at > draw.WIDTH / 2 else "start"
        parts.append(draw.line(at, draw.TOP, at, y.start, "sb-zero"))
        parts.append(draw.text(at - 4 if anchor == "end" else at + 4, draw.TOP + 10, "alarm", anchor, "sb-tick"))
    about = f"{len(periods)} periods, {periods[0].period} to {periods[-1].period}. All values are in the table."
    names = (course.unit, f"{metric_name(course.measure)}, points")
    return draw.chart("Scores over time", about, (x, y), names, parts, keys, behind=behind)


def _fitted(course: OverTime, x: Axis, y: Axis) -> Iterator[Markup]:
    """Draw the trend line, or the means before and after the change, according to ``course.shown``; nothing if null."""
    known = [each for each in course.periods if each.score.low is not None]
    values = [100 * (each.score.value or 0.0) for each in known]
    if course.shown == "trend" and course.trend is not None:
        slope = 100 * (course.trend.slope.value or 0.0)
        middle, height = fmean(each.place for each in known), fmean(values)
        first, last = known[0].place, known[-1].place
        low, high = (y.at(height + slope * (place - middle)) for place in (first, last))
        yield draw.line(x.at(first), low, x.at(last), high, "sb-identity")
    if course.shown == "change" and course.change is not None:
        cut = [each.period for each in known].index(course.change.at)
        for some, own in ((known[:cut], values[:cut]), (known[cut:], values[cut:])):
            height = y.at(fmean(own))
            yield draw.line(x.at(some[0].place - 0.4), height, x.at(some[-1].place + 0.4), height, "sb-identity")
