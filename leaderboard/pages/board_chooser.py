"""The ways between boards: benchmarks as tabs, and below them the overall board and the tasks of the chosen one."""

from collections.abc import Sequence

from shiftbench.leaderboard.board import Benchmark, Board
from shiftbench.leaderboard.pages.addresses import board_address
from shiftbench.leaderboard.pages.overall_query import OverallQuery
from shiftbench.leaderboard.pages.task_names import benchmark_name, board_name
from shiftbench.scoring.reports.cells import choices
from shiftbench.scoring.reports.frame.html import Markup, join, tag


def chooser(
    benchmarks: Sequence[Benchmark], boards: Sequence[Board], benchmark: Benchmark, board: Board | None
) -> Markup:
    """Build both rows of links.

    Args:
        benchmarks: all there are.
        boards: all there are.
        benchmark: the one whose board is shown.
        board: the one that is shown; None for the overall board.
    """
    tabs = [
        tag(
            "a",
            benchmark_name(each),
            href=overall_address(each),
            aria_current="true" if each == benchmark else None,
        )
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
