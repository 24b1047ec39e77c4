"""Calibration and selective prediction: confidence metrics in domain, out of domain, and their change under shift.

If probabilities of all labels are given, the confidence is the predicted label's probability; an unusable output
without probabilities gets the uniform distribution. Probabilities also split TD into the cost of the label shift and
the rest (``metrics.priors``): adjusted ST - ST, and TT - adjusted ST. Without confidences, scores are unchanged.

As for scores, variances come from the groups' influences (``metrics.precision``), and intervals are Wilson's at the
effective n. Overconfidence is mean confidence minus accuracy, each with such an interval; a multi-class Brier score is
halved to lie in [0, 1] first. The squared calibration error may be below 0, so its interval differs
(``calibration_limits``). Calibration error and ranking metrics have no interval if fewer than 5 groups contain an
error, or fewer than 5 a correct answer. The smaller of these two numbers of groups also sets their degrees of freedom,
and those of the other metrics if groups have several texts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.metrics.calibration import (
    MIN_BIN_GROUPS,
    N_BINS,
    bin_counts,
    brier_scores,
    calibration_limits,
    equal_mass_bins,
    squared_calibration_error,
    top_label_brier_scores,
)
from shiftbench.metrics.precision import (
    KNOWN_GROUPS,
    effective_groups,
    effective_n,
    group_influences,
    sum_by_group,
)
from shiftbench.metrics.priors import adjust_to_prior, fit_temperature
from shiftbench.metrics.selective import Ranked, excess_aurc, failure_auroc, risk_coverage
from shiftbench.scoring.scores.figures import (
    DROP,
    SCORE,
    Figure,
    Reason,
    Score,
    difference,
    estimate,
    estimates,
    mean,
    refusal,
    single,
    weighted_sum,
)
from shiftbench.scoring.scores.outcomes import TargetRuns, folded_codes
from shiftbench.scoring.scores.shape import (
    Confidence,
    ConfidenceCurves,
    ConfidenceFigures,
    Estimate,
    HomeConfidence,
    LabelShift,
    Scores,
    ShiftConfidence,
    TaskScores,
)
from shiftbench.scoring.scores.values import Cell, Floats, TaskValues, sampled_scores
from shiftbench.validation.vocabulary import TaskKind, source_parts

BOUNDS = {
    "overconfidence": DROP,
    "calibration_error": DROP,
    "brier": (0.0, 2.0),
    "failure_auroc": SCORE,
    "excess_aurc": SCORE,
}
"""Lowest and highest possible value of each metric."""
_COVERAGES = np.arange(1, 21) / 20


def add_confidence(
    scores: Scores,
    predictions: pl.DataFrame,
    task_values: Mapping[str, TaskValues],
    folder: DatasetFolder,
) -> Scores:
    """Add the confidence metrics to scores.

    Args:
        scores: the scores of a file.
        predictions: its checked predictions; without confidences, the scores are returned unchanged.
        task_values: by task, the values that the scores were computed from.
        folder: the dataset.

    Returns: the scores, with ``confidence`` in classification tasks whose rows have confidences.
    """
    if not {"confidence", "probabilities"} & set(predictions.columns):
        return scores

    def added(task: TaskScores) -> TaskScores:
        values = task_values[task.task]
        rows = predictions.filter(pl.col("task") == task.task)
        column = _confidence_column(rows, values.info)
        if column is None:
            return task
        return task.model_copy(update={"confidence": _TaskConfidences(values, rows, column, folder).summary()})

    return scores.model_copy(update={"tasks": tuple(added(task) for task in scores.tasks)})


def _confidence_column(rows: pl.DataFrame, info: TaskInfo) -> str | None:
    """Return the column with a task's confidences; None if it is missing or incomplete."""
    if info.kind is not TaskKind.CLASSIFICATION:
        return None
    if "probabilities" in rows.columns and rows["probabilities"].is_not_null().any():
        return "probabilities"
    return "confidence" if "confidence" in rows.columns and not rows["confidence"].has_nulls() else None


