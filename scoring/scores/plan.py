"""Power analysis before any model is trained: smallest detectable drops, and the runs or texts needed.

Test-set sizes come from a dataset folder; the models' behaviour is assumed (set by the user, or measured on an earlier
prediction file). A planned drop is the smallest true drop that the package's test detects with 80% power. To find it, a
study at the 20th percentile of observed drops is built: its drop is Student's 80% quantile, in standard errors, below
the true one, and its scores and its number of discordant texts (which one model gets right and the other wrong) have
their expected values given that drop. The planned drop is the true one at which this study's lower limit, computed by
``Figure`` as for any other scores, just exceeds 0. In this way the test is applied as it is, with Wilson's limits,
degrees of freedom and the least variance of a paired difference.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import pydantic

from shiftbench.builders.encoder import Encoder
from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.metrics.depth import effective_size
from shiftbench.metrics.power import LEVEL, POWER, Answers, Floats, expected_design_effect, groups_with
from shiftbench.metrics.precision import (
    MIN_RUNS,
    class_df,
    class_size,
    effective_n,
    group_influences,
    satterthwaite,
    student,
)
from shiftbench.scoring.scores.figures import DROP, Figure, Part, Reason, Score, Training, refusal
from shiftbench.scoring.scores.outcomes import TargetRuns, target_runs
from shiftbench.scoring.scores.score import checked_predictions
from shiftbench.validation.report import InvalidInput, Problem, UnknownChoice

_ACCURACY = 1e-5
"""Tolerance in the search for the smallest drop."""
_ENOUGH = 200
"""Number of discordant groups above which more of them have no effect."""


@dataclass(frozen=True)
class TestSet:
    """A test set before there are predictions.

    Attributes:
        name: its domain.
        class_sizes: texts of each class in each group, shape (n_classes, n_groups); one class if the score is a mean
            over texts.
        icc: correlation of scores within a group, in [0, 1].
        scale: factor by which the number of groups is multiplied, at the same group sizes.
    """

    __test__ = False  # not a test class for pytest

    name: str
    class_sizes: Floats
    icc: float
    scale: float = 1.0

    @cached_property
    def n(self) -> float:
        """Return the number of texts."""
        return float(self.class_sizes.sum()) * self.scale

    @cached_property
    def groups(self) -> float:
        """Return the effective number of groups."""
        return effective_size(self.class_sizes.sum(axis=0)) * self.scale

    @cached_property
    def class_groups(self) -> list[float]:
        """Return, for each class, the effective number of groups with gold texts of it."""
        return [effective_size(sizes) * self.scale for sizes in self.class_sizes]

    @cached_property
    def answers(self) -> Answers:
        """Return the assumed distribution of answers, from the class proportions."""
        return Answers(tuple((self.class_sizes.sum(axis=1) / self.class_sizes.sum()).tolist()))

    @cached_property
    def no_interval(self) -> Reason | None:
        """Return why scores on it have no interval."""
        return refusal(self.groups, self.class_groups)

    @cached_property
    def true_design_effect(self) -> float:
        """Return the design effect: the factor by which grouping raises a score's variance."""
        return 1 + (self.n / self.groups - 1) * self.icc  # Kish, at the effective group size

    @cached_property
    def seen_design_effect(self) -> float:
        """Return the expected estimate of the design effect in a study of this size."""
        return expected_design_effect(self.n / self.groups, self.groups, self.icc) * self.groups / (self.groups - 1)

    def of_size(self, texts: float) -> "TestSet":
        """Return a test set with this many texts and the same group sizes."""
        return TestSet(self.name, self.class_sizes, self.icc, texts / float(self.class_sizes.sum()))

    def n_groups_with(self, probability: float) -> float:
        """Return the expected number of groups with at least one text that has a property of this probability."""
        return self.scale * groups_with(probability, self.class_sizes.sum(axis=0), self.icc)

    def holding(self, recall: float) -> float:
        """Return the smallest expected number of groups with an error, or with a correct answer, of a class.

        Intervals are computed from this number (see ``metrics.precision.effective_n``).
        """
        kinds = (recall, 1 - recall)
        return self.scale * min(groups_with(kind, sizes, self.icc) for sizes in self.class_sizes for kind in kinds)

    def score(self, recall: float, influences: Floats, right: Floats) -> Score:
        """Build the score expected in a study that observes a recall.

        Args:
            recall: in [0, 1].
            influences: unit vectors, whose inner products are the correlations of scores on this test set.
            right: vector that marks the groups in which the two compared models' answers differ in correctness.
        """
        value = float(self.answers.score(recall))
        if self.no_interval:
            return Score(value, 1.0, 1.0, self.name, influences, right, self.groups, self.no_interval)
        least = self.answers.variance(recall) / self.n
        variance, size = least * self.seen_design_effect, class_size(self.class_groups)
        n = float(effective_n(value, variance, least, size, self.holding(recall)))
        df = min(self.groups - 1, float(class_df(self.class_groups)))
        return Score(value, n, df, self.name, np.sqrt(variance) * influences, right, self.groups)


