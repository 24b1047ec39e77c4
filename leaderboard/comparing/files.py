"""Comparing prediction files on the shifts that they share: paired swap test by group, Holm over all tests."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pydantic
from tqdm import tqdm

from builders.encoder import Encoder
from builders.folder.reader import DatasetFolder
from leaderboard.comparing.swaps import SharedRuns, Statistic, Tested
from leaderboard.metrics.comparison import N_SWAPS, holm
from leaderboard.scoring.intervals import known
from leaderboard.scoring.replicates import Cell, TargetRuns, target_runs
from leaderboard.scoring.score import checked_predictions
from leaderboard.scoring.shape import METRIC_VERSION
from validation.report import InvalidInput, Problem
from validation.vocabulary import source_parts

Shift = tuple[str, str, str]
"""Task, source and target."""
FIGURES = ("ST", "SD", "TD")
MEAN_OOD = "mean OOD"
LEVEL = 0.05
"""A corrected p below this says that two entries differ."""
_LEAST_SHOWN = 0.0001


class Difference(pydantic.BaseModel):
    """A minus B in one figure of one shift. ``p`` is two-sided, ``p_holm`` corrected over the whole comparison."""

    figure: str
    value: float | None
    p: float | None
    p_holm: float | None


class ShiftComparison(pydantic.BaseModel):
    """Two entries on one shift, over as many runs as both have; drops only where both have them.

    ``runs`` are those of ST; drops are over as many as all of their scores have.
    """

    task: str
    source: str
    target: str
    n: int
    runs: int
    differences: tuple[Difference, ...]


class MeanComparison(pydantic.BaseModel):
    """Two entries by their mean score on the OOD domains (``targets``) that both have, of a task with an ID domain."""

    task: str
    source: str
    targets: tuple[str, ...]
    difference: Difference


class Comparison(pydantic.BaseModel):
    """All shared shifts. For scores a positive difference favours A; for SD and TD a negative one does."""

    a: str
    b: str
    data: str
    subset: str
    metric_version: str
    n_swaps: int
    seed: int
    shifts: tuple[ShiftComparison, ...]
    means: tuple[MeanComparison, ...] = ()
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]


@dataclass(frozen=True)
class Entrant:
    """A prediction file to compare: read, checked and counted once, when its first comparison needs it.

    Attributes:
        path: the file.
        folder: the dataset that it is for.
        subset: the subset that it covers.
        encoder: needed for BERTScore alone.
        name: what the comparison calls it; by default the file's path.
    """

    path: Path
    folder: DatasetFolder
    subset: str = "all"
    encoder: Encoder | None = None
    name: str = ""

    @property
    def shown_name(self) -> str:
        """What the comparison calls it."""
        return self.name or str(self.path)

    @cached_property
    def runs(self) -> dict[str, dict[str, TargetRuns]]:
        """What the runs predicted, by task and target."""
        predictions = checked_predictions(self.path, self.folder, self.subset)
        return {
            str(task): {
                runs.target: runs
                for runs in target_runs(str(task), rows, self.folder, self.subset, encoder=self.encoder)
            }
            for (task,), rows in predictions.group_by("task", maintain_order=True)
        }

    @property
    def shifts(self) -> set[Shift]:
        """All shifts that it has predictions of."""
        return {
            (task, source, target)
            for task, by_target in self.runs.items()
            for target, runs in by_target.items()
            for source, _ in runs.runs
            if target not in source_parts(source)
        }


def compare_entrants(a: Entrant, b: Entrant, *, n_swaps: int = N_SWAPS, seed: int = 0) -> Comparison:
    """Compare two prediction files of one dataset and subset.

    Args:
        a: one file.
        b: the other.
        n_swaps: random swaps of each test set.
        seed: seed of the swaps; those of a test set do not depend on what else is compared.
    Returns: differences A minus B, fractions in [-1, 1], by shift and as means of each task, with p values corrected
        over all of them (Holm).
    Raises: InvalidInput when a file is not sound, or no shift is shared.
    """
    folder = a.folder
    folder.refuse_withheld()
    shared = sorted(a.shifts & b.shifts)
    if not shared:
        where = f"{a.shown_name} and {b.shown_name}"
        raise InvalidInput(Problem("the two files share no shift", where, cure="predict the same shifts with both"))
    shifts: list[ShiftComparison] = []
    means: list[MeanComparison] = []
    tasks = dict.fromkeys(task for task, *_ in shared)
    for task in tqdm(tasks, desc="comparing", unit="task", disable=None, file=sys.stderr):
        cells = [(source, target) for name, source, target in shared if name == task]
        runs = SharedRuns(task, folder.task(task).metric, a.runs[task], b.runs[task])
        away = _away_from_home(cells, folder.task(task).id_domain)
        figures = [_figures(cell, runs) for cell in cells]
        tested = runs.test([*figures, *([_mean(group, runs)] for group in away)], n_swaps, seed)
        shifts += [_shift(cell, runs, tests) for cell, tests in zip(cells, tested[: len(cells)], strict=True)]
        means += [_mean_ood(group, runs, tests) for group, tests in zip(away, tested[len(cells) :], strict=True)]
    found = Comparison(
        a=a.shown_name,
        b=b.shown_name,
        data=folder.content_hash,
        subset=a.subset,
        metric_version=METRIC_VERSION,
        n_swaps=n_swaps,
        seed=seed,
        shifts=tuple(shifts),
        means=tuple(means),
        only_a=tuple("/".join(shift) for shift in sorted(a.shifts - b.shifts)),
        only_b=tuple("/".join(shift) for shift in sorted(b.shifts - a.shifts)),
    )
    return corrected([found])[0]


def compare_first(
    entrants: Sequence[Entrant], *, task: str | None = None, n_swaps: int = N_SWAPS, seed: int = 0
) -> tuple[Comparison, ...]:
    """Compare the first prediction file with each other one; p values are corrected over all of these tests together.

    Args:
        entrants: the files, at least two, of one dataset and subset.
        task: compare on this task alone.
        n_swaps: random swaps of each test set.
        seed: seed of the swaps.
    Raises: InvalidInput when a file is not sound, or the first shares no shift with another.
    """
    first, *rest = entrants
    pairs = [compare_entrants(first, other, n_swaps=n_swaps, seed=seed) for other in rest]
    return corrected(pairs if task is None else [of_task(pair, task) for pair in pairs])


def corrected(comparisons: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """Correct all p values of some comparisons together, as one family of tests (Holm).

    Args:
        comparisons: with p values, corrected before or not.
    Returns: the same comparisons with ``p_holm`` anew.
    """
    p_values = [np.nan if each.p is None else each.p for comparison in comparisons for each in _differences(comparison)]
    holms = iter(holm(p_values).tolist())

    def correct(difference: Difference) -> Difference:
        return difference.model_copy(update={"p_holm": known(next(holms))})

    found = []
    for comparison in comparisons:
        shifts = tuple(
            shift.model_copy(update={"differences": tuple(map(correct, shift.differences))})
            for shift in comparison.shifts
        )
        means = tuple(each.model_copy(update={"difference": correct(each.difference)}) for each in comparison.means)
        found.append(comparison.model_copy(update={"shifts": shifts, "means": means}))
    return tuple(found)


def of_task(comparison: Comparison, task: str) -> Comparison:
    """Keep one task of a comparison; its p values must be corrected again.

    Args:
        comparison: of any tasks.
        task: the one to keep.
    Returns: the comparison of that task.
    Raises: InvalidInput when it is not among the compared.
    """
    update: dict[str, object] = {
        name: tuple(each for each in getattr(comparison, name) if each.task == task) for name in ("shifts", "means")
    }
    update |= {
        name: tuple(each for each in getattr(comparison, name) if each.startswith(f"{task}/"))
        for name in ("only_a", "only_b")
    }
    if not update["shifts"]:
        cure = f"they share {', '.join(dict.fromkeys(shift.task for shift in comparison.shifts))}"
        what = f"the two entries share no shift of task '{task[:40]}'"
        raise InvalidInput(Problem(what, f"{comparison.a} and {comparison.b}", cure=cure))
    return comparison.model_copy(update=update)


def winner(difference: Difference) -> str | None:
    """Name who is better where the corrected p is below ``LEVEL``.

    Args:
        difference: A minus B of one figure; of drops the smaller is better.
    Returns: 'a' or 'b'; None where nothing is decided.

    >>> winner(Difference(figure="TD", value=-0.2, p=0.001, p_holm=0.01))
    'a'
    """
    if difference.p_holm is None or difference.p_holm >= LEVEL or not difference.value:
        return None
    favours_a = difference.value < 0 if difference.figure in ("SD", "TD") else difference.value > 0
    return "a" if favours_a else "b"


def p_text(p: float | None) -> str:
    """Write a p value; random swaps cannot tell the smallest ones from 0.

    Args:
        p: in [0, 1]; None where there is none.
    Returns: four decimals, or that it is below what they show.

    >>> p_text(0.0312), p_text(0.00001), p_text(None)
    ('0.0312', '< 0.0001', 'n/a')
    """
    if p is None:
        return "n/a"
    return f"{p:.4f}" if p >= _LEAST_SHOWN else f"< {_LEAST_SHOWN}"


def _differences(comparison: Comparison) -> Iterator[Difference]:
    for shift in comparison.shifts:
        yield from shift.differences
    for each in comparison.means:
        yield each.difference


def _figures(cell: Cell, runs: SharedRuns) -> list[Statistic]:
    """ST, SD and TD of a shift.

    SS of a joined source is the mean over its parts. Drops are over as many runs as all of their scores have, ST over
    all its own; a source's test set counts only where both entries predicted it with a model trained on the source.
    """
    source, target = cell
    at_home = [(source, part) for part in source_parts(source)]
    n_st, n_tt = runs.n_shared(cell), runs.n_shared((target, target))
    n_sd = min(n_st, min(map(runs.n_shared, at_home), default=0))
    n_td = min(n_st, n_tt)
    ss = [(each, n_sd, 1 / len(at_home)) for each in at_home]
    return [
        [(cell, n_st, 1.0)],
        [*ss, (cell, n_sd, -1.0)],
        [((target, target), n_td, 1.0), (cell, n_td, -1.0)],
    ]


def _shift(cell: Cell, runs: SharedRuns, tests: Sequence[Tested]) -> ShiftComparison:
    differences = tuple(_difference(figure, test) for figure, test in zip(FIGURES, tests, strict=True))
    source, target = cell
    n, n_runs = len(runs.a[target].ids), runs.n_shared(cell)
    return ShiftComparison(task=runs.task, source=source, target=target, n=n, runs=n_runs, differences=differences)


def _away_from_home(cells: Sequence[Cell], id_domain: str | None) -> list[list[Cell]]:
    """Group the shifts to OOD domains by source, of a task that has an ID domain; a mean needs two of them."""
    if id_domain is None:
        return []
    by_source: dict[str, list[Cell]] = {}
    for source, target in cells:
        if target != id_domain:
            by_source.setdefault(source, []).append((source, target))
    return [group for group in by_source.values() if len(group) > 1]


def _mean(cells: Sequence[Cell], runs: SharedRuns) -> Statistic:
    return [(cell, runs.n_shared(cell), 1 / len(cells)) for cell in cells]


def _mean_ood(cells: Sequence[Cell], runs: SharedRuns, tests: Sequence[Tested]) -> MeanComparison:
    targets = tuple(target for _, target in cells)
    difference = _difference(MEAN_OOD, tests[0])
    return MeanComparison(task=runs.task, source=cells[0][0], targets=targets, difference=difference)


def _difference(figure: str, test: Tested) -> Difference:
    value, p = map(known, test)
    return Difference(figure=figure, value=value, p=p, p_holm=None)
