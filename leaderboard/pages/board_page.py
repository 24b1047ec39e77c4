"""A task's board: the ways to others, the answer in words, a picture, one page of rows, and how to read them."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import polars as pl

from shiftbench.leaderboard.board import Benchmark, Board, Index, Unscored, find_board
from shiftbench.leaderboard.pages.addresses import (
    BOARD,
    BOARD_CSV,
    COMPARE,
    ROWS,
    SUBMIT,
    board_address,
    entry_address,
    forecast_address,
)
from shiftbench.leaderboard.pages.board_answer import answer, chips
from shiftbench.leaderboard.pages.board_cells import legend_keys, row_cells, scales_of, scenario_key
from shiftbench.leaderboard.pages.board_columns import Column, columns_of, shown_columns
from shiftbench.leaderboard.pages.board_query import (
    FILTERS,
    MAX_SEARCH,
    PAGE_ROWS,
    PARTIAL,
    RANKED,
    REPORTED,
    BoardQuery,
    OverallQuery,
    group_is,
    matching,
    whole_table,
)
from shiftbench.leaderboard.pages.reported import ReportedTable, reported_tables
from shiftbench.leaderboard.pages.shell import render
from shiftbench.leaderboard.pages.table_parts import (
    BETTER,
    csv_link,
    info_button,
    intervals_switch,
    last_page,
    pager,
    plain_head,
    scatter,
    shown_rows,
    sort_head,
)
from shiftbench.leaderboard.pages.task_names import benchmark_name, board_name
from shiftbench.scoring.reports.cells import choices, fact_list, scroll_box
from shiftbench.scoring.reports.frame.html import Markup, join, tag
from shiftbench.scoring.reports.frame.notices import notices
from shiftbench.scoring.reports.frame.site import box
from shiftbench.scoring.reports.numbers import count, metric_name
from shiftbench.scoring.scores.shape import METRIC_VERSION
from shiftbench.scoring.scores.summary import depth_encoder_name
from shiftbench.validation.report import counted
from shiftbench.validation.vocabulary import TaskKind

_SHOWN_AS = ("sort", "order", "x", "intervals", "reported", "picks")
"""Parts of a question that the form keeps without asking for them."""


def board_page(index: Index, query: BoardQuery) -> Markup:
    """Build the page of a board: the ways to others, the answer, the picture, filters, one page of rows, the legend.

    Raises: InvalidInput when there is no such board.
    """
    boards = index.boards()
    if not boards:
        return no_data()
    board = find_board(query.board, boards)
    benchmarks = index.benchmarks()
    benchmark = next(each for each in benchmarks if each.folder.content_hash == board.folder.content_hash)
    ranked = index.frame(board).filter("complete")

    def link(row: Mapping[str, Any]) -> Markup:
        return tag("a", row["name"], href=entry_address(row["id"], board.task))

    form = render(
        "board_form.html",
        query=query,
        hidden_names=("board", *_SHOWN_AS),
        filters=FILTERS,
        max_search=MAX_SEARCH,
        columns=columns_of(board),
        shown=shown_columns(board, query.columns),
    )
    lead = [
        chooser(benchmarks, boards, benchmark, board),
        notices([board.folder]),
        tag("h1", board_name(board), tag("span", f" {_board_subject(board)}", class_="sb-soft")),
        answer(ranked, _kind_of_target(board), link, has_public_labels=board.folder.has_public_labels),
        form,
    ]
    picture = scatter(ranked, query, lambda row: (row["name"], entry_address(row["id"], board.task)))
    below = [to_forecasts(board), legend(board), about_data(board), unscored_list(index.unscored())]
    return arrange_page(lead, picture, rows_fragment(index, query), below)


def arrange_page(lead: Sequence[Markup], picture: Markup, rows: Markup, below: Sequence[Markup]) -> Markup:
    """Arrange a page of a table: what leads to it, the picture, the rows, and what stands below.

    The page's script puts other rows in the place of these, and has their number read aloud.
    """
    return join(
        [
            tag("div", tag("div", *lead, class_="sb-lead"), picture, class_="sb-top"),
            tag("p", id="board-said", class_="sb-hidden", role="status"),
            tag("div", rows, id="board-rows", data_address=ROWS),
            *below,
        ]
    )


def no_data() -> Markup:
    """Build what a server without datasets shows."""
    return box("No data", "Start the server with a dataset folder: shiftbench serve --data DIR --store DIR")


def to_forecasts(board: Board | None = None) -> Markup:
    """Build the line that leads to the forecasts of a board, or of all boards."""
    link = tag("a", "Forecasts", href=forecast_address(board.name if board else None))
    return tag("p", link, ": how well these scores can be forecast without labels.", class_="sb-soft")


def _board_subject(board: Board) -> str:
    """Write what a board is of in a few words; its benchmark stands in the tab above it."""
    title, plain = board.info.title, board_name(board)
    parts = [] if title == plain else [title.removeprefix(f"{plain}: ")]
    return ", ".join([*parts, metric_name(board.info.metric)])


def _kind_of_target(board: Board) -> str:
    if board.info.joined_source is not None:
        return "on the target domain"
    return "on unseen domains" if board.info.id_domain is None else "on unseen data sets"


def chooser(
    benchmarks: Sequence[Benchmark], boards: Sequence[Board], benchmark: Benchmark, board: Board | None
) -> Markup:
    """Build both rows of links."""
    tabs = [
        tag("a", benchmark_name(each), href=overall_address(each), aria_current="true" if each == benchmark else None)
        for each in benchmarks
    ]
    overall = tag("a", "Overall", href=overall_address(benchmark), aria_current="page" if board is None else None)
    tasks = [
        tag(
            "a",
            board_name(each),
            href=board_address(each.name),
            title=each.info.title,
            aria_current="page" if each == board else None,
        )
        for each in boards
        if each.folder.content_hash == benchmark.folder.content_hash
    ]
    named = [overall, *tasks] if len(benchmark.boards) > 1 else tasks
    return join([tag("nav", *tabs, class_="sb-tabs", aria_label="Benchmarks"), choices("Boards", [("", named)])])


def overall_address(benchmark: Benchmark) -> str:
    """Return the address of a benchmark's overall board."""
    return OverallQuery(benchmark=benchmark.name).address()