class Cell(NamedTuple):
    """A score in a planned drop.

    Attributes:
        weight: weight in the drop; positive for in-domain scores, negative for the others.
        source: the domain that its model is trained on.
        target: the test set.
        home: the test set of the in-domain score that it is compared with; None for an in-domain score.
    """

    weight: float
    source: str
    target: TestSet
    home: TestSet | None = None


@dataclass(frozen=True)
class Design:
    """A drop, and the assumptions on the models.

    Attributes:
        cells: the scores that the drop is a weighted sum of.
        recall: in-domain recall, in [0, 1].
        discordance: share of texts that exactly one of two models gets right; never less than the drop.
        run_sd: standard deviation of a score over training runs.
    """

    cells: tuple[Cell, ...]
    recall: float
    discordance: float
    run_sd: float

    def of_size(self, texts: float) -> "Design":
        """Return the design with this many texts on every test set."""
        return replace(self, cells=tuple(cell._replace(target=cell.target.of_size(texts)) for cell in self.cells))

    @property
    def no_interval(self) -> Reason | None:
        """Return why the drop has no interval."""
        return next((cell.target.no_interval for cell in self.cells if cell.target.no_interval), None)

    def smallest_drop(self, n_tests: int = 1, runs: int = 0) -> float | None:
        """Find the smallest true drop that is detected with 80% power.

        Args:
            n_tests: number of drops tested; the level of 5% is divided by it.
            runs: training runs of each source; 0 treats the models as fixed.

        Returns: a fraction; None without an interval, or if even the largest drop is not detected.
        """
        from scipy.optimize import brentq

        homes = [cell.home or cell.target for cell in self.cells]
        largest = min(float(home.answers.score(self.recall)) for home in homes)
        if self.no_interval or not self.finds(largest, n_tests, runs):
            return None
        return float(brentq(self._lower_limit, 0.0, largest, args=(n_tests, runs), xtol=_ACCURACY))

    def finds(self, drop: float, n_tests: int = 1, runs: int = 0) -> bool:
        """Return whether a true drop is detected with at least 80% power (see ``smallest_drop``)."""
        return not self.no_interval and self._lower_limit(drop, n_tests, runs) > 0

    def _lower_limit(self, drop: float, n_tests: int, runs: int) -> float:
        """Return the lower limit of the study at the 20th percentile of observed drops."""
        weights = np.array([cell.weight for cell in self.cells])
        recalls = self._recalls([0.0 if cell.home is None else drop for cell in self.cells])
        joint = self._covariances(recalls, recalls)
        spread = joint @ weights
        if runs:
            spread += self.run_sd**2 / runs * weights
        se = float(np.sqrt(weights @ spread))
        if se == 0:
            return drop
        seen = self._values(recalls) - self._quantile(runs) * spread / se
        recalls_seen = [cell.target.answers.recall(value) for cell, value in zip(self.cells, seen, strict=True)]
        study = self._figure(recalls, recalls_seen, runs)
        return study.limits(1 - LEVEL / n_tests, recipes=runs > 0)[0]

    def _quantile(self, runs: int) -> float:
        """Return by how many standard errors the 20th-percentile study's drop is below the true one.

        The degrees of freedom are computed for a true drop of 0.
        """
        if runs not in self._quantiles:
            recalls = self._recalls([0.0] * len(self.cells))
            without = self._figure(recalls, recalls, runs)
            df = without.total_df if runs else without.df
            self._quantiles[runs] = float(student(df, 2 * POWER - 1))
        return self._quantiles[runs]

    @cached_property
    def _quantiles(self) -> dict[int, float]:
        return {}

    def _recalls(self, drops: Sequence[float]) -> list[float]:
        return [
            self.recall
            if cell.home is None
            else cell.target.answers.recall(float(cell.home.answers.score(self.recall)) - drop)
            for cell, drop in zip(self.cells, drops, strict=True)
        ]

    def _values(self, recalls: Sequence[float]) -> Floats:
        return np.array(
            [float(cell.target.answers.score(each)) for cell, each in zip(self.cells, recalls, strict=True)]
        )

    def _discordance(self, true: tuple[float, float], seen: tuple[float, float]) -> float:
        """Return the share of texts on which two models differ, in a study that observes the recalls ``seen``."""
        apart, apart_seen = true[0] - true[1], seen[0] - seen[1]
        share = min(max(self.discordance, abs(apart)), abs(apart) + 2 * min(*true, 1 - true[0], 1 - true[1]))
        if share > apart**2:  # expected discordance given the observed difference
            share -= (apart - apart_seen) * apart * (1 - share) / (share - apart**2)
        return min(max(share, abs(apart_seen)), abs(apart_seen) + 2 * min(*seen, 1 - seen[0], 1 - seen[1]))

    def _covariances(self, true: Sequence[float], seen: Sequence[float]) -> Floats:
        """Return the covariance of scores over test texts, shape (k, k), in a study that observes these recalls."""
        joint = np.zeros((len(self.cells),) * 2)
        for row, cell in enumerate(self.cells):
            target = cell.target
            for column, other in enumerate(self.cells[: row + 1]):
                if other.target.name != target.name:
                    continue
                if row == column:
                    moved = target.answers.variance(seen[row])
                else:
                    share = self._discordance((true[row], true[column]), (seen[row], seen[column]))
                    moved = target.answers.covariance(seen[row], seen[column], share)
                joint[row, column] = joint[column, row] = moved / target.n * target.true_design_effect
        return joint

    def _figure(self, true: Sequence[float], seen: Sequence[float], runs: int) -> "_Study":
        """Build the figure of a study that observes these recalls."""
        joint = self._covariances(true, seen)
        lengths = np.sqrt(np.diag(joint))
        unit = joint / np.where(lengths > 0, lengths, 1.0) / np.where(lengths > 0, lengths, 1.0)[:, None]
        values, vectors = np.linalg.eigh(unit)
        # Unit vectors with these correlations: unit = influences @ influences.T. Cholesky fails if it is singular.
        influences = vectors * np.sqrt(np.maximum(values, 0.0))
        parts = []
        for row, cell in enumerate(self.cells):
            n_apart = self._n_groups_apart(row, true, seen)
            right = np.full(n_apart, 1.0 if cell.home is None else 0.0)
            parts.append(Part(cell.weight, cell.target.score(seen[row], influences[row], right)))
        return _Study(tuple(parts), DROP, self._training(runs) if runs else None)

    def _n_groups_apart(self, row: int, true: Sequence[float], seen: Sequence[float]) -> int:
        """Return the expected number of discordant groups on a score's test set, at most ``_ENOUGH``."""
        target = self.cells[row].target
        rows = [each for each, cell in enumerate(self.cells) if cell.target.name == target.name]
        if len(rows) == 1:
            return 0
        at_home, other = rows[0], rows[-1]
        share = self._discordance((true[at_home], true[other]), (seen[at_home], seen[other]))
        return min(round(target.n_groups_with(share)), _ENOUGH)

    def _training(self, runs: int) -> Training:
        by_source: dict[str, float] = {}
        for cell in self.cells:
            by_source[cell.source] = by_source.get(cell.source, 0.0) + self.run_sd**2 * cell.weight**2 / runs
        variances = list(by_source.values())
        return Training(sum(variances), float(satterthwaite(variances, [runs - 1.0] * len(variances))))


