"""Quality of the confidences in a prediction file: in domain, out of domain, and the change under shift.

Of probabilities of all labels, the confidence is that of the predicted label; an unusable output without any counts as
sure of nothing: every label equally likely. Probabilities also split TD in the cost of the target's class shares and
the rest (``metrics.label_shift``). Files without confidences pass unchanged, at no cost.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray
from shiftbench.metrics.resampling import group_weights
from shiftbench.scoring.scores.intervals import (
    DROP,
    SCORE,
    Figure,
    broadcast_replicates,
    estimate,
    estimates,
)
from shiftbench.scoring.scores.precision import averaged_seeds
from shiftbench.scoring.scores.replicates import Cell, Floats, TaskValues

from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.metrics.calibration import (
    MIN_BIN_GROUPS,
    N_BINS,
    bin_counts,
    brier_scores,
    equal_mass_bins,
    squared_calibration_error,
    top_label_brier_scores,
)
from shiftbench.metrics.label_shift import adjust_to_prior, fit_temperature, label_shift_parts
from shiftbench.metrics.selective import excess_aurc, failure_auroc, risk_coverage
from shiftbench.scoring.scores.confidence_shape import (
    Confidence,
    ConfidenceCurves,
    ConfidenceFigures,
    HomeConfidence,
    LabelShift,
    ShiftConfidence,
)
from shiftbench.scoring.scores.estimate import Estimate
from shiftbench.scoring.scores.outcomes import Outcomes, Run, TargetRuns, folded_codes, target_runs
from shiftbench.scoring.scores.shape import Scores, TaskScores
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
            name: Figure.of_percentiles(figures[name][:, runs].mean(axis=1), n_groups, bounds)
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
            differences[name] = Figure.of_percentiles(values, n_groups, _TWICE if name == "brier" else DROP)
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
    return Figure.of_percentiles(values, min(figure.effective_groups for figure in figures), figures[0].bounds)


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


class Parts:
    """The parts of one shift's TD, with their replicates."""

    def __init__(self, st: Floats, adjusted: Floats, tt: Floats, n_groups: float, temperature: float) -> None:
        shift, rest = label_shift_parts(*broadcast_replicates(st, adjusted, tt))
        self.adjusted, self.temperature = Figure.of_percentiles(adjusted, n_groups, SCORE), temperature
        self.label_shift = Figure.of_percentiles(shift, n_groups, DROP)
        self.rest = Figure.of_percentiles(rest, n_groups, DROP)

    def estimated(self) -> LabelShift:
        """Estimate the intervals."""
        figures = {"adjusted": self.adjusted, "label_shift": self.label_shift, "rest": self.rest}
        return LabelShift(**estimates(figures), temperature=self.temperature)


class LabelShifts:
    """The split of TD of a task's shifts, where probabilities of all labels are known."""

    def __init__(
        self,
        values: TaskValues,
        targets: Mapping[str, TargetConfidence],
        seeds: Mapping[str, set[int]],
        folder: DatasetFolder,
    ) -> None:
        self._values, self._targets, self._seeds, self._folder = values, targets, seeds, folder
        self._counts = cache(self._train_counts)
        self._temperature = cache(self._fit_temperature)

    def parts(self, source: str, target: str) -> Parts | None:
        """Split a shift's TD.

        Returns: None without probabilities, without train rows of the source, or where a class of the target was never
            trained on.
        """
        here, before = self._targets[target], self._train_prior(source, target)
        if here.probabilities is None or before is None:
            return None
        n_classes = len(before)
        after = np.bincount(here.labels, minlength=n_classes) / here.labels.size
        if np.any((before == 0) & (after > 0)):
            return None
        runs = here.runs_of(source, self._seeds[source])
        temperatures = [self._temperature(*here.runs[run]) for run in runs]
        adjusted = []
        for run, temperature in zip(runs, temperatures, strict=True):
            chosen = adjust_to_prior(here.probabilities[run], before, after, temperature).argmax(axis=-1)
            # Unusable outputs stay unusable.
            adjusted.append(np.where(here.predicted[run] == n_classes, n_classes, chosen))
        at_home = here.runs_of(target, self._seeds.get(target, ()))
        return Parts(
            here.scores[:, runs].mean(axis=1),
            here.scores_of(np.stack(adjusted)).mean(axis=1),
            here.scores[:, at_home].mean(axis=1) if at_home else np.array([np.nan]),
            self._values.effective_groups[target],
            float(np.mean(temperatures)),
        )

    def _train_prior(self, source: str, target: str) -> Floats | None:
        """Count the source's train labels as the target scores them, as shares."""
        parts = source_parts(source)
        domains = self._values.info.domains
        if not parts or any(part not in domains or "train" not in domains[part].splits for part in parts):
            return None
        counts = np.sum([self._counts(part) for part in parts], axis=0)
        folds = self._targets[target].folds[:-1]
        scored_as = np.bincount(folds, weights=counts, minlength=counts.size)
        return np.asarray(scored_as / scored_as.sum())

    def _train_counts(self, domain: str) -> Floats:
        labels = self._folder.split(self._values.name, domain, "train")["label"].to_numpy()
        return np.bincount(labels, minlength=len(self._values.info.labels)).astype(np.float64)

    def _fit_temperature(self, source: str, seed: int) -> float:
        """Fit the temperature of a run on its predictions at home; 1 where there are none."""
        tables, labels = [], []
        for part in source_parts(source):
            home = self._targets.get(part)
            if home is not None and home.probabilities is not None and (source, seed) in home.runs:
                tables.append(home.probabilities[home.runs.index((source, seed))])
                labels.append(home.labels)
        return fit_temperature(np.concatenate(tables), np.concatenate(labels)) if tables else 1.0
