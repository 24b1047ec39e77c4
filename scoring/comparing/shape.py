"""The shape of comparisons: what ``shiftbench compare --json`` prints and a store saves; fractions, unrounded."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

import numpy as np
import pydantic

from shiftbench.metrics.comparison import MAX_SWAPS
from shiftbench.metrics.crossed import MIN_RUNS
from shiftbench.metrics.multiplicity import LEVEL, least_draws, pass_on
from shiftbench.scoring.scores.figures import none_if_nan
from shiftbench.validation.outside import Count, OutsideText, Seed
from shiftbench.validation.report import InvalidInput, Problem

FIGURES = ("ST", "SD", "TD")
MEAN_ST, MEAN_OOD, AVERAGE_DROP, DEPTH_F1 = "mean ST", "mean OOD", "average drop", "DF1@"
DROPS = ("SD", "TD", AVERAGE_DROP)
"""Figures of which the smaller is better."""
TRAINED_MODELS: Literal["these trained models"] = "these trained models"
RECIPES: Literal["recipes"] = "recipes"
_LEAST_SHOWN = 0.0001

AtFloor = Literal["a", "b", "both"]
_OTHER: dict[AtFloor | None, AtFloor | None] = {"a": "b", "b": "a", "both": "both", None: None}


Swaps = Annotated[int, pydantic.Field(ge=1, le=MAX_SWAPS, strict=True)]


class NoSharedShift(InvalidInput):
    """The error that two entries have no shift in common, so that nothing can be compared."""


class Difference(pydantic.BaseModel, allow_inf_nan=False):
    """A minus B in one figure. ``p`` is two-sided, ``p_corrected`` corrected over the whole comparison.

    ``p_others`` is corrected among the figures of its task that are not ranked by. ``at_floor`` names entries that show
    no skill in a score behind a drop: the drop is shown and not compared. ``p_equivalent`` tests that the difference
    lies within the comparison's margin (TOST, uncorrected); null without a margin.
    """

    figure: OutsideText
    value: float | None
    p: float | None
    p_corrected: float | None = pydantic.Field(
        default=None, validation_alias=pydantic.AliasChoices("p_corrected", "p_holm")
    )
    p_others: float | None = None
    at_floor: AtFloor | None = None
    p_equivalent: float | None = None


class ShiftComparison(pydantic.BaseModel, allow_inf_nan=False):
    """Two entries on one shift, each by the mean of all its runs; drops only where both have them.

    ``runs`` are those of the entry with fewer.
    """

    task: OutsideText
    source: OutsideText
    target: OutsideText
    n: Count
    runs: Count
    differences: tuple[Difference, ...]


class MeanComparison(pydantic.BaseModel, allow_inf_nan=False):
    """Two entries by a mean over shifts. ``ranked`` marks the figure that the board ranks by, one of each task.

    ``source`` is what the models were trained on where that is one thing, else null; ``targets`` are the test domains.
    """

    task: OutsideText
    source: OutsideText | None
    targets: tuple[OutsideText, ...]
    difference: Difference
    ranked: bool = False


class TaskComparison(pydantic.BaseModel, allow_inf_nan=False):
    """The kind of claim that a task's tests support: about the recipes, or only about the models that were trained.

    ``runs_a`` and ``runs_b`` are the fewest runs of a source. Recipes take ``MIN_RUNS`` on either side. ``outside`` is
    the entry that was trained on none of the domains while the other was: it meets the other's shifts with the same
    runs whatever the source, so tests are about the trained models, and drops do not apply.
    """

    task: OutsideText
    about: Literal["recipes", "these trained models"]
    runs_a: Count
    runs_b: Count
    at_floor: AtFloor | None = None
    outside: Literal["a", "b"] | None = None

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def runs_needed(self) -> int | None:
        """Return the runs of every source that claims about recipes need; None where more would not help."""
        return None if self.about == RECIPES or self.outside else MIN_RUNS

    @property
    def runs_missing(self) -> str:
        """Describe which runs are missing for claims about recipes; empty where more would not help."""
        if self.runs_needed is None:
            return ""
        return (
            f"claims about recipes need {MIN_RUNS} runs (seeds) of every source in both entries; "
            f"there are {self.runs_a} and {self.runs_b}"
        )


class Comparison(pydantic.BaseModel, allow_inf_nan=False):
    """All shared shifts. For scores a positive difference favours A; for drops a negative one does.

    Encoders are ``id@revision``: of the data's depths, and of BERTScore's tokens; null where none is used.
    """

    a: OutsideText
    b: OutsideText
    data: OutsideText
    subset: OutsideText
    metric_version: OutsideText
    depth_encoder: OutsideText | None = None
    token_encoder: OutsideText | None = None
    n_swaps: Swaps
    seed: Seed
    shifts: tuple[ShiftComparison, ...]
    means: tuple[MeanComparison, ...] = ()
    tasks: tuple[TaskComparison, ...] = ()
    only_a: tuple[OutsideText, ...]
    only_b: tuple[OutsideText, ...]
    margin: float | None = None
    tuning_trials_a: Count | None = None
    tuning_trials_b: Count | None = None

    @property
    def about(self) -> str:
        """Return what may be concluded about: recipes, if every task allows it."""
        return RECIPES if self.tasks and all(task.about == RECIPES for task in self.tasks) else TRAINED_MODELS


def correct_p_values(comparisons: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """Compute the corrected p values of several comparisons: each pair and task has an equal share of the level.

    Args:
        comparisons: with p values, corrected before or not.
    Returns: the same comparisons with new ``p_corrected`` (``metrics.multiplicity.pass_on``).
    Raises: InvalidInput when there are too few swaps for any corrected p below the level.
    """
    n_blocks = sum(len({shift.task for shift in each.shifts}) for each in comparisons)
    for each in comparisons:
        refuse_swaps(each.n_swaps, n_blocks)
    return tuple(_corrected(each, n_blocks) for each in comparisons)


def refuse_swaps(n_swaps: int, n_blocks: int) -> None:
    """Raise InvalidInput when no figure but the ranked ones could get a corrected p below the level; or too many."""
    refuse_many_swaps(n_swaps)
    least = least_draws(n_blocks)
    if n_swaps < least:
        what = "with so few swaps no figure of the comparison can reach a corrected p below 0.05"
        cure = f"draw at least {least:,} ({n_blocks} pairs and tasks)"
        raise InvalidInput(Problem(what, "swaps", f"{n_swaps:,}", cure))


def refuse_many_swaps(n_swaps: int) -> None:
    """Raise InvalidInput when a test would draw more swaps than memory is for."""
    if n_swaps > MAX_SWAPS:
        cure = f"draw at most {MAX_SWAPS:,}"
        raise InvalidInput(Problem("these are more swaps than a test may draw", "swaps", f"{n_swaps:,}", cure))


def _corrected(comparison: Comparison, n_blocks: int) -> Comparison:
    values: dict[int, float | None] = {}
    for task in dict.fromkeys(shift.task for shift in comparison.shifts):
        main = next((mean.difference for mean in comparison.means if mean.task == task and mean.ranked), None)
        others = [each for each in _differences(comparison, task) if each is not main]
        p_values = [_nan_if_none(each.p_others) for each in others]
        corrected = pass_on(_nan_if_none(main.p if main else None), p_values, n_blocks)
        if main is not None:
            values[id(main)] = none_if_nan(corrected.main)
        values |= {id(each): none_if_nan(p) for each, p in zip(others, corrected.others, strict=True)}

    def correct(difference: Difference) -> Difference:
        return difference.model_copy(update={"p_corrected": values[id(difference)]})

    shifts = tuple(
        shift.model_copy(update={"differences": tuple(map(correct, shift.differences))}) for shift in comparison.shifts
    )
    means = tuple(each.model_copy(update={"difference": correct(each.difference)}) for each in comparison.means)
    return comparison.model_copy(update={"shifts": shifts, "means": means})


def select_task(comparison: Comparison, task: str) -> Comparison:
    """Return one task of a comparison; its p values must be corrected again.

    Args:
        comparison: of any tasks.
        task: the one to keep.
    Returns: the comparison of that task.
    Raises: NoSharedShift when it is not among the compared.
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
    """Return the same comparison as B minus A: only signs change, and no p value."""

    def turned(difference: Difference) -> Difference:
        value = None if difference.value is None else -difference.value
        return difference.model_copy(update={"value": value, "at_floor": _OTHER[difference.at_floor]})

    shifts = tuple(
        each.model_copy(update={"differences": tuple(map(turned, each.differences))}) for each in comparison.shifts
    )
    means = tuple(each.model_copy(update={"difference": turned(each.difference)}) for each in comparison.means)
    tasks = tuple(
        each.model_copy(
            update={
                "runs_a": each.runs_b,
                "runs_b": each.runs_a,
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
    return comparison.model_copy(update={"shifts": shifts, "means": means, "tasks": tasks, **exchanged})


def winner(difference: Difference) -> Literal["a", "b"] | None:
    """Return the better entry where the corrected p is below ``LEVEL``; None otherwise.

    Args:
        difference: A minus B of one figure; of drops the smaller is better.
    Returns: 'a' or 'b'; None where nothing is decided.

    >>> winner(Difference(figure="TD", value=-0.2, p=0.001, p_corrected=0.01))
    'a'
    """
    if difference.p_corrected is None or difference.p_corrected >= LEVEL or not difference.value:
        return None
    favours_a = difference.value < 0 if difference.figure in DROPS else difference.value > 0
    return "a" if favours_a else "b"


def p_text(p: float | None) -> str:
    """Format a p value; random swaps cannot tell the smallest ones from 0.

    Args:
        p: in [0, 1]; None where there is none.
    Returns: four decimals, or that it is below what they show.

    >>> p_text(0.0312), p_text(0.00001), p_text(None)
    ('0.0312', '< 0.0001', 'n/a')
    """
    if p is None:
        return "n/a"
    return f"{p:.4f}" if p >= _LEAST_SHOWN else f"< {_LEAST_SHOWN}"


def _differences(comparison: Comparison, task: str) -> Iterator[Difference]:
    for shift in comparison.shifts:
        if shift.task == task:
            yield from shift.differences
    for each in comparison.means:
        if each.task == task:
            yield each.difference


def _nan_if_none(value: float | None) -> float:
    return np.nan if value is None else value
