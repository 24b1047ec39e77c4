"""Detectable drops before any model is trained: the smallest ones, and the runs or texts that they take.

The sizes come from a dataset folder, what models do from assumptions: typed, or measured on an earlier prediction file.
Everything is computed from standard errors (``shiftbench.metrics.power``); nothing depends on a drop that
was seen.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pydantic
from shiftbench.metrics.wilson import effective_n, intraclass_correlation, run_moments
from shiftbench.scoring.scores.intervals import smallest_drop

from shiftbench.builders.encoder import Encoder
from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.metrics.crossed import MIN_RUNS
from shiftbench.metrics.depth import effective_size
from shiftbench.metrics.power import (
    EvaluationSet,
    Variance,
    mean_drop_variance,
    minimum_detectable,
    source_drop_variance,
    target_drop_variance,
)
from shiftbench.scoring.scores.outcomes import TargetRuns, target_runs
from shiftbench.scoring.scores.score import checked_predictions
from shiftbench.scoring.scores.shape import DetectableDrop
from shiftbench.validation.report import InvalidInput, Problem, UnknownChoice

WANTED = (0.01, 0.02, 0.05)
"""Drops for which the needed runs and texts are listed."""
_MOST_RUNS = 1_000
_LEAST_TEXTS, _MOST_TEXTS = 10, 10_000_000


class Assumptions(pydantic.BaseModel):
    """The assumptions on the models to be trained; all are fractions.

    Attributes:
        accuracy: mean score of a text.
        discordance: share of texts that one of two models has right and the other wrong.
        icc: intra-class correlation of scores within a group of texts (premise, document).
        run_sd: standard deviation of a model's score over training runs.
        measured_on: the prediction file that they were measured on; None where all were typed.
    """

    accuracy: float = pydantic.Field(default=0.75, ge=0, le=1)
    discordance: float = pydantic.Field(default=0.25, ge=0, le=1)
    icc: float = pydantic.Field(default=0.05, ge=0, le=1)
    run_sd: float = pydantic.Field(default=0.01, ge=0, lt=1)
    measured_on: str | None = None


def parse_assumptions(typed: Sequence[str]) -> dict[str, float]:
    """Parse assumptions that were typed as ``NAME=VALUE``; of one that was typed twice the last counts.

    Raises: UnknownChoice for another name, or a value outside the name's range.

    >>> parse_assumptions(["icc=0.1", "run_sd=0.02"])
    {'icc': 0.1, 'run_sd': 0.02}
    """
    given: dict[str, float] = {}
    for each in typed:
        name, _, value = each.partition("=")
        cure = "give NAME=VALUE: accuracy, discordance or icc from 0 to 1, or run_sd from 0 to below 1"
        if name not in Assumptions.model_fields or name == "measured_on":
            raise UnknownChoice(Problem("there is no such assumption", "--assume", repr(name), cure))
        try:
            given[name] = getattr(Assumptions.model_validate({name: value}), name)
        except pydantic.ValidationError:
            raise UnknownChoice(Problem("an assumption has no such value", "--assume", repr(each), cure)) from None
    return given


class PlannedDrop(DetectableDrop):
    """The smallest true drop of one figure that will be found.

    Attributes:
        figure: ``SD``, ``TD`` or ``average drop``.
        source, target: of a shift; None for the average.
    """

    figure: str
    source: str | None = None
    target: str | None = None


class Need(pydantic.BaseModel):
    """The runs or texts needed to detect a drop in a figure; for SD and TD in the task's median shift.

    Attributes:
        figure: ``SD``, ``TD`` or ``average drop``.
        drop: the true drop, a fraction.
        runs: training runs a source, at the test sets as they are; None where no number is enough.
        texts: test texts a domain, at the planned runs; None where no number is enough.
    """

    figure: str
    drop: float
    runs: int | None
    texts: int | None


class TaskPlan(pydantic.BaseModel):
    """The detectable drops of a task.

    ``test_texts`` are each domain's texts, ``assumed`` the assumptions on its models.
    """

    task: str
    test_texts: dict[str, int]
    assumed: Assumptions
    detectable: tuple[PlannedDrop, ...]
    needs: tuple[Need, ...]


class DetectionPlan(pydantic.BaseModel):
    """The drops that a benchmark can detect with so many training runs of each source domain."""

    data: str
    runs: int
    tasks: tuple[TaskPlan, ...]


def plan(
    folder: DatasetFolder,
    runs: int = MIN_RUNS,
    typed: dict[str, float] | None = None,
    like: Path | None = None,
    task: str | None = None,
    encoder: Encoder | None = None,
) -> DetectionPlan:
    """Compute the detectable drops of a dataset folder.

    Args:
        folder: the dataset.
        runs: training runs of each source domain, at least 1.
        typed: assumptions by name; each goes before the measured one, and that before the default.
        like: a prediction file on the folder that assumptions are measured on, task by task.
        task: plan this task alone.
        encoder: embeds tokens for BERTScore; needed for tasks of generated text with ``like``.
    Returns: the plan of each task with test texts in two domains, trainable ones among them.
    Raises: InvalidInput when there is no such task, none can be planned, or ``like`` does not fit the folder.
    """
    measured = _measure(like, folder, encoder) if like else {}
    names = [task] if task else list(folder.manifest.tasks)
    tasks = []
    for name in names:
        shifts = _shifts(folder.task(name))
        if not shifts:
            continue
        origin = like.name if like and name in measured else None
        assumed = Assumptions.model_validate({**measured.get(name, {}), **(typed or {}), "measured_on": origin})
        tasks.append(_plan_task(folder, name, shifts, assumed, runs))
    if not tasks:
        what, cure = "no task here has a train split and test texts of another domain", "build one with two domains"
        raise InvalidInput(Problem(what, str(folder.path), ", ".join(names), cure))
    return DetectionPlan(data=folder.content_hash, runs=runs, tasks=tuple(tasks))


def _shifts(info: TaskInfo) -> list[tuple[str, str]]:
    """List the shifts between domains of the task; with an ID domain those from it."""
    sources = [name for name, facts in info.domains.items() if "train" in facts.splits]
    if info.id_domain:
        sources = [name for name in sources if name == info.id_domain]
    targets = [name for name, facts in info.domains.items() if "test" in facts.splits]
    return [(a, b) for a in sources if a in targets for b in targets if a != b]


def _plan_task(
    folder: DatasetFolder, name: str, shifts: list[tuple[str, str]], assumed: Assumptions, runs: int
) -> TaskPlan:
    sets = _test_sets(folder, name, assumed.icc)
    figures = _Figures(shifts, sets, assumed)
    detectable = [
        _planned_drop(figure, (source, target), variance, runs, figures.n_tests(figure))
        for figure, source, target, variance in figures.all()
    ]
    return TaskPlan(
        task=name,
        test_texts={domain: test_set.n for domain, test_set in sets.items()},
        assumed=assumed,
        detectable=tuple(detectable),
        needs=tuple(_needs(figures, runs)),
    )


def _test_sets(folder: DatasetFolder, task: str, icc: float) -> dict[str, EvaluationSet]:
    rows = folder.test(task, columns=["id", "domain", "group"])
    test_sets = {}
    for (domain,), part in rows.group_by("domain", maintain_order=True):
        sizes = part.group_by("group").len()["len"].to_numpy()
        test_sets[str(domain)] = EvaluationSet(
            len(part), effective_n(len(part), effective_size(sizes), icc), len(sizes)
        )
    return test_sets


VarianceAtRuns = Callable[[int], Variance]
"""A function from number of runs to the variance with training; 0 runs leave training out."""


class _Figures:
    """The figures of one task with their variances."""

    def __init__(self, shifts: Sequence[tuple[str, str]], sets: dict[str, EvaluationSet], assumed: Assumptions) -> None:
        self.shifts, self.sets, self.assumed = shifts, sets, assumed

    def all(self) -> Iterator[tuple[str, str | None, str | None, VarianceAtRuns]]:
        """List each figure with its source, its target and its variance."""
        for source, target in self.shifts:
            yield "SD", source, target, self.source_drop(self.sets[source], self.sets[target])
            yield "TD", source, target, self.target_drop(self.sets[target])
        yield "average drop", None, None, self.average()

    def n_tests(self, figure: str) -> int:
        """Count the tests that a figure's level is shared by."""
        return 1 if figure == "average drop" else len(self.shifts)

    def source_drop(self, source: EvaluationSet, target: EvaluationSet) -> VarianceAtRuns:
        return lambda runs: source_drop_variance(source, target, self.assumed.accuracy, *self._run_part(runs))

    def target_drop(self, target: EvaluationSet) -> VarianceAtRuns:
        return lambda runs: target_drop_variance(target, self.assumed.discordance, *self._run_part(runs))

    def average(self) -> VarianceAtRuns:
        """Compute the variance of the average drop of the grid, or of the shifts from the one source."""
        sources = list(dict.fromkeys(source for source, _ in self.shifts))
        if len(sources) > 1 and len(self.shifts) == len(sources) * (len(sources) - 1):
            return lambda runs: mean_drop_variance(
                [self.sets[name] for name in sources], self.assumed.discordance, *self._run_part(runs)
            )
        return lambda runs: _mean_of_source_drops(self.sets, self.shifts, self.assumed.accuracy, *self._run_part(runs))

    def median(self, figure: str, runs: int) -> float:
        """Compute the figure's median minimum detectable drop."""
        mine = [of(runs) for name, *_, of in self.all() if name == figure]
        return float(np.median([minimum_detectable(each.se, each.dof) for each in mine]))

    def resized(self, texts: int) -> "_Figures":
        """Return the figures with so many test texts a domain, in groups as large as here."""
        return _Figures(self.shifts, {name: _resized(part, texts) for name, part in self.sets.items()}, self.assumed)

    def _run_part(self, runs: int) -> tuple[float, int]:
        return (self.assumed.run_sd, runs) if runs else (0.0, 1)


