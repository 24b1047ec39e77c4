"""Scores of a model without skill on a test set: entries at that level are shown, but no conclusions are drawn.

A constant predictor has no drop, since it learned nothing that a shift could affect.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.scores.shape import OUTSIDE_BASES, Estimate, FloorLevels, Scores, Shift, TaskScores
from shiftbench.validation.vocabulary import GOLD, UNPARSED, TaskKind, source_parts

DROP_SCORES = {"sd": ("ss", "st"), "td": ("tt", "st")}
"""The two scores that each drop is the difference of."""

OUTSIDE = "O"
"""The tag of a token outside all spans."""


class Floor(NamedTuple):
    """No-skill levels of the primary metric on one test set.

    Attributes:
        chance: expected score of labels drawn uniformly at random.
        majority: score of always predicting the most frequent label (or no span, or no answer).
    """

    chance: float
    majority: float

    @property
    def level(self) -> float:
        """Return the higher of the two levels."""
        return max(self.chance, self.majority)


def floor_of(kind: TaskKind, metric: str, gold: pl.DataFrame) -> Floor | None:
    """Compute the no-skill levels of a test set.

    Accuracy: 1 / n_classes, and the largest class's share. Macro-F1: 1 / n_classes, which
    predictions independent of the texts do not exceed on average (a class's F1 is then at most the harmonic mean
    of two shares), and 2p / (1 + p) for the largest class, 0 for the others. Span F1: 0. Questions: the share without
    an answer. Generated text has no such level.

    Args:
        kind: the task's kind.
        metric: its primary metric.
        gold: the test rows with their gold column.

    >>> floor_of(TaskKind.CLASSIFICATION, "accuracy", pl.DataFrame({"label": [0, 0, 0, 1]}))
    Floor(chance=0.5, majority=0.75)
    """
    if kind is TaskKind.CLASSIFICATION:
        shares = np.bincount(gold["label"].to_numpy()) / len(gold)
        shares = shares[shares > 0]
        largest = float(shares.max())
        majority = 2 * largest / (1 + largest) / shares.size if metric == "macro_f1" else largest
        return Floor(1 / shares.size, majority)
    if kind is TaskKind.TAGGING:
        return Floor(0.0, 0.0)
    if kind is TaskKind.EXTRACTIVE_QA:
        unanswerable = float(np.mean([not row["text"] for row in gold["answers"].to_list()]))
        return Floor(0.0, unanswerable)
    return None


def task_floors(folder: DatasetFolder, task: str, subset: str = "all") -> dict[str, Floor]:
    """Compute the no-skill levels of a task's test sets, by domain; empty for generation tasks.

    Args:
        folder: the dataset.
        task: its name.
        subset: the subset of test texts.

    Raises: InvalidInput if the dataset withholds its labels.
    """
    info: TaskInfo = folder.task(task)
    rows = folder.test(task, subset, ["id", "domain", GOLD[info.kind]])
    floors = {
        str(domain): floor_of(info.kind, info.metric, part)
        for (domain,), part in rows.group_by("domain", maintain_order=True)
    }
    return {domain: floor for domain, floor in floors.items() if floor is not None}


def constant_runs(predictions: pl.DataFrame, kind: TaskKind) -> set[tuple[str, str, int]]:
    """Find runs that predict the same output for every text of a test set of at least two.

    Args:
        predictions: rows of one task, with the columns of ``shiftbench.validation.predictions.CHECKED_PREDICTIONS``.
        kind: the task's kind; tag sequences without any span count as the same.

    Returns: source, target and seed of each.
    """
    said = pl.col("prediction")
    if kind is TaskKind.TAGGING:
        empty = (said == UNPARSED) | ~said.str.contains(rf"(^| )[^{OUTSIDE} ]|(^| ){OUTSIDE}[^ ]")
        said = pl.when(empty).then(pl.lit(OUTSIDE)).otherwise(said)
    one = predictions.group_by("source", "target", "seed").agg(n=pl.len(), distinct=said.n_unique())
    runs = one.filter(pl.col("distinct") == 1, pl.col("n") > 1).select("source", "target", "seed")
    return {(str(source), str(target), int(seed)) for source, target, seed in runs.iter_rows()}


def is_at_floor(lower_end: float | NDArray[np.float64], floor: Floor | None, *, constant: bool = False) -> bool:
    """Check whether a score is not shown to be above the no-skill level.

    Args:
        lower_end: lower end of the score's interval, or the score itself if it has none.
        floor: the test set's levels; None if it has none.
        constant: whether all runs are constant predictors.
    """
    return constant or (floor is not None and bool(lower_end <= floor.level))


def is_drop_at_floor(shift: Shift, drop: str) -> bool:
    """Check whether one of a drop's two scores is at the no-skill level, so that the drop is not informative.

    Args:
        shift: a shift with ``at_floor`` set.
        drop: ``sd`` or ``td``.
    """
    return not set(DROP_SCORES[drop]).isdisjoint(shift.at_floor)


def mark_floors(scores: Scores, folder: DatasetFolder, predictions: pl.DataFrame) -> Scores:
    """Add the no-skill levels of the test sets to scores, and mark the scores that are not shown to be above them.

    Args:
        scores: of any tasks of the dataset.
        folder: the dataset.
        predictions: the scored rows, with the columns of ``shiftbench.validation.predictions.CHECKED_PREDICTIONS``.

    Returns: the scores with ``floors`` and ``at_floor``.
    """
    tasks = []
    for task in scores.tasks:
        rows = predictions.filter(pl.col("task") == task.task)
        constant = constant_runs(rows, folder.task(task.task).kind)
        seeds = rows.select("source", "target", "seed").unique()
        runs = [(str(source), str(target), int(seed)) for source, target, seed in seeds.iter_rows()]
        varied = {(source, target) for source, target, seed in runs if (source, target, seed) not in constant}
        tasks.append(_mark_task(task, task_floors(folder, task.task, scores.subset), varied))
    return scores.model_copy(update={"tasks": tuple(tasks)})


def _mark_task(task: TaskScores, floors: Mapping[str, Floor], varied: set[tuple[str, str]]) -> TaskScores:
    """Add the marks to one task; ``varied`` are the cells with at least one run that is not constant."""

    def is_low(estimate: Estimate, source: str, targets: Sequence[str]) -> bool:
        constant = all((source, target) not in varied for target in targets)
        end = estimate.value if estimate.low is None else estimate.low
        return end is not None and is_at_floor(end, _mean_floor(floors, targets), constant=constant)

    homes = {home.domain: is_low(home.score, home.domain, [home.domain]) for home in task.in_domain}
    shifts = []
    for shift in task.shifts:
        low = {"st": is_low(shift.st, shift.source, [shift.target])}
        parts = source_parts(shift.source)
        low["ss"] = bool(parts) and shift.ss.value is not None and is_low(shift.ss, shift.source, parts)
        low["tt"] = homes.get(shift.target, False)
        shifts.append(shift.model_copy(update={"at_floor": tuple(name for name, mark in low.items() if mark)}))
    ranked = ranked_shifts(task)
    mean, end = task.summary.mean_st, task.summary.mean_st.low
    end = mean.value if end is None else end
    whole = _mean_floor(floors, [shift.target for shift in ranked])
    constant = bool(ranked) and all((shift.source, shift.target) not in varied for shift in ranked)
    marked = end is not None and is_at_floor(end, whole, constant=constant)
    return task.model_copy(
        update={
            "floors": {name: FloorLevels(**floor._asdict()) for name, floor in floors.items()},
            "in_domain": tuple(each.model_copy(update={"at_floor": homes[each.domain]}) for each in task.in_domain),
            "shifts": tuple(shifts),
            "summary": task.summary.model_copy(update={"at_floor": marked}),
        }
    )


def ranked_shifts(task: TaskScores) -> list[Shift]:
    """List the shifts that the task's mean ST averages over."""
    if task.id_ood is not None:
        source, away = task.id_ood.source, task.id_ood.ood
        return [shift for shift in task.shifts if shift.source == source and shift.target in away]
    single = [shift for shift in task.shifts if shift.source in task.domains]
    outside = {
        basis: [shift for shift in task.shifts if shift.source == source] for source, basis in OUTSIDE_BASES.items()
    }
    by_basis = {"single-source": single, **outside}
    return by_basis.get(task.summary.basis, list(task.shifts))


def _mean_floor(floors: Mapping[str, Floor], targets: Sequence[str]) -> Floor | None:
    """Return the levels averaged over test sets; None if a test set has no levels."""
    if not targets or any(target not in floors for target in targets):
        return None
    chance, majority = np.mean([floors[target] for target in targets], axis=0)
    return Floor(float(chance), float(majority))
