"""The part of a board's page that changes with every question: one page of rows, and what stands around it."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from urllib.parse import parse_qsl, urlencode, urlsplit

import polars as pl

from shiftbench.leaderboard.board import Board, Index, find_board
from shiftbench.leaderboard.pages.addresses import BOARD, BOARD_CSV, COMPARE, SUBMIT
from shiftbench.leaderboard.pages.board_answer import chips
from shiftbench.leaderboard.pages.board_cells import row_cells, scales_of, scenario_key
from shiftbench.leaderboard.pages.board_columns import Column, columns_of, shown_columns
from shiftbench.leaderboard.pages.board_query import (
    PAGE_ROWS,
    PARTIAL,
    RANKED,
    REPORTED,
    BoardQuery,
    group_is,
    matching,
    whole_table,
)
from shiftbench.leaderboard.pages.reported import ReportedTable, reported_tables
from shiftbench.leaderboard.pages.table_parts import (
    BETTER,
    csv_link,
    info_button,
    intervals_switch,
    last_page,
    pager,
    plain_head,
    shown_rows,
    sort_head,
)
from shiftbench.scoring.reports.cells import scroll_box
from shiftbench.scoring.reports.frame.html import Markup, join, tag
from shiftbench.scoring.reports.frame.site import box
from shiftbench.validation.report import counted
from shiftbench.validation.vocabulary import TaskKind

_RANK_WORDS = (
    "Place by score under shift; in brackets the ranks that the entry may have with 95% confidence, compared with each "
    "other entry."
)


def rows_fragment(index: Index, query: BoardQuery) -> Markup:
    """Build the table with its pager, which the page's script puts in the place of the last one.

    Returns: a part of the page that ``board_page`` builds.
    Raises: InvalidInput when there is no such board.
    """
    board = find_board(query.board, index.boards())
    table = whole_table(index, board)
    columns = shown_columns(board, query.columns)
    matched = matching(table, query, columns_of(board))
    notes = state_notes(index, query.notes)
    has_entries = not table.filter(~group_is(REPORTED)).is_empty()
    empty = Markup("") if has_entries else _empty_board(board)
    if matched.is_empty():
        none = box("No entry matches", tag("a", "Show every entry of this board", href=query.address_of_all()))
        return join([*notes, none if has_entries else empty])
    shown, n_folded = _unfolded(matched, query, has_entries=has_entries)
    last = last_page(shown.height)
    page = min(query.page, last)
    shown = shown.slice((page - 1) * PAGE_ROWS, PAGE_ROWS)
    heads = [
        tag("th", tag("span", "Pick to compare", class_="sb-hidden"), class_="sb-pick", scope="col"),
        *_fixed_heads(query),
        *(_head(query, column) for column in columns),
    ]
    scales = scales_of(table, columns)
    tables = {item.title: item for item in reported_tables(board)}
    bodies = []
    for (group, title), rows in groupby(shown.iter_rows(named=True), key=lambda row: (row["group"], row["reported"])):
        lines = [
            row_cells(row, board, columns, scales, is_full=query.intervals == "full", picked=query.picked)
            for row in rows
        ]
        bodies += [*_group_head(group, tables.get(title or ""), len(heads), board), tag("tbody", *lines)]
    if n_folded and page == last:
        bodies.append(_fold(query, n_folded, len(heads)))
    caption = tag("caption", f"{board.name}, in points", class_="sb-hidden")
    content = tag("table", caption, tag("thead", tag("tr", *heads)), *bodies, class_="sb-table sb-board")
    key = [scenario_key()] if any(column.kind == "scenarios" for column in columns) else []
    entries = shown.filter(~group_is(REPORTED))
    figures = [column.key for column in columns if column.is_figure]
    return join(
        [
            *notes,
            empty,
            chips(entries, figures, has_public_labels=board.folder.has_public_labels),
            tag(
                "div",
                _count(matched, shown, table, page),
                *key,
                _actions(board, query, table, shown["id"].to_list()),
                class_="sb-above",
            ),
            scroll_box(content, "Leaderboard table"),
            pager(query, page, last),
        ]
    )


def state_notes(index: Index, notes: Iterable[str]) -> list[Markup]:
    """List what a reader should know of the table's state: entries still to be read, a store that cannot be asked."""
    paragraphs = [tag("p", note, class_="sb-soft") for note in notes]
    if index.unread:
        words = f"{index.unread:,} entries are still being read; ranks may change until all are here."
        paragraphs.insert(0, tag("p", tag("strong", "Starting. "), words, class_="sb-notice"))
    if index.store.behind:
        # Not the reason itself, which may name the server's folders or a private repository.
        words = "The store of entries cannot be reached now, so newer entries may be missing."
        paragraphs.insert(0, tag("p", tag("strong", "Last known. "), words, class_="sb-notice"))
    return paragraphs