_RELEASED = (
    "Test labels are withheld. Four times a year the entry that each account has nominated is scored on the ranking "
    "half of the labels; between rounds nothing here depends on it. Figures are points (\N{MULTIPLICATION SIGN}100), "
    "and stay as the round released them. A place counts the entries ahead by more than a step: one point, or two "
    "standard errors of their difference if that is more. The leading set is all that ties statistically with the best "
    "score of all, at 95% for all entries at once; which it is, is not released. Half of the texts make intervals "
    "wider by a factor of 1.4."
)


_FIGURES = (
    "All figures are points (\N{MULTIPLICATION SIGN}100). The small number after a figure is half the width of its 95% "
    "interval over other test texts, for the same trained models; 'Intervals in full' shows both ends.",
    "Below a figure: the bar is its interval, the mark its value, and the ring its value on the placebo, where the "
    "same texts are dealt to domains at random, so that there is no shift. All pictures of a column have one scale, "
    "that of the ranked entries.",
    "A figure has no interval where a test set has too few groups of texts, or too few texts of a class; a rank that "
    "depends on it has none either.",
)
_DROPS = (
    "A drop with a plus sign is a loss: +2.1 means 2.1 points lower than without the shift. The source drop (SD) "
    "compares with the same model on the domain that it was trained on, so a target that is simply harder looks like "
    "harm. The target drop (TD) compares with a model trained on the target, so it is the harm of the shift alone.",
    "The interval of a worst drop covers the drops of all shifts at once, so it is wider than that of the single shift "
    "on the entry's page.",
)
_RANKS = (
    "Ranked are entries that cover every shift, and models trained on none of the domains (zero-shot, few-shot) that "
    "predict every target; each target has the same weight in both means. Below them stand entries that lack "
    "something, and figures that papers report, which were not scored here.",
    "The bracket beside a rank holds the ranks that the entry may have with 95% confidence. With 5 or more runs "
    "(seeds) of every source this holds for training the model again; with fewer, for these trained models.",
    "However the table is sorted, missing values come last, and so do drops of entries that score at chance.",
)


