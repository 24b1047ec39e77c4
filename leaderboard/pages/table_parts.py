"""What tables of boards share: headings that sort and explain themselves, pages, the picture above the rows."""

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, NamedTuple

import polars as pl

from shiftbench.leaderboard.pages.board_query import CROSS_AXES, PAGE_ROWS, TableQuery
from shiftbench.scoring.reports.frame.html import Markup, tag
from shiftbench.scoring.reports.pictures.under_shift import Across, Point, stated, under_shift_plane
from shiftbench.scoring.scores.shape import Estimate
from shiftbench.validation.report import counted

BETTER = {"up": ("\N{UPWARDS ARROW}", "Higher is better."), "down": ("\N{DOWNWARDS ARROW}", "Lower is better.")}


class Info(NamedTuple):
    """A heading's i-button, and the explanation that it opens."""

    button: Markup
    note: Markup


def info_button(key: str, head: str, words: str, formula: str = "") -> Info:
    """Build the i-button of a heading, which opens a short explanation, by keyboard and without script, too."""
    name = f"about-{''.join(letter if letter.isalnum() else '-' for letter in key)}"
    lines = [tag("strong", head), tag("p", words), *([tag("p", tag("code", formula))] if formula else [])]
    button = tag("button", "i", type="button", popovertarget=name, class_="sb-i", aria_label=f"What is {head}?")
    return Info(button, tag("div", *lines, id=name, popover="", class_="sb-pop"))


def plain_head(
    link: str | Markup, info: Info, *, class_: str | None = None, after: str | Markup = "", sorted_: str | None = None
) -> Markup:
    """Build a heading with its i-button on the line of its last word; ``after`` stands between both."""
    space = "\N{NO-BREAK SPACE}"
    end = tag("span", *([space, after] if after else []), space, info.button, class_="sb-nowrap")
    return tag("th", link, end, info.note, scope="col", class_=class_, aria_sort=sorted_)


def sort_head(
    query: TableQuery, key: str, head: str, first: str, info: Info, *, class_: str | None = None, arrow: str = ""
) -> Markup:
    """Build a heading that sorts: the best first (``first``), and the other way when it is chosen again.

    ``arrow`` is which way is better; empty where none is.
    """
    address = query.address(sort=key, order=next_order(query, key, first))
    link = tag("a", head, href=address, id=f"sort-{key}", data_rows="")
    mark = tag("span", arrow, class_="sb-arrow") if arrow else ""
    return plain_head(link, info, class_=class_, after=mark, sorted_=sort_state(query, key))


def next_order(query: TableQuery, key: str, first: str) -> str:
    """Return the order of the next click on a heading: that of a first click, or the other way round."""
    return {"asc": "desc", "desc": "asc"}[query.order] if query.sort == key else first


def sort_state(query: TableQuery, key: str) -> str | None:
    """Return how a table is sorted by a heading, in the words of ``aria-sort``; None where it is not."""
    return {"asc": "ascending", "desc": "descending"}[query.order] if query.sort == key else None


def intervals_switch(query: TableQuery) -> Markup:
    """Build the link that shows intervals with both ends, or as half-widths again."""
    is_full = query.intervals == "full"
    words = "Half-widths" if is_full else "Intervals in full"
    changed = query.address(intervals="" if is_full else "full", page=query.page)
    return tag("a", words, href=changed, class_="sb-button", id="board-intervals", data_rows="")


def csv_link(query: TableQuery, path: str) -> Markup:
    """Build the link to a table's rows as CSV."""
    title = "these rows, all pages, as fractions"
    return tag("a", "CSV", href=query.address(path), class_="sb-button", title=title, download="")


def shown_rows(first: int, n_shown: int, n_found: int, word: str) -> str:
    """Format which rows of how many stand on a page.

    >>> shown_rows(51, 20, 70, "row"), shown_rows(1, 1, 1, "row")
    ('51–70 of 70 rows', '1–1 of 1 row')
    """
    return f"{first:,}\N{EN DASH}{first + n_shown - 1:,} of {counted(n_found, word)}"


