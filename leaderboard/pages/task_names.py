"""Display names of benchmarks, tasks and boards, which replace the keys of folders and cards on pages."""

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
"""Names of the benchmarks' own tasks, by key; pairings and user datasets have short titles."""
_LONGEST = 40
_CANDIDATES = "_candidates"
"""Suffix of tasks that contain the candidate data sets from which a benchmark selected its own."""


def plain_task_name(task: str, title: str) -> str:
    """Return a task's display name; for user datasets and pairings, the title if it is short, else the key.

    >>> plain_task_name("nli", ""), plain_task_name("nli_candidates", ""), plain_task_name("moods", "Moods of people")
    ('Inference', 'Inference, candidates', 'Moods of people')
    """
    named = TASK_NAMES.get(task.removesuffix(_CANDIDATES))
    if named:
        return f"{named}, candidates" if task.endswith(_CANDIDATES) else named
    return title if 0 < len(title) <= _LONGEST else task


def task_name(board: Board) -> str:
    """Return the display name of a board's task."""
    return plain_task_name(board.task, board.info.title)


def board_name(board: Board) -> str:
    """Return a board's display name: its task, and the subset unless it is the full test set."""
    return task_name(board) + ("" if board.subset == "all" else f" ({board.subset})")


def benchmark_name(benchmark: Benchmark) -> str:
    """Return a benchmark's name without its subtitle, with the version if several are served."""
    version = benchmark.name.partition("@")[2]
    return benchmark.folder.manifest.title.partition(":")[0] + (f" @{version}" if version else "")
