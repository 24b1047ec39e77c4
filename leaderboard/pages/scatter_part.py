"""The picture above a table: which entries are on it, what it can have across, and the links that switch that."""

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

import polars as pl

from shiftbench.leaderboard.pages.query import CROSS_AXES, TableQuery
from shiftbench.scoring.reports.frame.html import Markup, join, tag
from shiftbench.scoring.reports.pictures.under_shift import Across, Point, stated, under_shift_plane
from shiftbench.scoring.scores.estimate import Estimate

MOST_POINTS = 40
"""Entries on a picture: the best ones; more would hide each other."""
_COLUMNS: dict[Across, str] = {"": "mean_ss", "parameters": "parameters", "cost": "cost_usd", "date": "date"}


def scatter(ranked: pl.DataFrame, query: TableQuery, point: Callable[[Mapping[str, Any]], tuple[str, str]]) -> Markup:
    """Draw the ranked rows of a table by their scores under shift.

    Args:
        ranked: the ranked rows, best first, with ``mean_st``, ``mean_ss``, ``parameters``, ``cost_usd``, ``date`` and
            ``with_leader``.
        query: the reader's question; ``x`` is what the picture has across, the first that rows state where it is not
            stated.
        point: gives a row's name and the address of its page.
    Returns: a section with the switch and the picture; nothing where no two rows can be placed.
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
    switch = tag("p", "Under shift against ", _between(links, " "), class_="sb-switch")
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


def _between(parts: list[Markup], words: str) -> Markup:
    return join(part for number, each in enumerate(parts) for part in ([Markup(words)] if number else []) + [each])
