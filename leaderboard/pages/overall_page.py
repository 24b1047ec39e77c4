"""The front page: a benchmark's overall board, one line for each model of a submitter, a column for each task."""

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

import polars as pl

from shiftbench.leaderboard.board import Benchmark, Board, Index, find_benchmark
from shiftbench.leaderboard.pages.addresses import OVERALL_CSV, board_address, entry_address
from shiftbench.leaderboard.pages.board_answer import answer, chips
from shiftbench.leaderboard.pages.board_cells import apart, short_count, spread
from shiftbench.leaderboard.pages.board_page import (
    arrange_page,
    board_page,
    chooser,
    no_data,
    rows_fragment,
    state_notes,
    to_forecasts,
    unscored_list,
)
from shiftbench.leaderboard.pages.board_query import (
    COVERAGE,
    MAX_SEARCH,
    MEAN_RANK,
    PAGE_ROWS,
    WIN_RATE,
    BoardQuery,
    OverallQuery,
    matching_lines,
)
from shiftbench.leaderboard.pages.links import icon_links
from shiftbench.leaderboard.pages.shell import render
from shiftbench.leaderboard.pages.table_parts import (
    BETTER,
    csv_link,
    info_button,
    intervals_switch,
    last_page,
    next_order,
    pager,
    plain_head,
    scatter,
    shown_rows,
    sort_head,
    sort_state,
)
from shiftbench.leaderboard.pages.task_names import benchmark_name, task_name
from shiftbench.scoring.reports.cells import scroll_box
from shiftbench.scoring.reports.frame.html import Markup, join, tag
from shiftbench.scoring.reports.frame.notices import notices
from shiftbench.scoring.reports.frame.site import box
from shiftbench.scoring.reports.numbers import MISSING, metric_name, points, share
from shiftbench.scoring.scores.shape import Estimate
from shiftbench.validation.report import counted

Row = Mapping[str, Any]
_DASH = "\N{EN DASH}"
_LEAD, _TIE = "\N{BLACK STAR}", "\N{ALMOST EQUAL TO}"
_READING = (
    "A line is one model of one submitter: entries whose cards have the same key 'model' are one line (without the "
    "key, the entry's name counts). Of each task its newest entry that covers every shift is shown.",
    "Models that cover all tasks are ranked by the plain mean over them, so nobody's place changes because somebody "
    "else submitted another task. The others stand below, ordered by how many tasks they cover.",
    "Tasks have different metrics, so the mean puts models in an order and is not a measurement by itself.",
    "Mean rank and win rate depend on who else submitted, so the table is never ordered by them. Their 95% intervals "
    "hold for all tasks at once.",
    f"{_LEAD} marks the leader of a task's board, {_TIE} entries that cannot be told apart from it.",
)


def overall_page(index: Index, query: OverallQuery) -> Markup:
    """Build the front page; of a benchmark with one task that task's board.

    Raises: InvalidInput when there is no such benchmark.
    """
    benchmarks = index.benchmarks()
    if not benchmarks:
        return no_data()
    benchmark = find_benchmark(query.benchmark, benchmarks)
    if len(benchmark.boards) == 1:
        return board_page(index, _only_board(benchmark, query))
    frame = index.overall(benchmark)
    ranked = frame.filter("complete")
    n, is_public = len(benchmark.boards), benchmark.folder.has_public_labels
    about = f"one line per model: scores under shift on {n} tasks and ranked by the mean over them"
    form = render(
        "overall_form.html",
        query=query,
        hidden_names=("benchmark", "sort", "order", "x", "intervals"),
        max_search=MAX_SEARCH,
    )
    lead = [
        chooser(benchmarks, index.boards(), benchmark, None),
        notices([benchmark.folder]),
        tag("h1", "Overall", tag("span", f" {about}", class_="sb-soft")),
        answer(ranked, f"on average over the {n} tasks", _model_link(benchmark), has_public_labels=is_public)
        if not ranked.is_empty()
        else _unranked_answer(index, benchmark),
        form,
    ]
    reading = tag("ul", *(tag("li", line) for line in _READING))
    picture = scatter(ranked, query, lambda row: (row["model"], _first_address(row, benchmark)))
    legend = tag("details", tag("summary", "How to read this table"), reading, class_="sb-legend")
    below = [to_forecasts(), legend, unscored_list(index.unscored())]
    return arrange_page(lead, picture, overall_fragment(index, query), below)


