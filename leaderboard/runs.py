"""Checked predictions as matrices: for each target, what every run predicted for every test row.

Every run (source, seed) has exactly the test ids of each target it predicts, so the predictions on one target are
a matrix, runs by test rows. Scores, intervals and comparisons are all weighted sums over its columns.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from builders.folder import DatasetFolder
from leaderboard.metrics.classification import confusion_counts
from validation.report import InvalidInput, Problem
from validation.vocabulary import TaskKind

Run = tuple[str, int]
"""Source and seed of one trained model."""


@dataclass(frozen=True)
class TargetRuns:
    """Predictions of all runs on one target's test rows (n of them, in id order).

    Attributes:
        task, target: names.
        ids: shape (n,).
        gold: label codes, shape (n,).
        groups: group codes from 0, shape (n,).
        classes: which classes the full test split has, shape (n_classes,).
        runs: the runs, in order of source and seed.
        codes: predicted label codes, shape (n_runs, n); ``n_classes`` stands for unusable output.
    """

    task: str
    target: str
    ids: pl.Series
    gold: NDArray[np.int64]
    groups: NDArray[np.int64]
    classes: NDArray[np.bool_]
    runs: list[Run]
    codes: NDArray[np.int64]

    def weighted_counts(self, run: int, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Confusion counts of one run under each row of ``weights`` (n_weights, n): (n_weights, C, C + 1)."""
        n_classes = len(self.classes)
        cells = np.zeros((len(self.gold), n_classes * (n_classes + 1)))
        cells[np.arange(len(self.gold)), self.gold * (n_classes + 1) + self.codes[run]] = 1.0
        return (weights @ cells).reshape(len(weights), n_classes, n_classes + 1)

    def group_counts(self, run: int) -> NDArray[np.float64]:
        """Confusion counts of one run by group, shape (n_groups, C, C + 1)."""
        n_groups = int(self.groups.max()) + 1
        return confusion_counts(self.gold, self.codes[run], len(self.classes), cells=self.groups, n_cells=n_groups)

    def of_source(self, source: str) -> list[int]:
        """List the runs of a source, by seed."""
        return [index for index, (trained_on, _) in enumerate(self.runs) if trained_on == source]


def target_runs(task: str, predictions: pl.DataFrame, folder: DatasetFolder, subset: str) -> Iterator[TargetRuns]:
    """Arrange one task's checked predictions by target.

    Args:
        task: its name.
        predictions: rows of this task, as ``check_predictions`` returns them.
        folder: the dataset.
        subset: the subset of test ids that the predictions cover.
    """
    info = folder.task(task)
    if info.kind is not TaskKind.CLASSIFICATION:
        raise InvalidInput(Problem("no scoring for this kind of task", str(folder.path), f"'{info.kind.value}'"))
    codes = {label: code for code, label in enumerate(info.labels)}
    chosen = folder.test(task, subset)
    for (target,), part in predictions.group_by("target", maintain_order=True):
        rows = chosen.filter(domain=target).sort("id")
        full = folder.split(task, str(target), "test")["label"].to_numpy()
        ordered = part.sort("source", "seed", "id")
        predicted = ordered["prediction"].replace_strict(codes, default=len(codes), return_dtype=pl.Int64).to_numpy()
        runs = ordered.select("source", "seed").unique(maintain_order=True)
        yield TargetRuns(
            task=task,
            target=str(target),
            ids=rows["id"],
            gold=rows["label"].to_numpy(),
            groups=rows["group"].rank("dense").cast(pl.Int64).to_numpy() - 1,
            classes=np.bincount(full, minlength=len(codes)) > 0,
            runs=list(runs.iter_rows()),
            codes=predicted.reshape(len(runs), len(rows)),
        )
