"""Pictures of rows, one for each domain or shift: ticks above them, names before them, a box in which many scroll."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from shiftbench.scoring.reports.frame.html import Markup, join, tag
from shiftbench.scoring.reports.numbers import points, score_text
from shiftbench.scoring.reports.pictures.axes import (
    RIGHT,
    WIDTH,
    Axis,
    ends,
    legend,
    line,
    mark,
    mark_sign,
    picture,
    round_axis,
    sign,
    text,
)
from shiftbench.scoring.reports.pictures.words import shorten
from shiftbench.scoring.scores.shape import DomainScore, SlicesFound


def row_grid(x: Axis, top: float, bottom: float) -> Markup:
    """Draw the grid lines behind the rows from ``top`` to ``bottom``, with ticks above."""
    parts = []
    for value, words in zip(x.ticks, x.tick_words, strict=True):
        parts.append(line(x.at(value), top - 4, x.at(value), bottom, "sb-grid"))
        parts.append(text(x.at(value), top - 9, words, "middle", "sb-tick"))
    return join(parts)


def row_name(name: str, x: Axis, middle: float, n_letters: int) -> Markup:
    """Write a row's name before its axis, cut to some letters; ``middle`` is the middle of the row."""
    return text(x.start - 8, middle + 4, shorten(name, n_letters), "end", "sb-row-name")


def row_box(drawn: Markup, label: str) -> Markup:
    """Build the box in which a picture of many rows scrolls; ``label`` says what it shows."""
    return tag("div", drawn, class_="sb-tall", tabindex="0", role="region", aria_label=label)


_HEIGHT = 22
"""Of a row, in units."""
_TOP, _NAMES, _LETTERS = 24, 130, 20
_SLICE_NAMES, _SLICE_LETTERS = 220, 36


def scores_by_domain(domains: Sequence[DomainScore], home: str | None) -> Markup:
    """Draw each domain's score on a row, the lowest first; home is filled, what needs no skill a short line.

    Args:
        domains: those that count, at least one.
        home: the domain that the model was trained on, if it is one of them.
    """
    rows = sorted(domains, key=lambda each: (each.score.value or 0.0, each.domain))
    floors = [max(each.floor.chance, each.floor.majority) for each in rows if each.floor]
    x = round_axis([*ends(each.score for each in rows), *(100 * floor for floor in floors)], _NAMES, WIDTH - RIGHT)
    bottom = _TOP + _HEIGHT * len(rows)
    parts = [row_grid(x, _TOP, bottom)]
    parts += [_score_row(each, x, _TOP + _HEIGHT * number, home) for number, each in enumerate(rows)]
    about = f"{len(rows)} domains, from {_words(rows[0])} to {_words(rows[-1])}. Every value stands in the table."
    keys = [
        (mark_sign("circle", "sb-accent"), "score, with its 95% interval over other test texts"),
        *([(mark_sign("diamond", "sb-classic"), "home")] if home else []),
        *([(sign(line(7, 1, 7, 13, "sb-churn")), "what needs no skill")] if floors else []),
    ]
    drawn = picture("Scores by domain", about, bottom + 6, *parts)
    return join([legend(keys), row_box(drawn, "Scores")])


def _score_row(domain: DomainScore, x: Axis, top: float, home: str | None) -> Markup:
    middle, name = top + _HEIGHT / 2, domain.domain
    parts = [tag("title", _words(domain)), row_name(name, x, middle, _LETTERS)]
    if domain.floor:
        floor = x.at(100 * max(domain.floor.chance, domain.floor.majority))
        parts.append(line(floor, top + 4, floor, top + _HEIGHT - 4, "sb-churn"))
    if domain.score.low is not None and domain.score.high is not None:
        low, high = x.at(100 * domain.score.low), x.at(100 * domain.score.high)
        parts.append(line(low, middle, high, middle, "sb-whisker sb-strong sb-accent"))
    if domain.score.value is not None:
        look = ("diamond", "sb-classic") if name == home else ("circle", "sb-accent")
        parts.append(mark(x.at(100 * domain.score.value), middle, *look, size=4))
    return tag("g", *parts)


def _words(domain: DomainScore) -> str:
    floor = domain.floor
    level = f"; no skill needed for {points(max(floor.chance, floor.majority))}" if floor else ""
    return f"{domain.domain}: {score_text(domain.score)}, {domain.n:,} texts{level}"


