"""The board of a task, and of a benchmark: navigation, the text summary, one page of rows or the plot, the legend.

A benchmark's board has one line per submitter and model, and one column per task. A board's domains have a page: the
hardest target and the best source, and whether they depend on a single model.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import polars as pl

from shiftbench.leaderboard.board import Benchmark, Board, Index, find_benchmark, find_board
from shiftbench.leaderboard.board.domains import BoardDomains, board_domains
from shiftbench.leaderboard.pages import addresses
from shiftbench.leaderboard.pages.addresses import BOARD_CSV, OVERALL_CSV, address_of, board_address, entry_address
from shiftbench.leaderboard.pages.board_answer import Answer, answer, reasons
from shiftbench.leaderboard.pages.board_columns import Column, columns_of
from shiftbench.leaderboard.pages.board_query import (
    COVERAGE,
    MAX_SEARCH,
    PAGE_ROWS,
    PARTIAL,
    PICTURES,
    RANKED,
    REPORTED,
    BoardQuery,
    OverallQuery,
    TableQuery,
    group_is,
    matching,
    matching_lines,
    whole_table,
)
from shiftbench.leaderboard.pages.board_table import (
    Cell,
    Facts,
    Group,
    Row,
    Table,
    board_row,
    estimate,
    filters,
    gap_scale,
    last_page,
    pages_of,
    shown_rows,
    sort_head,
    state_notes,
)
from shiftbench.leaderboard.pages.reported import reported_tables, titles
from shiftbench.leaderboard.pages.scatter import scatter
from shiftbench.leaderboard.pages.shell import Share, render
from shiftbench.leaderboard.pages.task_names import benchmark_name, board_name, task_name
from shiftbench.scoring.reports.frame.html import Markup
from shiftbench.scoring.reports.frame.parts import Choice, Gap, GapScale, Head
from shiftbench.scoring.reports.frame.site import notices
from shiftbench.scoring.reports.numbers import metric_name
from shiftbench.scoring.scores.shape import METRIC_VERSION, Estimate
from shiftbench.scoring.scores.summary import depth_encoder_name
from shiftbench.validation.report import InvalidInput, Problem, plural
from shiftbench.validation.vocabulary import TaskKind


@dataclass(frozen=True)
class BoardPage:
    """Content of ``templates/board.html``, for a task's board or a benchmark's.

    ``best_of_tasks`` replaces the summary if no model covers all tasks: for each task its name, and the best entry's
    name, URL, score and a remark.
    """

    benchmarks: Sequence[Choice]
    tasks: Sequence[Choice]
    notices: Markup
    title: str
    subject: str
    answer: Answer | None
    views: Sequence[Choice]
    query: TableQuery
    rows: Markup
    below: Markup
    share: Share | None
    n_tasks: int = 1
    best_of_tasks: Sequence[tuple[str, str, str, float | None, str]] | None = None


def board_page(index: Index, query: BoardQuery, base: str = "") -> Markup:
    """Build the page of a board; ``base`` is the server's own URL.

    Raises: InvalidInput if there is no such board.
    """
    boards = index.boards()
    if not boards:
        return no_data()
    board = find_board(query.board, boards)
    ranked = index.frame(board).filter("complete")
    where = "on the target domain" if board.info.joined_source is not None else "on unseen domains"
    where = where if board.info.id_domain is None else "on unseen data sets"
    benchmarks, tasks = choices(index, board)
    title, plain = board.info.title, board_name(board)
    parts = [] if title == plain else [title.removeprefix(f"{plain}: ")]
    page = BoardPage(
        benchmarks=benchmarks,
        tasks=tasks,
        notices=notices([board.folder]),
        title=plain,
        subject=", ".join([*parts, metric_name(board.info.metric)]),
        answer=answer(
            ranked,
            where,
            lambda row: entry_address(row["id"], board.task),
            has_public_labels=board.folder.has_public_labels,
        ),
        views=views_of(board, "scatter" if query.x else "models"),
        query=query,
        rows=rows_fragment(index, query),
        below=render(
            "board_below.html",
            is_public=board.folder.has_public_labels,
            columns=columns_of(board),
            board=board,
            depth_encoder=depth_encoder_name(board.folder),
            metric_version=METRIC_VERSION,
            unscored=index.unscored(),
            meter=index.meter(board),
        ),
        share=share_of(index, board, base, board_address(board.name)),
    )
    return render("board.html", page=page, max_search=MAX_SEARCH)


def fullest_board(index: Index, boards: Sequence[Board]) -> Board:
    """Return the board with the most informative picture: most models with both scores, then most ranked models."""

    def weight(board: Board) -> tuple[int, int]:
        scores = [pl.col(name).is_not_null() for name in gap_keys(board)[:2]]
        both = pl.all_horizontal("complete", ~pl.col("at_floor").fill_null(value=False), *scores)
        n_both, n_ranked = index.frame(board).select(both=both.sum(), ranked=pl.col("complete").sum()).row(0)
        return n_both, n_ranked

    return max(boards, key=weight)


def share_of(index: Index, board: Board, base: str, address: str, name: str | None = None) -> Share | None:
    """Return the link, preview and citation of a page with a board's picture; None if there is no entry.

    ``name`` replaces the board's name in the title.
    """
    frame = index.frame(board)
    newest = frame["date"].max()
    if newest is None:
        return None
    note = f"{frame['complete'].sum():,} ranked entries, data {board.folder.version}, metric version {METRIC_VERSION}"
    title = f"{board.folder.manifest.title.partition(':')[0]}, {name or board_name(board)}: scores under domain shift"
    is_public = board.folder.has_public_labels
    return Share(base, address, title, str(newest)[:4], note=note, has_picture=is_public)


def no_data() -> Markup:
    """Build the page of a server without datasets."""
    return render("no_data.html")


def choices(index: Index, board: Board | Benchmark) -> tuple[list[Choice], list[Choice]]:
    """List the benchmarks, and the tasks of the given board's benchmark, as links."""
    benchmarks = index.benchmarks()
    content = board.folder.content_hash
    of_benchmarks = [
        Choice(benchmark_name(each), overall_address(each), each.folder.content_hash == content) for each in benchmarks
    ]
    benchmark = next(each for each in benchmarks if each.folder.content_hash == content)
    tasks = [
        Choice(board_name(each), board_address(each.name), each == board, each.info.title)
        for each in index.boards()
        if each.folder.content_hash == content
    ]
    overall = Choice("All tasks", overall_address(benchmark), isinstance(board, Benchmark))
    tasks = [overall, *tasks] if len(benchmark.boards) > 1 else tasks
    return of_benchmarks, tasks if len(tasks) > 1 else []