class _TaskConfidences:
    """The confidences of one task, from the column ``given``, and their summary."""

    def __init__(self, values: TaskValues, rows: pl.DataFrame, given: str, folder: DatasetFolder) -> None:
        self.values, self.given, self.folder = values, given, folder
        order = ["target", "source", "seed", "id"]
        parts = rows.select(*order, given).sort(order).partition_by("target", as_dict=True)
        self.targets = {
            name: target_confidence(
                target, parts[name,][given], values.info, folder.split(values.name, name, "test")["label"]
            )
            for name, target in values.targets.items()
        }
        self.figures = {cell: self.targets[cell[1]].figures(values.runs_of(cell)) for cell in sorted(values.rows)}

    def summary(self) -> Confidence:
        """Compute the confidence metrics of domains and shifts, their means and curves."""
        own = [(domain, domain) for domain in self.values.domains if (domain, domain) in self.figures]
        shifts = self.values.shift_cells
        single = [cell for cell in shifts if cell[0] in self.values.domains] or shifts
        differences = {cell: difference for cell in shifts if (difference := self._difference(cell)) is not None}
        split = LabelShifts(self.values, self.targets, self.folder)
        splits = {cell: parts for cell in shifts if (parts := split.parts(*cell)) is not None}
        # Both parts are averaged over the same shifts, so that they add up to a mean TD.
        both = [splits[cell] for cell in single if cell in splits and splits[cell].rest.is_known]
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
        """Compute out-of-domain minus in-domain metrics; for a joined source, in-domain is the mean over its parts."""
        homes = [(cell[0], part) for part in source_parts(cell[0])]
        if not homes or any(home not in self.figures for home in homes):
            return None
        cells = [self.figures[each] for each in (cell, *homes)]
        weights = [1.0, *[-1 / len(homes)] * len(homes)]
        return {
            name: weighted_sum([figures[name] for figures in cells], weights, (low - high, high - low))
            for name, (low, high) in BOUNDS.items()
        }

    def _curves(self, cells: Sequence[Cell]) -> ConfidenceCurves | None:
        if not cells:
            return None
        pooled: list[tuple[Floats, NDArray[np.bool_]]] = []
        risks = []
        for cell in cells:
            target = self.targets[cell[1]]
            for run in self.values.runs_of(cell):
                sure, right = target.confidence[run], target.correct[run]
                pooled.append((sure, right))
                # Rounding errors of the product must not raise its ceiling.
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
    share = [1 / len(cells)] * len(cells)
    return _estimated(
        {name: weighted_sum([each[name] for each in cells], share, cells[0][name].bounds) for name in BOUNDS}
    )


def _mean_estimate(figures: Sequence[Figure]) -> Estimate | None:
    return estimate(mean(figures)) if figures else None


def _with_even(lists: pl.Series, n_classes: int) -> pl.Series:
    """Return probabilities with missing ones replaced by uniform ones."""
    even = pl.Series([[1 / n_classes] * n_classes], dtype=lists.dtype)
    return lists.zip_with(lists.is_not_null(), even.new_from_index(0, len(lists)))


