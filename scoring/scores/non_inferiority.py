"""Test of whether no drop exceeds a margin fixed beforehand: one-sided 95% bounds, on all shifts at once.

Every shift's upper bound must lie below the margin (an intersection-union test), so nothing is corrected for their
number. Below 5 runs of every source the claim is about these trained models; from there on also about the recipe.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from shiftbench.scoring.scores.figures import Figure, difference, mean
from shiftbench.scoring.scores.floors import is_drop_at_floor, ranked_shifts
from shiftbench.scoring.scores.shape import BoundedDrop, NonInferiority, Scores, Shift, TaskScores
from shiftbench.scoring.scores.summary import small_domains
from shiftbench.scoring.scores.values import Cell, TaskValues
from shiftbench.validation.report import InvalidInput, Problem

AT_CHANCE = "a score behind it is at chance or one label for all texts"
_LEVEL = 0.90
"""Two-sided level of intervals each end of which is a one-sided bound of 95%."""


def add_non_inferiority(scores: Scores, task_values: Mapping[str, TaskValues], margin: float | None) -> Scores:
    """Add to scores whether no drop exceeds a margin.

    Args:
        scores: with what is at chance marked.
        task_values: their values by task, with replicates.
        margin: a fraction in (0, 1); None leaves the scores as they are.
    Returns: the scores, with ``non_inferiority`` in every task.
    Raises: InvalidInput for a margin out of range.
    """
    if margin is None:
        return scores
    refuse_margin(margin)
    tasks = [
        task.model_copy(update={"non_inferiority": _bound_task(task, task_values[task.task], margin)})
        for task in scores.tasks
    ]
    return scores.model_copy(update={"tasks": tuple(tasks)})


def refuse_margin(margin: float) -> None:
    """Raise InvalidInput for a margin that is not a fraction above 0 and below 1."""
    if not 0 < margin < 1:
        what, cure = "this is not a margin", "a margin must lie above 0 and below 1; 2 points are 0.02"
        raise InvalidInput(Problem(what, "margin", f"{margin:g}", cure))


def highest_bound(figure: str, cells: Sequence[Cell], drops: Sequence[Figure], margin: float) -> BoundedDrop:
    """Find the highest upper bound of some drops, and whether it is below the margin.

    Args:
        figure: name of the drops.
        cells: source and target of each; empty for a mean.
        drops: at least one.
        margin: a fraction.
    """
    if not all(drop.has_interval for drop in drops):
        reason = next((drop.no_interval for drop in drops if drop.no_interval), None)
        return BoundedDrop(figure=figure, n_shifts=len(cells), margin_holds=None, reason=reason or "no predictions")
    uppers = [drop.limits(_LEVEL)[1] for drop in drops]
    at = int(np.argmax(uppers))
    measured = all(drop.training is not None for drop in drops)
    recipe = max(drop.limits(_LEVEL, recipes=True)[1] for drop in drops) if measured else None
    return BoundedDrop(
        figure=figure,
        n_shifts=len(cells),
        source=cells[at][0] if cells else None,
        target=cells[at][1] if cells else None,
        upper=uppers[at],
        margin_holds=uppers[at] < margin,
        upper_recipe=recipe,
        margin_holds_recipe=None if recipe is None else recipe < margin,
    )


def _bound_task(task: TaskScores, values: TaskValues, margin: float) -> NonInferiority:
    small = small_domains(values.info, values.domains)
    shifts = [
        shift
        for shift in ranked_shifts(task)
        if shift.source in values.info.domains and not small.keys() & {shift.source, shift.target}
    ]
    claims = []
    for name in ("sd", "td"):
        known = [shift for shift in shifts if getattr(shift, name).value is not None]
        if known:
            claims.append(_over_shifts(values, name, known, margin))
    if shifts and task.summary.complete and task.summary.average_drop.value is not None:
        claims.append(_on_average(values, shifts, margin, at_chance=task.summary.at_floor))
    return NonInferiority(margin=margin, claims=tuple(claims))


def _over_shifts(values: TaskValues, name: str, shifts: Sequence[Shift], margin: float) -> BoundedDrop:
    """Find the bound of one drop over all shifts that have it."""
    if any(is_drop_at_floor(shift, name) for shift in shifts):
        return BoundedDrop(figure=name, n_shifts=len(shifts), margin_holds=None, reason=AT_CHANCE)
    cells = [(shift.source, shift.target) for shift in shifts]
    homes = [(target, target) if name == "td" else (source, source) for source, target in cells]
    score = _scores(values)
    drops = [difference(score(home), score(cell)) for home, cell in zip(homes, cells, strict=True)]
    return highest_bound(name, cells, drops, margin)


def _on_average(values: TaskValues, shifts: Sequence[Shift], margin: float, *, at_chance: bool) -> BoundedDrop:
    """Find the bound of the average drop: mean in-domain score less mean ST."""
    name, score = "average_drop", _scores(values)
    if at_chance:
        return BoundedDrop(figure=name, n_shifts=len(shifts), margin_holds=None, reason=AT_CHANCE)
    sources = list(dict.fromkeys(shift.source for shift in shifts))
    own = mean([score((source, source)) for source in sources])
    drop = difference(own, mean([score((shift.source, shift.target)) for shift in shifts]))
    return highest_bound(name, (), [drop], margin).model_copy(update={"n_shifts": len(shifts)})


def _scores(values: TaskValues) -> Callable[[Cell], Figure]:
    return lambda cell: values.figure(values.info.metric, cell)