@dataclass(frozen=True)
class _Study(Figure):
    """A figure with an assumed variance over training runs."""

    assumed: Training | None = None

    @property
    def training(self) -> Training | None:
        return self.assumed


OVER_TEXTS = ("accuracy", "exact_match", "token_f1")
"""Metrics planned for as the share of correct texts; token F1 varies a little less."""
OVER_CLASSES = "macro_f1"
_NOT_PLANNED = "`shiftbench score` on predictions of an earlier run prints the smallest detectable drops"
WANTED = (0.01, 0.02, 0.05)
"""Drops for which the required runs and texts are listed."""
_MOST_RUNS = 1_000
_LEAST_TEXTS, _MOST_TEXTS = 10, 10_000_000
"""Ranges, with ``_MOST_RUNS``, in which the needed runs and texts are searched."""


class Assumptions(pydantic.BaseModel):
    """The assumptions on the models to be trained; all are fractions.

    Attributes:
        accuracy: mean in-domain score of a text; for macro-F1 the recall of each class.
        discordance: share of texts that exactly one of two models gets right.
        icc: intra-class correlation of scores within a group of texts (premise, document); the mean over test sets if
            it was measured.
        icc_of: the measured correlation of each test set, by domain; empty if set by the user.
        run_sd: standard deviation of a model's score over training runs.
        measured_on: the prediction file that they were measured on; None if all were set by the user or by default.
    """

    accuracy: float = pydantic.Field(default=0.75, ge=0, le=1)
    discordance: float = pydantic.Field(default=0.25, ge=0, le=1)
    icc: float = pydantic.Field(default=0.05, ge=0, le=1)
    icc_of: dict[str, float] = {}
    run_sd: float = pydantic.Field(default=0.01, ge=0, lt=1)
    measured_on: str | None = None