def overall_fragment(index: Index, query: OverallQuery) -> Markup:
    """Build the table of lines with its pager, which the page's script puts in the place of the last one.

    Raises: InvalidInput when there is no such benchmark.
    """
    benchmark = find_benchmark(query.benchmark, index.benchmarks())
    if len(benchmark.boards) == 1:
        return rows_fragment(index, _only_board(benchmark, query))
    frame = index.overall(benchmark)
    matched = matching_lines(frame, query)
    notes = state_notes(index, query.notes)
    if matched.is_empty():
        return join([*notes, _empty_table(benchmark, frame)])
    last = last_page(matched.height)
    page = min(query.page, last)
    shown = matched.slice((page - 1) * PAGE_ROWS, PAGE_ROWS)
    is_full = query.intervals == "full"
    frames = (index.frame(board) for board in benchmark.boards)
    # Entries that are not shown to be above chance on a task.
    floor_ids = {identity for each in frames for identity in each.filter(pl.col("at_floor"))["id"]}
    lines = [_line(row, benchmark, floor_ids, is_full=is_full) for row in shown.iter_rows(named=True)]
    caption = tag("caption", f"{benchmark_name(benchmark)}, score under shift in points", class_="sb-hidden")
    head = tag("thead", tag("tr", *_heads(query, benchmark)))
    table = tag("table", caption, head, tag("tbody", *lines), class_="sb-table sb-board sb-overall")
    ranked = int(matched["complete"].sum())
    words = shown_rows((page - 1) * PAGE_ROWS + 1, shown.height, matched.height, "model")
    words += f": {ranked:,} ranked" + (f" ({frame.height:,} without search)" if matched.height < frame.height else "")
    count = tag("p", words, class_="sb-count", id="board-count")
    actions = tag("div", intervals_switch(query), csv_link(query, OVERALL_CSV), class_="sb-actions")
    above = tag("div", count, actions, class_="sb-above")
    figures = ["mean_st", *(f"{board.task}:mean_st" for board in benchmark.boards), "average_drop"]
    reasons = chips(shown, figures, has_public_labels=benchmark.folder.has_public_labels)
    return join([*notes, reasons, above, scroll_box(table, "Overall table"), pager(query, page, last)])


def _unranked_answer(index: Index, benchmark: Benchmark) -> Markup:
    """Write that no model is ranked over all tasks, and which one leads each task that has ranked entries."""
    parts: list[str | Markup] = []
    for board in benchmark.boards:
        ranked = index.frame(board).filter("complete")
        if ranked.is_empty():
            continue
        row = ranked.row(0, named=True)
        link = tag("a", row["name"], href=entry_address(row["id"], board.task))
        n_tied = int(ranked["with_leader"].fill_null(value=False).sum()) - 1
        remark = f" (tied with {counted(n_tied, 'other')})" if n_tied > 0 else ""
        leader: list[str | Markup] = [link, f" {points(row['mean_st'])}{remark}"]
        parts += ["; " if parts else " Best on each task: ", f"{task_name(board)}, "]
        parts += ["no entry is shown to be above chance"] if row["at_floor"] else leader
    words = f"No model covers all {len(benchmark.boards)} tasks yet, so none is ranked overall."
    return tag("p", words, *parts, "." if parts else "", class_="sb-lead-words")


def _only_board(benchmark: Benchmark, query: OverallQuery) -> BoardQuery:
    return BoardQuery(board=benchmark.boards[0].name, q=query.q, notes=query.notes)


def _empty_table(benchmark: Benchmark, frame: pl.DataFrame) -> Markup:
    if not frame.is_empty():
        return box(
            "No model matches", tag("a", "Show every model", href=OverallQuery(benchmark=benchmark.name).address())
        )
    links = [
        tag("a", task_name(board), href=board_address(board.name), class_="sb-button") for board in benchmark.boards
    ]
    return box("No entries yet on this benchmark", join([tag("span", "Choose a task to see how to begin: "), *links]))