@dataclass(frozen=True)
class TargetConfidence:
    """The predictions of all runs on one target's n test rows, with their confidences.

    Attributes:
        target: the runs' predictions on the target.
        labels: gold codes, shape (n,).
        predicted: predicted codes after folding, ``n_classes`` for unusable output, shape (n_runs, n).
        confidence: confidence of each prediction, shape (n_runs, n).
        probabilities: probability of each label after folding, shape (n_runs, n, n_classes); None if not given.
        folds: the code that each label is scored as (``folded_codes``).
    """

    target: TargetRuns
    labels: NDArray[np.int64]
    predicted: NDArray[np.int64]
    confidence: Floats
    probabilities: Floats | None
    folds: NDArray[np.int64]

    @cached_property
    def correct(self) -> NDArray[np.bool_]:
        """Return whether each prediction is correct, shape (n_runs, n)."""
        return np.asarray(self.predicted == self.labels)

    def figures(self, runs: Sequence[int]) -> dict[str, Figure]:
        """Compute all metrics, averaged over runs.

        Args:
            runs: indices of the runs, at least one.
        """
        sure, right = self.confidence[list(runs)], self.correct[list(runs)]
        test_set = _TestSet(self.target, right)
        (accuracy,) = sampled_scores(self.target, runs, "accuracy")
        if self.probabilities is None:
            brier, scale = top_label_brier_scores(sure, right), 1.0
        else:
            brier, scale = brier_scores(self.probabilities[list(runs)], self.labels), 2.0
        pairs = list(zip(sure, right, strict=True))
        return {
            "overconfidence": difference(
                single(test_set.mean(sure, test_set.n_groups)), single(replace(accuracy, df=test_set.df))
            ),
            "calibration_error": weighted_sum([single(test_set.calibration_error(pairs))], [1.0], DROP),
            "brier": weighted_sum([single(test_set.mean(brier / scale, test_set.holding))], [scale], BOUNDS["brier"]),
            "failure_auroc": single(test_set.ranked([failure_auroc(*pair) for pair in pairs])),
            "excess_aurc": single(test_set.ranked([excess_aurc(*pair) for pair in pairs])),
        }

    def adjusted(self, runs: Sequence[int], before: Floats, temperatures: Sequence[float]) -> TargetRuns:
        """Return runs with predictions adjusted to the target's class prior; unusable outputs stay unusable.

        Args:
            runs: indices of the runs.
            before: class prior in training, shape (n_classes,).
            temperatures: temperature of each run.
        """
        assert self.probabilities is not None
        unusable = before.size
        after = np.bincount(self.labels, minlength=before.size) / self.labels.size
        chosen = [
            adjust_to_prior(self.probabilities[run], before, after, temperature).argmax(axis=-1)
            for run, temperature in zip(runs, temperatures, strict=True)
        ]
        predicted = np.where(self.predicted[list(runs)] == unusable, unusable, np.stack(chosen))
        outcomes = replace(
            self.target.outcomes,
            cells=self.labels * (unusable + 1) + predicted,
            example_scores=(predicted == self.labels).astype(np.float64),
            unparsed=predicted == unusable,
            unweighted={},
        )
        return replace(self.target, runs=[self.target.runs[run] for run in runs], outcomes=outcomes)