def parse_assumptions(typed: Sequence[str]) -> dict[str, float]:
    """Parse assumptions given as ``NAME=VALUE``; the last value of a repeated name is used.

    Args:
        typed: one string per assumption; names are those of ``Assumptions``.

    Raises: UnknownChoice for an unknown name, or a value out of range.

    >>> parse_assumptions(["icc=0.1", "run_sd=0.02"])
    {'icc': 0.1, 'run_sd': 0.02}
    """
    given: dict[str, float] = {}
    for each in typed:
        name, _, value = each.partition("=")
        cure = "give NAME=VALUE: accuracy, discordance or icc from 0 to 1, or run_sd from 0 to below 1"
        if name not in Assumptions.model_fields or name in ("measured_on", "icc_of"):
            raise UnknownChoice(Problem("there is no such assumption", "--assume", repr(name), cure))
        try:
            given[name] = getattr(Assumptions.model_validate({name: value}), name)
        except pydantic.ValidationError:
            raise UnknownChoice(
                Problem("this value is not valid for the assumption", "--assume", repr(each), cure)
            ) from None
    return given


class PlannedDrop(pydantic.BaseModel):
    """The smallest true drop of one kind that is detected with 80% power.

    Attributes:
        figure: ``SD``, ``TD`` or ``average drop``.
        source, target: the shift; None for the average.
        models: the drop for these trained models, a fraction; None without an interval or if even the largest drop is
            not detected.
        models_corrected: the drop if the level is divided over all shifts of the task.
        recipe, recipe_corrected: the same with training variance; None also with fewer than 5 runs.
        no_interval: why the test sets allow no interval.
    """

    figure: str
    source: str | None = None
    target: str | None = None
    models: float | None
    models_corrected: float | None
    recipe: float | None
    recipe_corrected: float | None
    no_interval: str | None = None


class Need(pydantic.BaseModel):
    """The runs or texts needed to detect a drop; SD and TD in the task's median shift.

    Attributes:
        figure: ``SD``, ``TD`` or ``average drop``.
        drop: the true drop, a fraction.
        runs: training runs per source, with the test sets as they are; None if no number is enough.
        texts: test texts per domain, at the planned runs; None if no number is enough.
    """

    figure: str
    drop: float
    runs: int | None
    texts: int | None


class TaskPlan(pydantic.BaseModel):
    """The detectable drops of a task.

    ``test_texts`` are each domain's numbers of test texts, ``assumed`` the assumptions on its models, ``metric`` the
    primary metric.
    """

    task: str
    metric: str
    test_texts: dict[str, int]
    assumed: Assumptions
    detectable: tuple[PlannedDrop, ...]
    needs: tuple[Need, ...]


