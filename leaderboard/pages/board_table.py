"""One page of a table's rows as plain values for ``templates/rows.html``: of a task's board, or of a benchmark's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import polars as pl

from shiftbench.leaderboard.board import Board, Index
from shiftbench.leaderboard.board.rows import SHARES
from shiftbench.leaderboard.pages.addresses import entry_address
from shiftbench.leaderboard.pages.board_columns import Column
from shiftbench.leaderboard.pages.board_query import FILTERS, PAGE_ROWS, RANKED, REPORTED, BoardQuery, TableQuery
from shiftbench.leaderboard.pages.reported import ReportedTable
from shiftbench.scoring.reports.frame.parts import UNKNOWN, Choice, Gap, GapScale, Head
from shiftbench.scoring.reports.numbers import count, drop_points, points, short_count
from shiftbench.scoring.scores.shape import OUTSIDE_BASES, Estimate
from shiftbench.validation.report import plural
from shiftbench.validation.vocabulary import OUTSIDE_SOURCES

Facts = Mapping[str, Any]
"""One row of a table, from ``board_query.whole_table`` or ``overall_frame``."""


@dataclass(frozen=True)
class Cell:
    """A score, or text. ``mark``: whether the entry leads its board or ties with the leader; ``address``: its URL."""

    kind: str
    head: str
    estimate: Estimate = UNKNOWN
    words: str = ""
    title: str = ""
    placebo: float | None = None
    shares: Sequence[tuple[str, float]] = ()
    address: str = ""
    mark: Literal["", "leads", "tied"] = ""


@dataclass(frozen=True)
class Row:
    """A row for an entry, for a model that a paper reports, or for a model over all tasks of a benchmark."""

    facts: Facts
    name: str
    address: str
    gap: Gap | None
    cells: Sequence[Cell]
    is_tied: bool = False
    is_ranked: bool = True
    can_be_picked: bool = False


@dataclass(frozen=True)
class Group:
    """Consecutive rows of the same kind: ranked, partial, or reported by one ``paper``."""

    rows: Sequence[Row]
    is_ranked: bool = True
    paper: ReportedTable | None = None


@dataclass(frozen=True)
class Pages:
    """The page numbers to link; 0 stands for a gap."""

    number: int
    numbers: Sequence[int]
    last: int


@dataclass(frozen=True)
class Table:
    """A page of rows with headings, filters and pager; ``empty`` is the reason why there are no rows."""

    caption: str
    query: TableQuery
    notes: Sequence[tuple[str, str]] = ()
    filters: Sequence[tuple[str, Sequence[Choice]]] = ()
    reasons: Sequence[tuple[str, str]] = ()
    heads: Sequence[Head] = ()
    groups: Sequence[Group] = ()
    scale: GapScale | None = None
    count: str = ""
    n_folded: int = 0
    pages: Pages | None = None
    csv: str = ""
    picks_task: str = ""
    empty: Literal["", "no match", "no entries"] = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def has_ranks(self) -> bool:
        """Whether there is a column of ranks."""
        return any(head.kind == "rank" for head in self.heads)

    @property
    def views(self) -> list[Choice]:
        """List the two views of the table."""
        return [
            Choice(words, self.query.address(view=view, page=self.query.page), self.query.view == view, rows=True)
            for words, view in (("Simple", ""), ("Full", "full"))
        ]


def store_notes(index: Index) -> list[tuple[str, str]]:
    """List messages on the store's state: (bold word, text)."""
    notes = []
    if index.store.behind:
        # Without the reason, which may contain the server's paths or a private repository.
        notes.append(("Not up to date.", "The store of entries cannot be reached, so newer entries may be missing."))
    if index.unread:
        words = f"{index.unread:,} entries are still being loaded; ranks may change."
        notes.append(("Loading.", words))
    done = index.moderation
    kinds = (("hidden by the host", len(done.hidden)), ("erased", len(done.erased)))
    if counts := [f"{n:,} {words}" for words, n in kinds if n]:
        notes.append(("Excluded.", f"Entries: {', '.join(counts)}. Ranks exclude these entries."))
    return notes


def state_notes(index: Index, query: TableQuery) -> list[tuple[str, str]]:
    """List messages on the table's state: (bold word or empty, text)."""
    return store_notes(index) + [("", note) for note in query.notes]


def filters(table: pl.DataFrame, query: BoardQuery) -> list[tuple[str, list[Choice]]]:
    """List the filters with several values in the table, each value with the URL that toggles it."""
    found = []
    table = table.filter(pl.col("group") != REPORTED)
    for name, (label, expression, words) in FILTERS.items():
        asked = getattr(query, name)
        values = table.select(expression.drop_nulls().unique().sort()).to_series().to_list()
        order = [each for each in (*words, *values) if each in values] if words else values
        shown = list(dict.fromkeys([*order, *([asked] if asked else [])]))
        # A filter with a single value is useless.
        if asked or (shown and table.select(expression.n_unique()).item() > 1):
            choices = [
                Choice(
                    words.get(each, each),
                    query.address(**{name: "" if each == asked else each}),
                    each == asked,
                    rows=True,
                )
                for each in shown
            ]
            found.append((label, choices))
    return found


