"""Test of whether no drop exceeds a margin fixed beforehand: one-sided 95% bounds, on all shifts at once.

Every shift's upper bound must lie below the margin (an intersection-union test), so nothing is corrected for their
number. Below 5 runs of every source the claim is about these trained models; from there on also about the recipe.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from shiftbench.metrics.equivalence import check_margin
from shiftbench.metrics.wilson import wilson_interval
from shiftbench.scoring.scores.floors import is_drop_at_floor, ranked_shifts
from shiftbench.scoring.scores.intervals import SCORE, Figure, TotalBounds, difference, mean, total_bounds
from shiftbench.scoring.scores.precision import Precision
from shiftbench.scoring.scores.replicates import Cell, Floats, TaskValues
from shiftbench.scoring.scores.shape import BoundedDrop, NonInferiority, Scores, Shift, TaskScores
from shiftbench.scoring.scores.summary import small_domains
from shiftbench.validation.report import InvalidInput, Problem

AT_CHANCE = "a score behind it is at chance or one label for all texts"
_LEVEL, _TWO_SIDED = 0.95, 0.975


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
    try:
        check_margin(margin)
    except ValueError as error:
        raise InvalidInput(Problem("this is not a margin", "margin", f"{margin:g}", str(error))) from error


def one_sided(score: Figure, level: float = _LEVEL) -> Figure:
    """Return a score with an interval each end of which is a one-sided bound.

    Args:
        score: with its 95% interval; one without stays as it is.
        level: of the bounds, in (0.5, 1).
    """
    from scipy.special import stdtrit

    if score.square is None:
        return score
    square = score.square * float(stdtrit(score.df, level) / stdtrit(score.df, _TWO_SIDED)) ** 2
    low, high = wilson_interval(float(np.clip(score.values[0], *SCORE)), square)
    return replace(score, low=low, high=high, square=square)


def highest_bound(
    figure: str,
    cells: Sequence[Cell],
    drops: Sequence[Figure],
    totals: Sequence[TotalBounds] | None,
    margin: float,
) -> BoundedDrop:
    """Find the highest upper bound of some drops, and whether it is below the margin.

    Args:
        figure: name of the drops.
        cells: source and target of each; empty for a mean.
        drops: with 90% intervals, at least one.
        totals: what training runs add; None where that was not measured.
        margin: a fraction.
    """
    uppers = [drop.high for drop in drops]
    reason = next((drop.no_interval for drop in drops if drop.high is None and drop.no_interval), None)
    if reason is not None or any(upper is None for upper in uppers):
        return BoundedDrop(figure=figure, n_shifts=len(cells), margin_holds=None, reason=reason or "no predictions")
    known = [float(upper) for upper in uppers if upper is not None]
    at = int(np.argmax(known))
    recipe = max(map(_with_runs, drops, totals)) if totals is not None else None
    return BoundedDrop(
        figure=figure,
        n_shifts=len(cells),
        source=cells[at][0] if cells else None,
        target=cells[at][1] if cells else None,
        upper=known[at],
        margin_holds=known[at] < margin,
        upper_recipe=recipe,
        margin_holds_recipe=None if recipe is None else recipe < margin,
    )


def _with_runs(drop: Figure, total: TotalBounds) -> float:
    from scipy.special import stdtrit

    assert drop.high is not None
    value = float(drop.values[0])
    reach = float(stdtrit(total.training_df, _LEVEL)) * np.sqrt(total.training_variance)
    return min(value + float(np.hypot(drop.high - value, reach)), 1.0)


def _bound_task(task: TaskScores, values: TaskValues, margin: float) -> NonInferiority:
    small = small_domains(values.info, values.domains)
    shifts = [
        shift
        for shift in ranked_shifts(task)
        if shift.source in values.info.domains and not small.keys() & {shift.source, shift.target}
    ]
    if not shifts:
        return NonInferiority(margin=margin, claims=())
    grid = _Grid(values, shifts)
    claims = []
    for name in ("sd", "td"):
        known = [shift for shift in shifts if getattr(shift, name).value is not None]
        if known:
            claims.append(grid.over_shifts(name, known, margin))
    if task.summary.complete and task.summary.average_drop.value is not None:
        claims.append(grid.on_average(margin, at_chance=task.summary.at_floor))
    return NonInferiority(margin=margin, claims=tuple(claims))


class _Grid:
    """The drops of some shifts with 90% intervals, and the part of training runs."""

    def __init__(self, values: TaskValues, shifts: Sequence[Shift]) -> None:
        self.values = values
        self.precision = Precision(values)
        self.cells = [(shift.source, shift.target) for shift in shifts]
        self.sources = list(dict.fromkeys(source for source, _ in self.cells))
        self.targets = list(dict.fromkeys([*self.sources, *(target for _, target in self.cells)]))

    def over_shifts(self, name: str, shifts: Sequence[Shift], margin: float) -> BoundedDrop:
        """Find the bound of one drop over all shifts that have it."""
        if any(is_drop_at_floor(shift, name) for shift in shifts):
            return BoundedDrop(figure=name, n_shifts=len(shifts), margin_holds=None, reason=AT_CHANCE)
        cells = [(shift.source, shift.target) for shift in shifts]
        homes = [(target, target) if name == "td" else (source, source) for source, target in cells]
        drops = [difference(self._score(home), self._score(cell)) for home, cell in zip(homes, cells, strict=True)]
        return highest_bound(name, cells, drops, self._totals(homes, cells, drops), margin)

    def on_average(self, margin: float, *, at_chance: bool) -> BoundedDrop:
        """Find the bound of the average drop: mean in-domain score less mean ST."""
        name = "average_drop"
        if at_chance:
            return BoundedDrop(figure=name, n_shifts=len(self.cells), margin_holds=None, reason=AT_CHANCE)
        own = mean([self._score((source, source)) for source in self.sources])
        drop = difference(own, mean([self._score(cell) for cell in self.cells]))
        homes = [(source, source) for source, _ in self.cells]
        totals = self._totals(homes, self.cells, [drop], average=True)
        bounded = highest_bound(name, (), [drop], totals, margin)
        return bounded.model_copy(update={"n_shifts": len(self.cells)})

    def _score(self, cell: Cell) -> Figure:
        return one_sided(self.precision.figure(self.values.info.metric, cell))

    def _totals(
        self, homes: Sequence[Cell], cells: Sequence[Cell], drops: Sequence[Figure], *, average: bool = False
    ) -> list[TotalBounds] | None:
        """Find the part of training runs; None where not every score of the matrix has 5 runs."""
        if any(source not in self.sources for source, _ in homes) or any(not drop.has_interval for drop in drops):
            return None
        (home_rows, home_columns), (rows, columns) = (self._places(each) for each in (homes, cells))

        def statistic(matrix: Floats) -> Floats:
            differences = matrix[..., home_rows, home_columns] - matrix[..., rows, columns]
            return np.asarray(differences.mean(axis=-1, keepdims=True) if average else differences)

        return total_bounds(self.values, self.sources, self.targets, statistic, drops)

    def _places(self, cells: Sequence[Cell]) -> tuple[list[int], list[int]]:
        return [self.sources.index(source) for source, _ in cells], [self.targets.index(target) for _, target in cells]
