"""Comparison of prediction files on their shared shifts: the ranked figure first, then the others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import polars as pl

from shiftbench.builders.encoder import Encoder
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.comparing.cells import EntryTask
from shiftbench.scoring.comparing.figures import TaskFigure, mean_figures, shift_figures
from shiftbench.scoring.comparing.shape import (
    RECIPES,
    TRAINED_MODELS,
    AtFloor,
    Comparison,
    Difference,
    MeanComparison,
    NoSharedShift,
    ShiftComparison,
    TaskComparison,
    correct_p_values,
    select_task,
)
from shiftbench.scoring.comparing.testing import about_recipes, compare_figure, fewest_runs, run_scores
from shiftbench.scoring.scores.floors import constant_runs, task_floors
from shiftbench.scoring.scores.limits import refuse_margin
from shiftbench.scoring.scores.outcomes import target_runs
from shiftbench.scoring.scores.score import checked_predictions
from shiftbench.scoring.scores.shape import METRIC_VERSION
from shiftbench.scoring.scores.summary import depth_encoder_name, encoder_name
from shiftbench.scoring.scores.values import Cell
from shiftbench.validation.outside import MAX_TEXT, check_text
from shiftbench.validation.progress import progress
from shiftbench.validation.report import Problem


@dataclass(frozen=True)
class Entrant:
    """A prediction file to compare; it is read, checked and scored once, at its first comparison.

    Attributes:
        path: the file.
        folder: the dataset that it is for.
        subset: the subset that it covers.
        encoder: needed only for BERTScore.
        name: its name in the comparison; by default the file's path.
        tuning_trials: number of hyperparameter settings tried, from its card; None if not stated.
        checked: its predictions, if they were read and checked already.
    """

    path: Path
    folder: DatasetFolder
    subset: str = "all"
    encoder: Encoder | None = None
    name: str = ""
    tuning_trials: int | None = None
    checked: pl.DataFrame | None = None

    def __post_init__(self) -> None:
        """Check that the name has no invisible or misleading characters."""
        check_text(self.shown_name, "--names" if self.name else str(self.path), most=MAX_TEXT)

    @property
    def shown_name(self) -> str:
        """Return its name in the comparison."""
        return self.name or str(self.path)

    @cached_property
    def tasks(self) -> Mapping[str, EntryTask]:
        """Return the runs' outcomes, by task."""
        predictions = self.checked
        if predictions is None:
            predictions = checked_predictions(self.path, self.folder, self.subset)
        tasks = {}
        for (name,), rows in predictions.group_by("task", maintain_order=True):
            task = str(name)
            targets = target_runs(task, rows, self.folder, self.subset, encoder=self.encoder)
            tasks[task] = EntryTask(
                self.folder,
                task,
                {runs.target: runs for runs in targets},
                constant_runs(rows, self.folder.task(task).kind),
                task_floors(self.folder, task, self.subset),
            )
        return tasks


class _Matched(NamedTuple):
    """A task of two entries with their shared shifts (see ``EntryTask.standing_in`` for entries without a source)."""

    a: EntryTask
    b: EntryTask
    cells: list[Cell]


def compare_entrants(a: Entrant, b: Entrant, *, margin: float | None = None) -> Comparison:
    """Compare two prediction files of one dataset and subset.

    Args:
        a: one file.
        b: the other.
        margin: also test whether differences lie within this fraction, which must be fixed before scores are seen.

    Returns: the differences A minus B (fractions) in the means of each task and on each shift, with intervals and with
        p values corrected over all differences (``correct_p_values``).

    Raises: NoSharedShift if there is nothing to compare; InvalidInput for an invalid file.
    """
    folder = a.folder
    folder.refuse_withheld()
    if margin is not None:
        refuse_margin(margin)
    matched = _match_tasks(a, b)
    if not matched:
        where = f"{a.shown_name} and {b.shown_name}"
        raise NoSharedShift(
            Problem("the two files share no shift", where, cure="predict the same shifts with both models")
        )
    tasks = [
        _compare_task(task, each, margin) for task, each in progress(matched.items(), desc="comparing", unit="task")
    ]
    uncorrected = Comparison(
        a=a.shown_name,
        b=b.shown_name,
        data=folder.content_hash,
        settings=folder.version.settings,
        subset=a.subset,
        metric_version=METRIC_VERSION,
        depth_encoder=depth_encoder_name(folder),
        token_encoder=encoder_name(a.encoder),
        shifts=tuple(shift for each in tasks for shift in each.shifts),
        means=tuple(mean for each in tasks for mean in each.means),
        tasks=tuple(each.about for each in tasks),
        only_a=_unmatched_shifts(a, {task: each.a.shifts - each.b.shifts for task, each in matched.items()}),
        only_b=_unmatched_shifts(b, {task: each.b.shifts - each.a.shifts for task, each in matched.items()}),
        margin=margin,
        tuning_trials_a=a.tuning_trials,
        tuning_trials_b=b.tuning_trials,
    )
    return correct_p_values([uncorrected])[0]