def pages_of(number: int, n_rows: int) -> Pages | None:
    """Return the page numbers to link: the first, the last, and those near this one; None for a single page."""
    last = last_page(n_rows)
    if last == 1:
        return None
    near = sorted({1, *range(max(number - 2, 1), min(number + 2, last) + 1), last})
    numbers: list[int] = []
    for before, each in zip([0, *near], near, strict=False):
        numbers += [each] if each == before + 1 else [0, each]
    return Pages(number, numbers, last)


def last_page(n_rows: int) -> int:
    """Return the number of the last page for ``n_rows`` rows."""
    return max(-(-n_rows // PAGE_ROWS), 1)


def shown_rows(page: int, n_shown: int, n_found: int, word: str) -> str:
    """Format the range of rows on a page.

    >>> shown_rows(2, 20, 70, "row"), shown_rows(1, 1, 1, "row")
    ('51–70 of 70 rows', '1–1 of 1 row')
    """
    first = (page - 1) * PAGE_ROWS + 1
    return f"{first:,}\N{EN DASH}{first + n_shown - 1:,} of {plural(n_found, word)}"


def sort_head(query: TableQuery, key: str, words: str, first: str, *, kind: Any = "", title: str = "") -> Head:
    """Build a sortable heading: the first click sorts in the order ``first``, the next one reverses it."""
    order: Any = {"asc": "ascending", "desc": "descending"}[query.order] if query.sort == key else ""
    return Head(words, kind, title, key, query.address(sort=key, order=query.next_order(key, first)), order)


def estimate(row: Facts, key: str) -> Estimate:
    """Return a row's score, or ``UNKNOWN`` if it has none."""
    value = row.get(key)
    if value is None:
        return UNKNOWN
    low, high, reason = (row.get(f"{key}.{part}") for part in ("low", "high", "no_interval"))
    return Estimate(value=value, low=low, high=high, no_interval=reason)


def gap_scale(table: pl.DataFrame, shown: pl.DataFrame, home: str, away: str) -> GapScale:
    """Return a scale that covers the gaps of all ranked rows (so that pages share it) and of the shown rows."""
    ranked = table.filter(pl.col("group") == RANKED) if "group" in table.columns else table.filter("complete")
    ends: list[float | None] = []
    for rows in (ranked, shown):
        names = [f"{key}{part}" for key in (home, away) for part in ("", ".low", ".high")]
        known = pl.col([name for name in names if name in rows.columns])
        ends += rows.select(low=pl.min_horizontal(known.min()), high=pl.max_horizontal(known.max())).row(0)
    return GapScale.over([Estimate(value=end) for end in ends])


def board_row(row: Facts, board: Board, columns: Sequence[Column], gap_keys: tuple[str, str, str]) -> Row:
    """Build a row of a task's board."""
    is_reported, at_floor = row["group"] == REPORTED, bool(row.get("at_floor"))
    home, away, loss = (estimate(row, key) for key in gap_keys)
    faint = row["group"] != RANKED or at_floor
    has_gap = home.value is not None or away.value is not None
    return Row(
        facts=row,
        name=row["name"],
        address="" if is_reported else entry_address(row["id"], board.task),
        gap=Gap.of(row["name"], home, away, loss, is_faint=faint) if has_gap else None,
        cells=[_cell(row, column, is_reported=is_reported) for column in columns],
        is_tied=bool(row["with_leader"]) and not at_floor and row["group"] == RANKED,
        is_ranked=row["group"] == RANKED,
        can_be_picked=not is_reported and board.folder.has_public_labels,
    )


def is_outside(row: Facts) -> bool:
    """Return whether a row's model was trained on none of the board's domains."""
    return row.get("trained_on") in OUTSIDE_SOURCES or row.get("basis") in OUTSIDE_BASES.values()


def _cell(row: Facts, column: Column, *, is_reported: bool) -> Cell:
    key = column.key
    if column.kind == "scenarios":
        known = [(name, row[f"share.{name}"]) for name in SHARES if row.get(f"share.{name}")]
        return Cell("scenarios", column.head, shares=known)
    value = row.get(key)
    if column.kind == "count" and value is not None:
        return Cell("text", column.head, words=short_count(value), title=count(value) if value >= 10_000 else "")
    if not column.is_figure:
        return Cell("text", column.head, words=value or "")
    if value is None:
        if is_outside(row) and not is_reported and key not in ("mean_st", "mean_ood"):
            why = "not applicable: the model was trained on none of these domains, so it has no in-domain score"
            return Cell(column.kind, column.head, title=why)
        return Cell("text" if is_reported else column.kind, column.head)
    four, placebo = row.get(f"{key}.four"), row.get(f"{key}.placebo")
    title = f"with the four rarer types merged: {points(four)}" if four is not None else ""
    if placebo is not None:
        title = f"placebo (same texts, no shift): {(drop_points if column.kind == 'drop' else points)(placebo)}"
    return Cell(column.kind, column.head, estimate(row, key), title=title, placebo=placebo)