def _unfolded(matched: pl.DataFrame, query: BoardQuery, *, has_entries: bool) -> tuple[pl.DataFrame, int]:
    """Return the rows that are not folded, and how many are: those of papers, unless they are all there is."""
    scored = matched.filter(~group_is(REPORTED))
    asked = query.reported == "shown" or query.origin == "reported"
    if asked or not has_entries or scored.is_empty():
        return matched, 0
    return scored, matched.height - scored.height


def _fixed_heads(query: BoardQuery) -> list[Markup]:
    rank = info_button("rank", "Rank", _RANK_WORDS, "from 1 + number of better entries to number of entries not worse")
    name = info_button("name", "Entry", "Name of the entry, what it lacks, paradigm and number of parameters.")
    return [
        sort_head(query, "rank", "#", "asc", rank, class_="sb-num sb-rank"),
        sort_head(query, "name", "Entry", "asc", name),
    ]


def _head(query: BoardQuery, column: Column) -> Markup:
    class_ = "sb-num" if column.kind not in ("text", "scenarios") else None
    class_ = "sb-num sb-fig-head" if column.is_figure else class_
    arrow, better = BETTER.get(column.better, ("", ""))
    info = info_button(column.key, column.head, f"{column.words} {better}".strip(), column.formula)
    if column.kind == "scenarios":
        return plain_head(column.head, info)
    return sort_head(query, column.key, column.head, column.first_order, info, class_=class_, arrow=arrow)


def _group_head(group: int, table: ReportedTable | None, n_columns: int, board: Board) -> Iterable[Markup]:
    """Build the row that says what the rows after it are, where they are not ranked."""
    if group == RANKED:
        return
    if group == PARTIAL or table is None:
        why = ": some shifts are missing, so their means are over other shifts."
        if not board.folder.has_public_labels:
            why = ": not nominated for the last round, or some shifts are missing."
        title = [tag("b", "Not ranked"), why]
        notes = []
    else:
        title = [tag("b", f"Reported by the paper in {table.title}"), f", not scored here: {table.about}."]
        notes = [tag("span", note, class_="sb-note") for note in table.notes]
    cell = tag("th", tag("div", *title, *notes, class_="sb-source"), colspan=str(n_columns), scope="rowgroup")
    yield tag("tbody", tag("tr", cell), class_="sb-group")


def _fold(query: BoardQuery, n_folded: int, n_columns: int) -> Markup:
    """Build the row that stands for the folded rows of papers."""
    words = f"Show {counted(n_folded, 'row')} that papers report"
    link = tag("a", words, href=query.address(reported="shown"), id="board-reported", data_rows="")
    cell = tag("td", tag("div", link, " (not scored here)", class_="sb-source"), colspan=str(n_columns))
    return tag("tbody", tag("tr", cell), class_="sb-group")


