"""What a reader asks of a table, from the address of the page and back into one: filters, search, order, page."""

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
"""Groups of rows: they stand in this order however the table is sorted."""
PICTURES = {
    "score": "score in domain",
    "parameters": "size",
    "cost": "cost",
    "released": "release",
    "date": "submission",
}
"""What the scatter plot can have across, by its value in the address."""


@dataclass(frozen=True, kw_only=True)
class TableQuery:
    """A reader's question about a table. What was not asked is empty; ``notes`` say what was asked and is not known.

    ``view`` is 'full' where all columns are asked for, with both ends of each interval.
    """

    q: str = ""
    sort: str = "rank"
    order: str = "asc"
    page: int = 1
    view: str = ""
    notes: tuple[str, ...] = ()

    def address(self, path: str = BOARD, **changes: Any) -> str:
        """Return the address of this question, or of one that differs in some fields, which begins at page 1."""
        asked = replace(self, **{"page": 1, **changes}) if changes else self
        pairs = []
        # What a table shows comes first, then how it is shown.
        own = [field for field in fields(self) if field.name not in _SHARED]
        for field in (*own, *fields(TableQuery)):
            name, value = field.name, getattr(asked, field.name)
            if name == "notes" or (value == field.default and (name != "order" or asked.sort == "rank")):
                continue
            pairs.append((name, str(value)))
        return with_query(path, pairs)

    def next_order(self, key: str, first: str) -> str:
        """Return the order of the next click on a heading: that of a first click, or the other way round."""
        return {"asc": "desc", "desc": "asc"}[self.order] if self.sort == key else first

    @property
    def asked(self) -> list[tuple[str, str]]:
        """List all but the search and the page, as the fields that a form keeps without showing them."""
        every = ((field.name, getattr(self, field.name), field.default) for field in fields(self))
        left_out = ("q", "page", "notes")
        return [(name, str(value)) for name, value, usual in every if name not in left_out and value != usual]


_SHARED = frozenset(field.name for field in fields(TableQuery))


def how_it_is_shown(one: Mapping[str, str], first_orders: Mapping[str, str], notes: list[str]) -> dict[str, Any]:
    """Read search, order, page and view, as values of fields of ``TableQuery``.

    ``first_orders`` is what the table can be sorted by, with the order of a first click; what is unknown is left out,
    with a note in ``notes``.
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
"""Filters: their label, the value of a row, and words for values that are not their own."""


@dataclass(frozen=True, kw_only=True)
class BoardQuery(TableQuery):
    """A reader's question about a board.

    ``reported`` is 'shown' where the rows of papers are unfolded; ``x`` is what the scatter plot has across, a key of
    ``PICTURES``, empty where the table is asked for.
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
        """Read the parameters of an address; an unknown way to show the table is left out, with a note.

        The first board of the index that has entries is the default. InvalidInput when there is no such one.
        """
        one = {name: value.strip() for name, value in pairs}
        notes: list[str] = []
        board = _board(one.get("board", ""), index.boards(), index)
        columns = columns_of(board) if board is not None else []
        sortable = {column.key: column.first_order for column in columns if column.kind != "scenarios"}
        parsed = how_it_is_shown(one, {"rank": "asc", "name": "asc", **sortable}, notes)
        parsed |= {name: one.get(name, "")[:40] for name in FILTERS}
        parsed["reported"] = "shown" if one.get("reported") == "shown" else ""
        parsed["x"] = one.get("x", "")
        if parsed["x"] and parsed["x"] not in PICTURES:
            notes.append(f"the scatter plot has no axis '{parsed['x'][:40]}'")
            parsed["x"] = ""
        return cls(board=board.name if board else "", notes=tuple(notes), **parsed)

    def address_of_all(self) -> str:
        """Return the address of the same board without search and filters."""
        return BoardQuery(board=self.board, view=self.view, x=self.x).address()


def whole_table(index: Index, board: Board) -> pl.DataFrame:
    """Build the table of a board's entries and, below them, what papers report, with the group of each row."""
    entries = index.frame(board).join(index.near_copies(board), on="id", how="left", maintain_order="left")
    group = pl.when("complete").then(pl.lit(RANKED)).otherwise(pl.lit(PARTIAL))
    entries = entries.with_columns(group=group, reported=pl.lit(None, pl.String))
    reported = reported_frame(reported_tables(board))
    return entries if reported.is_empty() else pl.concat([entries, reported], how="diagonal")


def reported_frame(tables: Sequence[ReportedTable]) -> pl.DataFrame:
    """Build the rows that papers report in the columns of a board: no id, no rank, no interval."""
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
    """Keep the rows that a question asks for, in its order: missing values last, whichever way.

    Entries that cover the grid come first, then partial ones, then each paper's table: scores over other shifts never
    stand between ranked ones.
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
        if column is not None and column.kind == "drop":  # a drop of a model without skill leads nothing
            by.append(pl.col("at_floor").fill_null(value=False))
            descending.append(False)
        by.append(key.str.to_lowercase() if column is None or column.kind == "text" else key)
        descending.append(query.order == "desc")
    elif query.order == "desc":
        by.append(pl.col("rank"))
        descending.append(True)
    return matched.sort([*by, pl.col("place")], descending=[*descending, False], nulls_last=True)


def group_is(group: int) -> pl.Expr:
    """Return an expression: whether a row is of a group."""
    return pl.col("group") == group


def _board(name: str, boards: Sequence[Board], index: Index) -> Board | None:
    if name:
        return find_board(name, boards)
    return next((board for board in boards if index.has_entries(board)), boards[0] if boards else None)


COVERAGE = "n_tasks"


@dataclass(frozen=True, kw_only=True)
class OverallQuery(TableQuery):
    """A reader's question about a benchmark's overall board."""

    benchmark: str = ""

    @classmethod
    def parse(cls, pairs: Iterable[tuple[str, str]], index: Index) -> "OverallQuery":
        """Read the parameters of an address; an unknown way to show the table is left out, with a note.

        The first benchmark of the index that has entries is the default. InvalidInput when there is no such one.
        """
        one = {name: value.strip() for name, value in pairs}
        notes: list[str] = []
        benchmark = _benchmark(one.get("benchmark", ""), index)
        best_first = ("mean_st", COVERAGE, *benchmark.tasks) if benchmark else ()
        parsed = how_it_is_shown(one, {"rank": "asc", "model": "asc", **dict.fromkeys(best_first, "desc")}, notes)
        return cls(benchmark=benchmark.name if benchmark else "", notes=tuple(notes), **parsed)


def matching_lines(frame: pl.DataFrame, query: OverallQuery) -> pl.DataFrame:
    """Keep the lines that a question asks for, in its order: ranked lines first, missing values last."""
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