def _heads(query: OverallQuery, benchmark: Benchmark) -> Iterable[Markup]:
    n = len(benchmark.boards)
    up, better = BETTER["up"]
    about = {
        "rank": "Place by the mean over all tasks; in brackets the ranks that the model may have with 95% "
        "confidence, compared with each other model.",
        "model": "Model and submitter; entries whose cards have the same key 'model' are one line.",
        "mean_st": f"Score under shift (ST), plain mean over the {n} tasks, of models that cover them all. {better}",
        COVERAGE: "Number of the benchmark's tasks with an entry that covers every shift.",
        MEAN_RANK: "Mean over tasks of the rank among the models that cover all tasks, which depends on who else "
        "submitted; its interval holds for all tasks at once.",
        WIN_RATE: "Share of comparisons with another ranked model on a task that it wins, which depends on who else "
        "submitted; an equal score counts a half.",
    }
    yield sort_head(query, "rank", "#", "asc", info_button("rank", "Rank", about["rank"]), class_="sb-num sb-rank")
    yield sort_head(query, "model", "Model", "asc", info_button("model", "Model", about["model"]))
    mean = info_button("mean_st", "Mean under shift", about["mean_st"], "(ST of task 1 + ... + ST of task n) / n")
    yield sort_head(query, "mean_st", "Mean under shift", "desc", mean, class_="sb-num", arrow=up)
    for board in benchmark.boards:
        yield _task_head(query, board)
    covers = info_button(COVERAGE, "Coverage", about[COVERAGE])
    yield sort_head(query, COVERAGE, "Coverage", "desc", covers, class_="sb-num")
    rank_info = info_button(MEAN_RANK, "Mean rank", about[MEAN_RANK], "(rank on task 1 + ... + rank on task n) / n")
    yield plain_head("Mean rank", rank_info, class_="sb-num")
    win_info = info_button(
        WIN_RATE, "Win rate", about[WIN_RATE], "(models \N{MINUS SIGN} mean rank) / (models \N{MINUS SIGN} 1)"
    )
    yield plain_head("Win rate", win_info, class_="sb-num")


def _task_head(query: OverallQuery, board: Board) -> Markup:
    """Build a task's heading: it leads to the task's board; the arrow behind it sorts."""
    name, metric = task_name(board), metric_name(board.info.metric)
    words = (
        f"{board.info.title}: score under shift ({metric}); the heading leads to the task's board. {BETTER['up'][1]}"
    )
    info = info_button(board.task, name, words, "mean of ST(s, t) over all s \N{NOT EQUAL TO} t")
    sort = tag(
        "a",
        BETTER["up"][0],
        href=query.address(sort=board.task, order=next_order(query, board.task, "desc")),
        id=f"sort-{board.task}",
        data_rows="",
        aria_label=f"Sort by {name}",
        class_="sb-arrow",
    )
    link = tag("a", name, href=board_address(board.name), class_="sb-to-board")
    return plain_head(link, info, class_="sb-num", after=sort, sorted_=sort_state(query, board.task))


def _line(row: Row, benchmark: Benchmark, at_floor: Set[str], *, is_full: bool) -> Markup:
    name = tag("th", _model_link(benchmark)(row), *apart(_remarks(row)), scope="row")
    cells = [_rank(row), name, _score(row, "mean_st", is_full=is_full)]
    cells += [_task_cell(row, board.task, at_floor, is_full=is_full) for board in benchmark.boards]
    coverage = f"{row['n_tasks']} of {len(benchmark.boards)}"
    cells.append(tag("td", coverage, class_="sb-num"))
    cells += _relative_cells(row, is_full=is_full)
    class_ = ("sb-tied" if row["with_leader"] else None) if row["complete"] else "sb-unranked"
    return tag("tr", *cells, class_=class_)


