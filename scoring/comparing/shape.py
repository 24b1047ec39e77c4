"""Schema of comparisons, printed by ``shiftbench compare --json`` and cached by a store; fractions, unrounded."""

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Literal

import pydantic

from shiftbench.metrics.precision import MIN_RUNS
from shiftbench.metrics.ranking import FAILURE, failed_runs, holm, share_at_most
from shiftbench.scoring.scores.figures import none_if_nan
from shiftbench.scoring.scores.shape import Estimate
from shiftbench.validation.outside import Count, OutsideText, Seed
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.versions import DataVersion

FIGURES = ("ST", "SD", "TD")
MEAN_ST, MEAN_OOD, AVERAGE_DROP, DEPTH_F1 = "mean ST", "mean OOD", "average drop", "DF1@"
DROPS = ("SD", "TD", AVERAGE_DROP)
"""Figures for which smaller is better."""
TRAINED_MODELS: Literal["these trained models"] = "these trained models"
RECIPES: Literal["recipes"] = "recipes"
LEVEL = 0.05
"""Family-wise error rate of each family of tests."""
_LEAST_SHOWN = 0.0001

AtFloor = Literal["a", "b", "both"]
_OTHER: dict[AtFloor | None, AtFloor | None] = {"a": "b", "b": "a", "both": "both", None: None}


Swaps = Annotated[int, pydantic.Field(ge=1, le=1_000_000, strict=True)]
NOTHING_DRAWN = "Null from metric version 7 on: tests are not randomised. Removed in 0.4"
"""Description of the former settings of random draws."""


class NoSharedShift(InvalidInput):
    """The error that two entries have no shift in common, so that nothing can be compared."""


class Difference(pydantic.BaseModel, allow_inf_nan=False):
    """A minus B in one statistic, with its pointwise 95% interval and two-sided p.

    The interval contains 0 exactly if ``p`` is 0.05 or more. ``p_corrected`` is Holm's over the whole comparison, in
    two families: the ranked means with the average drops, and all others. ``at_floor`` contains the entries for which a
    score in the drop is not significantly above chance; the drop is then shown but not compared. ``p_equivalent``
    tests that the difference is within the comparison's margin (TOST, uncorrected); null without a margin.
    ``detectable`` is the smallest true difference that this test detects with 80% power.
    """

    figure: OutsideText
    value: float | None
    p: float | None
    p_corrected: float | None = pydantic.Field(
        default=None, validation_alias=pydantic.AliasChoices("p_corrected", "p_holm")
    )
    p_others: float | None = pydantic.Field(
        default=None, description="Null from metric version 7 on: p_corrected has both families. Removed in 0.4"
    )
    at_floor: AtFloor | None = None
    p_equivalent: float | None = None
    low: float | None = None
    high: float | None = None
    detectable: float | None = None
    no_interval: OutsideText | None = None

    @property
    def estimate(self) -> Estimate:
        """Return the difference and its interval as an ``Estimate``."""
        return Estimate(value=self.value, low=self.low, high=self.high, no_interval=self.no_interval)


class SourceRuns(pydantic.BaseModel, allow_inf_nan=False):
    """The runs of one source: each run's mean score over the ranked shifts, in order of their seeds."""

    source: OutsideText
    scores: tuple[float, ...]


class Failures(pydantic.BaseModel, allow_inf_nan=False):
    """The runs of an entry that failed: more than 10 points below the best of their source.

    ``share_at_most`` is the one-sided exact 95% upper bound of their share.
    """

    n_failed: Count
    n_runs: Count
    share_at_most: float


class ShiftComparison(pydantic.BaseModel, allow_inf_nan=False):
    """Two entries on one shift, each by the mean of all its runs; drops only if both have them.

    ``runs`` is the number of runs of the entry with fewer.
    """

    task: OutsideText
    source: OutsideText
    target: OutsideText
    n: Count
    runs: Count
    differences: tuple[Difference, ...]


class MeanComparison(pydantic.BaseModel, allow_inf_nan=False):
    """Two entries by a mean over shifts. ``ranked`` marks the figure that the board ranks by, one per task.

    ``source`` is the models' training source if it is a single one, else null; ``targets`` are the test domains.
    """

    task: OutsideText
    source: OutsideText | None
    targets: tuple[OutsideText, ...]
    difference: Difference
    ranked: bool = False


