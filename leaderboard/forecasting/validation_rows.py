"""Predictions on validation rows of the source: a second prediction file beside the first, NAME.validation.parquet."""

from dataclasses import replace
from pathlib import Path

import polars as pl

from builders.folder.reader import DatasetFolder
from validation.prediction_task import PredictionTask
from validation.predictions import check_prediction_file
from validation.report import InvalidInput, Problem
from validation.vocabulary import TOKENS, TaskKind


def validation_file(predictions: Path) -> Path:
    """Return where a program writes predictions on validation rows (``train --validation``).

    >>> validation_file(Path("runs/preds.parquet")).as_posix()
    'runs/preds.validation.parquet'
    """
    return predictions.with_name(f"{predictions.stem}.validation{predictions.suffix}")


def read_validation(path: Path, folder: DatasetFolder) -> pl.DataFrame:
    """Read predictions on validation rows and check them against a dataset folder.

    Args:
        path: the file; its columns are those of a prediction file, and its ids name the split ``validation``.
        folder: the dataset.
    Returns: rows in file order, as ``validation.predictions.CHECKED_PREDICTIONS`` has them.
    Raises: InvalidInput with every problem found: unknown ids, runs that lack validation rows of a domain.
    """
    facts = [found for task in folder.manifest.tasks if (found := _gather_facts(folder, task)) is not None]
    if not facts:
        cure = "build the dataset with validation rows, or leave the file out"
        raise InvalidInput(Problem("the dataset has no validation rows", str(folder.path), str(path), cure))
    return check_prediction_file(path, facts)


def _gather_facts(folder: DatasetFolder, task: str) -> PredictionTask | None:
    """Gather what checking predictions of a task's validation rows needs; None where it has none."""
    info = folder.task(task)
    domains = [name for name, facts in info.domains.items() if "validation" in facts.splits]
    if not domains or "all" not in info.subsets:
        return None
    lengths = [pl.col(TOKENS).list.len().alias("n_tokens")] if info.kind is TaskKind.TAGGING else []
    rows = [folder.split(task, name, "validation").select("id", "domain", *lengths) for name in domains]
    return replace(folder.prediction_task(task), domains=tuple(domains), test=pl.concat(rows), subsets={})
