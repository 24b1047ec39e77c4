"""Comparing prediction files on the shifts that they share: the ranking figure first, then the others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import polars as pl

from shiftbench.builders.encoder import Encoder
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.metrics.comparison import N_SWAPS
from shiftbench.scoring.comparing.cells import EntryTask
from shiftbench.scoring.comparing.equivalence import equivalence_p_values
from shiftbench.scoring.comparing.figures import TaskFigure, mean_figures, shift_figures
from shiftbench.scoring.comparing.shape import (
    FIGURES,
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
    refuse_swaps,
    select_task,
)
from shiftbench.scoring.comparing.testing import Tested, about_recipes, fewest_runs, run_tests
from shiftbench.scoring.scores.figures import none_if_nan
from shiftbench.scoring.scores.floors import constant_runs, task_floors
from shiftbench.scoring.scores.non_inferiority import refuse_margin
from shiftbench.scoring.scores.outcomes import target_runs
from shiftbench.scoring.scores.score import checked_predictions
from shiftbench.scoring.scores.shape import METRIC_VERSION
from shiftbench.scoring.scores.summary import depth_encoder_name, encoder_name
from shiftbench.scoring.scores.values import Cell
from shiftbench.validation.outside import MAX_TEXT, check_text
from shiftbench.validation.progress import progress
from shiftbench.validation.report import Problem

Both = tuple[Tested, float | None]
"""The test for a difference, and the p value of that for equivalence."""


@dataclass(frozen=True)
class Entrant:
    """A prediction file to compare; read, checked and counted once, at its first comparison.

    Attributes:
        path: the file.
        folder: the dataset that it is for.
        subset: the subset that it covers.
        encoder: needed for BERTScore alone.
        name: what the comparison calls it; by default the file's path.
        tuning_trials: settings that were tried, as its card says; None where that is not stated.
        checked: its predictions, where they were read and checked already.
    """

    path: Path
    folder: DatasetFolder
    subset: str = "all"
    encoder: Encoder | None = None
    name: str = ""
    tuning_trials: int | None = None
    checked: pl.DataFrame | None = None

    def __post_init__(self) -> None:
        """Check that the name reads as it is written."""
        check_text(self.shown_name, "--names" if self.name else str(self.path), most=MAX_TEXT)

    @property
    def shown_name(self) -> str:
        """Return the name under which the comparison shows it."""
        return self.name or str(self.path)

    @cached_property
    def tasks(self) -> Mapping[str, EntryTask]:
        """Return what the runs predicted, by task."""
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
    """A task of two entries with the shifts of both; one entry may stand in for those of the other."""

    a: EntryTask
    b: EntryTask
    cells: list[Cell]


def compare_entrants(
    a: Entrant, b: Entrant, *, n_swaps: int = N_SWAPS, seed: int = 0, margin: float | None = None
) -> Comparison:
    """Compare two prediction files of one dataset and subset.

    Args:
        a: one file.
        b: the other.
        n_swaps: random swaps of each test set.
        seed: seed of the swaps; those of a test set do not depend on what else is compared.
        margin: test, too, whether differences lie within this fraction; fixed before the scores were seen.
    Returns: differences A minus B, fractions in [-1, 1], as means of each task and by shift, with p values corrected
        over all of them (``metrics.multiplicity``).
    Raises: NoSharedShift when there is nothing to compare; InvalidInput when a file is not sound, or the swaps are too
        few for any corrected p below 0.05.
    """
    folder = a.folder
    folder.refuse_withheld()
    if margin is not None:
        refuse_margin(margin)
    matched = _match_tasks(a, b)
    if not matched:
        where = f"{a.shown_name} and {b.shown_name}"
        raise NoSharedShift(Problem("the two files share no shift", where, cure="predict the same shifts with both"))
    refuse_swaps(n_swaps, len(matched))
    shifts: list[ShiftComparison] = []
    means: list[MeanComparison] = []
    about: list[TaskComparison] = []
    for task, each in progress(matched.items(), desc="comparing", unit="task"):
        sides, cells = (each.a, each.b), each.cells
        over, single = mean_figures(cells, *sides), [shift_figures(cell, *sides) for cell in cells]
        every = [*over, *(figure for figures in single for figure in figures)]
        tested = run_tests(every, *sides, n_swaps, seed)
        within = equivalence_p_values(every, tested, *sides, margin) if margin is not None else [None] * len(every)
        means += [_mean(task, *each) for each in zip(over, tested, within, strict=False)]
        means[-len(over)] = means[-len(over)].model_copy(update={"ranked": True})
        rest = zip(tested[len(over) :], within[len(over) :], strict=True)
        shifts += [_shift(task, cell, *sides, [next(rest) for _ in FIGURES]) for cell in cells]
        about.append(_describe_task(task, over[0], every, *sides))
    uncorrected = Comparison(
        a=a.shown_name,
        b=b.shown_name,
        data=folder.content_hash,
        subset=a.subset,
        metric_version=METRIC_VERSION,
        depth_encoder=depth_encoder_name(folder),
        token_encoder=encoder_name(a.encoder),
        n_swaps=n_swaps,
        seed=seed,
        shifts=tuple(shifts),
        means=tuple(means),
        tasks=tuple(about),
        only_a=_unmatched_shifts(a, {task: each.a.shifts - each.b.shifts for task, each in matched.items()}),
        only_b=_unmatched_shifts(b, {task: each.b.shifts - each.a.shifts for task, each in matched.items()}),
        margin=margin,
        tuning_trials_a=a.tuning_trials,
        tuning_trials_b=b.tuning_trials,
    )
    return correct_p_values([uncorrected])[0]


def compare_first(
    entrants: Sequence[Entrant],
    *,
    task: str | None = None,
    n_swaps: int = N_SWAPS,
    seed: int = 0,
    margin: float | None = None,
) -> tuple[Comparison, ...]:
    """Compare the first prediction file with each other one; p values are corrected over all of these tests together.

    Args:
        entrants: the files, at least two, of one dataset and subset.
        task: compare on this task alone.
        n_swaps: random swaps of each test set.
        seed: seed of the swaps.
        margin: test, too, whether differences lie within this fraction.
    Raises: InvalidInput when a file is not sound, the first shares no shift with another, or the swaps are too few.
    """
    first, *rest = entrants
    pairs = [compare_entrants(first, other, n_swaps=n_swaps, seed=seed, margin=margin) for other in rest]
    return correct_p_values(pairs if task is None else [select_task(pair, task) for pair in pairs])


def _match_tasks(a: Entrant, b: Entrant) -> dict[str, _Matched]:
    """Match the entries' shifts by task; a task without a shared shift is left out.

    Where one entry was trained on none of the domains, it meets the other's shifts on the same targets.
    """
    matched = {}
    for task in sorted(a.tasks.keys() & b.tasks.keys()):
        first, second = a.tasks[task], b.tasks[task]
        if not first.shifts & second.shifts:
            if (outside := second.standing_in(first)) is not None:
                second = outside
            else:
                first = first.standing_in(second) or first
        if cells := sorted(first.shifts & second.shifts):
            matched[task] = _Matched(first, second, cells)
    return matched


def _unmatched_shifts(entrant: Entrant, by_task: Mapping[str, set[Cell]]) -> tuple[str, ...]:
    """List the shifts that one entry alone has: of matched tasks those given, of others all."""
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
    )


def _shift(task: str, cell: Cell, a: EntryTask, b: EntryTask, tests: Sequence[Both]) -> ShiftComparison:
    source, target = cell
    return ShiftComparison(
        task=task,
        source=source,
        target=target,
        n=len(a.targets[target].ids),
        runs=min(len(entry.run_indices(source, target)) for entry in (a, b)),
        differences=tuple(_difference(figure, *both) for figure, both in zip(FIGURES, tests, strict=True)),
    )


def _mean(task: str, figure: TaskFigure, test: Tested, p_equivalent: float | None) -> MeanComparison:
    sources = {source for source, _ in figure.cells}
    return MeanComparison(
        task=task,
        source=sources.pop() if len(sources) == 1 else None,
        targets=tuple(dict.fromkeys(target for _, target in figure.cells)),
        difference=_difference(figure.name, test, p_equivalent),
    )


def _difference(figure: str, test: Tested, p_equivalent: float | None) -> Difference:
    value, p, p_others = map(none_if_nan, test[:3])
    return Difference(
        figure=figure, value=value, p=p, p_others=p_others, at_floor=test.at_floor, p_equivalent=p_equivalent
    )
