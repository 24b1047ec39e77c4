"""Marks placed by two figures: shifts by their drops, OOD scores over the score in domain, forecasts over truth."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from shiftbench.scoring.reports.frame.html import Markup, join, tag
from shiftbench.scoring.reports.numbers import points, score_text
from shiftbench.scoring.reports.pictures.axes import (
    LEFT,
    SIDE,
    SYMBOLS,
    TOP,
    Axis,
    bar_of,
    cut_axis,
    ends,
    frame,
    identity_line,
    legend,
    line,
    line_sign,
    mark,
    mark_sign,
    picture,
    round_axis,
    square_axes,
    text,
)
from shiftbench.scoring.reports.pictures.colours import N_COLOURS, colour_class, scenario_class
from shiftbench.scoring.reports.pictures.words import SD_NAME, TD_NAME, shift_words, source_name, sources, with_drops
from shiftbench.scoring.scores.shape import IdOod, Shift, TaskScores

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
    faint: dict[str, Any] = {"filled": False, "size": 3.5}
    cloud = [
        _mark(shift, x, y, "circle", "sb-faint", **faint, words=f"placebo\n{shift_words(shift)}") for shift in dealt
    ]
    crosses = [_cross(shift, x, y, looks[shift.source][1]) for shift in shifts]
    marks = [
        _mark(shift, x, y, *looks[shift.source], filled=shift.resolved, words=shift_words(shift)) for shift in shifts
    ]
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


def _mark(shift: Shift, x: Axis, y: Axis, symbol: str, colour: str, **look: Any) -> Markup:
    sd, td = _points(shift)
    return mark(x.at(sd), y.at(td), symbol, colour, **look)


def id_ood_plane(entries: Sequence[tuple[str, IdOod]]) -> Markup:
    """Draw each OOD score (up) over the ID score (across), with intervals; on the dashed line nothing is lost.

    Args:
        entries: names and scores of one task; a symbol is a data set, a colour a data set too or, of several
            entries, an entry.
    """
    alone = len(entries) == 1
    names = list(dict.fromkeys(domain for _, found in entries for domain in found.ood))
    shown = [(name, found) for name, found in entries if found.id.value is not None]
    estimates = [item for _, found in shown for item in (found.id, *found.ood.values())]
    across, y = square_axes(round_axis(ends(estimates), LEFT, LEFT + SIDE))
    looks = {name: SYMBOLS[number % len(SYMBOLS)] for number, name in enumerate(names)}
    parts = []
    for number, (entry, found) in enumerate(shown):
        for place, name in enumerate(name for name in names if found.ood.get(name, found.id).value is not None):
            if name in found.ood:
                colour = colour_class(names.index(name) if alone else number)
                # One ID score belongs to all marks of an entry: their intervals stand side by side.
                aside = 5 * (place - (len(found.ood) - 1) / 2)
                parts.append(
                    _cross_mark(found, name, across, y, looks[name], colour, aside, "" if alone else f"{entry}\n")
                )
    home = shown[0][1].id_domain if shown else "ID"
    keys = [(mark_sign(looks[name], colour_class(n) if alone else "sb-ink"), name) for n, name in enumerate(names)]
    if not alone:
        keys += [(mark_sign("circle", colour_class(number)), name) for number, (name, _) in enumerate(shown)]
    keys.append((line_sign("sb-identity"), "as good as in distribution"))
    said = "; ".join(_shape_words(name if not alone else "", found) for name, found in shown)
    drawn = picture(
        "Scores out of distribution over the score in it",
        said,
        TOP + SIDE + 44,
        frame(across, y, f"ID score ({home}), points", "OOD score, points"),
        identity_line(across, y),
        *parts,
    )
    return join([legend(keys), drawn])


def _cross_mark(
    found: IdOod, name: str, across: Axis, y: Axis, symbol: str, colour: str, aside: float, entry: str
) -> Markup:
    score = found.ood[name]
    assert found.id.value is not None
    assert score.value is not None
    left, top = across.at(100 * found.id.value) + aside, y.at(100 * score.value)
    words = f"{entry}{name} {score_text(score)}\n{found.id_domain} (ID) {score_text(found.id)}"
    parts = [bar_of(left, y, score, f"sb-whisker {colour}")]
    if found.id.low is not None and found.id.high is not None:
        low, high = across.at(100 * found.id.low), across.at(100 * found.id.high)
        parts.append(line(low, top, high, top, f"sb-whisker {colour}"))
    parts.append(mark(left, top, symbol, colour, words=words))
    return join(parts)


def _shape_words(entry: str, found: IdOod) -> str:
    scores = ", ".join(f"{name} {score_text(score)}" for name, score in found.ood.items())
    before = f"{entry}: " if entry else ""
    return f"{before}{found.id_domain} (ID) {score_text(found.id)}; {scores}"


MOST_MARKS = 400
"""Marks on the picture: of more, every second, third ... shift is drawn."""


class ForecastMark(NamedTuple):
    """One forecast: entry, source, target, what was forecast and what came, as fractions."""

    entry: str
    source: str
    target: str
    value: float
    truth: float


def forecast_plane(
    method: str, found: Sequence[ForecastMark], metric: str, others: Sequence[ForecastMark] = ()
) -> Markup:
    """Draw one method's forecasts (up) over the truth (across), a mark a shift.

    Args:
        method: its title.
        found: at least one forecast; targets have colours where there are few of them.
        metric: what is forecast, in words.
        others: forecasts of a picture beside it, which has the same axes.
    """
    shown = found[:: -(-len(found) // MOST_MARKS)]
    values = [100 * end for each in (*found, *others) for end in (each.value, each.truth)]
    across, up = square_axes(cut_axis(round_axis(values, LEFT, LEFT + SIDE)))
    targets = sorted({each.target for each in found})
    few = len(targets) <= N_COLOURS
    looks = {
        name: (SYMBOLS[number % len(SYMBOLS)], colour_class(number)) if few else ("circle", "sb-accent")
        for number, name in enumerate(targets)
    }
    marks = [
        mark(
            across.at(100 * each.truth),
            up.at(100 * each.value),
            *looks[each.target],
            size=3.6,
            words=_words(each),
        )
        for each in shown
    ]
    keys = [(mark_sign(*looks[name]), name) for name in targets] if few else []
    off = sum(abs(each.value - each.truth) for each in found) / len(found)
    high = sum(each.value > each.truth for each in found)
    said = (
        f"{len(found):,} forecasts by {method}: off by {points(off)} points on average, "
        f"too high on {high:,} of them, above the dashed line."
    )
    drawn = picture(
        f"Forecasts by {method} over the truth",
        said,
        up.start + 44,
        frame(across, up, f"true {metric}, points", "forecast, points"),
        identity_line(across, up),
        *marks,
    )
    heading = "tested on" if few else ""
    return join([legend([*keys, (line_sign("sb-identity"), "forecast is right")], heading), drawn])


def _words(each: ForecastMark) -> str:
    values = f"forecast {points(each.value)}, true score {points(each.truth)}"
    return f"{each.entry}\n{each.source} to {each.target}: {values}"
