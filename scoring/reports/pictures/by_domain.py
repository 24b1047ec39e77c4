"""One model's scores by domain with their intervals, and what needs no skill there."""

from collections.abc import Sequence

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
)
from shiftbench.scoring.reports.pictures.rows import row_box, row_grid, row_name
from shiftbench.scoring.scores.domain_shape import DomainScore

_ROW, _TOP, _NAMES, _LETTERS = 22, 24, 130, 20


def scores_by_domain(domains: Sequence[DomainScore], home: str | None) -> Markup:
    """Draw each domain's score on a row, the lowest first; home is filled, what needs no skill a short line.

    Args:
        domains: those that count, at least one.
        home: the domain that the model was trained on, if it is one of them.
    """
    rows = sorted(domains, key=lambda each: (each.score.value or 0.0, each.domain))
    floors = [max(each.floor.chance, each.floor.majority) for each in rows if each.floor]
    x = round_axis([*ends(each.score for each in rows), *(100 * floor for floor in floors)], _NAMES, WIDTH - RIGHT)
    bottom = _TOP + _ROW * len(rows)
    parts = [row_grid(x, _TOP, bottom)]
    parts += [_row(each, x, _TOP + _ROW * number, home) for number, each in enumerate(rows)]
    about = f"{len(rows)} domains, from {_words(rows[0])} to {_words(rows[-1])}. Every value stands in the table."
    keys = [
        (mark_sign("circle", "sb-accent"), "score, with its 95% interval over resampled test texts"),
        *([(mark_sign("diamond", "sb-classic"), "home")] if home else []),
        *([(sign(line(7, 1, 7, 13, "sb-churn")), "what needs no skill")] if floors else []),
    ]
    drawn = picture("Scores by domain", about, bottom + 6, *parts)
    return join([legend(keys), row_box(drawn, "Scores")])


def _row(domain: DomainScore, x: Axis, top: float, home: str | None) -> Markup:
    middle, name = top + _ROW / 2, domain.domain
    parts = [tag("title", _words(domain)), row_name(name, x, middle, _LETTERS)]
    if domain.floor:
        floor = x.at(100 * max(domain.floor.chance, domain.floor.majority))
        parts.append(line(floor, top + 4, floor, top + _ROW - 4, "sb-churn"))
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
