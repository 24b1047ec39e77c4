"""What a task's figures are without any shift: flips beside those of its placebo, and texts that training has seen.

A placebo's domains are samples of one, so models of two of them turn over texts for no other reason than their training
samples. What it cannot show is near-duplicates between train and test of one domain: they raise scores at home, and
once dealt to different domains they raise none.
"""

from collections.abc import Mapping

import numpy as np

from builders.folder.reader import DatasetFolder
from builders.folder.statistics import DuplicateCounts, data_path, read_statistics
from leaderboard.scoring.shape import NearDuplicates, Scores, Shift, TaskScores
from validation.vocabulary import PLACEBO


def add_without_shift(scores: Scores, folder: DatasetFolder) -> Scores:
    """Add to a file's scores the flips beyond its placebos', and the near-duplicates of its tasks.

    Args:
        scores: of any tasks of the dataset.
        folder: the dataset.
    Returns: the scores with ``flips.without_shift``, ``flips.excess`` and ``near_duplicates``.
    """
    by_name = {task.task: task for task in scores.tasks}
    tasks = [_beside_placebo(task, by_name) for task in scores.tasks]
    found = [task.model_copy(update={"near_duplicates": near_duplicates(folder, task.task)}) for task in tasks]
    return scores.model_copy(update={"tasks": tuple(found)})


def near_duplicates(folder: DatasetFolder, task: str) -> NearDuplicates | None:
    """Return the shares of a task's test texts that repeat, nearly or exactly, a train text of their own domain.

    Args:
        folder: the dataset.
        task: its name.
    Returns: None for a placebo, in a folder without statistics, and without a domain that has both splits.
    """
    if task.endswith(PLACEBO) or not (folder.path / data_path(task)).is_file():
        return None
    return repeated_shares(read_statistics(folder.path, task).duplicates)


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
