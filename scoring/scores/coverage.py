"""What an entry's scores cover of a board: whether they are ranked, what is missing, and which figures a board
shows.
"""

from shiftbench.scoring.scores.shape import OUTSIDE_BASES, Scores, TaskScores
from shiftbench.scoring.scores.summary import ID_OOD

LAMBDAS = ("0", "50", "90")
"""Percent of the most source-like target texts left out, of the depth figures of a board."""


def covers_board(*, complete: bool, basis: str | None, n_shifts: int, n_domains: int, has_id_domain: bool) -> bool:
    """Return whether scores of one task are ranked.

    Of models trained on domains that takes every shift; of models trained on none of them, every domain as a target:
    trained models' mean ST weighs each of these targets alike, too.

    Args:
        complete: whether every shift is there.
        basis: what ``Summary.basis`` says; None in scores of versions that did not say it.
        n_shifts: shifts that were scored.
        n_domains: domains of the task.
        has_id_domain: whether the task has a domain that models are trained on.
    """
    if not has_id_domain and basis in OUTSIDE_BASES.values():
        return n_shifts == n_domains
    return complete


def task_scores(scores: Scores, task: str) -> TaskScores | None:
    """Find one task's scores.

    Args:
        scores: an entry's scores.
        task: the task.
    Returns: its scores; None where the entry has none.
    """
    return next((each for each in scores.tasks if each.task == task), None)


def missing_lines(scores: Scores, task: str | None = None) -> list[str]:
    """List what is missing from the scores.

    Args:
        scores: an entry's scores.
        task: the task; None lists all tasks', each line beginning with its name.
    Returns: a line for each thing.
    """
    return [
        _place_prefix(item.source, item.target, item.task if task is None else None) + item.what
        for item in scores.missing
        if task is None or item.task == task
    ]


def _place_prefix(source: str | None, target: str | None, task: str | None) -> str:
    cell = f"{source} \N{RIGHTWARDS ARROW} {target}" if source and target else (source or target or "")
    place = " ".join(part for part in (task, cell) if part)
    return f"{place}: " if place else ""


def is_ranked(task: TaskScores) -> bool:
    """Return whether scores cover what a board ranks by."""
    summary = task.summary
    return covers_board(
        complete=summary.complete,
        basis=summary.basis,
        n_shifts=summary.n_shifts,
        n_domains=len(task.domains),
        has_id_domain=task.id_ood is not None,
    )


def unranked_lines(scores: Scores, task: TaskScores) -> list[str]:
    """List why an entry is not ranked, the reason before what is missing."""
    summary = task.summary
    missing = missing_lines(scores, task.task)
    if task.id_ood is not None and summary.basis == "joined":
        missing.insert(0, "it was trained on one of the OOD data sets")
    elif summary.basis not in ("single-source", ID_OOD, *OUTSIDE_BASES.values()):
        missing.insert(0, f"{summary.basis} predictions only: models trained on one domain each are ranked")
    return missing
