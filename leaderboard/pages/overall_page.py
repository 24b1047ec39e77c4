"""A benchmark's overall board: one line per submitter and model, one column per task."""

from collections.abc import Sequence, Set
from typing import Any

import polars as pl

from shiftbench.leaderboard.board import Benchmark, Index, find_benchmark
from shiftbench.leaderboard.pages.addresses import OVERALL_CSV, entry_address
from shiftbench.leaderboard.pages.board_answer import answer, reasons
from shiftbench.leaderboard.pages.board_page import (
    BoardPage,
    board_page,
    choices,
    fullest_board,
    no_data,
    overall_address,
    rows_fragment,
    share_of,
)
from shiftbench.leaderboard.pages.board_query import (
    COVERAGE,
    MAX_SEARCH,
    PAGE_ROWS,
    BoardQuery,
    OverallQuery,
    matching_lines,
)
from shiftbench.leaderboard.pages.board_table import (
    Cell,
    Facts,
    Group,
    Row,
    Table,
    estimate,
    gap_scale,
    last_page,
    pages_of,
    shown_rows,
    sort_head,
    state_notes,
)
from shiftbench.leaderboard.pages.shell import render
from shiftbench.leaderboard.pages.task_names import benchmark_name, task_name
from shiftbench.scoring.reports.frame.html import Markup
from shiftbench.scoring.reports.frame.parts import Gap, Head
from shiftbench.scoring.reports.frame.site import notices
from shiftbench.scoring.reports.numbers import metric_name
from shiftbench.validation.report import counted


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
        subject=f"a line per model: scores under shift on {n} tasks, ranked by the mean over them",
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
    return render("rows.html", table=_table(index, benchmark, query))


def _table(index: Index, benchmark: Benchmark, query: OverallQuery) -> Table:
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
    mean = "score under shift (ST), plain mean over the tasks, of models that cover them all"
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
    # Entries not shown to be above chance on a task.
    floor_ids = {each for board in boards for each in index.frame(board).filter(pl.col("at_floor"))["id"]}
    rows = [
        _row(row, benchmark, boards, floor_ids, has_means=has_means, has_gap=scale is not None)
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


def _row(
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
        remark = f" (tied with {counted(n_tied, 'other')})" if n_tied > 0 else ""
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
