"""Whether no drop is above the margin that was fixed beforehand, in words."""

from collections.abc import Iterator

from shiftbench.scoring.reports.numbers import plain_points
from shiftbench.scoring.scores.shape import BoundedDrop, TaskScores
from shiftbench.validation.report import counted

_NAMES = {"sd": "SD", "td": "TD", "average_drop": "average drop"}


def margin_lines(task: TaskScores) -> Iterator[str]:
    """Write a sentence for each drop that was tested against the margin; none without a margin.

    Args:
        task: the scores.
    """
    non_inferiority = task.non_inferiority
    if non_inferiority is None:
        return
    about = f"{task.task}, margin {100 * non_inferiority.margin:g} points, fixed beforehand:"
    if not non_inferiority.claims:
        yield f"{about} there is no drop to test."
    for claim in non_inferiority.claims:
        yield f"{about} {_claim(claim, non_inferiority.margin)}"


def _claim(claim: BoundedDrop, margin: float) -> str:
    where = "" if claim.figure == "average_drop" else f" on any of {counted(claim.n_shifts, 'shift')}"
    wanted = f"no {_NAMES[claim.figure]} above {100 * margin:g}{where}"
    if claim.upper is None:
        return f"{wanted} cannot be tested: {claim.reason}."
    shift = f", {claim.source} -> {claim.target}" if claim.source else ""
    bound = f"one-sided 95% bound {plain_points(claim.upper, 2)}{shift}"
    words = f"{wanted} is {_shown_or_not(claim.margin_holds)} for these trained models ({bound})"
    if claim.upper_recipe is None:
        return f"{words}; training variance was not measured."
    recipe = f"bound {plain_points(claim.upper_recipe, 2)}"
    return f"{words}, and {_shown_or_not(claim.margin_holds_recipe)} for the recipe ({recipe})."


def _shown_or_not(holds: bool | None) -> str:
    return "shown" if holds else "not shown"
