"""Coverage of a board by an entry's scores: whether they are ranked, what is missing, the depth levels shown."""

from shiftbench.scoring.scores.shape import OUTSIDE_BASES, Scores, TaskScores
from shiftbench.scoring.scores.summary import ID_OOD

LAMBDAS = ("0", "50", "90")
"""Percentages of the most source-like target texts that a board's depth metrics exclude."""


def covers_board(*, complete: bool, basis: str | None, n_shifts: int, n_domains: int, has_id_domain: bool) -> bool:
    """Return whether scores of one task are ranked.

    Models trained on domains need every shift. Models trained on none of them need every domain as a target: the mean
    ST of trained models gives each target the same weight, too.

    Args:
        complete: whether every shift is scored.
        basis: ``Summary.basis``; None in scores of earlier versions, which lack it.
        n_shifts: number of scored shifts.
        n_domains: number of domains of the task.
        has_id_domain: whether the task has a designated domain to train on.
    """
    if not has_id_domain and basis in OUTSIDE_BASES.values():
        return n_shifts == n_domains
    return complete


def task_scores(scores: Scores, task: str) -> TaskScores | None:
    """Find one task's scores.

    Args:
        scores: an entry's scores.
        task: the task.
    Returns: its scores; None if the entry has none.
    """
    return next((each for each in scores.tasks if each.task == task), None)


def missing_lines(scores: Scores, task: str | None = None) -> list[str]:
    """List what is missing from the scores.

    Args:
        scores: an entry's scores.
        task: the task; None for all tasks, each line then starting with the task's name.
    Returns: one line per missing item.
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
    """Return whether a board ranks these scores (see ``covers_board``).

    Args:
        task: an entry's scores of one task.
    """
    summary = task.summary
    return covers_board(
        complete=summary.complete,
        basis=summary.basis,
        n_shifts=summary.n_shifts,
        n_domains=len(task.domains),
        has_id_domain=task.id_ood is not None,
    )


def unranked_lines(scores: Scores, task: TaskScores) -> list[str]:
    """List why an entry is not ranked.

    Args:
        scores: the entry's scores.
        task: its scores of the task that is not ranked (see ``is_ranked``).

    Returns: the reason, then one line per missing item.
    """
    summary = task.summary
    missing = missing_lines(scores, task.task)
    if task.id_ood is not None and summary.basis == "joined":
        missing.insert(0, "it was trained on one of the OOD data sets")
    elif summary.basis not in ("single-source", ID_OOD, *OUTSIDE_BASES.values()):
        missing.insert(0, f"{summary.basis} predictions only: models trained on one domain each are ranked")
    return missing
