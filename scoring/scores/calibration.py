"""Quality of the confidences in a prediction file: in domain, out of domain, and the change under shift.

Files without confidences pass unchanged, at no cost.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.metrics.calibration import N_BINS, equal_mass_bins
from shiftbench.metrics.selective import risk_coverage
from shiftbench.scoring.scores.confidence_shape import (
    Confidence,
    ConfidenceCurves,
    ConfidenceFigures,
    HomeConfidence,
    ShiftConfidence,
)
from shiftbench.scoring.scores.confidences import BOUNDS, target_confidence
from shiftbench.scoring.scores.estimate import Estimate
from shiftbench.scoring.scores.gaps import averaged_seeds
from shiftbench.scoring.scores.intervals import (
    DROP,
    Figure,
    broadcast_replicates,
    estimate,
    estimates,
    percentile_figure,
)
from shiftbench.scoring.scores.label_shift import LabelShifts
from shiftbench.scoring.scores.replicates import Cell, Floats, TaskValues
from shiftbench.scoring.scores.shape import Scores, TaskScores
from shiftbench.scoring.scores.target_runs import target_runs
from shiftbench.validation.vocabulary import TaskKind, source_parts

_TWICE = (-2.0, 2.0)
_COVERAGES = np.arange(1, 21) / 20


def add_confidence(
    scores: Scores,
    predictions: pl.DataFrame,
    task_values: Mapping[str, TaskValues],
    folder: DatasetFolder,
    subset: str,
    n_draws: int,
) -> Scores:
    """Add the figures of confidences to scores.

    Args:
        scores: the scores of a file.
        predictions: its checked predictions; without confidences the scores come back as they are.
        task_values: the scores' values by task.
        folder: the dataset.
        subset: the subset of test ids.
        n_draws: replicates; 0 leaves intervals out.
    Returns: the scores, with ``confidence`` in tasks of labels whose rows have them.
    """
    if not {"confidence", "probabilities"} & set(predictions.columns):
        return scores

    def added(task: TaskScores) -> TaskScores:
        values = task_values[task.task]
        rows = predictions.filter(pl.col("task") == task.task)
        column = _confidence_column(rows, values.info)
        if column is None:
            return task
        here = _TaskConfidences(values, rows, column, folder, subset, n_draws)
        return task.model_copy(update={"confidence": here.summary()})

    return scores.model_copy(update={"tasks": tuple(added(task) for task in scores.tasks)})


def _confidence_column(rows: pl.DataFrame, info: TaskInfo) -> str | None:
    """Find the column of a task's confidences; None where it is missing, or not filled in every row."""
    if info.kind is not TaskKind.CLASSIFICATION:
        return None
    if "probabilities" in rows.columns and rows["probabilities"].is_not_null().any():
        return "probabilities"
    return "confidence" if "confidence" in rows.columns and not rows["confidence"].has_nulls() else None


