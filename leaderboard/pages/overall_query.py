"""What a reader asks of an overall board, from the address of the page: benchmark, search, order and page."""

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from shiftbench.leaderboard.board import Benchmark, Index, find_benchmark
from shiftbench.leaderboard.pages.query import TableQuery, how_it_is_shown, values_by_name

COVERAGE, MEAN_RANK, WIN_RATE = "n_tasks", "mean_rank", "win_rate"


@dataclass(frozen=True, kw_only=True)
class OverallQuery(TableQuery):
    """A reader's question about a benchmark's overall board."""

    benchmark: str = ""

    @classmethod
    def parse(cls, pairs: Iterable[tuple[str, str]], index: Index) -> "OverallQuery":
        """Read the parameters of an address; an unknown way to show the board is left out, with a note.

        Args:
            pairs: names and values.
            index: its benchmarks can be asked for; the first with entries is the default.
        Raises: InvalidInput when there is no such benchmark.
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
    """Keep the lines that a question asks for, in its order: ranked lines first, missing values last.

    Args:
        frame: the overall board.
        query: the question.
    """
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
