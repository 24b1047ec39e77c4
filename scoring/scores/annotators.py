"""Scores of single annotators, for comparison with models, where the dataset folder has upstream's votes."""

import numpy as np

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.folder.statistics import data_path, read_statistics
from shiftbench.scoring.scores.shape import Annotators, Scores
from shiftbench.validation.vocabulary import PLACEBO


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