def _resized(test_set: EvaluationSet, texts: int) -> EvaluationSet:
    """Return a test set of so many texts whose groups are as large."""
    share = texts / test_set.n
    return EvaluationSet(texts, test_set.effective_n * share, max(2, round(test_set.groups * share)))


def _mean_of_source_drops(
    sets: dict[str, EvaluationSet], shifts: Sequence[tuple[str, str]], accuracy: float, run_sd: float, runs: int
) -> Variance:
    """Compute the variance of mean SS - ST over shifts that form no complete grid, so that test sets recur."""
    weight: dict[tuple[str, str], float] = {}
    for source, target in shifts:
        weight[source, source] = weight.get((source, source), 0.0) + 1 / len(shifts)
        weight[source, target] = -1 / len(shifts)
    v = accuracy * (1 - accuracy)
    parts = [(v * weight[cell] ** 2 / sets[cell[1]].effective_n, max(sets[cell[1]].groups - 1, 1)) for cell in weight]
    texts = sum(part for part, _ in parts)
    dof = texts**2 / sum(part**2 / freedom for part, freedom in parts)
    if run_sd == 0:
        return Variance(texts, dof)
    training = run_sd**2 * sum(each**2 for each in weight.values()) / runs
    return Variance(texts, dof, training, len({source for source, _ in shifts}) * (runs - 1.0))