def _rank(row: Row) -> Markup:
    if row["rank"] is None:
        return tag("td", _DASH, class_="sb-num sb-rank sb-na")
    bounds = []
    if row["rank_low"] is not None:
        bounds = [tag("span", f"[{row['rank_low']}{_DASH}{row['rank_high']}]", class_="sb-hw")]
    return tag("td", str(row["rank"]), *bounds, class_="sb-num sb-rank")


def _remarks(row: Row) -> list[Markup]:
    marks = []
    if row["corrected"] is not None:
        marks.append(tag("span", "leads", class_="sb-note sb-mark"))
    elif row["with_leader"]:
        marks.append(tag("span", "tied", class_="sb-note sb-mark", title="statistically tied with the leader"))
    size = [short_count(row["parameters"])] if row["parameters"] is not None else []
    facts = " \N{MIDDLE DOT} ".join([row["submitter"], row["paradigm"], *size])
    return [*marks, *icon_links(row, row["model"]), tag("span", facts, class_="sb-note")]


def _score(row: Row, name: str, *, is_full: bool) -> Markup:
    estimate = Estimate(value=row[name], low=row[f"{name}.low"], high=row[f"{name}.high"])
    if estimate.value is None:
        return tag("td", _DASH, class_="sb-num sb-na")
    value = tag("span", points(estimate.value), class_="sb-v")
    return tag("td", value, *spread(estimate, None, is_full=is_full), class_="sb-num")


def _task_cell(row: Row, task: str, at_floor: Set[str], *, is_full: bool) -> Markup:
    """Build the score of one task as a link to its entry, marked where it cannot be told from its board's leader."""
    names = ("", ".low", ".high")
    value, low, high = (row[f"{task}:mean_st{name}"] for name in names)
    if value is None:
        words = "partial" if row[f"{task}:partial"] else _DASH
        return tag("td", words, class_="sb-num sb-na")
    link = tag("a", points(value), href=entry_address(row[f"{task}:id"], task), class_="sb-v")
    around = spread(Estimate(value=value, low=low, high=high), None, is_full=is_full)
    tied = []
    if row[f"{task}:with_leader"] and row[f"{task}:id"] not in at_floor:
        leads = row[f"{task}:rank"] == 1
        words = "leads its board" if leads else "statistically tied with the leader of its board"
        mark = [_LEAD if leads else _TIE, tag("span", f" {words}", class_="sb-hidden")]
        tied = [tag("span", *mark, class_="sb-tie-mark", title=words)]
    return tag("td", *tied, link, *around, class_="sb-num sb-tied-cell" if tied else "sb-num")


def _relative_cells(row: Row, *, is_full: bool) -> Sequence[Markup]:
    """Build the cells of what depends on who else submitted; never without an interval."""
    rank, low, high = (row[f"{MEAN_RANK}{part}"] for part in ("", ".low", ".high"))
    if rank is None or low is None:
        return [tag("td", _DASH, class_="sb-num sb-na")] * 2
    ranks = tag("span", f"[{low:.1f}{_DASH}{high:.1f}]", class_="sb-hw")
    cells = [tag("td", f"{rank:.1f}", ranks, class_="sb-num")]
    rate, low, high = (row[f"{WIN_RATE}{part}"] for part in ("", ".low", ".high"))
    if rate is None or low is None:
        return [*cells, tag("td", MISSING, class_="sb-num sb-na")]
    bounds = tag("span", f"[{share(low)}{_DASH}{share(high)}]", class_="sb-hw")
    return [*cells, tag("td", share(rate), bounds, class_="sb-num")]


def _model_link(benchmark: Benchmark) -> Any:
    def link(row: Row) -> Markup:
        address = _first_address(row, benchmark)
        return tag("a", row["model"], href=address) if address else tag("span", row["model"])

    return link


def _first_address(row: Row, benchmark: Benchmark) -> str:
    """Return the address of a line's entry on the first task that it covers; empty where it covers none."""
    covered = ((row[f"{task}:id"], task) for task in benchmark.tasks if row[f"{task}:id"] is not None)
    identity, task = next(covered, (None, ""))
    return entry_address(identity, task) if identity else ""
