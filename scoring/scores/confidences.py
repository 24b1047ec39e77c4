"""Confidence of each run in each prediction on a target's test rows, with the weights that replicate all figures.

Of probabilities of all labels, the confidence is that of the predicted label; an unusable output without any counts as
sure of nothing: every label equally likely.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.metrics.calibration import (
    MIN_BIN_GROUPS,
    N_BINS,
    bin_counts,
    brier_scores,
    equal_mass_bins,
    squared_calibration_error,
    top_label_brier_scores,
)
from shiftbench.metrics.resampling import group_weights
from shiftbench.metrics.selective import excess_aurc, failure_auroc
from shiftbench.scoring.scores.intervals import DROP, SCORE
from shiftbench.scoring.scores.outcomes import Outcomes, folded_codes
from shiftbench.scoring.scores.replicates import Floats
from shiftbench.scoring.scores.target_runs import Run, TargetRuns

BOUNDS = {
    "overconfidence": DROP,
    "calibration_error": DROP,
    "brier": (0.0, 2.0),
    "failure_auroc": SCORE,
    "excess_aurc": SCORE,
}
"""The figures, with the least and the most that they can be."""
_DRAWS = 4


def _with_even(lists: pl.Series, n_classes: int) -> pl.Series:
    """Return probabilities with even ones in the place of missing ones."""
    even = pl.Series([[1 / n_classes] * n_classes], dtype=lists.dtype)
    return lists.zip_with(lists.is_not_null(), even.new_from_index(0, len(lists)))


@dataclass(frozen=True)
class TargetConfidence:
    """The predictions of all runs on one target's n test rows, with their confidences.

    Attributes:
        runs: source and seed of each run.
        groups: group codes of the rows, shape (n,).
        outcomes: the runs' outcomes.
        labels: gold codes, shape (n,).
        predicted: codes as they are scored, the last for unusable output, shape (n_runs, n).
        confidence: of each prediction, shape (n_runs, n).
        probabilities: of each label as it is scored, shape (n_runs, n, n_classes); None where they are not given.
        folds: what each label is scored as (``folded_codes``).
        weights: how often each group counts in each replicate, shape (n_draws, n_groups).
        metric: name of the task's metric.
    """

    runs: Sequence[Run]
    groups: NDArray[np.int64]
    outcomes: Outcomes
    labels: NDArray[np.int64]
    predicted: NDArray[np.int64]
    confidence: Floats
    probabilities: Floats | None
    folds: NDArray[np.int64]
    weights: NDArray[np.float32]
    metric: str

    @cached_property
    def correct(self) -> NDArray[np.bool_]:
        """Return whether each prediction is right, shape (n_runs, n)."""
        return np.asarray(self.predicted == self.labels)

    def runs_of(self, source: str, seeds: Collection[int]) -> list[int]:
        """List the runs of a source with one of these seeds."""
        return [number for number, (name, seed) in enumerate(self.runs) if name == source and seed in seeds]

    @cached_property
    def figures(self) -> dict[str, Floats]:
        """Compute all figures of all runs: on the test set, then on replicates, shape (1 + n_draws, n_runs) each."""
        pairs = list(zip(self.confidence, self.correct, strict=True))
        brier = top_label_brier_scores(self.confidence, self.correct)
        if self.probabilities is not None:
            brier = brier_scores(self.probabilities, self.labels)
        # Replicates of means, and of figures that vary with the mean of their influences.
        rows = {"overconfidence": self.confidence - self.correct, "brier": brier}
        for name, figure in (("failure_auroc", failure_auroc), ("excess_aurc", excess_aurc)):
            estimates = [figure(sure, right) for sure, right in pairs]
            rows[name] = np.stack([each.value + each.influence for each in estimates])
        sizes = np.bincount(self.groups)
        by_group = [np.bincount(self.groups, weights=row) for values in rows.values() for row in values]
        sums = self._sums(np.stack([sizes, *by_group], axis=1))
        means = (sums[:, 1:] / sums[:, :1]).reshape(len(sums), len(rows), len(self.runs))
        found_means = {name: means[:, number] for number, name in enumerate(rows)}
        found_means["failure_auroc"] = _on_logits(found_means["failure_auroc"])
        found_means["excess_aurc"] = _on_logs(found_means["excess_aurc"])
        return found_means | {"calibration_error": self._calibration_errors(pairs, sizes.size)}

    def _calibration_errors(self, pairs: Sequence[tuple[Floats, NDArray[np.bool_]]], n_groups: int) -> Floats:
        n_bins = max(1, min(N_BINS, n_groups // MIN_BIN_GROUPS))
        sizes, differences = np.zeros((2, n_groups, len(pairs), n_bins))
        for run, (sure, right) in enumerate(pairs):
            bins = equal_mass_bins(sure, n_bins)
            counts = bin_counts(sure, right, bins, self.groups)
            n_here = counts[0].shape[-1]  # ties may leave fewer bins
            sizes[:, run, :n_here], differences[:, run, :n_here] = counts
        points = squared_calibration_error(sizes, differences)
        return np.concatenate([points[None], squared_calibration_error(sizes, differences, self.weights)])

    def _sums(self, by_group: Floats) -> Floats:
        """Sum columns over the groups of the test set, then of each replicate, shape (1 + n_draws, k)."""
        drawn = self.weights @ by_group.astype(self.weights.dtype)
        return np.concatenate([by_group.sum(axis=0)[None], drawn])

    @cached_property
    def scores(self) -> Floats:
        """Compute the task's metric of all runs, shape (1 + n_draws, n_runs)."""
        return self.scores_of(self.predicted)

    def scores_of(self, predicted: NDArray[np.int64]) -> Floats:
        """Score predictions by the task's metric.

        Args:
            predicted: label codes, the last for unusable output, shape (n_rows, n).
        Returns: fractions on the test set, then on its replicates, shape (1 + n_draws, n_rows).
        """
        k, n_groups = self.outcomes.n_counts, int(self.groups.max()) + 1
        cells = self.groups * k + self.labels * len(self.folds)
        counts = [np.bincount(cells + codes, minlength=n_groups * k).reshape(n_groups, k) for codes in predicted]
        sums = self._sums(np.concatenate(counts, axis=1).astype(np.float64))
        return self.outcomes.score(self.metric, sums.reshape(len(sums), len(predicted), k))


