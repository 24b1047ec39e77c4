"""Plain names of benchmarks, tasks and boards: what a reader meets in the place of the keys of folders and cards."""

from collections.abc import Mapping

from shiftbench.leaderboard.board import Benchmark, Board

TASK_NAMES: Mapping[str, str] = {
    "sa": "Sentiment",
    "nli": "Inference",
    "ab": "Aspects",
    "qa": "Question answering",
    "qa_imbalanced": "Question answering, imbalanced",
    "qg": "Question generation",
    "as": "Summaries",
    "tg": "Titles",
    "td": "Toxicity",
    "ner": "Named entities",
    "eqa": "Question answering",
}
"""Those of the benchmarks' own tasks, by their keys; pairings and own data have short titles."""
_LONGEST = 40
_CANDIDATES = "_candidates"
"""Ends the keys of tasks that hold the data sets which a benchmark's could have been chosen from."""


def plain_task_name(task: str, title: str) -> str:
    """Return the plain name of a task: of own data and pairings the title where it is short, else the key.

    >>> plain_task_name("nli", ""), plain_task_name("nli_candidates", ""), plain_task_name("moods", "Moods of people")
    ('Inference', 'Inference, candidates', 'Moods of people')
    """
    named = TASK_NAMES.get(task.removesuffix(_CANDIDATES))
    if named:
        return f"{named}, candidates" if task.endswith(_CANDIDATES) else named
    return title if 0 < len(title) <= _LONGEST else task


def task_name(board: Board) -> str:
    """Return the plain name of a board's task."""
    return plain_task_name(board.task, board.info.title)


def board_name(board: Board) -> str:
    """Return the plain name of a board: its task, and the subset where that is not the full test set."""
    return task_name(board) + ("" if board.subset == "all" else f" ({board.subset})")


def benchmark_name(benchmark: Benchmark) -> str:
    """Return a benchmark's name without its subtitle; with the version where several are at hand."""
    version = benchmark.name.partition("@")[2]
    return benchmark.folder.manifest.title.partition(":")[0] + (f" @{version}" if version else "")