class DetectionPlan(pydantic.BaseModel):
    """The drops that a benchmark can detect with the given number of training runs per source domain.

    ``not_planned`` has the metric of each task whose drops cannot be planned, by task.
    """

    data: str
    settings: str | None = None
    runs: int
    tasks: tuple[TaskPlan, ...]
    not_planned: dict[str, str] = {}


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
        typed: assumptions by name; they override measured ones, which override defaults.
        like: a prediction file for the folder, from which assumptions are measured per task.
        task: plan only this task.
        encoder: embeds tokens for BERTScore; needed for generation tasks with ``like``.
    Returns: the plan of each task with test texts in two domains, at least one of them with a train split.
    Raises: InvalidInput if there is no such task, none can be planned, or ``like`` does not match the folder.
    """
    names = [task] if task else list(folder.manifest.tasks)
    metrics = {name: folder.task(name).metric for name in names}
    refused = {name: metric for name, metric in metrics.items() if metric not in (*OVER_TEXTS, OVER_CLASSES)}
    names = [name for name in names if name not in refused]
    if not names:
        what = (
            f"drops of {', '.join(dict.fromkeys(refused.values()))} cannot be planned, because their variance is "
            "unknown"
        )
        raise InvalidInput(Problem(what, str(folder.path), ", ".join(refused), _NOT_PLANNED))
    measured = _measure(like, folder, encoder) if like else {}
    tasks = []
    for name in names:
        shifts = _shifts(folder.task(name))
        if not shifts:
            continue
        origin = like.name if like and name in measured else None
        given = {**measured.get(name, {}), **(typed or {}), "measured_on": origin}
        if typed and "icc" in typed:
            given["icc_of"] = {}
        assumed = Assumptions.model_validate(given)
        tasks.append(_plan_task(folder, name, shifts, assumed, runs))
    if not tasks:
        what, cure = "no task has a train split in one domain and test texts in another", "build one with two domains"
        raise InvalidInput(Problem(what, str(folder.path), ", ".join(names), cure))
    return DetectionPlan(
        data=folder.content_hash, settings=folder.version.settings, runs=runs, tasks=tuple(tasks), not_planned=refused
    )


def _shifts(info: TaskInfo) -> list[tuple[str, str]]:
    """List the task's shifts; for a task with an ID domain, only those from it."""
    sources = [name for name, facts in info.domains.items() if "train" in facts.splits]
    if info.id_domain:
        sources = [name for name in sources if name == info.id_domain]
    targets = [name for name, facts in info.domains.items() if "test" in facts.splits]
    return [(a, b) for a in sources if a in targets for b in targets if a != b]


def _plan_task(
    folder: DatasetFolder, name: str, shifts: list[tuple[str, str]], assumed: Assumptions, runs: int
) -> TaskPlan:
    sets = _test_sets(folder, name, assumed)
    figures = designs(shifts, sets, assumed)
    drops = [_planned_drop(*figure, runs, len(shifts) if figure[1] else 1) for figure in figures]
    return TaskPlan(
        task=name,
        metric=folder.task(name).metric,
        test_texts={domain: round(test_set.n) for domain, test_set in sets.items()},
        assumed=assumed,
        detectable=tuple(drops),
        needs=tuple(needs(figures, [drop.models for drop in drops], runs)),
    )


def _test_sets(folder: DatasetFolder, task: str, assumed: Assumptions) -> dict[str, TestSet]:
    """Count the texts of each class in each group; scores that are means over texts have a single class."""
    label = [pl.col("label") if folder.task(task).metric == OVER_CLASSES else pl.lit(0).alias("label")]
    rows = folder.test(task).select("domain", "group", *label)
    test_sets = {}
    for (domain,), part in rows.group_by("domain", maintain_order=True):
        groups, classes = (part[name].rank("dense").to_numpy() - 1 for name in ("group", "label"))
        sizes = np.zeros((classes.max() + 1, groups.max() + 1))
        np.add.at(sizes, (classes, groups), 1)
        test_sets[str(domain)] = TestSet(str(domain), sizes, assumed.icc_of.get(str(domain), assumed.icc))
    return test_sets


Shift = tuple[str, str]
PlannedFigure = tuple[str, Shift | None, Design]
"""A figure's name, its shift (None for the average drop), and its design."""


def designs(shifts: Sequence[Shift], sets: dict[str, TestSet], assumed: Assumptions) -> list[PlannedFigure]:
    """List the SD and TD of each shift, and the average drop.

    Args:
        shifts: source and target.
        sets: the test set of each domain.
        assumed: assumptions on the models.
    """

    def design(cells: Sequence[Cell]) -> Design:
        return Design(tuple(cells), assumed.accuracy, assumed.discordance, assumed.run_sd)

    found: list[PlannedFigure] = []
    for source, target in shifts:
        away = Cell(-1.0, source, sets[target])
        found.append(
            ("SD", (source, target), design([Cell(1.0, source, sets[source]), away._replace(home=sets[source])]))
        )
        found.append(
            ("TD", (source, target), design([Cell(1.0, target, sets[target]), away._replace(home=sets[target])]))
        )
    sources = list(dict.fromkeys(source for source, _ in shifts))
    is_grid = len(sources) > 1 and len(shifts) == len(sources) * (len(sources) - 1)
    shares = [sum(source == each for each, _ in shifts) / len(shifts) for source in sources]
    cells = [Cell(share, source, sets[source]) for source, share in zip(sources, shares, strict=True)]
    for source, target in shifts:
        cells.append(Cell(-1 / len(shifts), source, sets[target], sets[target if is_grid else source]))
    return [*found, ("average drop", None, design(cells))]