def scores_by_slice(found: SlicesFound) -> Markup:
    """Draw the score of each slice on a row, the clearest first, and that of all other texts on the same row.

    Args:
        found: at least one slice.
    """
    scores = [each for row in found.slices for each in (row.score, row.rest)]
    x = round_axis(ends(scores), _SLICE_NAMES, WIDTH - RIGHT)
    bottom = _TOP + _HEIGHT * len(found.slices)
    parts = [row_grid(x, _TOP, bottom)]
    for number, each in enumerate(found.slices):
        middle = _TOP + _HEIGHT * (number + 0.5)
        said = f"{each.name}: {score_text(each.score)}, {each.n:,} texts; the rest: {score_text(each.rest)}"
        drawn = [tag("title", said), row_name(each.name, x, middle, _SLICE_LETTERS)]
        for estimate, lower, look in (
            (each.rest, 3, ("diamond", "sb-classic")),
            (each.score, -3, ("circle", "sb-accent")),
        ):
            if estimate.low is not None and estimate.high is not None:
                low, high = x.at(100 * estimate.low), x.at(100 * estimate.high)
                drawn.append(line(low, middle + lower, high, middle + lower, f"sb-whisker sb-strong {look[1]}"))
            if estimate.value is not None:
                drawn.append(mark(x.at(100 * estimate.value), middle + lower, *look, size=3.5))
        parts.append(tag("g", *drawn))
    keys = [
        (mark_sign("circle", "sb-accent"), "score of the slice, with its 95% interval over other test texts"),
        (mark_sign("diamond", "sb-classic"), "score of all other texts"),
    ]
    about = f"{len(found.slices)} slices. Every value stands in the table."
    return join([legend(keys), row_box(picture("Scores by slice", about, bottom + 6, *parts), "Scores")])


QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_DEPTHS_TOP, _DEPTHS_NAMES, _DEPTHS_LETTERS = 26, 120, 18


def depth_boxes(source: str, quantiles: Mapping[str, Sequence[float]], span: tuple[float, float]) -> Markup:
    """Draw one source's picture.

    Args:
        source: the source.
        quantiles: of each target's depths, at ``QUANTILES``; the source itself is one of the targets.
        span: lowest and highest depth of any of the task's pictures, so that they share a scale.
    """
    x = round_axis(span, _DEPTHS_NAMES, WIDTH - RIGHT, n_ticks=5)
    bottom = _DEPTHS_TOP + _HEIGHT * len(quantiles)
    parts = [row_grid(x, _DEPTHS_TOP, bottom)]
    parts += [
        _depth_row(target, values, x, _DEPTHS_TOP + _HEIGHT * number, own=target == source)
        for number, (target, values) in enumerate(quantiles.items())
    ]
    said = "; ".join(f"{target} median {values[2]:.2f}" for target, values in quantiles.items())
    return picture(f"Depth of test texts in {source}", said, bottom + 6, *parts)


def _depth_row(target: str, values: Sequence[float], x: Axis, top: float, *, own: bool) -> Markup:
    middle = top + _HEIGHT / 2
    low, left, median, right, high = (x.at(value) for value in values)
    words = f"{target}: " + ", ".join(
        f"{100 * part:.0f}% below {value:.3f}" for part, value in zip(QUANTILES, values, strict=True)
    )
    box = tag(
        "rect",
        x=f"{left:.1f}",
        y=f"{top + 4:.1f}",
        width=f"{max(right - left, 0.5):.1f}",
        height=f"{_HEIGHT - 8}",
        class_="sb-depth-own" if own else "sb-depth",
    )
    return tag(
        "g",
        tag("title", words),
        row_name(target, x, middle, _DEPTHS_LETTERS),
        line(low, middle, high, middle, "sb-axis"),
        box,
        line(median, top + 3, median, top + _HEIGHT - 3, "sb-median"),
    )


class ForecastRow(NamedTuple):
    """A domain's forecast with its interval, if it has one, and its true score where labels are known; fractions."""

    domain: str
    value: float
    low: float | None
    high: float | None
    truth: float | None


def forecasts_by_domain(rows: Sequence[ForecastRow], metric: str) -> Markup:
    """Draw each domain's forecast on a row, in the order given; the true score, where it is known, is a filled mark.

    Args:
        rows: at least one.
        metric: what is forecast, in words.
    """
    values = [100 * end for row in rows for end in (row.value, row.low, row.high, row.truth) if end is not None]
    x = round_axis(values, _NAMES, WIDTH - RIGHT)
    bottom = _TOP + _HEIGHT * len(rows)
    parts = [row_grid(x, _TOP, bottom)]
    for number, row in enumerate(rows):
        middle = _TOP + _HEIGHT * number + _HEIGHT / 2
        words = f"{row.domain}: forecast {points(row.value)}"
        marks = [row_name(row.domain, x, middle, _LETTERS)]
        if row.low is not None and row.high is not None:
            words += f", {points(row.low)} to {points(row.high)}"
            marks.append(
                line(x.at(100 * row.low), middle, x.at(100 * row.high), middle, "sb-whisker sb-strong sb-accent")
            )
        marks.append(mark(x.at(100 * row.value), middle, "circle", "sb-accent", size=4))
        if row.truth is not None:
            words += f"; {metric} {points(row.truth)}"
            marks.append(mark(x.at(100 * row.truth), middle, "diamond", "sb-classic", size=4))
        parts.append(tag("g", tag("title", words), *marks))
    has_truth = any(row.truth is not None for row in rows)
    keys = [(mark_sign("circle", "sb-accent"), "forecast, with its interval over domains")]
    keys += [(mark_sign("diamond", "sb-classic"), f"{metric} by labels")] if has_truth else []
    about = f"{len(rows)} domains, those without labels first, the worst first. Every value stands in the table."
    drawn = picture(f"Forecast {metric} by domain", about, bottom + 6, *parts)
    return join([legend(keys), row_box(drawn, "Forecasts")])