def views_of(board: Board, chosen: str) -> list[Choice]:
    """List the views of a board: its models, their scatter plot, its domains, forecasts, its data."""
    views = {"models": ("Models", board_address(board.name))}
    if board.folder.has_public_labels:
        views["scatter"] = ("Scatter plot", BoardQuery(board=board.name, x=next(iter(PICTURES))).address())
        views["domains"] = ("Domains", address_of(addresses.DOMAINS, board=board.name))
        views["forecasts"] = ("Forecasts", address_of(addresses.FORECAST, board=board.name))
    views["data"] = ("Data", address_of(addresses.DATA, task=board.name.partition(":")[0]))
    return [Choice(words, address, key == chosen) for key, (words, address) in views.items()]


def overall_address(benchmark: Benchmark) -> str:
    """Return the URL of a benchmark's overall board."""
    return OverallQuery(benchmark=benchmark.name).address()


def gap_keys(board: Board) -> tuple[str, str, str]:
    """Return the columns of a board's in-domain score, its score under shift, and the drop."""
    return ("mean_ss", "mean_st", "average_drop") if board.info.id_domain is None else ("id_score", "mean_ood", "drop")


def rows_fragment(index: Index, query: BoardQuery) -> Markup:
    """Build the table with its pager, or the scatter plot; the page's script replaces the old one with it.

    Raises: InvalidInput if there is no such board.
    """
    board = find_board(query.board, index.boards())
    table = whole_table(index, board)
    matched = matching(table, query, columns_of(board))
    if query.x and board.folder.has_public_labels:
        return scatter(board, query, table, matched, gap_keys(board), state_notes(index, query))
    return render("rows.html", table=_table(index, board, query, table, matched))