def _planned_drop(figure: str, shift: Shift | None, design: Design, runs: int, n_tests: int) -> PlannedDrop:
    source, target = shift or (None, None)
    known = runs if runs >= MIN_RUNS else None
    alone, corrected = (
        (design.smallest_drop(n), None if known is None else design.smallest_drop(n, known)) for n in (1, n_tests)
    )
    return PlannedDrop(
        figure=figure, source=source, target=target, models=alone[0], models_corrected=corrected[0], recipe=alone[1],
        recipe_corrected=corrected[1], no_interval=design.no_interval,
    )  # fmt: skip


def needs(figures: Sequence[PlannedFigure], smallest: Sequence[float | None], runs: int) -> Iterator[Need]:
    """Compute the runs and texts needed to detect each drop of ``WANTED``; for SD and TD in the median shift.

    Args:
        figures: the output of ``designs``.
        smallest: the smallest detectable drop of each, for the trained models.
        runs: training runs of each source, at least 1.
    """
    # Below 5 runs, claims are about the trained models, so only the texts vary.
    counted = runs if runs >= MIN_RUNS else 0
    for name in dict.fromkeys(figure for figure, *_ in figures):
        mine = [(drop or np.inf, each[2]) for drop, each in zip(smallest, figures, strict=True) if each[0] == name]
        _, median = sorted(mine, key=lambda item: item[0])[(len(mine) - 1) // 2]
        for drop in WANTED:

            def at_runs(n: int, design: Design = median, drop: float = drop) -> bool:
                return design.finds(drop, runs=n)

            def at_texts(n: int, design: Design = median, drop: float = drop) -> bool:
                return design.of_size(n).finds(drop, runs=counted)

            enough_runs = _smallest(at_runs, MIN_RUNS, _MOST_RUNS)
            enough_texts = _smallest(at_texts, _LEAST_TEXTS, _MOST_TEXTS)
            yield Need(figure=name, drop=drop, runs=enough_runs, texts=enough_texts)


def _smallest(is_enough: Callable[[int], bool], low: int, high: int) -> int | None:
    """Find the smallest sufficient number by bisection; None if ``high`` is not sufficient."""
    if not is_enough(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle + 1, high)
    return low


Measured = dict[str, float | dict[str, float]]


def _measure(path: Path, folder: DatasetFolder, encoder: Encoder | None) -> dict[str, Measured]:
    """Measure assumptions on a prediction file, by task; those that the file does not allow are omitted."""
    folder.refuse_withheld()
    predictions = checked_predictions(path, folder)
    return {
        str(task): _measured(list(target_runs(str(task), rows, folder, "all", encoder=encoder)))
        for (task,), rows in predictions.group_by("task", maintain_order=True)
    }


def _measured(targets: Sequence[TargetRuns]) -> Measured:
    scores = [runs.outcomes.example_scores for runs in targets]
    at_home = [
        each[rows].mean() for each, runs in zip(scores, targets, strict=True) if (rows := runs.of_source(runs.target))
    ]
    measured: Measured = {"accuracy": float(np.mean(at_home or [each.mean() for each in scores]))}
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
    correlations = {
        runs.target: correlation for runs in targets if (correlation := correlation_within_groups(runs)) is not None
    }
    if differ:
        measured["discordance"] = float(np.mean(differ))
    if deviations:
        measured["run_sd"] = float(np.sqrt(np.mean(deviations)))
    if correlations:
        measured |= {"icc": float(np.mean(list(correlations.values()))), "icc_of": correlations}
    return measured


def correlation_within_groups(runs: TargetRuns) -> float | None:
    """Return the intra-class correlation implied by a test set's design effect; None with one text per group.

    Args:
        runs: the test set's runs; the variances of their scores are averaged.
    """
    scores, groups = runs.outcomes.example_scores, runs.groups
    sizes = np.bincount(groups)
    if not 1 < sizes.size < groups.size:
        return None
    moved = (scores - scores.mean(axis=1, keepdims=True)) / groups.size
    least, variance = (moved**2).sum(), (group_influences(moved, groups) ** 2).sum()
    mean_group = groups.size / effective_size(sizes)
    return float(np.clip((variance / least - 1) / (mean_group - 1), 0.0, 1.0)) if least > 0 else None