class TaskComparison(pydantic.BaseModel, allow_inf_nan=False):
    """The kind of claim that a task's tests support: about the recipes, or only about the trained models.

    ``runs_a`` and ``runs_b`` are the smallest numbers of runs of a source. Claims about recipes need ``MIN_RUNS`` in
    both. ``outside`` is the entry that was trained on none of the domains if the other was: it is compared in the
    other's shifts with the same runs for every source, so tests are about the trained models, and drops do not apply.
    ``run_scores_a`` and ``run_scores_b`` are the scores from which failed runs are counted; empty if runs differ by
    target.
    """

    task: OutsideText
    about: Literal["recipes", "these trained models"]
    runs_a: Count
    runs_b: Count
    at_floor: AtFloor | None = None
    outside: Literal["a", "b"] | None = None
    run_scores_a: tuple[SourceRuns, ...] = ()
    run_scores_b: tuple[SourceRuns, ...] = ()

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def failures_a(self) -> Failures | None:
        """Return the failed runs of A; None if its runs are not known."""
        return _failures(self.run_scores_a)

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def failures_b(self) -> Failures | None:
        """Return the failed runs of B; None if its runs are not known."""
        return _failures(self.run_scores_b)

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def runs_needed(self) -> int | None:
        """Return the number of runs per source that claims about recipes need; None if more would not help."""
        return None if self.about == RECIPES or self.outside else MIN_RUNS

    @property
    def runs_missing(self) -> str:
        """Describe which runs are missing for claims about recipes; ``""`` if more would not help."""
        if self.runs_needed is None:
            return ""
        return (
            f"claims about recipes need {MIN_RUNS} runs (seeds) per source in both entries; they have {self.runs_a} "
            f"and {self.runs_b}"
        )


class Comparison(pydantic.BaseModel, allow_inf_nan=False):
    """All shared shifts. For scores a positive difference favours A; for drops a negative one does.

    Encoders are ``id@revision``: of the data's depths, and of BERTScore's tokens; null if none is used.
    """

    a: OutsideText
    b: OutsideText
    data: OutsideText
    settings: OutsideText | None = None
    subset: OutsideText
    metric_version: OutsideText
    depth_encoder: OutsideText | None = None
    token_encoder: OutsideText | None = None
    n_swaps: Swaps | None = pydantic.Field(default=None, description=NOTHING_DRAWN)
    seed: Seed | None = pydantic.Field(default=None, description=NOTHING_DRAWN)
    shifts: tuple[ShiftComparison, ...]
    means: tuple[MeanComparison, ...] = ()
    tasks: tuple[TaskComparison, ...] = ()
    only_a: tuple[OutsideText, ...]
    only_b: tuple[OutsideText, ...]
    margin: float | None = None
    tuning_trials_a: Count | None = None
    tuning_trials_b: Count | None = None

    @property
    def version(self) -> DataVersion:
        """Return the dataset version of the comparison; without settings in comparisons of former versions."""
        return DataVersion(self.data, self.settings)

    @property
    def about(self) -> str:
        """Return ``RECIPES`` if the tests of every task support claims about recipes, otherwise ``TRAINED_MODELS``."""
        return RECIPES if self.tasks and all(task.about == RECIPES for task in self.tasks) else TRAINED_MODELS


def _failures(runs: Sequence[SourceRuns]) -> Failures | None:
    n_runs = sum(len(each.scores) for each in runs)
    if not n_runs:
        return None
    n_failed = sum(failed_runs(each.scores, FAILURE) for each in runs)
    return Failures(n_failed=n_failed, n_runs=n_runs, share_at_most=share_at_most(n_failed, n_runs))


