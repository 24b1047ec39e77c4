"""Predictions on the source's validation rows: a second file next to the prediction file, NAME.validation.parquet."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.validation.prediction_files import PredictionInput
from shiftbench.validation.prediction_task import PredictionTask
from shiftbench.validation.predictions import check_prediction_file
from shiftbench.validation.probabilities import PROBABILITIES
from shiftbench.validation.report import InvalidInput, Problem, and_more
from shiftbench.validation.vocabulary import TOKENS, TaskKind

_RUN = ("task", "source", "seed")
_LEAST_AGREED = 0.5
"""Minimum share of rows whose most probable label is the predicted one; a decision rule may choose another label."""


def validation_file(predictions: Path) -> Path:
    """Return the path of the validation predictions that belong to a prediction file (``train --validation``).

    Args:
        predictions: path of the prediction file.

    >>> validation_file(Path("runs/preds.parquet")).as_posix()
    'runs/preds.validation.parquet'
    """
    return predictions.with_name(f"{predictions.stem}.validation{predictions.suffix}")


def read_validation(path: Path | PredictionInput, folder: DatasetFolder) -> pl.DataFrame:
    """Read predictions on validation rows and check them against a dataset folder.

    Args:
        path: the file, with the columns of a prediction file; its ids have the split ``validation``.
        folder: the dataset.

    Returns: rows in file order, with the columns of ``shiftbench.validation.predictions.CHECKED_PREDICTIONS``.

    Raises: InvalidInput with every problem found: unknown ids, runs that lack validation rows of a domain.
    """
    return check_prediction_file(path, validation_tasks(folder))


def validation_tasks(folder: DatasetFolder) -> list[PredictionTask]:
    """Return the task descriptions used to check predictions on validation rows.

    Args:
        folder: the dataset.

    Returns: one per task with validation rows.

    Raises: InvalidInput if no task has validation rows.
    """
    tasks = [task for name in folder.manifest.tasks if (task := _validation_task(folder, name)) is not None]
    if not tasks:
        cure = "build the dataset with validation rows, or omit the file"
        raise InvalidInput(Problem("the dataset has no validation rows", str(folder.path), cure=cure))
    return tasks


def refuse_other_training(validation: pl.DataFrame, predictions: pl.DataFrame, file: str) -> None:
    """Refuse predictions on validation rows that cannot be from the models whose test rows were predicted.

    Args:
        validation: checked predictions on validation rows.
        predictions: checked predictions on test rows.
        file: the file of ``validation``, for the error message.

    Raises: InvalidInput if a task, source or seed is not among the predictions, or if the predictions have
        probabilities and the validation rows do not.
    """
    runs = validation.select(_RUN).unique().sort(_RUN)
    strange = runs.join(predictions.select(_RUN).unique(), on=_RUN, how="anti", maintain_order="left").rows()
    if strange:
        task, source, seed = strange[0]
        found = f"task '{task}', source '{source}', seed {seed}" + and_more(len(strange) - 1, "run")
        cure = "send the validation predictions of the same training, or omit them"
        raise InvalidInput(
            Problem("the predictions do not contain the model of these validation rows", file, found, cure)
        )
    if _has_probabilities(predictions) and not _has_probabilities(validation):
        cure = "write probabilities of all labels to both files (train --probabilities), or omit this one"
        what = "the predictions have probabilities, but their validation rows do not"
        raise InvalidInput(Problem(what, file, cure=cure, column=PROBABILITIES))


def refuse_other_order(validation: pl.DataFrame, folder: DatasetFolder, file: str) -> None:
    """Refuse probabilities of validation rows that seem to be in a different order than the task's labels.

    Args:
        validation: checked predictions on validation rows.
        folder: the dataset.
        file: their file, for the error message.

    Raises: InvalidInput if the most probable label is not the predicted one in most rows of a task.
    """
    if not _has_probabilities(validation):
        return
    given = validation.filter(pl.col(PROBABILITIES).is_not_null())
    for (task,), rows in given.partition_by("task", as_dict=True, maintain_order=True).items():
        labels = folder.task(str(task)).labels
        names = rows[PROBABILITIES].list.arg_max().replace_strict(dict(enumerate(labels)), return_dtype=pl.String)
        n_agreed = int((names == rows["prediction"]).sum())
        check_agreement(n_agreed, len(rows), "validation", labels, str(task), file)


def check_agreement(n_agreed: int, n: int, split: str, labels: Sequence[str], task: str, file: str) -> None:
    """Check that the most probable label is the predicted one in most rows of a split.

    Args:
        n_agreed: number of rows in which the most probable label is the predicted one.
        n: number of rows with probabilities and a usable prediction.
        split: the split of the rows, for the error message.
        labels: the task's labels, in order.
        task: the task, for the error message.
        file: the file, for the error message.

    Raises: InvalidInput if it is not in most rows: the probabilities seem to be in a different order than the labels.
    """
    if n_agreed < n * _LEAST_AGREED:
        what = "probabilities and predictions disagree: the labels may be in a different order"
        found = f"the most probable label is the predicted one in {n_agreed:,} of {n:,} {split} rows of task '{task}'"
        cure = f"give probabilities in this order: {', '.join(labels)}"
        raise InvalidInput(Problem(what, file, found, cure, column=PROBABILITIES))


def _has_probabilities(rows: pl.DataFrame) -> bool:
    return PROBABILITIES in rows.columns and rows[PROBABILITIES].null_count() < len(rows)


def _validation_task(folder: DatasetFolder, task: str) -> PredictionTask | None:
    """Return the task description used to check predictions on a task's validation rows; None if it has none."""
    info = folder.task(task)
    domains = [name for name, facts in info.domains.items() if "validation" in facts.splits]
    if not domains or "all" not in info.subsets:
        return None
    counted = [TOKENS] if info.kind is TaskKind.TAGGING else []
    n_tokens = [pl.col(name).list.len().alias("n_tokens") for name in counted]
    rows = [folder.split(task, name, "validation").select("id", "domain", *n_tokens) for name in domains]
    return replace(
        folder.prediction_task(task), domains=tuple(domains), test=pl.concat(rows), subsets={}, split="validation"
    )
