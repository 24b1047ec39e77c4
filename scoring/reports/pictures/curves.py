"""Curves: Depth F1 and drops over lambda, of one entry or several, and drops as ever easier shifts are added."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from shiftbench.metrics.depth import LAMBDAS
from shiftbench.scoring.reports.frame.html import Markup, join, tag
from shiftbench.scoring.reports.numbers import drop_points, score_text
from shiftbench.scoring.reports.pictures.axes import (
    LEFT,
    RIGHT,
    SYMBOLS,
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
    path,
    picture,
    round_axis,
    sign,
    text,
)
from shiftbench.scoring.reports.pictures.colours import colour_class
from shiftbench.scoring.reports.pictures.words import shift_name, summarised, with_drops
from shiftbench.scoring.scores.shape import Estimate, Shift, TaskScores
from shiftbench.validation.report import counted
from shiftbench.validation.vocabulary import OUTSIDE_SOURCES, SOURCE_JOINER

_HEIGHT = 250
_KEYS = tuple(map(str, LAMBDAS))
_LAMBDA_NAME = "λ: most source-like texts left out, %"
ByLambda = Mapping[str, Estimate]
Named = Sequence[tuple[str, TaskScores]]
"""Entries by the names that the legend gives them."""


@dataclass(frozen=True)
class Curve:
    """A named line over lambda (keys as in ``Shift.depth_f1``), estimates as fractions.

    Attributes:
        name: what the legend calls it.
        points: the figure at each lambda; intervals are drawn where there are any.
        class_: classes that give it its colour.
        symbol: its mark at each lambda; '' draws none.
        words: what to show when a pointer rests on the mark of a lambda.
    """

    name: str
    points: ByLambda
    class_: str
    symbol: str = ""
    words: Callable[[str], str] = str


def has_depth(task: TaskScores) -> bool:
    """Return whether any shift has depth-weighted scores."""
    return any(shift.depth_f1 for shift in task.shifts)


def depth_curves(entries: Named) -> Markup:
    """Draw mean Depth F1 over lambda with its interval, effective numbers of texts below each lambda.

    Args:
        entries: names and scores of one task; of a single entry its shifts are drawn as thin lines beside the mean.
    """
    alone = entries[0][1] if len(entries) == 1 else None
    shifts = [shift for shift in summarised(alone) if shift.depth_f1] if alone else []
    # A single shift is its own mean.
    thin = [Curve(shift_name(shift), shift.depth_f1, "sb-thin") for shift in shifts if len(shifts) > 1]
    thick = []
    for number, (name, task) in enumerate(entries):
        label = (f"mean of {counted(task.summary.n_shifts, 'shift')}" if thin else "Depth F1") if alone else name
        thick.append(_mean_curve(label, task, colour_class(number) if not alone else "sb-accent", SYMBOLS[number]))
    return _curves(
        "Depth F1 by lambda",
        thick,
        thin,
        y_name="Depth F1, points",
        below=_effective(shift for _, task in entries for shift in summarised(task)),
    )


def curve_values(curves: Sequence[tuple[str, ByLambda]], written: Callable[[Estimate], str]) -> Markup:
    """Build a table of the values of curves, lambdas across."""
    head = tag("tr", tag("th", "λ", scope="col"), *(tag("th", key, scope="col", class_="sb-num") for key in _KEYS))
    rows = [
        tag(
            "tr",
            tag("th", name, scope="row"),
            *(tag("td", written(points.get(key, Estimate(value=None))), class_="sb-num") for key in _KEYS),
        )
        for name, points in curves
    ]
    return tag("table", tag("thead", head), tag("tbody", *rows), class_="sb-table sb-plain")


def _curves(
    title: str, thick: Sequence[Curve], thin: Sequence[Curve], *, y_name: str, below: Mapping[str, str]
) -> Markup:
    values = [end for curve in (*thick, *thin) for end in ends(_drawn(curve, curve in thick))]
    x = Axis(-4, 94, LEFT, WIDTH - RIGHT, tuple(map(float, LAMBDAS)))
    y = round_axis(values, TOP + _HEIGHT, TOP)
    parts = [frame(x, y, _LAMBDA_NAME, y_name, below=16)]
    for key, words in below.items():
        parts.append(text(x.at(int(key)), y.start + 31, words, "middle", "sb-below"))
    parts += [_line(curve, x, y, 0.0) for curve in thin]
    # Overlaid intervals stand side by side.
    parts += [_line(curve, x, y, 6 * (number - (len(thick) - 1) / 2)) for number, curve in enumerate(thick)]
    keys = [(_curve_sign(curve), curve.name) for curve in thick]
    if thin:
        keys.append((line_sign("sb-thin"), "one shift"))
    if below:
        keys.append((sign(text(7, 11, "n", "middle", "sb-below")), "effective number of texts"))
    about = f"{', '.join(curve.name for curve in thick)}, from λ = {_KEYS[0]} to {_KEYS[-1]}."
    return join([legend(keys), picture(title, about, TOP + _HEIGHT + 60, *parts)])


def _drawn(curve: Curve, with_intervals: bool) -> Iterable[Estimate]:
    points = curve.points.values()
    return points if with_intervals else [Estimate(value=point.value) for point in points]


def _line(curve: Curve, x: Axis, y: Axis, aside: float) -> Markup:
    # With one curve nothing has to stand aside.
    known = [(key, point) for key, point in curve.points.items() if point.value is not None]
    if not known:
        return Markup("")
    where = [(x.at(int(key)) + aside, y.at(100 * (point.value or 0.0))) for key, point in known]
    if not curve.symbol:
        drawn = path(where, curve.class_)
        return tag("g", tag("title", curve.name), drawn)
    parts = [path(where, f"sb-curve {curve.class_}")]
    for (key, point), (left, top) in zip(known, where, strict=True):
        parts.append(bar_of(left, y, point, f"sb-whisker sb-strong {curve.class_}"))
        parts.append(mark(left, top, curve.symbol, curve.class_, size=4, words=curve.words(key)))
    return join(parts)


def _curve_sign(curve: Curve) -> Markup:
    marks = [mark(11, 7, curve.symbol, curve.class_, size=4)] if curve.symbol else []
    return sign(line(1, 7, 21, 7, f"sb-curve {curve.class_}"), *marks, width=22)


def _mean_curve(name: str, task: TaskScores, class_: str, symbol: str) -> Curve:
    means = {key: task.summary.depth_f1[key] for key in _KEYS if key in task.summary.depth_f1}
    return Curve(name, means, class_, symbol, _curve_words(name, means, score_text))


def _curve_words(name: str, points: ByLambda, written: Callable[[Estimate], str]) -> Callable[[str], str]:
    return lambda key: f"{name}\nλ = {key}: {written(points[key])}"


def _effective(shifts: Iterable[Shift]) -> dict[str, str]:
    """Describe between what the effective number of texts lies, by lambda."""
    sizes: dict[str, list[float]] = {}
    for shift in shifts:
        for key, size in shift.effective_n.items():
            sizes.setdefault(key, []).append(size)
    ends_of = {key: dict.fromkeys((_short(min(found)), _short(max(found)))) for key, found in sizes.items()}
    return {key: "\N{EN DASH}".join(words) for key, words in ends_of.items()}


def _short(number: float) -> str:
    """Write a number in few letters.

    >>> _short(87.4), _short(1234.0)
    ('87', '1.2k')
    """
    return f"{number:.0f}" if number < 1000 else f"{number / 1000:.1f}k"


_LINES = (("sd", "SD", "sb-c1"), ("td", "TD", "sb-c0"), ("idd", "IDD", "sb-soft sb-dotted"))


def drops_by_idd(task: TaskScores) -> Markup:
    """Draw running means of SD and TD over shifts sorted by IDD, the hardest target against its source first.

    Faint marks are the single shifts. SD = TD + IDD everywhere, so the lines of SD and TD lie as far apart as the
    third one is from 0; over a complete grid mean IDD is 0 and they meet in the average drop.
    """
    shifts = sorted(
        filter(_single, with_drops(task)), key=lambda shift: (-_value(shift, "idd"), shift.source, shift.target)
    )
    totals = {name: accumulate([_value(shift, name) for shift in shifts]) for name, *_ in _LINES}
    means = {name: [total / number for number, total in enumerate(each, 1)] for name, each in totals.items()}
    singles = [_value(shift, name) for shift in shifts for name in ("sd", "td")]
    values = [0.0, *singles, *(value for line_ in means.values() for value in line_)]
    x = round_axis((1, max(2, len(shifts))), LEFT, WIDTH - RIGHT, whole=True)
    y = round_axis(values, TOP + _HEIGHT, TOP)
    parts = [frame(x, y, "shifts in the mean, largest IDD first", "mean drop, points")]
    parts.append(line(x.start, y.at(0), x.end, y.at(0), "sb-zero"))
    for number, shift in enumerate(shifts, 1):
        for name, _, class_ in _LINES[:2]:
            where = x.at(number), y.at(_value(shift, name))
            parts.append(mark(*where, "circle", f"{class_} sb-pale", size=2.2, words=_drop_words(shift)))
    for name, _, class_ in _LINES:
        where_all = [(x.at(number), y.at(value)) for number, value in enumerate(means[name], 1)]
        parts.append(path(where_all, f"sb-curve {class_}"))
        if len(shifts) == 1:
            parts.append(mark(*where_all[0], "circle", class_))
    said = ", ".join(
        f"mean {label} from {drop_points(means[name][0] / 100)} to {drop_points(means[name][-1] / 100)}"
        for name, label, _ in _LINES
    )
    about = f"Running means over {len(shifts)} shifts as ever easier targets are added: {said} points."
    keys = [(line_sign(f"sb-curve {class_}"), f"mean {label}") for _, label, class_ in _LINES]
    keys.append((mark_sign("circle", "sb-faint sb-pale"), "one shift"))
    return join([legend(keys), picture("Average drops along shifts sorted by IDD", about, TOP + _HEIGHT + 44, *parts)])


def has_idd_order(task: TaskScores) -> bool:
    """Return whether at least two shifts of single sources have both drops, so that there is an order to draw."""
    return len([shift for shift in with_drops(task) if _single(shift)]) >= 2


def _single(shift: Shift) -> bool:
    return shift.source not in OUTSIDE_SOURCES and SOURCE_JOINER not in shift.source


def _value(shift: Shift, name: str) -> float:
    value = getattr(shift, name).value
    assert value is not None
    return 100 * float(value)


def _drop_words(shift: Shift) -> str:
    drops = ", ".join(f"{label} {drop_points(_value(shift, name) / 100)}" for name, label, _ in _LINES)
    return f"{shift_name(shift)}\n{drops}"