def _count(matched: pl.DataFrame, shown: pl.DataFrame, table: pl.DataFrame, page: int) -> Markup:
    """Write which rows are shown, of how many."""
    groups = dict(matched["group"].value_counts().iter_rows())
    parts = [
        words
        for group, words in (
            (RANKED, f"{groups.get(RANKED, 0):,} ranked"),
            (PARTIAL, f"{groups.get(PARTIAL, 0):,} not ranked"),
            (REPORTED, f"{groups.get(REPORTED, 0):,} reported by papers"),
        )
        if groups.get(group)
    ]
    of = shown_rows((page - 1) * PAGE_ROWS + 1, shown.height, matched.height, "row")
    text = f"{of}: {', '.join(parts)}"
    if matched.height < table.height:
        text += f" ({table.height:,} without filters)"
    return tag("p", text, class_="sb-count", id="board-count")


def _actions(board: Board, query: BoardQuery, table: pl.DataFrame, on_page: Sequence[str | None]) -> Markup:
    """Build what can be done with the rows: compare those picked, show intervals in full, take all as CSV.

    Picks of other pages and searches stand by name with a box of their own, so that they can be dropped there; 'Keep
    picks' shows the board again with what is ticked in its address, for browsers without script.
    """
    task = tag("input", type="hidden", name="task", value=board.task)
    names = dict(table.filter(pl.col("id").is_in(query.picked)).select("id", "name").iter_rows())
    away = [_tray_box(each, names[each]) for each in query.picked if each in names and each not in on_page]
    # What the table shows else, for the way back to it; the page of comparisons has no use for it.
    asked = [(name, value) for name, value in parse_qsl(urlsplit(query.address()).query) if name != "picks"]
    hidden_fields = [tag("input", type="hidden", name=name, value=value) for name, value in asked]
    keep = tag("button", "Keep picks", type="submit", formaction=BOARD, class_="sb-keep")
    compare = tag("button", "Compare picked", type="submit")
    form = tag("form", task, *hidden_fields, *away, keep, compare, id="sb-compare", action=COMPARE, method="get")
    first = _first_two(board, on_page)
    if not board.folder.has_public_labels:
        form = first = Markup("")
    return tag("div", first, form, intervals_switch(query), csv_link(query, BOARD_CSV), class_="sb-actions")


def _first_two(board: Board, on_page: Sequence[str | None]) -> Markup:
    """Build the link that compares the first two entries of the page; nothing where there are fewer."""
    ids = [each for each in on_page if each is not None][:2]
    if len(ids) < 2:
        return Markup("")
    title = "Is the first entry really better than the second? In the order that the table has now."
    address = f"{COMPARE}?{urlencode([('task', board.task), *(('id', each) for each in ids)])}"
    return tag("a", "Compare first two", href=address, title=title, class_="sb-button", id="board-first-two")


def _tray_box(identity: str, name: str) -> Markup:
    """Build the ticked box of an entry that was picked on another page."""
    box = tag("input", type="checkbox", name="id", value=identity, checked="", data_tray="")
    return tag("label", box, f" {name}", class_="sb-tray")


def _empty_board(board: Board) -> Markup:
    info, why = board.info, board.why_no_shift
    if why is not None:
        words = (
            f"Models trained on its domains cannot be scored: {why}. Predictions of models trained on none of them "
            "(source 'none') are scored. To score the others, build the dataset with the missing data, as README.md in "
            "the dataset folder describes."
        )
        return box("No shift can be scored on this board", words)
    train = f"Train a baseline with 'shiftbench train tfidf-lr {board.task} --data DIR --out preds.parquet'"
    predict = "Predict the test texts with your own model"
    has_baseline = info.kind is TaskKind.CLASSIFICATION and (info.id_domain or next(iter(info.domains))) in info.domains
    steps = f"{train if has_baseline else predict}, then send the prediction file and its card on the "
    return box(
        "No entries yet on this board",
        join([tag("span", steps), tag("a", "Submit", href=SUBMIT), tag("span", " page.")]),
    )
