"""The board: one table for each benchmark, task and subset. Entries of different subsets never share a table."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import TypeAdapter

from builders.folder import DatasetFolder
from leaderboard.id_ood import ID_OOD
from leaderboard.scores import Estimate, IdOod, Scores, TaskScores
from leaderboard.store import Entry
from leaderboard.views.listing import Listed
from validation.report import InvalidInput, Problem, did_you_mean

BOARD_LAMBDAS = ("0", "50", "90")
"""Percent of the most source-like target texts left out, for the depth columns of the table."""


@dataclass(frozen=True)
class Board:
    """One table's identity: a version of a dataset, one of its tasks, a subset of its test texts."""

    name: str
    folder: DatasetFolder
    task: str
    subset: str


@dataclass(frozen=True)
class BoardRow:
    """One entry on a board. Scores and drops are fractions with their intervals; None where undefined.

    ``rank`` is by mean ST, among entries that cover every shift; others have none, and ``missing`` says why. Where
    models are trained on one domain alone, ``id_ood`` has its scores, mean ST is the mean OOD score, and zero-shot
    models are ranked too: all are asked for the same.
    """

    rank: int | None
    id: str
    name: str
    paradigm: str
    submitter: str
    date: str
    mean_ss: Estimate
    mean_st: Estimate
    average_drop: Estimate
    worst_sd: Estimate
    worst_td: Estimate
    scenario_shares: dict[str, float | None]
    depth_f1: dict[str, Estimate]
    id_ood: IdOod | None
    n_shifts: int
    missing: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Give the row as plain JSON data, in fractions; it is not reported by anybody, but scored here."""
        content: dict[str, Any] = TypeAdapter(BoardRow).dump_python(self, mode="json")
        return {**content, "reported": None}


def boards(folders: Sequence[DatasetFolder], listed: Iterable[Listed] = ()) -> list[Board]:
    """List the tables there are: every task's full test set, and each smaller subset that an entry is for.

    Candidates for a benchmark's data sets have none: they are not part of the benchmark.

    Names are ``benchmark/task``, with ``:subset`` where that is not 'all', and with ``@hash`` where several
    versions of one benchmark are at hand.
    """
    versions = Counter(folder.manifest.benchmark for folder in folders)
    used = {(item.entry.card.data, item.entry.card.subset) for item in listed if item.entry and item.scores}
    found = []
    for folder in folders:
        benchmark = folder.manifest.benchmark
        version = f"@{folder.content_hash[:8]}" if versions[benchmark] > 1 else ""
        for task, info in folder.manifest.tasks.items():
            if info.candidates_for:
                continue
            for subset in ("all", *(name for name in info.subsets if name != "all")):
                if subset == "all" or (folder.content_hash, subset) in used:
                    name = f"{benchmark}/{task}" + ("" if subset == "all" else f":{subset}") + version
                    found.append(Board(name, folder, task, subset))
    return found


def find_board(name: str, choices: Sequence[Board]) -> Board:
    """Give the board of a name; InvalidInput names those there are."""
    for board in choices:
        if board.name == name:
            return board
    cure = did_you_mean(name[:80], [board.name for board in choices]) if choices else "this server has no dataset"
    raise InvalidInput(Problem("there is no such board", "leaderboard", f"'{name[:80]}'", cure))


def board_rows(board: Board, listed: Iterable[Listed]) -> list[BoardRow]:
    """Give a board's rows: complete grids ranked by mean ST, equal scores sharing a rank, then partial ones."""
    rows = []
    for item in listed:
        scores = item.scores
        if item.entry is None or scores is None:
            continue
        if (scores.data, scores.subset) != (board.folder.content_hash, board.subset):
            continue
        task = task_scores(scores, board.task)
        if task is not None:
            rows.append((task.summary.complete, _row(item.entry, scores, task)))
    rows.sort(key=lambda pair: (not pair[0], _descending(pair[1].mean_st), pair[1].name.casefold(), pair[1].id))
    order = [_descending(row.mean_st) for complete, row in rows if complete]
    return [
        replace(row, rank=1 + order.index(_descending(row.mean_st)) if complete else None) for complete, row in rows
    ]


def task_scores(scores: Scores, task: str) -> TaskScores | None:
    """Give one task's scores, where the entry has them."""
    return next((found for found in scores.tasks if found.task == task), None)


def missing_lines(scores: Scores, task: str | None = None) -> list[str]:
    """Say what is not there to be scored, a line each; one task's, or all."""
    return [
        _where(item.source, item.target, item.task if task is None else None) + item.what
        for item in scores.missing
        if task is None or item.task == task
    ]


def _where(source: str | None, target: str | None, task: str | None) -> str:
    cell = f"{source} \N{RIGHTWARDS ARROW} {target}" if source and target else (source or target or "")
    place = " ".join(part for part in (task, cell) if part)
    return f"{place}: " if place else ""


def _row(entry: Entry, scores: Scores, task: TaskScores) -> BoardRow:
    summary = task.summary
    missing: list[str] = []
    if not summary.complete:
        missing = missing_lines(scores, task.task)
        if task.id_ood is not None and summary.basis == "joined":
            missing.insert(0, "some data set is not OOD for it")
        elif summary.basis not in ("single-source", ID_OOD, "zero-shot" if task.id_ood else ""):
            missing.insert(0, f"{summary.basis} predictions only: no grid of single sources to rank")
    return BoardRow(
        rank=None,
        id=entry.id,
        name=entry.card.name,
        paradigm=entry.card.paradigm,
        submitter=entry.submitter,
        date=entry.submitted_at[:10],
        mean_ss=summary.mean_ss,
        mean_st=summary.mean_st,
        average_drop=summary.average_drop,
        worst_sd=summary.worst_sd,
        worst_td=summary.worst_td,
        scenario_shares=dict(summary.scenario_shares),
        depth_f1={key: summary.depth_f1.get(key, Estimate(value=None)) for key in BOARD_LAMBDAS},
        id_ood=task.id_ood,
        n_shifts=summary.n_shifts,
        missing=tuple(missing),
    )


def _descending(score: Estimate) -> tuple[bool, float]:
    """Sort key: high scores first, unknown ones last."""
    return (score.value is None, -(score.value or 0.0))