def compare_first(
    entrants: Sequence[Entrant], *, task: str | None = None, margin: float | None = None
) -> tuple[Comparison, ...]:
    """Compare the first prediction file with each of the others; p values are corrected over all of these tests.

    Args:
        entrants: the files, at least two, of one dataset and subset.
        task: the only task to compare; None for all.
        margin: also test whether differences lie within this fraction.

    Raises: InvalidInput for an invalid file, or if the first shares no shift with another.
    """
    first, *rest = entrants
    pairs = [compare_entrants(first, other, margin=margin) for other in rest]
    return correct_p_values(pairs if task is None else [select_task(pair, task) for pair in pairs])


class _ComparedTask(NamedTuple):
    """One task of a comparison: its shifts, its means, and the kind of claim that its tests support."""

    shifts: list[ShiftComparison]
    means: list[MeanComparison]
    about: TaskComparison


def _compare_task(task: str, matched: _Matched, margin: float | None) -> _ComparedTask:
    a, b, cells = matched
    over, by_shift = mean_figures(cells, a, b), {cell: shift_figures(cell, a, b) for cell in cells}
    every = [*over, *(figure for figures in by_shift.values() for figure in figures)]
    about = _describe_task(task, over[0], every, a, b)

    def compare(figure: TaskFigure) -> Difference:
        return compare_figure(figure, a, b, recipes=about.about == RECIPES, margin=margin)

    means = [_mean(task, figure, compare(figure), ranked=figure is over[0]) for figure in over]
    shifts = [_shift(task, cell, a, b, tuple(map(compare, figures))) for cell, figures in by_shift.items()]
    return _ComparedTask(shifts, means, about)


def _match_tasks(a: Entrant, b: Entrant) -> dict[str, _Matched]:
    """Match the entries' shifts by task; tasks without a shared shift are omitted.

    An entry trained on none of the domains is matched with the other's shifts into the same targets.
    """
    matched = {}
    for task in sorted(a.tasks.keys() & b.tasks.keys()):
        first = a.tasks[task]
        second = b.tasks[task].with_depths_of(first)  # same dataset and subset, so the same depths
        if not first.shifts & second.shifts:
            if (outside := second.standing_in(first)) is not None:
                second = outside
            else:
                first = first.standing_in(second) or first
        if cells := sorted(first.shifts & second.shifts):
            matched[task] = _Matched(first, second, cells)
    return matched


def _unmatched_shifts(entrant: Entrant, by_task: Mapping[str, set[Cell]]) -> tuple[str, ...]:
    """List the shifts that only this entry has: those in ``by_task`` for matched tasks, all shifts for other tasks."""
    alone = {task: by_task.get(task, entry_task.shifts) for task, entry_task in entrant.tasks.items()}
    return tuple("/".join((task, *cell)) for task in sorted(alone) for cell in sorted(alone[task]))


def _describe_task(
    task: str, ranked: TaskFigure, every: Sequence[TaskFigure], a: EntryTask, b: EntryTask
) -> TaskComparison:
    sources = sorted({source for figure in every for source, _, _ in figure.weights or ()})
    sources = sources or sorted({source for source, _ in ranked.cells})
    runs_a, runs_b = (fewest_runs(entry, sources) for entry in (a, b))
    marked = [ranked.weights is not None and entry.is_at_floor(ranked.weights) for entry in (a, b)]
    at_floor: AtFloor | None = "both" if all(marked) else "a" if marked[0] else "b" if marked[1] else None
    return TaskComparison(
        task=task,
        about=RECIPES if about_recipes(sources, a, b) else TRAINED_MODELS,
        runs_a=runs_a,
        runs_b=runs_b,
        at_floor=at_floor,
        outside="a" if a.outside else "b" if b.outside else None,
        run_scores_a=run_scores(ranked, a),
        run_scores_b=run_scores(ranked, b),
    )


def _shift(task: str, cell: Cell, a: EntryTask, b: EntryTask, differences: tuple[Difference, ...]) -> ShiftComparison:
    source, target = cell
    return ShiftComparison(
        task=task,
        source=source,
        target=target,
        n=len(a.targets[target].ids),
        runs=min(len(entry.run_indices(source, target)) for entry in (a, b)),
        differences=differences,
    )


def _mean(task: str, figure: TaskFigure, difference: Difference, *, ranked: bool) -> MeanComparison:
    sources = {source for source, _ in figure.cells}
    return MeanComparison(
        task=task,
        source=sources.pop() if len(sources) == 1 else None,
        targets=tuple(dict.fromkeys(target for _, target in figure.cells)),
        difference=difference,
        ranked=ranked,
    )