def _on_logits(values: Floats) -> Floats:
    """Move replicates (all but the first) by the same distance in logits: areas near 1 vary downwards, not beyond."""
    point = values[0]
    slope = point * (1 - point)
    inside = slope > 0
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        odds = point / (1 - point) * np.exp((values - point) / slope)
        moved = odds / (1 + odds)
    return np.where(inside & np.isfinite(moved), moved, values)


def _on_logs(values: Floats) -> Floats:
    """Move replicates (all but the first) by the same distance in logarithms: values close to 0 vary upwards."""
    point = values[0]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        moved = point * np.exp((values - point) / point)
    return np.where((point > 0) & np.isfinite(moved), moved, values)


def target_confidence(
    target: TargetRuns, given: pl.Series, info: TaskInfo, full_gold: pl.Series, n_draws: int
) -> TargetConfidence:
    """Arrange the confidences of a target's rows.

    Args:
        target: its runs.
        given: a confidence a row, or lists of probabilities, sorted by source, seed and id as the runs are.
        info: the task.
        full_gold: the labels of all test rows of the target, which say what labels there are.
        n_draws: replicates; none with fewer than 2 groups.
    """
    outcomes, n_classes, shape = target.outcomes, len(info.labels), (len(target.runs), len(target.ids))
    assert outcomes.cells is not None
    labels, predicted = np.divmod(outcomes.cells, n_classes + 1)
    classes = np.bincount(full_gold.to_numpy(), minlength=n_classes) > 0
    folds = folded_codes(info, classes)
    if given.dtype == pl.Float64:
        probabilities, confidence = None, given.to_numpy().reshape(shape)
    else:
        given_codes = _with_even(given, n_classes).explode().to_numpy().reshape(*shape, n_classes)
        probabilities = np.zeros_like(given_codes)
        for code, scored_as in enumerate(folds[:-1]):
            probabilities[..., scored_as] += given_codes[..., code]
        probabilities /= probabilities.sum(axis=-1, keepdims=True)  # rounded ones add up to about 1
        usable = predicted < n_classes
        own = np.take_along_axis(probabilities, np.where(usable, predicted, 0)[..., None], axis=-1)[..., 0]
        confidence = np.where(usable, own, probabilities.max(axis=-1))
    n_groups = int(target.groups.max()) + 1
    rng = np.random.default_rng([_DRAWS, *f"{target.task}/{target.target}".encode()])
    has_draws = bool(n_draws) and n_groups > 1
    weights = group_weights(n_groups, n_draws, rng) if has_draws else np.empty((0, n_groups))
    return TargetConfidence(
        target.runs, target.groups, outcomes, labels[0], predicted, confidence, probabilities, folds,
        weights.astype(np.float32), info.metric,
    )  # fmt: skip
