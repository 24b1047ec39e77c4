"""What a reader asks of a table, from the address of the page and back into one: filters, search, order, page."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, get_args

import polars as pl

from shiftbench.leaderboard.board import Benchmark, Board, Index, find_benchmark, find_board
from shiftbench.leaderboard.board.rows import trained_outside
from shiftbench.leaderboard.pages.addresses import BOARD, with_query
from shiftbench.leaderboard.pages.board_columns import Column, columns_of
from shiftbench.leaderboard.pages.reported import ReportedTable, reported_tables
from shiftbench.scoring.comparing.entries import MAX_PAIRWISE
from shiftbench.validation.cards import Card

PAGE_ROWS = 50
MAX_SEARCH = 100
CROSS_AXES = {"": "in domain", "parameters": "parameters", "cost": "cost", "date": "date"}
"""What the picture above a table can have across, by its value in the address."""


@dataclass(frozen=True, kw_only=True)
class TableQuery:
    """A reader's question about a table. What was not asked is empty; ``notes`` say what was asked and is not known.

    ``x`` is what the picture has across, a key of ``CROSS_AXES``; ``intervals`` is 'full' where both ends of each
    interval are asked for.
    """

    q: str = ""
    sort: str = "rank"
    order: str = "asc"
    page: int = 1
    x: str = ""
    intervals: str = ""
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
            pairs.append((name, ",".join(value) if isinstance(value, tuple) else str(value)))
        return with_query(path, pairs)


_SHARED = frozenset(field.name for field in fields(TableQuery))


def values_by_name(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Collect the values of an address by their names."""
    given: dict[str, list[str]] = {}
    for name, value in pairs:
        given.setdefault(name, []).append(value)
    return given


