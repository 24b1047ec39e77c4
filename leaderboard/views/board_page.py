"""The board: which tables there are, what to look for, and one page of rows. Every text is escaped by ``tag``."""

from collections.abc import Iterable, Sequence
from itertools import groupby

import polars as pl

from leaderboard.board import Board, Index, Unscored, find_board
from leaderboard.views.addresses import BOARD_CSV, COMPARE, ROWS, SUBMIT, entry_address
from leaderboard.views.board_cells import legend_keys, row_cells, scales_of
from leaderboard.views.board_columns import Column, columns_of, shown_columns
from leaderboard.views.board_query import (
    FILTERS,
    MAX_SEARCH,
    PAGE_ROWS,
    PARTIAL,
    RANKED,
    REPORTED,
    BoardQuery,
    matching,
    whole_table,
)
from leaderboard.views.cells import choices, fact_list, scroll_box
from leaderboard.views.html import Markup, join, render, tag
from leaderboard.views.notices import notices
from leaderboard.views.numbers import count, metric_name
from leaderboard.views.reported import ReportedTable, reported_tables
from leaderboard.views.site import box
from validation.report import counted
from validation.vocabulary import TaskKind

_RELEASED = (
    "Test labels are withheld. Four times a year the entry that each account has nominated is scored on the ranking "
    "half of the labels; between rounds nothing here depends on it. Figures are points (\N{MULTIPLICATION SIGN}100), "
    "and stay as the round released them. A place counts the entries ahead by more than a step: one point, or two "
    "standard errors of their difference if that is more. The leading set is what is not told apart from the best "
    "score of all, at 95% for all entries at once; which of it that is stays untold. Half of the texts make intervals "
    "wider by the root of 2."
)
_BETTER = {"up": ("\N{UPWARDS ARROW}", "higher is better"), "down": ("\N{DOWNWARDS ARROW}", "lower is better")}


def board_page(index: Index, query: BoardQuery) -> Markup:
    """Build the page of boards: the choice of boards, the form of filters, one page of rows, and the legend.

    Args:
        index: the boards.
        query: what the address asks for.
    Returns: what stands below the page's head.
    Raises: InvalidInput when there is no such board.
    """
    boards = index.boards()
    if not boards:
        return box("No data", "Start the server with a dataset folder: shiftbench serve --data DIR --store DIR")
    board = find_board(query.board, boards)
    return join(
        [
            tag("h1", "Leaderboard", class_="sb-hidden"),
            _chooser(boards, board),
            notices([board.folder]),
            _about(board),
            _form(board, query),
            tag("p", id="board-said", class_="sb-hidden", role="status"),
            tag("div", rows_fragment(index, query), id="board-rows", data_address=ROWS),
            _legend(board),
            _unscored(index.unscored()),
        ]
    )


