"""The scatter plot of a board: scores under shift against in-domain scores, sizes, costs or dates."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.leaderboard.board import Board
from shiftbench.leaderboard.pages.addresses import entry_address
from shiftbench.leaderboard.pages.board_query import MAX_SEARCH, PICTURES, RANKED, BoardQuery
from shiftbench.leaderboard.pages.board_table import Facts, filters
from shiftbench.leaderboard.pages.shell import render
from shiftbench.scoring.reports.frame.html import Markup
from shiftbench.scoring.reports.frame.parts import Choice
from shiftbench.scoring.reports.numbers import points, short_count
from shiftbench.scoring.reports.pictures.axes import Axis, round_axis, tick_text
from shiftbench.scoring.reports.pictures.words import shorten
from shiftbench.validation.report import plural

MOST_MARKS = 60
"""Maximum number of entries drawn as marks with a link and an interval; if there are more, most are only dots."""
MOST_NAMED = 14
_LONGEST = 28
_LETTER, _LINE = 6.4, 14.0
"""Upper estimates of a letter's width and a line's height, in pixels."""
_LIFT = 11.0
"""Pixels by which labels are raised above the line of the Pareto front."""
_WIDE, _NARROW = (1080.0, 440.0), (310.0, 440.0)
"""Pixel sizes of the frame on a desktop and a phone, at which names must not overlap."""
_COLUMNS = {"parameters": "parameters", "cost": "cost_usd"}
_DAYS = ("released", "date")
_WITH_FRONT = ("parameters", "cost", *_DAYS)
"""Axes for which the best scores so far are joined by a line."""


@dataclass(frozen=True)
class Mark:
    """One entry, in percent of the frame; ``side`` is the side of its label, empty if there is no space."""

    left: float
    top: float
    low: float | None
    high: float | None
    name: str
    address: str
    words: str
    is_tied: bool
    side: str = ""
    is_narrow: bool = False


@dataclass(frozen=True)
class Plot:
    """Content of the scatter plot; ``front`` (line) and ``cloud`` (dots) are SVG paths in a box of 1000 by 1000."""

    across: str
    axes: Sequence[Choice]
    x_ticks: Sequence[tuple[float, str]]
    y_ticks: Sequence[tuple[float, str]]
    marks: Sequence[Mark]
    cloud: str
    front: str
    no_loss: tuple[float, float, float, float] | None
    remark: str


def scatter(
    board: Board,
    query: BoardQuery,
    table: pl.DataFrame,
    matched: pl.DataFrame,
    keys: tuple[str, str, str],
    notes: Sequence[tuple[str, str]],
) -> Markup:
    """Draw the ranked rows that match a query, the best on top. The filters are built from the whole ``table``.

    ``query.x`` is the horizontal axis, replaced by the first available one if rows lack its values. ``keys`` are the
    columns of the in-domain score, the score under shift and the drop; ``notes`` are messages on the table's state.
    """
    ranked = matched.filter(pl.col("group") == RANKED)
    known = {name: _across(ranked, name, keys[0]) for name in PICTURES}
    offered = [name for name, values in known.items() if np.isfinite(values).sum() >= 2]
    across = query.x if query.x in offered else next(iter(offered), "")
    plot = _plot(board, ranked, across, known[across], keys, query, offered) if across else None
    chips = filters(table, query)
    return render(
        "scatter.html", plot=plot, filters=chips, notes=notes, all=query.address_of_all(), max_search=MAX_SEARCH
    )


def _across(ranked: pl.DataFrame, name: str, home: str) -> NDArray[np.float64]:
    """Return horizontal positions: scores in points, log10 of sizes or costs, or dates as ordinals; NaN if unknown."""
    if name == "score":
        values = ranked[home] * 100 if home in ranked.columns else pl.Series([None] * ranked.height)
    elif name in _DAYS:
        values = ranked[name].str.to_date(strict=False).to_physical() + date(1970, 1, 1).toordinal()
    else:
        column = ranked[_COLUMNS[name]].cast(pl.Float64)
        values = pl.Series([math.log10(each) if each is not None and each > 0 else None for each in column])
    return values.cast(pl.Float64).fill_null(math.nan).to_numpy()


def _plot(
    board: Board,
    ranked: pl.DataFrame,
    across: str,
    values: NDArray[np.float64],
    keys: tuple[str, str, str],
    query: BoardQuery,
    offered: Sequence[str],
) -> Plot:
    away = keys[1]
    is_there = np.isfinite(values) & ranked[away].is_not_null().to_numpy()
    placed, values = ranked.filter(pl.Series(is_there)), values[is_there]
    scores = 100 * placed[away].to_numpy()
    is_marked = np.arange(placed.height) < (MOST_MARKS if placed.height <= MOST_MARKS else MOST_NAMED)
    front = _front(values, scores) if across in _WITH_FRONT else []
    is_marked[front[-MOST_NAMED:]] = True
    bounds = [placed.filter(pl.Series(is_marked))[f"{away}.{end}"].drop_nulls() * 100 for end in ("low", "high")]
    y = round_axis([*scores, *bounds[0], *bounds[1]], 100, 0, n_ticks=6)
    x = _x_axis(across, values)
    left, top = (np.array([axis.at(float(each)) for each in array]) for axis, array in ((x, values), (y, scores)))
    rows = list(placed.with_row_index("number").filter(pl.Series(is_marked)).iter_rows(named=True))
    marks = [_mark(row, left, top, y, away, board.task, across, values) for row in rows]
    named = [place for place, row in enumerate(rows) if row["number"] < MOST_NAMED or row["number"] in front]
    marks = _with_names(marks, named, lift=_LIFT if front else 0.0)
    rest = np.unique(np.round(np.stack([left, top])[:, ~is_marked] * 10).astype(int), axis=1)
    low, high = max(x.low, y.low), min(x.high, y.high)
    remark = f"{plural(placed.height, 'ranked model')}"
    if placed.height < ranked.height:
        remark += f"; {ranked.height - placed.height:,} more have no value for this axis"
    return Plot(
        across=across,
        axes=[Choice(PICTURES[name], query.address(x=name), name == across, rows=True) for name in offered],
        x_ticks=[(round(x.at(tick), 1), words) for tick, words in zip(x.ticks, x.tick_words, strict=True)],
        y_ticks=[(round(y.at(tick), 1), tick_text(tick)) for tick in y.ticks],
        marks=marks,
        cloud="".join(f"M{a} {b}h0" for a, b in rest.T.tolist()),
        front=_steps([(left[each], top[each]) for each in front]),
        no_loss=(x.at(low), y.at(low), x.at(high), y.at(high)) if across == "score" and low < high else None,
        remark=remark + ".",
    )


def _x_axis(across: str, values: NDArray[np.float64]) -> Axis:
    if across == "score":
        return round_axis(values, 0, 100)
    if across in _DAYS:
        axis = round_axis(values, 0, 100, n_ticks=4, whole=True)
        words = tuple(date.fromordinal(int(tick)).isoformat() for tick in axis.ticks)
    else:
        axis = round_axis([math.floor(values.min()), math.ceil(values.max())], 0, 100, whole=True)
        words = tuple(short_count(int(10**tick)) if tick >= 0 else f"{10**tick:g}" for tick in axis.ticks)
    return Axis(axis.low, axis.high, 0, 100, axis.ticks, words)


def _front(across: NDArray[np.float64], up: NDArray[np.float64]) -> list[int]:
    """Find the Pareto front: entries that no other one beats at the same or a lower x, from left to right.

    >>> _front(np.array([10.0, 20.0, 30.0]), np.array([0.6, 0.5, 0.7]))
    [0, 2]
    """
    found: list[int] = []
    for number in np.lexsort((-up, across)).tolist():
        if not found or up[number] > up[found[-1]]:
            found.append(number)
    return found


def _steps(places: Sequence[tuple[float, float]]) -> str:
    """Return the SVG path of a Pareto front as a step function: it rises at each entry and is level in between."""
    if not places:
        return ""
    (left, top), *others = [(round(10 * left), round(10 * top)) for left, top in places]
    return f"M{left} {top}" + "".join(f"H{left}V{top}" for left, top in others) + "H1000"


def _mark(
    row: Facts,
    left: NDArray[np.float64],
    top: NDArray[np.float64],
    y: Axis,
    away: str,
    task: str,
    across: str,
    values: NDArray[np.float64],
) -> Mark:
    number = row["number"]
    bounds = (row[f"{away}.{end}"] for end in ("low", "high"))
    low, high = (None if each is None else round(y.at(100 * each), 1) for each in bounds)
    value = values[number]
    said = {
        "score": lambda: f"in domain {value:.1f}",
        "released": lambda: f"released {date.fromordinal(int(value)).isoformat()}",
        "date": lambda: f"submitted {date.fromordinal(int(value)).isoformat()}",
        "parameters": lambda: f"{10**value:,.0f} parameters",
        "cost": lambda: f"{10**value:,.2f} US dollars",
    }[across]()
    return Mark(
        round(float(left[number]), 1),
        round(float(top[number]), 1),
        low,
        high,
        shorten(row["name"], _LONGEST),
        entry_address(row["id"], task),
        f"{row['name']}: under shift {points(row[away])}, {said}",
        bool(row["with_leader"]) and not row.get("at_floor"),
    )


def _with_names(marks: Sequence[Mark], named: Sequence[int], lift: float = 0.0) -> list[Mark]:
    """Place labels next to marks, in turn, on the right or left if they overlap no other label or mark.

    They are ``lift`` pixels higher if the front's line runs through the marks.
    """
    found = list(marks)
    for size, is_narrow in ((_NARROW, True), (_WIDE, False)):
        dots = [(mark.left / 100 * size[0], mark.top / 100 * size[1]) for mark in marks]
        taken: list[tuple[float, float, float, float]] = []
        for place in named:
            width, (left, top) = _LETTER * len(marks[place].name), dots[place]
            sides = [found[place].side] if found[place].side else ["right", "left"]
            for side in sides:
                start = left + 9 if side == "right" else left - 9 - width
                rect = (start, top - lift - _LINE / 2, start + width, top - lift + _LINE / 2)
                inside = rect[0] >= -30 and rect[2] <= size[0] + 8
                if (
                    inside
                    and not any(_overlap(rect, other) for other in taken)
                    and not any(
                        _overlap(rect, (x - 5, y - 5, x + 5, y + 5)) for n, (x, y) in enumerate(dots) if n != place
                    )
                ):
                    taken.append(rect)
                    mark = found[place]
                    found[place] = Mark(**{**vars(mark), "side": side, "is_narrow": mark.is_narrow or is_narrow})
                    break
    return found


def _overlap(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