def _table(index: Index, board: Board, query: BoardQuery, table: pl.DataFrame, matched: pl.DataFrame) -> Table:
    """Build the table of the rows that match a query, with headings, filters and pager."""
    is_public, notes = board.folder.has_public_labels, state_notes(index, query)
    caption, chips = f"{board.name}, in points", filters(table, query)
    has_entries = not table.filter(~group_is(REPORTED)).is_empty()
    begin = {} if has_entries else {"begin": _begin(board)}
    if matched.is_empty():
        facts = {"all": query.address_of_all(), **begin}
        return Table(caption, query, notes, chips, empty="no match" if has_entries else "no entries", facts=facts)
    # Rows of papers are folded unless there are no others.
    scored = matched.filter(~group_is(REPORTED))
    is_folded = query.reported != "shown" and not scored.is_empty()
    rows = scored if is_folded else matched
    number = min(query.page, last_page(rows.height))
    shown = rows.slice((number - 1) * PAGE_ROWS, PAGE_ROWS)
    is_full = query.view == "full"
    columns = [each for each in columns_of(board) if (is_full or each.is_simple) and _has_value(table, each)]
    heads = [
        *([Head(kind="pick")] if is_public else []),
        sort_head(query, "rank", "#", "asc", kind="rank", title="rank by score under shift"),
        sort_head(query, "name", "Model", "asc"),
        Head("In domain, under shift", "gap-head", scale=(scale := gap_scale(table, shown, *gap_keys(board)[:2]))),
        *(_head(query, column) for column in columns),
    ]
    reported = {item.title: item for item in reported_tables(board)}
    groups = [
        Group(
            [board_row(row, board, columns, gap_keys(board)) for row in lines],
            group == RANKED,
            reported.get(title) if group == REPORTED else None,
        )
        for (group, title), lines in groupby(
            shown.iter_rows(named=True), key=lambda row: (row["group"], row["reported"])
        )
    ]
    n_folded = matched.height - rows.height if number == last_page(rows.height) else 0
    figures = [column.key for column in columns if column.is_figure]
    return Table(
        caption,
        query,
        notes,
        chips,
        reasons(shown.filter(~group_is(REPORTED)), figures, has_public_labels=is_public),
        heads,
        groups,
        scale,
        _count(matched, rows, table, number, shown.height),
        n_folded,
        pages_of(number, rows.height),
        query.address(BOARD_CSV),
        board.task if is_public else "",
        "" if has_entries else "no entries",
        {"unfold": query.address(reported="shown"), "wide": len(columns) > 4, **begin},
    )


def _has_value(table: pl.DataFrame, column: Column) -> bool:
    if column.kind == "scenarios":
        return any(table[name].count() for name in table.columns if name.startswith("share."))
    return column.key in table.columns and table[column.key].count() > 0


def _head(query: BoardQuery, column: Column) -> Head:
    kind = "num" if column.kind in ("score", "drop", "count") else ""
    if column.kind == "scenarios":
        return Head(column.head, title=column.words)
    return sort_head(query, column.key, column.head, column.first_order, kind=kind, title=column.words)


def _count(matched: pl.DataFrame, rows: pl.DataFrame, table: pl.DataFrame, number: int, n_shown: int) -> str:
    """Format the range and number of rows on the page."""
    groups = dict(matched["group"].value_counts().iter_rows())
    named = ((RANKED, "ranked"), (PARTIAL, "not ranked"), (REPORTED, "reported by papers"))
    parts = [f"{groups[group]:,} {words}" for group, words in named if groups.get(group)]
    text = f"{shown_rows(number, n_shown, rows.height, 'row')}: {', '.join(parts)}"
    return text + (f" ({table.height:,} without filters)" if matched.height < table.height else "")


def _begin(board: Board) -> Markup:
    """Build the text of an empty board."""
    info = board.info
    has_baseline = info.kind is TaskKind.CLASSIFICATION and (info.id_domain or next(iter(info.domains))) in info.domains
    return render("begin.html", why=board.why_no_shift, task=board.task, has_baseline=has_baseline)