def _planned_drop(
    figure: str, shift: tuple[str | None, str | None], variance: VarianceAtRuns, runs: int, n_tests: int
) -> PlannedDrop:
    recipe = variance(runs) if runs >= MIN_RUNS else None
    smallest = smallest_drop(variance(0), recipe, n_tests)
    return PlannedDrop(figure=figure, source=shift[0], target=shift[1], **dict(smallest))


def _needs(figures: _Figures, runs: int) -> Iterator[Need]:
    # Below 5 runs the question is about the trained models, of which only the texts vary.
    planned = runs if runs >= MIN_RUNS else 0
    for figure in ("SD", "TD", "average drop"):
        at_runs = partial(figures.median, figure)
        for drop in WANTED:
            enough_runs = _smallest(at_runs, drop, MIN_RUNS, _MOST_RUNS)
            enough_texts = _smallest(partial(_at_texts, figures, figure, planned), drop, _LEAST_TEXTS, _MOST_TEXTS)
            yield Need(figure=figure, drop=drop, runs=enough_runs, texts=enough_texts)


def _at_texts(figures: _Figures, figure: str, runs: int, texts: int) -> float:
    return figures.resized(texts).median(figure, runs)


def _smallest(function: Callable[[int], float], wanted: float, low: int, high: int) -> int | None:
    """Find the smallest number at which a falling function is at most ``wanted``; None where ``high`` is not enough."""
    if function(high) > wanted:
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if function(middle) <= wanted else (middle + 1, high)
    return low


def _measure(path: Path, folder: DatasetFolder, encoder: Encoder | None) -> dict[str, dict[str, float]]:
    """Measure assumptions on a prediction file, by task; those that the file cannot show are left out."""
    folder.refuse_withheld()
    predictions = checked_predictions(path, folder)
    return {
        str(task): _measured(list(target_runs(str(task), rows, folder, "all", encoder=encoder)))
        for (task,), rows in predictions.group_by("task", maintain_order=True)
    }


def _measured(targets: Sequence[TargetRuns]) -> dict[str, float]:
    scores = [runs.outcomes.example_scores for runs in targets]
    measured = {"accuracy": float(np.mean([each.mean() for each in scores]))}
    first = [[runs.of_source(source)[0] for source in dict.fromkeys(name for name, _ in runs.runs)] for runs in targets]
    differ = [
        float(((each[a] - each[b]) ** 2).mean())
        for each, rows in zip(scores, first, strict=True)
        for a in rows
        for b in rows
        if a < b
    ]
    deviations = [
        each[mine].mean(axis=1).var(ddof=1)
        for each, runs in zip(scores, targets, strict=True)
        for source in {name for name, _ in runs.runs}
        if len(mine := runs.of_source(source)) > 1
    ]
    sums = [run_moments(each, runs.groups) for each, runs in zip(scores, targets, strict=True)]
    grouped = [each for each in sums if 1 < each.n_groups < each.n]
    if differ:
        measured["discordance"] = float(np.mean(differ))
    if deviations:
        measured["run_sd"] = float(np.sqrt(np.mean(deviations)))
    if grouped:
        measured["icc"] = intraclass_correlation(
            [each.of([run]) for each in grouped for run in range(len(each.totals))]
        )
    return measured
