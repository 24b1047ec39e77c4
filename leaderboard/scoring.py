"""From checked predictions to scores: a long table first (one value a row), the nested shape from that.

Each score is one matrix product of weights and confusion cells (see ``leaderboard.runs``).
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from builders.folder import DatasetFolder
from leaderboard.metrics.classification import accuracy, macro_f1
from leaderboard.metrics.depth import LAMBDAS, depth_weights, effective_size, least_deep
from leaderboard.runs import TargetRuns, target_runs
from leaderboard.scores import Scores
from leaderboard.summary import summarise_scores
from validation.prediction_files import read_predictions
from validation.predictions import check_predictions
from validation.report import InvalidInput, Problem
from validation.vocabulary import source_parts

SCORE_COLUMNS = {
    "task": pl.String,
    "source": pl.String,
    "target": pl.String,
    "seed": pl.Int64,
    "metric": pl.String,
    "value": pl.Float64,
    "n": pl.Int64,
}
"""The long table. ``value`` is a fraction, but for ``effective_n``. Depth metrics end in ``@<lambda>``;
``tt_depth_...`` rows hold the target's own run (its seed), weighted by the depths in ``source``."""


def score_file(path: Path, folder: DatasetFolder, subset: str = "all") -> Scores:
    """Read, check and score a prediction file.

    Raises: InvalidInput with every problem found in the file.
    """
    return summarise_scores(score_table(checked_predictions(path, folder, subset), folder, subset), folder, subset)


def checked_predictions(path: Path, folder: DatasetFolder, subset: str = "all") -> pl.DataFrame:
    """Read a prediction file and check it against a dataset folder; see ``check_predictions``."""
    tasks = [folder.facts(task, subset) for task, info in folder.manifest.tasks.items() if subset in info.subsets]
    if not tasks:
        cure = f"it has {', '.join(sorted({name for info in folder.manifest.tasks.values() for name in info.subsets}))}"
        raise InvalidInput(Problem("the dataset has no such subset", str(folder.path), f"'{subset}'", cure))
    return check_predictions(read_predictions(path), tasks, str(path))


def score_table(predictions: pl.DataFrame, folder: DatasetFolder, subset: str = "all") -> pl.DataFrame:
    """Score checked predictions into the long table (see ``SCORE_COLUMNS``), sorted.

    Args:
        predictions: as ``check_predictions`` returns it.
        folder: the dataset they are for.
        subset: the subset of test ids they cover.
    """
    parts = []
    for (task,), rows in predictions.group_by("task", maintain_order=True):
        parts += list(_score_classification(str(task), rows, folder, subset))
    table = pl.DataFrame(parts, schema=SCORE_COLUMNS, orient="row")
    return table.sort("task", "source", "target", "seed", "metric")


Row = tuple[str, str, str, int, str, float, int]


def _score_classification(task: str, rows: pl.DataFrame, folder: DatasetFolder, subset: str) -> Iterator[Row]:
    for target in target_runs(task, rows, folder, subset):
        n = len(target.gold)
        plain = np.ones((1, n))
        for run, (source, seed) in enumerate(target.runs):
            counts = target.weighted_counts(run, plain)[0]
            for metric, value in (
                ("accuracy", float(accuracy(counts))),
                ("macro_f1", float(macro_f1(counts, target.classes))),
                ("unparsed", float((target.codes[run] == len(target.classes)).mean())),
            ):
                yield (task, source, target.target, seed, metric, value, n)
        if folder.has_depth:
            yield from _score_depth(target, folder)


def _score_depth(target: TargetRuns, folder: DatasetFolder) -> Iterator[Row]:
    """Depth-weighted scores of every shift into a target, and of the target's own runs under the same weights."""
    for source in sorted({source for source, _ in target.runs}):
        parts = source_parts(source)
        if not parts or target.target in parts:
            continue
        depth, deepest = _depth_in(parts, target, folder)
        if not (depth < deepest).any():
            continue
        lambdas = [f"@{lambda_}" for lambda_ in LAMBDAS]
        kept = np.stack([least_deep(depth, lambda_) for lambda_ in LAMBDAS])
        weights = depth_weights(depth, deepest) * kept
        for run, (trained_on, seed) in enumerate(target.runs):
            if trained_on not in (source, target.target):
                continue
            counts = target.weighted_counts(run, weights)
            prefix = "depth_" if trained_on == source else "tt_depth_"
            scores = {"f1": accuracy(counts), "macro_f1": macro_f1(counts, target.classes)}
            for metric, values in scores.items():
                for lambda_, value, n in zip(lambdas, values, kept.sum(axis=1), strict=True):
                    yield (target.task, source, target.target, seed, f"{prefix}{metric}{lambda_}", float(value), int(n))
            if trained_on == source:
                for lambda_, row, n in zip(lambdas, weights, kept.sum(axis=1), strict=True):
                    name = f"effective_n{lambda_}"
                    yield (target.task, source, target.target, seed, name, effective_size(row), int(n))


def _depth_in(parts: Sequence[str], target: TargetRuns, folder: DatasetFolder) -> tuple[NDArray[np.float64], float]:
    """Depth of the target's texts in a source, and of the deepest source text.

    For joined sources both are means over the parts, weighted by their train sizes.
    """
    depth = np.zeros(len(target.ids))
    deepest, total = 0.0, 0
    for part in parts:
        table = folder.depth(target.task, part, target.target)
        # A table lists the source's train texts first, each once, then the target's test texts.
        n_train = folder.task(target.task).domains[part].splits["train"].rows
        texts = pl.DataFrame({"id": target.ids}).join(table[n_train:], on="id", how="left", maintain_order="left")
        if texts["depth"].null_count():
            what = f"the depth table {part}--{target.target} lacks test ids"
            raise InvalidInput(Problem(what, str(folder.path), cure="build the folder again"))
        depth += n_train * texts["depth"].to_numpy()
        deepest += n_train * float(table["depth"][:n_train].to_numpy().max())
        total += n_train
    return depth / total, deepest / total