def how_it_is_shown(one: Mapping[str, str], first_orders: Mapping[str, str], notes: list[str]) -> dict[str, Any]:
    """Read search, order, page, intervals and the picture's axis, as values of fields of ``TableQuery``.

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
    x = one.get("x", "")
    if x not in CROSS_AXES:
        notes.append(f"the picture has no axis '{x[:40]}'")
        x = ""
    return {
        "q": one.get("q", "")[:MAX_SEARCH],
        "sort": sort,
        "order": order if order in ("asc", "desc") else first_orders[sort],
        "page": int(page),
        "x": x,
        "intervals": "full" if one.get("intervals") == "full" else "",
    }


RANKED, PARTIAL, REPORTED = 0, 1, 2
"""Groups of rows: they stand in this order however the table is sorted."""
_MILLION = 1_000_000
_ID = re.compile("[0-9a-f]{16}")


def _choices(field: str) -> dict[str, str]:
    return {name: name for name in get_args(Card.model_fields[field].annotation)}


FILTERS: dict[str, tuple[str, dict[str, str]]] = {
    "trained": ("Models", {"trained": "trained", "zero-shot": "zero-shot and few-shot"}),
    "paradigm": ("Paradigm", _choices("paradigm")),
    "size": (
        "Size",
        {
            "lt100m": "under 100M",
            "100m-1b": "100M to 1B",
            "1b-10b": "1B to 10B",
            "gt10b": "over 10B",
            "unknown": "not stated",
        },
    ),
    "shots": ("Shots", {"0": "none", "1-4": "1 to 4", "5-16": "5 to 16", "gt16": "over 16", "unknown": "not stated"}),
    "selection": ("Model selection", _choices("model_selection")),
    "extra": ("Extra data", {"no": "none", "yes": "some"}),
    "origin": ("Origin", {"scored": "scored here", "reported": "reported by papers"}),
}
"""Filters with a fixed choice: their label, and their values with the words for them."""
_BRACKETS = {
    "lt100m": (None, 100 * _MILLION),
    "100m-1b": (100 * _MILLION, 1000 * _MILLION),
    "1b-10b": (1000 * _MILLION, 10_000 * _MILLION),
    "gt10b": (10_000 * _MILLION, None),
    "0": (None, 1),
    "1-4": (1, 5),
    "5-16": (5, 17),
    "gt16": (17, None),
}


@dataclass(frozen=True, kw_only=True)
class BoardQuery(TableQuery):
    """A reader's question about a board.

    ``reported`` is 'shown' where the rows of papers are unfolded; ``picks`` are the ids of entries that were picked to
    be compared, joined by commas: addresses keep them, so that they survive search, sorting and pages.
    """

    board: str = ""
    trained: str = ""
    paradigm: str = ""
    size: str = ""
    shots: str = ""
    selection: str = ""
    extra: str = ""
    origin: str = ""
    columns: tuple[str, ...] = ()
    reported: str = ""
    picks: str = ""

    @classmethod
    def parse(cls, pairs: Iterable[tuple[str, str]], index: Index) -> "BoardQuery":
        """Read the parameters of an address; an unknown way to show the table is left out, with a note.

        The first board or benchmark of the index that has entries is the default. InvalidInput when there is no such
        one.
        """
        given = values_by_name(pairs)
        one = {name: values[-1].strip() for name, values in given.items()}
        notes: list[str] = []
        board = _board(one.get("board", ""), index.boards(), index)
        parsed: dict[str, Any] = {}
        for name, (label, values) in FILTERS.items():
            if one.get(name, "") in values:
                parsed[name] = one[name]
            elif one.get(name):
                notes.append(f"{label}: there is no choice '{one[name][:40]}'")
        columns = columns_of(board) if board is not None else []
        sortable = {column.key: str(column.first_order) for column in columns if column.kind != "scenarios"}
        parsed |= how_it_is_shown(one, {"rank": "asc", "name": "asc", **sortable}, notes)
        asked = [key for value in given.get("columns", []) for key in value.split(",") if key]
        keys = {column.key for column in columns}
        parsed["columns"] = tuple(dict.fromkeys(key for key in asked if key in keys))
        notes += [f"there is no column '{key[:40]}'" for key in dict.fromkeys(asked) if key not in keys][:3]
        parsed["reported"] = "shown" if one.get("reported") == "shown" else ""
        parsed["picks"] = _picks([*given.get("picks", []), *given.get("id", [])])
        return cls(board=board.name if board else "", notes=tuple(notes), **parsed)

    @property
    def n_filters(self) -> int:
        """Number of filters that are set."""
        return sum(bool(getattr(self, name)) for name in FILTERS)

    def address_of_all(self) -> str:
        """Return the address of the same board and columns without filters."""
        return BoardQuery(board=self.board, columns=self.columns, picks=self.picks).address()

    @property
    def picked(self) -> list[str]:
        """Ids of the entries that were picked."""
        return self.picks.split(",") if self.picks else []


def _picks(values: Sequence[str]) -> str:
    ids = [each for value in values for each in value.split(",") if _ID.fullmatch(each)]
    return ",".join(list(dict.fromkeys(ids))[:MAX_PAIRWISE])


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
            "shots": row.shots,
            "words": f"{row.name}\n{table.title}".lower(),
            "reported": table.title,
            "footnotes": list(row.notes),
            **row.figures,
        }
        for table in tables
        for row in table.rows
    ]
    texts = dict.fromkeys(("name", "paradigm", "words", "reported"), pl.String)
    figures = sorted({name for row in rows for name in row} - {*texts, "shots", "footnotes"})
    others = {"shots": pl.Int64, "footnotes": pl.List(pl.String)}
    schema: dict[str, Any] = {**texts, **others, **dict.fromkeys(figures, pl.Float64)}
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(group=pl.lit(REPORTED))


def matching(table: pl.DataFrame, query: BoardQuery, columns: Sequence[Column]) -> pl.DataFrame:
    """Keep the rows that a question asks for, in its order: missing values last, whichever way.

    Entries that cover the grid come first, then partial ones, then each paper's table: scores over other shifts never
    stand between ranked ones.
    """
    matched = table.with_row_index("place").filter(*_conditions(query))
    by: list[pl.Expr] = [pl.col("group"), pl.when(group_is(REPORTED)).then("reported")]
    descending = [False, False]
    column = next((column for column in columns if column.key == query.sort), None)
    if column is not None or query.sort == "name":
        key = pl.col("name" if column is None else "submitted_at" if column.key == "date" else column.key)
        is_text = column is None or column.kind == "text"
        if column is not None and column.better == "down":  # a drop of a model without skill leads nothing
            by.append(pl.col("at_floor").fill_null(value=False))
            descending.append(False)
        by.append(key.str.to_lowercase() if is_text else key)
        descending.append(query.order == "desc")
    elif query.order == "desc":
        by.append(pl.col("rank"))
        descending.append(True)
    return matched.sort([*by, pl.col("place")], descending=[*descending, False], nulls_last=True)


def group_is(group: int) -> pl.Expr:
    """Return an expression: whether a row is of a group."""
    return pl.col("group") == group


def _conditions(query: BoardQuery) -> list[pl.Expr]:
    conditions = []
    if query.q:
        conditions.append(pl.col("words").str.contains(query.q.lower(), literal=True))
    if query.origin:
        conditions.append(group_is(REPORTED) == (query.origin == "reported"))
    if query.trained:
        # What papers report says its paradigm, not its source.
        outside = trained_outside() | (group_is(REPORTED) & pl.col("paradigm").is_in(("zero-shot", "few-shot")))
        conditions.append(outside.fill_null(value=False) == (query.trained == "zero-shot"))
    for name in ("paradigm", "selection"):
        if getattr(query, name):
            conditions.append(pl.col("model_selection" if name == "selection" else name) == getattr(query, name))
    # What a paper does not tell is no answer to these: its rows are left out.
    if query.extra:
        some = pl.col("extra_data").is_not_null()
        conditions.append(~group_is(REPORTED) & (some if query.extra == "yes" else ~some))
    for name, column in (("size", "parameters"), ("shots", "shots")):
        value = getattr(query, name)
        if value == "unknown":
            conditions.append(~group_is(REPORTED) & pl.col(column).is_null())
        elif value:
            low, high = _BRACKETS[value]
            conditions.append(pl.col(column) >= low if low is not None else pl.lit(value=True))
            conditions.append(pl.col(column) < high if high is not None else pl.lit(value=True))
    return conditions


def _board(name: str, boards: Sequence[Board], index: Index) -> Board | None:
    if name:
        return find_board(name, boards)
    return next((board for board in boards if index.has_entries(board)), boards[0] if boards else None)


COVERAGE, MEAN_RANK, WIN_RATE = "n_tasks", "mean_rank", "win_rate"


@dataclass(frozen=True, kw_only=True)
class OverallQuery(TableQuery):
    """A reader's question about a benchmark's overall board."""

    benchmark: str = ""

    @classmethod
    def parse(cls, pairs: Iterable[tuple[str, str]], index: Index) -> "OverallQuery":
        """Read the parameters of an address; an unknown way to show the table is left out, with a note.

        The first board or benchmark of the index that has entries is the default. InvalidInput when there is no such
        one.
        """
        one = {name: values[-1].strip() for name, values in values_by_name(pairs).items()}
        notes: list[str] = []
        benchmark = _benchmark(one.get("benchmark", ""), index)
        parsed = how_it_is_shown(one, sortable(benchmark) if benchmark else {"rank": "asc"}, notes)
        return cls(benchmark=benchmark.name if benchmark else "", notes=tuple(notes), **parsed)


def sortable(benchmark: Benchmark) -> dict[str, str]:
    """Return what an overall board can be sorted by, with the order of a first click.

    Never by mean rank or win rate: they depend on who else submitted.
    """
    best_first = ("mean_st", COVERAGE, *benchmark.tasks)
    return {"rank": "asc", "model": "asc", **dict.fromkeys(best_first, "desc")}


def matching_lines(frame: pl.DataFrame, query: OverallQuery) -> pl.DataFrame:
    """Keep the lines that a question asks for, in its order: ranked lines first, missing values last."""
    matched = frame.with_row_index("place")
    if query.q:
        matched = matched.filter(pl.col("words").str.contains(query.q.lower(), literal=True))
    is_down = query.order == "desc"
    if query.sort == "rank":
        return matched.sort("complete", "rank", "place", descending=[True, is_down, False], nulls_last=True)
    if query.sort == "model":
        return matched.sort(
            "complete", pl.col("model").str.to_lowercase(), "place", descending=[True, is_down, False], nulls_last=True
        )
    key = query.sort if query.sort in ("mean_st", COVERAGE) else f"{query.sort}:mean_st"
    return matched.sort("complete", key, "place", descending=[True, is_down, False], nulls_last=True)


def _benchmark(name: str, index: Index) -> Benchmark | None:
    choices = index.benchmarks()
    if name:
        return find_benchmark(name, choices)
    filled = (each for each in choices if any(index.has_entries(board) for board in each.boards))
    return next(filled, choices[0] if choices else None)
