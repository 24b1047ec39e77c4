"""Average drops as ever easier shifts are added: Figure 2 of the Domain Robustness paper."""

from collections.abc import Sequence
from itertools import accumulate

from shiftbench.scoring.reports.frame.html import Markup, join
from shiftbench.scoring.reports.numbers import drop_points
from shiftbench.scoring.reports.pictures.axes import (
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    frame,
    legend,
    line,
    line_sign,
    mark,
    mark_sign,
    path,
    picture,
    round_axis,
)
from shiftbench.scoring.reports.pictures.words import shift_name, with_drops
from shiftbench.scoring.scores.shape import Shift, TaskScores
from shiftbench.validation.vocabulary import OUTSIDE_SOURCES, SOURCE_JOINER

_HEIGHT = 250
_LINES = (("sd", "SD", "sb-c1"), ("td", "TD", "sb-c0"), ("idd", "IDD", "sb-soft sb-dotted"))


def drops_by_idd(task: TaskScores) -> Markup:
    """Draw running means of SD and TD over shifts sorted by IDD, the hardest target against its source first.

    Faint marks are the single shifts. SD = TD + IDD everywhere, so the lines of SD and TD lie as far apart as the
    third one is from 0; over a complete grid mean IDD is 0 and they meet in the average drop.
    """
    shifts = sorted(filter(_single, with_drops(task)), key=_hardest_first)
    means = {name: _running_means([_value(shift, name) for shift in shifts]) for name, *_ in _LINES}
    singles = [_value(shift, name) for shift in shifts for name in ("sd", "td")]
    values = [0.0, *singles, *(value for line_ in means.values() for value in line_)]
    x = round_axis((1, max(2, len(shifts))), LEFT, WIDTH - RIGHT, whole=True)
    y = round_axis(values, TOP + _HEIGHT, TOP)
    parts = [frame(x, y, "shifts in the mean, largest IDD first", "mean drop, points")]
    parts.append(line(x.start, y.at(0), x.end, y.at(0), "sb-zero"))
    for number, shift in enumerate(shifts, 1):
        for name, _, class_ in _LINES[:2]:
            where = x.at(number), y.at(_value(shift, name))
            parts.append(mark(*where, "circle", f"{class_} sb-pale", size=2.2, words=_words(shift)))
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


def _hardest_first(shift: Shift) -> tuple[float, str, str]:
    return -_value(shift, "idd"), shift.source, shift.target


def has_idd_order(task: TaskScores) -> bool:
    """Return whether at least two shifts of single sources have both drops, so that there is an order to draw."""
    return len([shift for shift in with_drops(task) if _single(shift)]) >= 2


def _single(shift: Shift) -> bool:
    return shift.source not in OUTSIDE_SOURCES and SOURCE_JOINER not in shift.source


def _value(shift: Shift, name: str) -> float:
    value = getattr(shift, name).value
    assert value is not None
    return 100 * float(value)


def _words(shift: Shift) -> str:
    drops = ", ".join(f"{label} {drop_points(_value(shift, name) / 100)}" for name, label, _ in _LINES)
    return f"{shift_name(shift)}\n{drops}"


def _running_means(values: Sequence[float]) -> list[float]:
    return [total / number for number, total in enumerate(accumulate(values), 1)]
