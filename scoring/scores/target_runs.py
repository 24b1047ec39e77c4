"""Checked predictions arranged by target: the outputs of all runs on one domain's test rows."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.builders.encoder import Encoder
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.scores.outcomes import Outcomes, outcomes
from shiftbench.validation.vocabulary import GOLD

Run = tuple[str, int]
"""Source and seed of one trained model."""


@dataclass(frozen=True)
class TargetRuns:
    """The predictions of all runs on one target's test rows (n of them, in id order).

    Attributes:
        task, target: names.
        ids: shape (n,).
        groups: group codes from 0, in the order of the groups' names, shape (n,).
        runs: the runs, in order of source and seed.
        outcomes: their counts, run by run.
    """

    task: str
    target: str
    ids: pl.Series
    groups: NDArray[np.int64]
    runs: list[Run]
    outcomes: Outcomes

    def of_source(self, source: str) -> list[int]:
        """List the runs of a source, by seed."""
        return [index for index, (trained_on, _) in enumerate(self.runs) if trained_on == source]

    def of_rows(self, wanted: NDArray[np.bool_]) -> "TargetRuns":
        """Return the same of some rows, at least one; shape (n,)."""
        groups = np.unique(self.groups[wanted], return_inverse=True)[1]
        chosen = self.ids.filter(pl.Series(wanted))
        return replace(self, ids=chosen, groups=groups, outcomes=self.outcomes.of_rows(wanted))


def target_runs(
    task: str, predictions: pl.DataFrame, folder: DatasetFolder, subset: str, *, encoder: Encoder | None = None
) -> Iterator[TargetRuns]:
    """Arrange one task's checked predictions by target.

    Args:
        task: its name.
        predictions: rows of this task, as ``shiftbench.validation.predictions.CHECKED_PREDICTIONS`` has them.
        folder: the dataset.
        subset: the subset of test ids that the predictions cover.
        encoder: needed for BERTScore alone.
    Yields: for each target the outcomes of its runs on the target's test rows, sorted by id.
    """
    info = folder.task(task)
    chosen = folder.test(task, subset, ["id", "domain", "group", GOLD[info.kind]])
    for (target,), part in predictions.group_by("target", maintain_order=True):
        gold = chosen.filter(domain=target).sort("id")
        ordered = part.sort("source", "seed", "id")
        full_gold = gold if subset == "all" else folder.split(task, str(target), "test")
        yield TargetRuns(
            task=task,
            target=str(target),
            ids=gold["id"],
            groups=gold["group"].rank("dense").cast(pl.Int64).to_numpy() - 1,
            runs=list(ordered.select("source", "seed").unique(maintain_order=True).iter_rows()),
            outcomes=outcomes(info, gold, full_gold, ordered["prediction"], encoder),
        )
