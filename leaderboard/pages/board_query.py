"""A table's query, parsed from a page's URL and formatted as one: filters, search, order, page."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import polars as pl

from shiftbench.leaderboard.board import Benchmark, Board, Index, find_benchmark, find_board
from shiftbench.leaderboard.pages.addresses import BOARD, with_query
from shiftbench.leaderboard.pages.board_columns import Column, columns_of
from shiftbench.leaderboard.pages.reported import ReportedTable, reported_tables

PAGE_ROWS = 50
MAX_SEARCH = 100
RANKED, PARTIAL, REPORTED = 0, 1, 2
"""Groups of rows, which always appear in this order, however the table is sorted."""
PICTURES = {
    "score": "score in domain",
    "parameters": "size",
    "cost": "cost",
    "released": "release",
    "date": "submission",
}
"""Horizontal axes of the scatter plot, by their value in the URL."""


@dataclass(frozen=True, kw_only=True)
class TableQuery:
    """A query on a table. Unset fields are empty; ``notes`` are messages about invalid parameters.

    ``view`` is 'full' for all columns with both ends of each interval.
    """

    q: str = ""
    sort: str = "rank"
    order: str = "asc"
    page: int = 1
    view: str = ""
    notes: tuple[str, ...] = ()

    def address(self, path: str = BOARD, **changes: Any) -> str:
        """Return the URL of this query, or of one with changed fields, which starts at page 1."""
        asked = replace(self, **{"page": 1, **changes}) if changes else self
        pairs = []
        # First the parameters of the content, then those of its display.
        own = [field for field in fields(self) if field.name not in _SHARED]
        for field in (*own, *fields(TableQuery)):
            name, value = field.name, getattr(asked, field.name)
            if name == "notes" or (value == field.default and (name != "order" or asked.sort == "rank")):
                continue
            pairs.append((name, str(value)))
        return with_query(path, pairs)

    def next_order(self, key: str, first: str) -> str:
        """Return the order after a click on a heading: ``first``, or reversed if the table is already sorted by it."""
        return {"asc": "desc", "desc": "asc"}[self.order] if self.sort == key else first

    @property
    def asked(self) -> list[tuple[str, str]]:
        """List the parameters other than search and page, for hidden fields of a form."""
        every = ((field.name, getattr(self, field.name), field.default) for field in fields(self))
        left_out = ("q", "page", "notes")
        return [(name, str(value)) for name, value, usual in every if name not in left_out and value != usual]


_SHARED = frozenset(field.name for field in fields(TableQuery))


def parse_display(one: Mapping[str, str], first_orders: Mapping[str, str], notes: list[str]) -> dict[str, Any]:
    """Parse search, order, page and view, as values of fields of ``TableQuery``.

    ``first_orders`` maps sortable columns to their first order. Invalid values are replaced by defaults, with a message
    in ``notes``.
    """
    sort = one.get("sort") or "rank"
    if sort not in first_orders:
        notes.append(f"the table cannot be sorted by '{sort[:40]}'")
        sort = "rank"
    order = one.get("order", "")
    page = one.get("page", "1")
    if not re.fullmatch("[0-9]{1,9}", page) or int(page) < 1:
        notes.append(f"there is no page '{page[:40]}'")
        page = "1"
    return {
        "q": one.get("q", "")[:MAX_SEARCH],
        "sort": sort,
        "order": order if order in ("asc", "desc") else first_orders[sort],
        "page": int(page),
        "view": "full" if one.get("view") == "full" else "",
    }


_SIZES = {"lt100m": "under 100M", "100m-1b": "100M to 1B", "1b-10b": "1B to 10B", "gt10b": "over 10B"}
_SIZE = (
    pl.when(pl.col("parameters") < 10**8).then(pl.lit("lt100m"))
    .when(pl.col("parameters") < 10**9).then(pl.lit("100m-1b"))
    .when(pl.col("parameters") < 10**10).then(pl.lit("1b-10b"))
    .when(pl.col("parameters").is_not_null()).then(pl.lit("gt10b"))
)  # fmt: skip
FILTERS: dict[str, tuple[str, pl.Expr, dict[str, str]]] = {
    "paradigm": ("Kind", pl.col("paradigm"), {}),
    "size": ("Size", _SIZE, _SIZES),
    "weights": (
        "Weights",
        pl.when("open_weights").then(pl.lit("open")).otherwise(pl.lit(None)),
        {"open": "open weights"},
    ),
    "licence": ("Licence", pl.col("licence"), {}),
    "released": ("Released", pl.col("released").str.head(4), {}),
    "year": ("Submitted", pl.col("date").str.head(4), {}),
}
"""Filters: label, expression of a row's value, and labels for values that need one."""


@dataclass(frozen=True, kw_only=True)
class BoardQuery(TableQuery):
    """A query on a board.

    ``reported`` is 'shown' if the rows of papers are unfolded. ``x`` is the horizontal axis of the scatter plot (a key
    of ``PICTURES``), or empty for the table.
    """

    board: str = ""
    paradigm: str = ""
    size: str = ""
    weights: str = ""
    licence: str = ""
    released: str = ""
    year: str = ""
    reported: str = ""
    x: str = ""

    @classmethod
    def parse(cls, pairs: Iterable[tuple[str, str]], index: Index) -> "BoardQuery":
        """Parse the parameters of a URL; invalid values are replaced by defaults, with a note.

        The default board is the index's first with entries. InvalidInput if the named board does not exist.
        """
        one = {name: value.strip() for name, value in pairs}
        notes: list[str] = []
        board = _board(one.get("board", ""), index.boards(), index)
        columns = columns_of(board) if board is not None else []
        sortable = {column.key: column.first_order for column in columns if column.kind != "scenarios"}
        parsed = parse_display(one, {"rank": "asc", "name": "asc", **sortable}, notes)
        parsed |= {name: one.get(name, "")[:40] for name in FILTERS}
        parsed["reported"] = "shown" if one.get("reported") == "shown" else ""
        parsed["x"] = one.get("x", "")
        if parsed["x"] and parsed["x"] not in PICTURES:
            notes.append(f"the scatter plot has no axis '{parsed['x'][:40]}'")
            parsed["x"] = ""
        return cls(board=board.name if board else "", notes=tuple(notes), **parsed)

    def address_of_all(self) -> str:
        """Return the URL of the same board without search and filters."""
        return BoardQuery(board=self.board, view=self.view, x=self.x).address()