class _TaskConfidences:
    """The confidences of one task, in the column ``given``, and their summary."""

    def __init__(
        self, values: TaskValues, rows: pl.DataFrame, given: str, folder: DatasetFolder, subset: str, n_draws: int
    ) -> None:
        self.values, self.given, self.folder = values, given, folder
        self.seeds = averaged_seeds(values)
        order = ["target", "source", "seed", "id"]
        parts = rows.select(*order, given).sort(order).partition_by("target", as_dict=True)
        plain = rows.select(*order, "prediction", "task")
        self.targets = {
            runs.target: target_confidence(
                runs,
                parts[runs.target,][given],
                values.info,
                folder.split(values.name, runs.target, "test")["label"],
                n_draws,
            )
            for runs in target_runs(values.name, plain, folder, subset)
        }
        self.figures: dict[Cell, dict[str, Figure]] = {cell: self._of_cell(cell) for cell in sorted(values.rows)}

    def _runs(self, cell: Cell) -> list[int]:
        return self.targets[cell[1]].runs_of(cell[0], self.seeds[cell[0]])

    def _of_cell(self, cell: Cell) -> dict[str, Figure]:
        n_groups, runs = self.values.effective_groups[cell[1]], self._runs(cell)
        figures = self.targets[cell[1]].figures
        return {
            name: percentile_figure(figures[name][:, runs].mean(axis=1), n_groups, bounds)
            for name, bounds in BOUNDS.items()
        }

    def summary(self) -> Confidence:
        """Summarise domains and shifts."""
        own = [(domain, domain) for domain in self.values.domains if (domain, domain) in self.figures]
        shifts = self.values.shift_cells
        single = [cell for cell in shifts if cell[0] in self.values.domains] or shifts
        differences = {cell: difference for cell in shifts if (difference := self._difference(cell)) is not None}
        split = LabelShifts(self.values, self.targets, self.seeds, self.folder)
        splits = {cell: parts for cell in shifts if (parts := split.parts(*cell)) is not None}
        # Means of both parts are over the same shifts, so that they add up to a mean TD.
        both = [splits[cell] for cell in single if cell in splits and not np.isnan(splits[cell].rest.values[0])]
        chosen = both or [splits[cell] for cell in single if cell in splits]
        return Confidence(
            given=self.given,
            in_domain=tuple(
                HomeConfidence(domain=domain, figures=_estimated(self.figures[domain, domain])) for domain, _ in own
            ),
            shifts=tuple(
                ShiftConfidence(
                    source=cell[0],
                    target=cell[1],
                    figures=_estimated(self.figures[cell]),
                    difference=_estimated(differences[cell]) if cell in differences else None,
                    label_shift=splits[cell].estimated() if cell in splits else None,
                )
                for cell in shifts
            ),
            mean_in_domain=_mean([self.figures[cell] for cell in own]),
            mean_out=_mean([self.figures[cell] for cell in single]),
            mean_difference=_mean([differences[cell] for cell in single if cell in differences]),
            mean_label_shift=_mean_estimate([parts.label_shift for parts in chosen]),
            mean_rest=_mean_estimate([parts.rest for parts in both]),
            curves_in_domain=self._curves(own),
            curves_out=self._curves(single),
        )

    def _difference(self, cell: Cell) -> dict[str, Figure] | None:
        """Compute out of domain less at home; the home of a joined source is the mean over its parts."""
        homes = [(cell[0], part) for part in source_parts(cell[0])]
        if not homes or any(home not in self.figures for home in homes):
            return None
        differences = {}
        for name, out in self.figures[cell].items():
            figures = [self.figures[home][name] for home in homes]
            at_home = np.mean(broadcast_replicates(*(figure.values for figure in figures)), axis=0)
            values = np.subtract(*broadcast_replicates(out.values, at_home))
            n_groups = min(figure.effective_groups for figure in (out, *figures))
            differences[name] = percentile_figure(values, n_groups, _TWICE if name == "brier" else DROP)
        return differences

    def _curves(self, cells: Sequence[Cell]) -> ConfidenceCurves | None:
        if not cells:
            return None
        pooled: list[tuple[Floats, NDArray[np.bool_]]] = []
        risks = []
        for cell in cells:
            target = self.targets[cell[1]]
            for run in self._runs(cell):
                sure, right = target.confidence[run], target.correct[run]
                pooled.append((sure, right))
                places = np.maximum(np.ceil(_COVERAGES * sure.size - 1e-9).astype(int), 1) - 1
                risks.append(risk_coverage(sure, right)[places])
        sure, right = (np.concatenate(parts) for parts in zip(*pooled, strict=True))
        bins = equal_mass_bins(sure, N_BINS)
        sizes = np.bincount(bins)
        means = [np.bincount(bins, weights=values) / sizes for values in (sure, right)]
        return ConfidenceCurves(
            confidence=tuple(means[0].tolist()),
            accuracy=tuple(means[1].tolist()),
            coverage=tuple(_COVERAGES.tolist()),
            risk=tuple(np.mean(risks, axis=0).tolist()),
        )


def _estimated(figures: Mapping[str, Figure]) -> ConfidenceFigures:
    return ConfidenceFigures(**estimates(figures))


def _mean(cells: Sequence[Mapping[str, Figure]]) -> ConfidenceFigures | None:
    if not cells:
        return None
    return _estimated({name: _mean_figure([figures[name] for figures in cells]) for name in BOUNDS})


def _mean_estimate(figures: Sequence[Figure]) -> Estimate | None:
    return estimate(_mean_figure(figures)) if figures else None


def _mean_figure(figures: Sequence[Figure]) -> Figure:
    """Average figures, at least one, replicate by replicate."""
    values = np.mean(broadcast_replicates(*(figure.values for figure in figures)), axis=0)
    return percentile_figure(values, min(figure.effective_groups for figure in figures), figures[0].bounds)