def overall_page(index: Index, query: OverallQuery, base: str = "") -> Markup:
    """Build the page of a benchmark, or its task's board if it has only one task; ``base`` is the server's URL.

    Raises: InvalidInput if there is no such benchmark.
    """
    benchmarks = index.benchmarks()
    if not benchmarks:
        return no_data()
    benchmark = find_benchmark(query.benchmark, benchmarks)
    if len(benchmark.boards) == 1:
        return board_page(index, _only_board(benchmark, query), base)
    ranked = index.overall(benchmark).filter("complete")
    n, is_public = len(benchmark.boards), benchmark.folder.has_public_labels
    links, tasks = choices(index, benchmark)
    page = BoardPage(
        benchmarks=links,
        tasks=tasks,
        notices=notices([benchmark.folder]),
        title="All tasks",
        subject=f"one row per model: scores under shift on {n} tasks, ranked by their mean",
        answer=None
        if ranked.is_empty()
        else answer(
            ranked,
            f"on average over the {n} tasks",
            lambda row: _first_address(row, benchmark),
            has_public_labels=is_public,
        ),
        views=(),
        query=query,
        rows=overall_fragment(index, query),
        below=render("overall_below.html", unscored=index.unscored()),
        share=share_of(index, fullest_board(index, benchmark.boards), base, overall_address(benchmark), "all tasks"),
        n_tasks=n,
        best_of_tasks=_best_of_tasks(index, benchmark) if ranked.is_empty() else None,
    )
    return render("board.html", page=page, max_search=MAX_SEARCH)


def overall_fragment(index: Index, query: OverallQuery) -> Markup:
    """Build the table of lines with its pager; the page's script replaces the old one with it.

    Raises: InvalidInput if there is no such benchmark.
    """
    benchmark = find_benchmark(query.benchmark, index.benchmarks())
    if len(benchmark.boards) == 1:
        return rows_fragment(index, _only_board(benchmark, query))
    return render("rows.html", table=_overall_table(index, benchmark, query))


def _overall_table(index: Index, benchmark: Benchmark, query: OverallQuery) -> Table:
    frame = index.overall(benchmark)
    matched = matching_lines(frame, query)
    caption, notes = f"{benchmark_name(benchmark)}, score under shift in points", state_notes(index, query)
    if matched.is_empty():
        facts = {"all": OverallQuery(benchmark=benchmark.name).address(), "begin": render("begin_benchmark.html")}
        return Table(caption, query, notes, empty="no entries" if frame.is_empty() else "no match", facts=facts)
    number = min(query.page, last_page(matched.height))
    shown = matched.slice((number - 1) * PAGE_ROWS, PAGE_ROWS)
    ranked = int(matched["complete"].sum())
    # Columns without values are omitted: if no model covers all tasks, there is no mean and no gap.
    has_means = frame["mean_st"].count() > 0
    boards = [board for board in benchmark.boards if frame[f"{board.task}:id"].count() > 0]
    heads = [sort_head(query, "rank", "#", "asc", kind="rank")] if has_means else []
    heads.append(sort_head(query, "model", "Model", "asc"))
    scale = gap_scale(frame, shown, "mean_ss", "mean_st") if has_means and frame["mean_ss"].count() else None
    heads += [Head("In domain, under shift", "gap-head", scale=scale)] if scale else []
    mean = "score under shift (ST), unweighted mean over tasks, for models that cover all of them"
    heads += [sort_head(query, "mean_st", "Mean", "desc", kind="num", title=mean)] if has_means else []
    heads += [
        sort_head(
            query,
            board.task,
            task_name(board),
            "desc",
            kind="num",
            title=f"score under shift, {metric_name(board.info.metric)}",
        )
        for board in boards
    ]
    heads.append(
        sort_head(query, COVERAGE, "Tasks", "desc", kind="num", title="tasks with an entry that covers every shift")
    )
    # Such entries are not marked as tied with the leader.
    floor_ids = {each for board in boards for each in index.frame(board).filter(pl.col("at_floor"))["id"]}
    rows = [
        _overall_row(row, benchmark, boards, floor_ids, has_means=has_means, has_gap=scale is not None)
        for row in shown.iter_rows(named=True)
    ]
    words = shown_rows(number, shown.height, matched.height, "model") + f": {ranked:,} ranked"
    figures = ["mean_st", *(f"{board.task}:mean_st" for board in benchmark.boards), "average_drop"]
    return Table(
        caption,
        query,
        notes,
        reasons=reasons(shown, figures, has_public_labels=benchmark.folder.has_public_labels),
        heads=heads,
        groups=[Group(rows)],
        scale=scale,
        count=words + (f" ({frame.height:,} without search)" if matched.height < frame.height else ""),
        pages=pages_of(number, matched.height),
        csv=query.address(OVERALL_CSV),
        facts={"wide": len(boards) > 3},
    )