def whole_table(index: Index, board: Board) -> pl.DataFrame:
    """Build the table of a board's entries, followed by the rows that papers report, with the group of each row."""
    entries = index.frame(board).join(index.near_copies(board), on="id", how="left", maintain_order="left")
    group = pl.when("complete").then(pl.lit(RANKED)).otherwise(pl.lit(PARTIAL))
    entries = entries.with_columns(group=group, reported=pl.lit(None, pl.String))
    reported = reported_frame(reported_tables(board))
    return entries if reported.is_empty() else pl.concat([entries, reported], how="diagonal")


def reported_frame(tables: Sequence[ReportedTable]) -> pl.DataFrame:
    """Build the rows that papers report with a board's columns: no id, no rank, no interval."""
    rows = [
        {
            "name": row.name,
            "paradigm": row.paradigm or None,
            "words": f"{row.name}\n{table.title}".lower(),
            "reported": table.title,
            "footnotes": list(row.notes),
            **row.figures,
        }
        for table in tables
        for row in table.rows
    ]
    texts = dict.fromkeys(("name", "paradigm", "words", "reported"), pl.String)
    figures = sorted({name for row in rows for name in row} - {*texts, "footnotes"})
    schema: dict[str, Any] = {**texts, "footnotes": pl.List(pl.String), **dict.fromkeys(figures, pl.Float64)}
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(group=pl.lit(REPORTED))


def matching(table: pl.DataFrame, query: BoardQuery, columns: Sequence[Column]) -> pl.DataFrame:
    """Select and sort the rows that match a query; nulls come last in either direction.

    Complete entries come first, then partial ones, then each paper's table, so that scores over other shifts are never
    between ranked ones.
    """
    conditions = [
        expression == getattr(query, name) for name, (_, expression, _) in FILTERS.items() if getattr(query, name)
    ]
    if query.q:
        conditions.append(pl.col("words").str.contains(query.q.lower(), literal=True))
    matched = table.with_row_index("place").filter(*conditions)
    by: list[pl.Expr] = [pl.col("group"), pl.when(group_is(REPORTED)).then("reported")]
    descending = [False, False]
    column = next((column for column in columns if column.key == query.sort), None)
    if column is not None or query.sort == "name":
        key = pl.col("name" if column is None else "submitted_at" if column.key == "date" else column.key)
        if column is not None and column.kind == "drop":  # models at chance have small drops and must not lead
            by.append(pl.col("at_floor").fill_null(value=False))
            descending.append(False)
        by.append(key.str.to_lowercase() if column is None or column.kind == "text" else key)
        descending.append(query.order == "desc")
    elif query.order == "desc":
        by.append(pl.col("rank"))
        descending.append(True)
    return matched.sort([*by, pl.col("place")], descending=[*descending, False], nulls_last=True)


def group_is(group: int) -> pl.Expr:
    """Return a mask of the rows in a group."""
    return pl.col("group") == group


def _board(name: str, boards: Sequence[Board], index: Index) -> Board | None:
    if name:
        return find_board(name, boards)
    return next((board for board in boards if index.has_entries(board)), boards[0] if boards else None)


COVERAGE = "n_tasks"


@dataclass(frozen=True, kw_only=True)
class OverallQuery(TableQuery):
    """A query on a benchmark's overall board."""

    benchmark: str = ""

    @classmethod
    def parse(cls, pairs: Iterable[tuple[str, str]], index: Index) -> "OverallQuery":
        """Parse the parameters of a URL; invalid values are replaced by defaults, with a note.

        The default benchmark is the index's first with entries. InvalidInput if the named benchmark does not exist.
        """
        one = {name: value.strip() for name, value in pairs}
        notes: list[str] = []
        benchmark = _benchmark(one.get("benchmark", ""), index)
        best_first = ("mean_st", COVERAGE, *benchmark.tasks) if benchmark else ()
        parsed = parse_display(one, {"rank": "asc", "model": "asc", **dict.fromkeys(best_first, "desc")}, notes)
        return cls(benchmark=benchmark.name if benchmark else "", notes=tuple(notes), **parsed)


def matching_lines(frame: pl.DataFrame, query: OverallQuery) -> pl.DataFrame:
    """Select and sort the lines that match a query: ranked lines first, nulls last."""
    matched = frame.with_row_index("place")
    if query.q:
        matched = matched.filter(pl.col("words").str.contains(query.q.lower(), literal=True))
    keys = {"rank": pl.col("rank"), "model": pl.col("model").str.to_lowercase(), "mean_st": pl.col("mean_st")}
    key = keys.get(query.sort, pl.col(query.sort if query.sort == COVERAGE else f"{query.sort}:mean_st"))
    return matched.sort("complete", key, "place", descending=[True, query.order == "desc", False], nulls_last=True)


def _benchmark(name: str, index: Index) -> Benchmark | None:
    choices = index.benchmarks()
    if name:
        return find_benchmark(name, choices)
    filled = (each for each in choices if any(index.has_entries(board) for board in each.boards))
    return next(filled, choices[0] if choices else None)
