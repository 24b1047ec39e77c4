"""Controls of a task, figures without any shift: its placebo's flips, test texts seen in training, single annotators.

A placebo's domains are samples of one, so models of two of them turn over texts for no other reason than their training
samples. What it cannot show is near-duplicates between train and test of one domain: they raise scores at home, and
once dealt to different domains they raise none. So scores and drops without these texts stand beside their number.
"""

from collections.abc import Mapping

import numpy as np

from shiftbench.builders.folder.manifest import Manifest
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.folder.statistics import DuplicateCounts, data_path, read_statistics
from shiftbench.scoring.scores.estimate import Estimate
from shiftbench.scoring.scores.shape import (
    Annotators,
    NearDuplicates,
    Scores,
    Shift,
    ShiftWithoutRepeats,
    TaskScores,
    WithoutRepeats,
)
from shiftbench.scoring.scores.summary import task_scores
from shiftbench.scoring.scores.values import TaskValues
from shiftbench.validation.vocabulary import PLACEBO

_MEANS = ("mean_ss", "mean_st", "mean_sd", "mean_td", "average_drop")


def add_controls(scores: Scores, folder: DatasetFolder, task_values: Mapping[str, TaskValues]) -> Scores:
    """Add to a file's scores the flips beyond its placebos', and the near-duplicates of its tasks.

    Args:
        scores: of any tasks of the dataset.
        folder: the dataset.
        task_values: what the scores were nested from, by task.
    Returns: the scores with ``flips.without_shift``, ``flips.excess`` and ``near_duplicates``.
    """
    by_name = {task.task: task for task in scores.tasks}
    tasks = [_beside_placebo(task, by_name) for task in scores.tasks]
    marked = [
        task.model_copy(
            update={"near_duplicates": near_duplicates(folder, task.task, task_values[task.task].unrepeated)}
        )
        for task in tasks
    ]
    return scores.model_copy(update={"tasks": tuple(marked)})


def near_duplicates(folder: DatasetFolder, task: str, unrepeated: TaskValues | None = None) -> NearDuplicates | None:
    """Return the shares of a task's test texts that repeat, nearly or exactly, a train text of their own domain.

    Args:
        folder: the dataset.
        task: its name.
        unrepeated: scores on the other test texts; None where there are none, or which they are is not known.
    Returns: None for a placebo, in a folder without statistics, and without a domain that has both splits.
    """
    if task.endswith(PLACEBO) or not (folder.path / data_path(task)).is_file():
        return None
    shares = repeated_shares(read_statistics(folder.path, task).duplicates)
    repeated = folder.repeated_tests(task)
    if shares is None or unrepeated is None or repeated is None:
        return shares
    return shares.model_copy(update={"without": _without_repeats(unrepeated, folder.manifest, len(repeated))})


def _without_repeats(values: TaskValues, manifest: Manifest, left_out: int) -> WithoutRepeats:
    if not values.scores.get(values.info.metric):
        means = {name: Estimate(value=None) for name in _MEANS}
        return WithoutRepeats(left_out=left_out, total={}, shifts=(), **means)
    scores = task_scores(values, manifest)
    return WithoutRepeats(
        left_out=left_out,
        total=scores.summary.total,
        shifts=tuple(
            ShiftWithoutRepeats(**{name: getattr(shift, name) for name in ShiftWithoutRepeats.model_fields})
            for shift in scores.shifts
        ),
        **{name: getattr(scores.summary, name) for name in _MEANS},
    )


def repeated_shares(duplicates: DuplicateCounts) -> NearDuplicates | None:
    """Pool the shares of test texts that repeat a train text of their domain; None without such domains."""
    counts = [count for count in duplicates.across_splits if (count.split, count.other) == ("test", "train")]
    rows = sum(count.rows for count in counts)
    if not rows:
        return None
    return NearDuplicates(
        near=sum(count.near for count in counts) / rows, exact=sum(count.exact for count in counts) / rows
    )


def _beside_placebo(task: TaskScores, by_name: Mapping[str, TaskScores]) -> TaskScores:
    placebo = by_name.get(task.task + PLACEBO)
    turnovers = [
        shift.flips.loss + shift.flips.gain for shift in (placebo.shifts if placebo else ()) if shift.flips is not None
    ]
    if not turnovers:
        return task
    without = float(np.mean(turnovers))
    return task.model_copy(update={"shifts": tuple(_with_excess(shift, without) for shift in task.shifts)})


def _with_excess(shift: Shift, without: float) -> Shift:
    if shift.flips is None:
        return shift
    excess = shift.flips.loss + shift.flips.gain - without
    flips = shift.flips.model_copy(update={"without_shift": without, "excess": excess})
    return shift.model_copy(update={"flips": flips})


def add_annotators(scores: Scores, folder: DatasetFolder) -> Scores:
    """Add single annotators' scores on the same test texts to a file's scores.

    Args:
        scores: of any tasks of the dataset.
        folder: the dataset.
    Returns: the scores with ``annotators`` in every task whose domains have it.
    """
    tasks = [
        task.model_copy(update={"annotators": single_annotators(folder, task.task, task.metric)})
        for task in scores.tasks
    ]
    return scores.model_copy(update={"tasks": tuple(tasks)})


def single_annotators(folder: DatasetFolder, task: str, metric: str) -> Annotators | None:
    """Return single annotators' scores by a task's metric.

    Args:
        folder: the dataset.
        task: its name.
        metric: the task's metric.
    Returns: None for a placebo, in a folder without statistics, where upstream has no votes, and of other metrics than
        theirs (accuracy and macro-F1).
    """
    if task.endswith(PLACEBO) or not (folder.path / data_path(task)).is_file():
        return None
    by_domain = {domain: facts.annotators for domain, facts in read_statistics(folder.path, task).domains.items()}
    others = {domain: each.others[metric] for domain, each in by_domain.items() if each and metric in each.others}
    gold = {domain: each.gold[metric] for domain, each in by_domain.items() if each and metric in each.gold}
    if not others:
        return None
    return Annotators(
        others=others,
        gold=gold,
        mean_others=float(np.mean(list(others.values()))),
        mean_gold=float(np.mean(list(gold.values()))),
    )