def _overall_row(
    row: Facts, benchmark: Benchmark, boards: Sequence[Any], at_floor: Set[str], *, has_means: bool, has_gap: bool
) -> Row:
    """Build the line of a model: its mean over tasks, and each task's score, linked to the entry that counts."""
    gap = Gap.of(row["model"], *(estimate(row, key) for key in ("mean_ss", "mean_st", "average_drop")))
    cells = [Cell("score", "Mean", estimate(row, "mean_st"))] if has_means else []
    for board in boards:
        key = f"{board.task}:mean_st"
        identity, known = row[f"{board.task}:id"], estimate(row, key)
        is_tied = row[f"{board.task}:with_leader"] and identity not in at_floor
        cells.append(
            Cell(
                "score",
                task_name(board),
                known,
                words="" if known.value is not None else "partial" if row[f"{board.task}:partial"] else "–",
                address=entry_address(identity, board.task) if identity else "",
                mark=("leads" if row[f"{board.task}:rank"] == 1 else "tied") if is_tied else "",
            )
        )
    cells.append(Cell("text", "Tasks", words=f"{row['n_tasks']} of {len(benchmark.boards)}"))
    return Row(
        facts=row,
        name=row["model"],
        address=_first_address(row, benchmark),
        gap=gap if has_gap and row["mean_ss"] is not None else None,
        cells=cells,
        is_tied=bool(row["with_leader"]) and row["complete"],
        is_ranked=row["complete"] or not has_means,
    )


def _best_of_tasks(index: Index, benchmark: Benchmark) -> list[tuple[str, str, str, float | None, str]]:
    """List the best ranked entry of each task, without its name if it is not shown to be above chance."""
    found = []
    for board in benchmark.boards:
        ranked = index.frame(board).filter("complete")
        if ranked.is_empty():
            continue
        row = ranked.row(0, named=True)
        n_tied = int(ranked["with_leader"].fill_null(value=False).sum()) - 1
        remark = f" (tied with {plural(n_tied, 'other')})" if n_tied > 0 else ""
        name = "" if row["at_floor"] else row["name"]
        found.append((task_name(board), name, entry_address(row["id"], board.task), row["mean_st"], remark))
    return found


def _only_board(benchmark: Benchmark, query: OverallQuery) -> BoardQuery:
    return BoardQuery(board=benchmark.boards[0].name, q=query.q, notes=query.notes)


def _first_address(row: Facts, benchmark: Benchmark) -> str:
    """Return the URL of a line's entry on the first task that it covers; empty if it covers none."""
    covered = ((row[f"{task}:id"], task) for task in benchmark.tasks if row[f"{task}:id"] is not None)
    identity, task = next(covered, (None, ""))
    return entry_address(identity, task) if identity else ""


@dataclass(frozen=True)
class DomainsPage:
    """Content of ``templates/domains.html``; ``gaps``: by domain, scores of models trained on it and on others."""

    benchmarks: Sequence[Choice]
    tasks: Sequence[Choice]
    views: Sequence[Choice]
    notices: Markup
    title: str
    metric: str
    found: BoardDomains
    names: dict[str, str]
    gaps: dict[str, Gap]
    scale: GapScale


def domains_page(index: Index, name: str) -> Markup:
    """Build the page of a board's domains.

    Raises: InvalidInput if there is no such board, or its labels are withheld, since scores by domain would leak them.
    """
    board = find_board(name, index.boards())
    if not board.folder.has_public_labels:
        raise InvalidInput(Problem("labels are withheld, so scores by domain are not shown", board.name))
    found = board_domains(index.frame(board))
    benchmarks, tasks = choices(index, board)
    own = {each.domain: _own_models(each.into, each.lost) for each in found.domains}
    gaps = {each.domain: Gap.of(each.domain, own[each.domain], each.into, each.lost) for each in found.domains}
    scale = GapScale.over(each for gap in gaps.values() for each in (gap.home, gap.away))
    page = DomainsPage(
        benchmarks,
        tasks,
        views_of(board, "domains"),
        notices([board.folder]),
        board_name(board),
        metric_name(board.info.metric),
        found,
        titles(board.info),
        gaps,
        scale,
    )
    return render("domains.html", page=page)


def _own_models(into: Estimate, lost: Estimate) -> Estimate:
    """Return the mean score on a domain of models trained on it: score of models trained elsewhere plus their drop."""
    if into.value is None or lost.value is None:
        return Estimate(value=None)
    return Estimate(value=into.value + lost.value)