def correct_p_values(comparisons: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """Compute the corrected p values of several comparisons, by Holm in two families over all pairs and tasks.

    The first family has the ranked means and the average drops, the second all others; each has error rate ``LEVEL``.

    Args:
        comparisons: comparisons with p values, corrected before or not.

    Returns: the same comparisons with new ``p_corrected``.
    """
    every = [each for comparison in comparisons for each in _differences(comparison)]
    corrected: dict[int, float | None] = {}
    for in_first in (True, False):
        family = [each for each, is_first in every if is_first == in_first]
        p_values = holm([float("nan") if each.p is None else each.p for each in family])
        corrected |= {id(each): none_if_nan(p) for each, p in zip(family, p_values, strict=True)}

    def correct(difference: Difference) -> Difference:
        return difference.model_copy(update={"p_corrected": corrected[id(difference)]})

    return tuple(_with_differences(comparison, correct) for comparison in comparisons)


def _differences(comparison: Comparison) -> Iterator[tuple[Difference, bool]]:
    """List all differences, each with True if it is in the first family of tests (see ``correct_p_values``)."""
    for shift in comparison.shifts:
        yield from ((each, False) for each in shift.differences)
    for mean in comparison.means:
        yield mean.difference, mean.ranked or mean.difference.figure == AVERAGE_DROP


def _with_differences(comparison: Comparison, change: Callable[[Difference], Difference]) -> Comparison:
    shifts = tuple(
        shift.model_copy(update={"differences": tuple(map(change, shift.differences))}) for shift in comparison.shifts
    )
    means = tuple(each.model_copy(update={"difference": change(each.difference)}) for each in comparison.means)
    return comparison.model_copy(update={"shifts": shifts, "means": means})


def select_task(comparison: Comparison, task: str) -> Comparison:
    """Return one task of a comparison; its p values must be corrected again.

    Args:
        comparison: of any tasks.
        task: the task to select.

    Returns: the comparison of that task.

    Raises: NoSharedShift if the task was not compared.
    """
    update: dict[str, object] = {
        name: tuple(each for each in getattr(comparison, name) if each.task == task)
        for name in ("shifts", "means", "tasks")
    }
    update |= {
        name: tuple(each for each in getattr(comparison, name) if each.startswith(f"{task}/"))
        for name in ("only_a", "only_b")
    }
    if not update["shifts"]:
        cure = f"they share {', '.join(dict.fromkeys(shift.task for shift in comparison.shifts))}"
        what = f"the two entries share no shift of task '{task[:40]}'"
        raise NoSharedShift(Problem(what, f"{comparison.a} and {comparison.b}", cure=cure))
    return comparison.model_copy(update=update)


def mirror_comparison(comparison: Comparison) -> Comparison:
    """Return the same comparison as B minus A: only signs change, not p values."""

    def turned(difference: Difference) -> Difference:
        ends = {"value": difference.value, "low": difference.high, "high": difference.low}
        update = {name: None if end is None else -end for name, end in ends.items()}
        return difference.model_copy(update={**update, "at_floor": _OTHER[difference.at_floor]})

    tasks = tuple(
        each.model_copy(
            update={
                "runs_a": each.runs_b,
                "runs_b": each.runs_a,
                "run_scores_a": each.run_scores_b,
                "run_scores_b": each.run_scores_a,
                "at_floor": _OTHER[each.at_floor],
                "outside": _OTHER[each.outside],
            }
        )
        for each in comparison.tasks
    )
    exchanged = {
        f"{name}{one}": getattr(comparison, f"{name}{other}")
        for name in ("", "only_", "tuning_trials_")
        for one, other in (("a", "b"), ("b", "a"))
    }
    return _with_differences(comparison, turned).model_copy(update={"tasks": tasks, **exchanged})


def winner(difference: Difference) -> Literal["a", "b"] | None:
    """Return the better entry if the corrected p is below ``LEVEL``; None otherwise.

    Args:
        difference: A minus B in one figure; for drops, smaller is better.
    Returns: 'a' or 'b'; None if the difference is not significant.

    >>> winner(Difference(figure="TD", value=-0.2, p=0.001, p_corrected=0.01))
    'a'
    """
    if difference.p_corrected is None or difference.p_corrected >= LEVEL or not difference.value:
        return None
    favours_a = difference.value < 0 if difference.figure in DROPS else difference.value > 0
    return "a" if favours_a else "b"


def p_text(p: float | None) -> str:
    """Format a p value.

    Args:
        p: in [0, 1], or None.
    Returns: four decimals; '< 0.0001' below that.

    >>> p_text(0.0312), p_text(0.00001), p_text(None)
    ('0.0312', '< 0.0001', 'n/a')
    """
    if p is None:
        return "n/a"
    return f"{p:.4f}" if p >= _LEAST_SHOWN else f"< {_LEAST_SHOWN}"
