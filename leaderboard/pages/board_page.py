"""A task's board: the ways to others, the answer in words, a picture, one page of rows, and how to read them."""

from collections.abc import Mapping, Sequence
from typing import Any

from shiftbench.leaderboard.board import Benchmark, Board, Index, Unscored, find_board
from shiftbench.leaderboard.pages.addresses import ROWS, board_address, entry_address, forecast_address
from shiftbench.leaderboard.pages.board_answer import answer
from shiftbench.leaderboard.pages.board_cells import legend_keys
from shiftbench.leaderboard.pages.board_columns import columns_of, shown_columns
from shiftbench.leaderboard.pages.board_fragment import rows_fragment
from shiftbench.leaderboard.pages.board_query import FILTERS, MAX_SEARCH, BoardQuery, OverallQuery
from shiftbench.leaderboard.pages.shell import render
from shiftbench.leaderboard.pages.table_parts import scatter
from shiftbench.leaderboard.pages.task_names import benchmark_name, board_name
from shiftbench.scoring.reports.cells import choices, fact_list
from shiftbench.scoring.reports.frame.html import Markup, join, tag
from shiftbench.scoring.reports.frame.notices import notices
from shiftbench.scoring.reports.frame.site import box
from shiftbench.scoring.reports.numbers import count, metric_name
from shiftbench.scoring.scores.shape import METRIC_VERSION
from shiftbench.scoring.scores.summary import depth_encoder_name

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
    "interval over resampled test texts, for the same trained models; 'Intervals in full' shows both ends.",
    "Below a figure: the bar is its interval, the mark its value, and the ring its value on the placebo, "
    "where the same "
    "texts are dealt to domains at random, so that there is no shift. All pictures of a column have one scale, that of "
    "the ranked entries.",
    "A figure has no interval where a test set has too few groups of texts, or too few texts of a class; a rank that "
    "depends on it has none either.",
)
_DROPS = (
    "A drop with a plus sign is a loss: +2.1 means 2.1 points lower than without the shift. The source "
    "drop (SD) compares "
    "with the same model on the domain that it was trained on, so a target that is simply harder looks like harm. The "
    "target drop (TD) compares with a model trained on the target, so it is the harm of the shift alone.",
    "The interval of a worst drop covers the drops of all shifts at once, so it is wider than that of the "
    "single shift on "
    "the entry's page.",
)
_RANKS = (
    "Ranked are entries that cover every shift, and models trained on none of the domains (zero-shot, few-shot) that "
    "predict every target; each target has the same weight in both means. Below them stand entries that "
    "lack something, "
    "and figures that papers report, which were not scored here.",
    "The bracket beside a rank holds the ranks that the entry may have with 95% confidence. With 5 or "
    "more runs (seeds) "
    "of every source this holds for training the model again; with fewer, for these trained models.",
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
        ("Data version", board.folder.content_hash[:12]),
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