def legend(board: Board) -> Markup:
    """Build the folded words on how to read a board's table."""
    if not board.folder.has_public_labels:
        return tag("details", tag("summary", "How to read this table"), tag("p", _RELEASED), class_="sb-legend")
    has_drops = board.info.joined_source is None
    lines = [*_FIGURES, *(_DROPS if has_drops else ()), *_RANKS]
    is_grid = has_drops and board.info.id_domain is None
    keys = [legend_keys()] if is_grid else []
    reading = tag("ul", *(tag("li", line) for line in lines))
    return tag("details", tag("summary", "How to read this table"), reading, *keys, class_="sb-legend")


def about_data(board: Board) -> Markup:
    """Build the folded facts of a board's data."""
    info = board.info
    tests = {domain: facts.splits["test"].rows for domain, facts in info.domains.items() if "test" in facts.splits}
    total = info.subsets.get(board.subset, sum(tests.values()))
    facts: list[tuple[str, str | Markup]] = [
        ("Metric", metric_name(info.metric)),
        ("Domains", f"{len(tests)}: {', '.join(tests)}"),
        ("Test texts", count(total) + ("" if board.subset == "all" else f" (subset {board.subset})")),
        ("Data version", str(board.folder.version)),
    ]
    absent = [*info.absent_domains, *(f"{domain} (train only)" for domain in info.domains if domain not in tests)]
    if absent:
        facts.append(("Not in this build", ", ".join(absent)))
    facts += [("Metric version", METRIC_VERSION), ("Encoder of depths", depth_encoder_name(board.folder) or "none")]
    return tag("details", tag("summary", "Data of this board"), fact_list(facts, "sb-strip"), class_="sb-legend")


def unscored_list(unscored: Sequence[Unscored]) -> Markup:
    """List the entries without scores, with the reasons; nothing where there are none."""
    if not unscored:
        return Markup("")
    lines = [
        tag("li", tag("a", item.name, href=entry_address(item.id)), ": " + "; ".join(item.reasons))
        for item in unscored[:100]
    ]
    if len(unscored) > len(lines):
        lines.append(tag("li", f"and {len(unscored) - len(lines):,} more"))
    head = tag("summary", f"Not scored on this server ({len(unscored):,})")
    return tag("details", head, tag("ul", *lines), class_="sb-unscored")


_RANK_WORDS = (
    "Place by score under shift; in brackets the ranks that the entry may have with 95% confidence, compared with each "
    "other entry."
)


def rows_fragment(index: Index, query: BoardQuery) -> Markup:
    """Build the table with its pager, which the page's script puts in the place of the last one.

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
    rank = info_button("rank", "Rank", _RANK_WORDS, "from 1 + number of better entries to number of entries not worse")
    name = info_button("name", "Entry", "Name of the entry, what it lacks, paradigm and number of parameters.")
    heads = [
        tag("th", tag("span", "Pick to compare", class_="sb-hidden"), class_="sb-pick", scope="col"),
        sort_head(query, "rank", "#", "asc", rank, class_="sb-num sb-rank"),
        sort_head(query, "name", "Entry", "asc", name),
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
    away = []  # the ticked boxes of entries that were picked on another page
    for each in query.picked:
        if each in names and each not in on_page:
            box = tag("input", type="checkbox", name="id", value=each, checked="", data_tray="")
            away.append(tag("label", box, f" {names[each]}", class_="sb-tray"))
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
