"""Transfer loss and gain of every shift: two large flows can hide in a small drop."""

from collections.abc import Sequence
from dataclasses import replace

from shiftbench.scoring.reports.frame.html import Markup, join, tag
from shiftbench.scoring.reports.numbers import drop_points, points
from shiftbench.scoring.reports.pictures.axes import (
    RIGHT,
    WIDTH,
    Axis,
    legend,
    line,
    mark,
    mark_sign,
    picture,
    round_axis,
    sign,
    tick_text,
)
from shiftbench.scoring.reports.pictures.rows import row_box, row_grid, row_name
from shiftbench.scoring.reports.pictures.words import shift_name
from shiftbench.scoring.scores.shape import Flips, Shift, TaskScores

_ROW, _TOP = 19, 24
_NAMES = 150
"""Units for the shifts' names, and how many letters fit there."""
_LETTERS = 24


def has_flips(task: TaskScores) -> bool:
    """Return whether any shift has a run trained on its target to compare with."""
    return any(shift.flips for shift in task.shifts)


def flip_bars(task: TaskScores) -> Markup:
    """Draw what each shift loses (to the right) and gains (to the left) against a model trained on the target.

    A mark stands at loss - gain, the drop of the per-example score. Ticks stand where both bars would end if the two
    models differed as models of two training samples do without any shift (half of the placebo's flips to each side).
    """
    rows = [(shift, shift.flips) for shift in task.shifts if shift.flips is not None]
    rows.sort(key=lambda row: (row[1].gain - row[1].loss, row[0].source, row[0].target))
    reach = [100 * end for _, flips in rows for end in (flips.loss, -flips.gain, *_ends_without_shift(flips))]
    x = round_axis([0.0, *reach], _NAMES, WIDTH - RIGHT, n_ticks=5)
    bottom = _TOP + _ROW * len(rows)
    parts = [row_grid(replace(x, words=tuple(tick_text(abs(tick)) for tick in x.ticks)), _TOP, bottom)]
    for number, (shift, flips) in enumerate(rows):
        parts.append(_row(shift, flips, x, _TOP + _ROW * number))
    parts.append(line(x.at(0), _TOP - 4, x.at(0), bottom, "sb-zero"))
    compared = any(flips.without_shift is not None for _, flips in rows)
    drawn = picture("Flips: transfer loss and gain of every shift", _flip_words(rows), bottom + 6, *parts)
    keys = [
        (_bar_sign("sb-loss"), "loss: right if trained on the target, wrong if on the source"),
        (_bar_sign("sb-gain"), "gain: the other way round"),
        (mark_sign("diamond", "sb-ink"), "loss \N{MINUS SIGN} gain"),
        *([(sign(line(7, 1, 7, 13, "sb-churn")), "half of the flips without any shift (placebo)")] if compared else []),
    ]
    return join([legend(keys), row_box(drawn, "Flips of every shift")])


def _row(shift: Shift, flips: Flips, x: Axis, top: float) -> Markup:
    name, middle = shift_name(shift), top + _ROW / 2
    words = (
        f"{name}\nloss {points(flips.loss)}, gain {points(flips.gain)}\n"
        f"loss \N{MINUS SIGN} gain {drop_points(flips.loss - flips.gain)}\n{flip_words(flips)}"
    )
    parts = [
        tag("title", words),
        row_name(name, x, middle, _LETTERS),
        _bar(x.at(0), x.at(100 * flips.loss), top + 4, "sb-loss"),
        _bar(x.at(-100 * flips.gain), x.at(0), top + 4, "sb-gain"),
    ]
    parts += [
        line(x.at(100 * end), top + 1, x.at(100 * end), top + _ROW - 2, "sb-churn")
        for end in _ends_without_shift(flips)
    ]
    parts.append(mark(x.at(100 * (flips.loss - flips.gain)), middle, "diamond", "sb-ink", size=3.2))
    return tag("g", *parts)


def _bar(left: float, right: float, top: float, class_: str) -> Markup:
    size = {"width": f"{max(right - left, 0):.1f}", "height": f"{_ROW - 8}"}
    return tag("rect", x=f"{left:.1f}", y=f"{top:.1f}", class_=class_, **size)


def _bar_sign(class_: str) -> Markup:
    return sign(tag("rect", x="1", y="3", width="12", height="8", class_=class_))


def flip_words(flips: Flips) -> str:
    """Compare a shift's flips with those of models that differ in their training texts alone."""
    if flips.without_shift is None or flips.excess is None:
        return "flips without any shift: not measured (needs a placebo)"
    more = "more" if flips.excess >= 0 else "fewer"
    return f"{points(flips.without_shift)} flip without any shift (placebo): {points(abs(flips.excess))} {more} here"


def mean_flip_words(task: TaskScores) -> str:
    """Compare the mean flips over a task's shifts likewise."""
    found = [shift.flips for shift in task.shifts if shift.flips is not None]
    if not found or any(flips.without_shift is None for flips in found):
        return (
            "How many texts flip without any shift was not measured: that needs predictions of the task's placebo. "
            "Two models of one domain, trained on other texts of it, flip many."
        )
    turnover = sum(flips.loss + flips.gain for flips in found) / len(found)
    without = found[0].without_shift or 0.0
    more = "more" if turnover >= without else "fewer"
    return (
        f"Of 100 texts {points(turnover)} flip on average. Without any shift, between models trained on other texts "
        f"(the placebo), {points(without)} do: {points(abs(turnover - without))} {more} here."
    )


def _ends_without_shift(flips: Flips) -> list[float]:
    return [] if flips.without_shift is None else [-flips.without_shift / 2, flips.without_shift / 2]


def _flip_words(rows: Sequence[tuple[Shift, Flips]]) -> str:
    largest = max(rows, key=lambda row: row[1].loss + row[1].gain)
    return (
        f"{len(rows)} shifts. The largest turnover is that of {shift_name(largest[0])}: "
        f"loss {points(largest[1].loss)}, gain {points(largest[1].gain)} points. "
        "Every value stands in the table of shifts."
    )