class _TestSet:
    """The groups of a test set, and which of them have errors or correct answers in the averaged runs."""

    def __init__(self, target: TargetRuns, right: NDArray[np.bool_]) -> None:
        self.name, self.groups = target.target, target.groups
        self.sizes = np.bincount(self.groups).astype(np.float64)
        self.n_groups = float(effective_groups(self.sizes))
        held = [sum_by_group(kind.sum(axis=0).astype(np.float64), self.groups) for kind in (right, ~right)]
        self.is_known = min(int(np.count_nonzero(each)) for each in held) >= KNOWN_GROUPS
        # Effective number of groups with an error or with a correct answer, whichever is smaller.
        self.holding = float(effective_groups(np.stack(held)).min())
        self.fewest = min(max(self.holding, KNOWN_GROUPS), self.n_groups)
        is_alone = self.sizes.max() == 1
        # With several texts per group, the number of groups with errors limits how well the variance is estimated.
        self.df = (self.fewest if self.is_known and not is_alone else self.n_groups) - 1

    @property
    def no_interval(self) -> Reason | None:
        """Return why metrics that depend on errors have no interval."""
        return refusal(self.n_groups) or (None if self.is_known else Reason.FEW_ERRORS)

    def mean(self, texts: Floats, holding: float) -> Score:
        """Average a per-text quantity in [0, 1].

        Args:
            texts: the quantity, shape (n_runs, n).
            holding: effective number of groups that its variance is estimated from.
        """
        values = texts.mean(axis=0)
        value = float(values.mean())
        influences = (values - value) / values.size
        return self._score(value, influences, self.n_groups, holding, self.df)

    def ranked(self, runs: Sequence[Ranked]) -> Score:
        """Average a confidence-ranking metric over runs; its precision depends on the number of errors."""
        value = float(np.mean([run.value for run in runs]))
        influences = np.mean([run.influence for run in runs], axis=0) / self.groups.size
        score = self._score(value, influences, self.fewest, self.fewest, self.fewest - 1)
        return replace(score, no_interval=self.no_interval)

    def calibration_error(self, runs: Sequence[tuple[Floats, NDArray[np.bool_]]]) -> Score:
        """Average squared calibration errors over runs."""
        n_bins = max(1, min(N_BINS, self.sizes.size // MIN_BIN_GROUPS))
        errors = [
            squared_calibration_error(*bin_counts(*run, equal_mass_bins(run[0], n_bins), self.groups)) for run in runs
        ]
        value, chance = (float(np.mean([each[part] for each in errors])) for part in (0, 2))
        moved = np.mean([each.influences for each in errors], axis=0)
        influences = group_influences(moved, np.arange(self.sizes.size), self.sizes)
        variance = float((influences**2).sum())
        limits = partial(calibration_limits, value, variance, chance)
        return Score(
            value,
            df=self.fewest - 1,
            test_set=self.name,
            influences=influences,
            groups=self.n_groups,
            no_interval=self.no_interval,
            limits=limits,
        )

    def _score(self, value: float, texts: Floats, size: float, holding: float, df: float) -> Score:
        if np.isnan(value):
            return Score(value)
        influences = group_influences(texts, self.groups)
        n = float(effective_n(value, (influences**2).sum(), (texts**2).sum(), size, holding))
        return Score(value, n, df, self.name, influences, groups=self.n_groups, no_interval=refusal(self.n_groups))


def target_confidence(target: TargetRuns, given: pl.Series, info: TaskInfo, full_gold: pl.Series) -> TargetConfidence:
    """Arrange the confidences of a target's rows.

    Args:
        target: its runs.
        given: one confidence or list of probabilities per row, sorted by source, seed and id as the runs are.
        info: the task.
        full_gold: the labels of all test rows of the target; they define which classes occur.
    """
    n_classes, shape = len(info.labels), (len(target.runs), len(target.ids))
    assert target.outcomes.cells is not None
    labels, predicted = np.divmod(target.outcomes.cells, n_classes + 1)
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
    return TargetConfidence(target, labels[0], predicted, confidence, probabilities, folds)


@dataclass(frozen=True)
class Parts:
    """The parts of one shift's TD: ST, adjusted ST and TT on the same texts, hence paired."""

    st: Figure
    adjusted: Figure
    tt: Figure
    temperature: float

    @cached_property
    def label_shift(self) -> Figure:
        """Return the cost of the label shift."""
        return difference(self.adjusted, self.st)

    @cached_property
    def rest(self) -> Figure:
        """Return the part of TD that the label shift does not explain."""
        return difference(self.tt, self.adjusted)

    def estimated(self) -> LabelShift:
        """Convert the parts to the score schema, with their intervals."""
        figures = {"adjusted": self.adjusted, "label_shift": self.label_shift, "rest": self.rest}
        return LabelShift(**estimates(figures), temperature=self.temperature)


class LabelShifts:
    """The split of TD for a task's shifts, if probabilities of all labels are known."""

    def __init__(self, values: TaskValues, targets: Mapping[str, TargetConfidence], folder: DatasetFolder) -> None:
        self._values, self._targets, self._folder = values, targets, folder
        self._counts = cache(self._train_counts)
        self._temperature = cache(self._fit_temperature)

    def parts(self, source: str, target: str) -> Parts | None:
        """Split a shift's TD.

        Returns: None without probabilities, without training rows of the source, or if the source's training rows lack
            a class of the target.
        """
        here, before = self._targets[target], self._train_prior(source, target)
        if here.probabilities is None or before is None:
            return None
        if np.any(before[here.labels] == 0):
            return None
        runs = self._values.runs_of((source, target))
        temperatures = [self._temperature(*here.target.runs[run]) for run in runs]
        scored = here.adjusted(runs, before, temperatures)
        metric = self._values.info.metric
        (score,) = sampled_scores(scored, range(len(runs)), metric)
        st, tt = (self._values.figure(metric, (trained_on, target)) for trained_on in (source, target))
        return Parts(st, single(score), tt, float(np.mean(temperatures)))

    def _train_prior(self, source: str, target: str) -> Floats | None:
        """Return the source's class prior in training, after folding labels as the target does."""
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
        """Fit a run's temperature on its in-domain predictions; 1 without any."""
        tables, labels = [], []
        for part in source_parts(source):
            home = self._targets.get(part)
            if home is not None and home.probabilities is not None and (source, seed) in home.target.runs:
                tables.append(home.probabilities[home.target.runs.index((source, seed))])
                labels.append(home.labels)
        return fit_temperature(np.concatenate(tables), np.concatenate(labels)) if tables else 1.0