def rows_fragment(index: Index, query: BoardQuery) -> Markup:
    """Build the table with its pager, which the page's script puts in the place of the last one.

    Args:
        index: the boards.
        query: what the address asks for.
    Returns: a part of the page that ``board_page`` builds.
    Raises: InvalidInput when there is no such board.
    """
    board = find_board(query.board, index.boards())
    table = whole_table(index, board)
    columns = shown_columns(board, query.columns)
    found = matching(table, query, columns_of(board))
    notes = [tag("p", note, class_="sb-soft") for note in query.notes]
    if index.unread:
        words = f"{index.unread:,} entries are still to be read; ranks are final when all are here."
        notes.insert(0, tag("p", tag("strong", "Starting. "), words, class_="sb-notice"))
    if index.store.behind:
        # Not the reason itself, which may name the server's folders or a private repository.
        words = "The place that keeps the entries cannot be asked now, so newer ones may be missing."
        notes.insert(0, tag("p", tag("strong", "Last known. "), words, class_="sb-notice"))
    empty = _empty_board(board) if table.filter(pl.col("group") != REPORTED).is_empty() else Markup("")
    if found.is_empty():
        none = box("Nothing matches", tag("a", "Show every entry of this board", href=query.address_of_all()))
        return join([*notes, empty or none])
    last = -(-found.height // PAGE_ROWS)
    page = min(query.page, last)
    shown = found.slice((page - 1) * PAGE_ROWS, PAGE_ROWS)
    heads = [tag("th", class_="sb-pick"), *_fixed_heads(query), *(_head(query, column) for column in columns)]
    scales = scales_of(table, columns)
    tables = {item.title: item for item in reported_tables(board)}
    bodies = []
    for (group, title), rows in groupby(shown.iter_rows(named=True), key=lambda row: (row["group"], row["reported"])):
        lines = [row_cells(row, board, columns, scales) for row in rows]
        bodies += [*_group_head(group, tables.get(title or ""), len(heads), board), tag("tbody", *lines)]
    caption = tag("caption", f"{board.name}, in points", class_="sb-hidden")
    content = tag("table", caption, tag("thead", tag("tr", *heads)), *bodies, class_="sb-table sb-board")
    count_line = _count(found, table, page)
    return join(
        [
            *notes,
            empty,
            tag("div", count_line, _actions(board, query), class_="sb-above"),
            scroll_box(content, "Leaderboard table"),
            _pager(query, page, last),
        ]
    )


def _chooser(boards: Sequence[Board], chosen: Board) -> Markup:
    groups = []
    for benchmark, found in groupby(boards, key=lambda board: board.folder.manifest.benchmark):
        links = [
            tag(
                "a",
                board.name.partition("/")[2],
                href=BoardQuery(board=board.name).address(),
                title=board.info.title,
                aria_current="page" if board == chosen else None,
            )
            for board in found
        ]
        groups.append((benchmark, links))
    return choices("Boards", groups)


def _about(board: Board) -> Markup:
    info = board.info
    tests = {domain: facts.splits["test"].rows for domain, facts in info.domains.items() if "test" in facts.splits}
    total = info.subsets.get(board.subset, sum(tests.values()))
    facts: list[tuple[str, str | Markup]] = [
        ("Metric", metric_name(info.metric)),
        ("Domains", f"{len(tests)}: {', '.join(tests)}"),
        ("Test texts", count(total) + ("" if board.subset == "all" else f" (subset {board.subset})")),
        ("Data", board.folder.content_hash[:12]),
    ]
    absent = [*info.absent_domains, *(f"{domain} (train only)" for domain in info.domains if domain not in tests)]
    if absent:
        facts.append(("Not in this build", ", ".join(absent)))
    title = tag("h2", f"{board.folder.manifest.title}: {info.title}")
    return tag("div", title, fact_list(facts, "sb-strip"), class_="sb-about")


def _form(board: Board, query: BoardQuery) -> Markup:
    """Write the filters: a form that any browser can send."""
    return render(
        "board_form.html",
        query=query,
        filters=FILTERS,
        max_search=MAX_SEARCH,
        columns=columns_of(board),
        shown=shown_columns(board, query.columns),
    )


def _fixed_heads(query: BoardQuery) -> list[Markup]:
    return [
        _sort_head(query, "rank", "#", "rank; in brackets its 95% interval", "asc", class_="sb-num"),
        _sort_head(query, "name", "Entry", "", "asc"),
    ]


def _head(query: BoardQuery, column: Column) -> Markup:
    class_ = "sb-num" if column.kind not in ("text", "scenarios") else None
    if column.kind == "scenarios":
        return tag("th", column.head, scope="col", title=column.words)
    arrow, better = _BETTER.get(column.better, ("", ""))
    words = f"{column.words}; {better}" if better else column.words
    return _sort_head(query, column.key, column.head, words, column.first_order, class_=class_, arrow=arrow)


def _sort_head(
    query: BoardQuery, key: str, head: str, words: str, first: str, *, class_: str | None = None, arrow: str = ""
) -> Markup:
    """Give a heading that sorts: the best first, and the other way when it is chosen again."""
    is_sorted = query.sort == key
    order = {"asc": "desc", "desc": "asc"}[query.order] if is_sorted else first
    label = [head, *([tag("span", f"\N{NO-BREAK SPACE}{arrow}", class_="sb-arrow")] if arrow else [])]
    link = tag(
        "a", *label, href=query.address(sort=key, order=order), title=words or None, id=f"sort-{key}", data_rows=""
    )
    state = {"asc": "ascending", "desc": "descending"}[query.order] if is_sorted else None
    return tag("th", link, scope="col", class_=class_, aria_sort=state)


def _group_head(group: int, table: ReportedTable | None, n_columns: int, board: Board) -> Iterable[Markup]:
    """Say what the rows that follow are, where they are not ranked."""
    if group == RANKED:
        return
    if group == PARTIAL or table is None:
        why = ": some shifts are missing, so their means are over other shifts."
        if not board.folder.has_public_labels:
            why = ": not nominated for the last round, or some shifts are missing."
        said = [tag("b", "Not ranked"), why]
        notes = []
    else:
        said = [tag("b", f"Reported by the paper in {table.title}"), f", not scored here: {table.about}."]
        notes = [tag("span", note, class_="sb-note") for note in table.notes]
    cell = tag("th", tag("div", *said, *notes, class_="sb-source"), colspan=str(n_columns), scope="rowgroup")
    yield tag("tbody", tag("tr", cell), class_="sb-group")


def _count(found: pl.DataFrame, table: pl.DataFrame, page: int) -> Markup:
    """Say which rows are shown, of how many."""
    first = (page - 1) * PAGE_ROWS + 1
    groups = dict(found["group"].value_counts().iter_rows())
    parts = [
        words
        for group, words in (
            (RANKED, f"{groups.get(RANKED, 0):,} ranked"),
            (PARTIAL, f"{groups.get(PARTIAL, 0):,} not ranked"),
            (REPORTED, f"{groups.get(REPORTED, 0):,} reported by papers"),
        )
        if groups.get(group)
    ]
    of = f"{first:,}\N{EN DASH}{min(first + PAGE_ROWS - 1, found.height):,} of {counted(found.height, 'row')}"
    text = f"{of}: {', '.join(parts)}"
    if found.height < table.height:
        text += f" ({table.height:,} without filters)"
    return tag("p", text, class_="sb-count", id="board-count")


def _actions(board: Board, query: BoardQuery) -> Markup:
    """Give what can be done with the rows: compare those picked, take all as CSV."""
    task = tag("input", type="hidden", name="task", value=board.task)
    compare = tag("button", "Compare picked", type="submit")
    form = tag("form", task, compare, id="sb-compare", action=COMPARE, method="get")
    if not board.folder.has_public_labels:
        form = Markup("")
    export = tag(
        "a",
        "CSV",
        href=query.address(BOARD_CSV),
        class_="sb-button",
        title="these rows, all pages, as fractions",
        download="",
    )
    return tag("div", form, export, class_="sb-actions")


def _pager(query: BoardQuery, page: int, last: int) -> Markup:
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


def _page_link(query: BoardQuery, number: int, words: str, rel: str | None = None) -> Markup:
    return tag("a", words, href=query.address(page=number), rel=rel, id=f"page-{words.lower()}", data_rows="")


def _legend(board: Board) -> Markup:
    terms = []
    for column in columns_of(board):
        if column.is_figure or column.kind in ("share", "scenarios"):
            arrow = _BETTER.get(column.better, ("", ""))[0]
            terms += [tag("dt", f"{column.head} {arrow}"), tag("dd", f"{column.words[0].upper()}{column.words[1:]}.")]
    reading = (
        "All figures are points (\N{MULTIPLICATION SIGN}100). Brackets and bars hold 95% intervals: other test texts, "
        "the same trained models. The mark is the value; the ring is the same figure on the task's placebo, where "
        "domains are dealt at random and no shift is left. Pictures of a column share one scale. "
        "Where test sets have too few groups, or too few texts of a class, a figure has no interval, and a rank made "
        "of it has none either. "
    )
    ranks = (
        "Entries that cover every shift are ranked; partial ones stand below with what is missing, and so do figures "
        "that papers report, which were not scored here. The bracket beside a rank holds the ranks that the entry may "
        "have with 95% confidence: as a recipe with 5 runs (seeds) or more of every source, with fewer among these "
        "trained models, since training variance is not measured then. A missing value is last whichever way the table "
        "is sorted, and so are the drops of entries at chance."
    )
    drops = (
        "A drop measured against the source (SD) mixes the harm of the shift with the target simply being harder; "
        "measured against a model trained on the target itself (TD) it does not. A plus sign means score was lost. "
        "The interval of a worst drop holds the drops of all shifts at once, so it is wider than that shift's own on "
        "the entry's page."
    )
    if not board.folder.has_public_labels:
        return tag(
            "details",
            tag("summary", "How to read this table"),
            tag("p", _RELEASED),
            tag("dl", *terms),
            class_="sb-legend",
        )
    has_drops = board.info.joined_source is None
    parts = [tag("p", reading, ranks), *([tag("p", drops)] if has_drops else []), tag("dl", *terms)]
    is_grid = has_drops and board.info.id_domain is None
    parts += [legend_keys()] if is_grid else []
    return tag("details", tag("summary", "How to read this table"), *parts, class_="sb-legend")


def _unscored(unscored: Sequence[Unscored]) -> Markup:
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


def _empty_board(board: Board) -> Markup:
    info = board.info
    train = f"Train a baseline with 'shiftbench train tfidf-lr {board.task} --data DIR --out preds.parquet'"
    predict = "Predict the test texts with a model of yours"
    has_baseline = info.kind is TaskKind.CLASSIFICATION and (info.id_domain or next(iter(info.domains))) in info.domains
    steps = f"{train if has_baseline else predict}, then send the prediction file and its card on the "
    return box(
        "No entries yet on this board",
        join([tag("span", steps), tag("a", "Submit", href=SUBMIT), tag("span", " page.")]),
    )