def last_page(n_rows: int) -> int:
    """Return the number of the last page of so many rows."""
    return max(-(-n_rows // PAGE_ROWS), 1)


def pager(query: TableQuery, page: int, last: int) -> Markup:
    """Build the links to a table's other pages."""
    if last == 1:
        return Markup("")
    near = sorted({1, *range(max(page - 2, 1), min(page + 2, last) + 1), last})
    parts = [_page_link(query, page - 1, "Previous", "prev")] if page > 1 else []
    for before, number in zip([0, *near], near, strict=False):
        if number > before + 1:
            parts.append(tag("span", "\N{HORIZONTAL ELLIPSIS}"))
        if number == page:
            parts.append(tag("span", f"{number:,}", aria_current="page"))
        else:
            parts.append(_page_link(query, number, f"{number:,}"))
    parts += [_page_link(query, page + 1, "Next", "next")] if page < last else []
    return tag("nav", *parts, class_="sb-pager", aria_label="Pages of the table")


def _page_link(query: TableQuery, number: int, words: str, rel: str | None = None) -> Markup:
    return tag("a", words, href=query.address(page=number), rel=rel, id=f"page-{words.lower()}", data_rows="")


MOST_POINTS = 40
"""Entries on a picture: the best ones; more would hide each other."""
_COLUMNS: dict[Across, str] = {"": "mean_ss", "parameters": "parameters", "cost": "cost_usd", "date": "date"}


def scatter(ranked: pl.DataFrame, query: TableQuery, point: Callable[[Mapping[str, Any]], tuple[str, str]]) -> Markup:
    """Draw the ranked rows of a table by their scores under shift; nothing where no two rows can be placed.

    ``query.x`` is what the picture has across, the first that rows state where it is not stated; ``point`` gives a
    row's name and the address of its page.
    """
    choices = [key for key in _COLUMNS if stated(_numbers(ranked, key))]
    if not choices:
        return Markup("")
    across = next((key for key in choices if key == query.x), choices[0])
    placed = ranked.filter(pl.Series(value is not None and value > 0 for value in _numbers(ranked, across)))
    points = []
    for row in placed.head(MOST_POINTS).iter_rows(named=True):
        name, address = point(row)
        points.append(
            Point(
                name,
                address,
                _x(row, across),
                _estimate(row, "mean_st"),
                bool(row["with_leader"] and not row.get("at_floor")),
            )
        )
    links = [
        tag("a", words, href=query.address(x=key), aria_current="true" if key == across else None)
        for key, words in CROSS_AXES.items()
        if key in choices
    ]
    switch = tag(
        "p", "Under shift against ", *[part for link in links for part in (link, " ")][:-1], class_="sb-switch"
    )
    left_out = ranked.height - placed.height
    remarks = [f"The {MOST_POINTS} best of {placed.height:,}."] if placed.height > MOST_POINTS else []
    remarks += (
        [f"{left_out:,} of {ranked.height:,} ranked entries do not state this value and are not in the picture."]
        if left_out
        else []
    )
    note = tag("p", " ".join(remarks), class_="sb-soft sb-left-out") if remarks else Markup("")
    toggle = [
        tag("input", type="checkbox", id="show-picture", class_="sb-toggle"),
        tag("label", "Picture", for_="show-picture", class_="sb-button"),
    ]
    body = tag("div", switch, under_shift_plane(points, across), note, class_="sb-toggled")
    return tag("section", *toggle, body, class_="sb-map", aria_label="Picture of the ranked entries")


def _numbers(ranked: pl.DataFrame, across: Across) -> list[float | None]:
    values = ranked[_COLUMNS[across]].to_list()
    return [value and date.fromisoformat(value).toordinal() for value in values] if across == "date" else values


def _x(row: Mapping[str, Any], across: Across) -> Estimate:
    if not across:
        return _estimate(row, "mean_ss")
    value = row[_COLUMNS[across]]
    return Estimate(value=float(date.fromisoformat(value).toordinal() if across == "date" else value))


def _estimate(row: Mapping[str, Any], name: str) -> Estimate:
    return Estimate(value=row[name], low=row[f"{name}.low"], high=row[f"{name}.high"])
