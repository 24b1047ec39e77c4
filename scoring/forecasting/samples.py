"""Inputs of forecasts: each run's labelled in-domain predictions, and its predictions on each target."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.metrics.precision import sum_by_group
from shiftbench.scoring.scores.outcomes import folded_codes, outcomes
from shiftbench.scoring.scores.validation_rows import check_agreement
from shiftbench.validation.probabilities import PROBABILITIES
from shiftbench.validation.report import InvalidInput, Problem, quote_names
from shiftbench.validation.vocabulary import GOLD, TaskKind, source_parts

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Run = tuple[str, int]
"""Source and seed of one trained model."""

SCORES = {
    TaskKind.CLASSIFICATION: "accuracy",
    TaskKind.EXTRACTIVE_QA: "token_f1",
    TaskKind.GENERATION: "rouge_l",
}
"""The forecast metric by kind of task: a mean over texts."""
NO_MEANING = "no method is defined for spans"
ONE_LABEL = (
    "each run predicts one label for all texts; forecasts for such a model are not informative about the methods"
)


@dataclass(frozen=True)
class Sample:
    """One run's predictions on n texts.

    Attributes:
        ids: shape (n,).
        predicted: label codes, n_classes for unusable output, shape (n,); None if outputs are not labels.
        probabilities: shape (n, n_classes), uniform for an unusable output without any; None if not given.
        labels: gold codes, shape (n,); None if unknown, or if outputs are not labels.
        graded: score of each output that is not a label, in [0, 1], shape (n,); None if gold is unknown.
        groups: group code of each text, shape (n,); scores within a group are dependent. None if unknown.
    """

    ids: pl.Series
    predicted: Codes | None
    probabilities: Floats | None
    labels: Codes | None
    graded: Floats | None = None
    groups: Codes | None = None

    @property
    def is_labelled(self) -> bool:
        """Whether the texts' scores are known."""
        return self.labels is not None or self.graded is not None

    @property
    def scores(self) -> Floats:
        """Score of each text, 1 or 0 for right or wrong labels; the sample must be labelled."""
        if self.graded is not None:
            return self.graded
        assert self.labels is not None
        return np.asarray(self.predicted == self.labels, dtype=np.float64)

    @property
    def error(self) -> float:
        """Standard error of the mean score over groups of texts; the sample must be labelled."""
        scores = self.scores
        groups = np.arange(scores.size) if self.groups is None else self.groups
        sums = sum_by_group((scores - scores.mean())[None], groups)[0]
        return float(np.sqrt((sums**2).sum() * sums.size / max(sums.size - 1, 1)) / scores.size)


@dataclass(frozen=True)
class TaskSamples:
    """All samples of one task of one prediction file.

    Attributes:
        task: its name.
        metric: the metric averaged over texts: accuracy, or the metric of answers or generated texts.
        labels: names of the labels; empty if outputs are not labels.
        home: each run's labelled in-domain sample: validation rows of its source, and its source's test rows if their
            labels are known. Runs without any are omitted.
        shifts: by run and target, its predictions on the target's test texts.
        n_validation: number of validation rows among the in-domain texts, over all sources.
        few_texts: labelled targets that are skipped for too few test texts, with their number of texts.
    """

    task: str
    metric: str
    labels: tuple[str, ...]
    home: Mapping[Run, Sample]
    shifts: Mapping[tuple[Run, str], Sample]
    n_validation: int = 0
    few_texts: Mapping[str, int] = field(default_factory=dict)

    @property
    def domains(self) -> list[str]:
        """The targets, in order."""
        return sorted({target for _, target in self.shifts})


def reason_against_forecasts(info: TaskInfo, predictions: pl.DataFrame) -> str | None:
    """Return why forecasts of a task's predictions would not be informative; None if they may be.

    If a run predicts one label for all texts, its score is that label's share on the target and does not depend on the
    texts.

    Args:
        info: the task.
        predictions: its checked predictions.
    """
    if info.kind not in SCORES:
        return NO_MEANING
    n_labels = predictions.group_by("source", "seed").agg(pl.col("prediction").n_unique())["prediction"]
    return ONE_LABEL if info.kind is TaskKind.CLASSIFICATION and n_labels.max() == 1 else None


def task_samples(
    task: str,
    predictions: pl.DataFrame,
    folder: DatasetFolder,
    validation: pl.DataFrame | None = None,
    extra: Mapping[tuple[Run, str], Sample] | None = None,
    file: str = "predictions",
) -> TaskSamples:
    """Arrange one task's predictions.

    Args:
        task: its name; tagging tasks have no mean score of texts to forecast.
        predictions: its checked predictions on test rows (``shiftbench.validation.predictions.CHECKED_PREDICTIONS``);
            gold may be withheld.
        folder: the dataset.
        validation: its checked predictions on validation rows, same columns; None without.
        extra: samples on targets that the folder does not have.
        file: display name of the predictions, for error messages.

    Returns: the samples; a run's predictions on parts of its own source are in-domain, not a shift.

    Raises: InvalidInput for a tagging task, if no run has labelled texts of its source, or if most predictions are not
        the most probable label.
    """
    info = folder.task(task)
    if info.kind is TaskKind.TAGGING:
        raise InvalidInput(_problem_of_spans(folder, task))
    splits = {"test": predictions, "validation": validation}
    found = {
        name: _split_by_run(frame, info, folder, task, name) for name, frame in splits.items() if frame is not None
    }
    home: dict[Run, list[Sample]] = {}
    few_texts: dict[str, int] = {}
    shifts: dict[tuple[Run, str], Sample] = dict(extra or {})
    for split, samples in found.items():
        for (run, target), sample in samples.items():
            if target in source_parts(run[0]):
                if sample.is_labelled:
                    home.setdefault(run, []).append(sample)
            elif split == "test" and sample.is_labelled and len(sample.ids) < (info.min_texts or 0):
                few_texts[target] = len(sample.ids)
            elif split == "test":
                shifts[run, target] = sample
    for split, samples in found.items():  # each by itself, because a wrong order in few rows would go unnoticed
        added = (extra or {}).values() if split == "test" else ()
        _refuse_other_order([*samples.values(), *added], split, info.labels, task, file)
    wanted = {run for run, _ in shifts if source_parts(run[0])}
    if wanted and not wanted & set(home):
        raise InvalidInput(_problem_of_missing_home(file, task, sorted(wanted)))
    n_validation = sum(
        len(sample.ids)
        for (run, target), sample in found.get("validation", {}).items()
        if target in source_parts(run[0])
    )
    joined = {run: _join_samples(parts) for run, parts in home.items()}
    metric = SCORES[info.kind]
    return TaskSamples(task, metric, info.labels, joined, shifts, n_validation, few_texts)


def make_sample(rows: pl.DataFrame, labels: tuple[str, ...], gold: Codes | None, folds: Codes | None = None) -> Sample:
    """Build a sample from rows with columns id and prediction, and optionally ``probabilities`` and ``group``.

    Args:
        rows: n rows.
        labels: names of the labels.
        gold: gold codes, shape (n,); None if unknown.
        folds: the code that each label is scored as (``folded_codes``); None for no folding.
    """
    n_classes = len(labels)
    codes = {label: code for code, label in enumerate(labels)}
    scored_as = np.arange(n_classes + 1) if folds is None else folds
    predicted = rows["prediction"].replace_strict(codes, default=n_classes, return_dtype=pl.Int64).to_numpy()
    table = _tabulate_probabilities(rows[PROBABILITIES], n_classes) if PROBABILITIES in rows.columns else None
    if table is not None and folds is not None:
        folded = np.zeros_like(table)
        np.add.at(folded.T, folds[:-1], table.T)
        table = folded
    return Sample(rows["id"], scored_as[predicted], table, gold, groups=_group_codes(rows))


def _split_by_run(
    frame: pl.DataFrame, info: TaskInfo, folder: DatasetFolder, task: str, split: str
) -> dict[tuple[Run, str], Sample]:
    if info.kind is not TaskKind.CLASSIFICATION:
        return _grade_by_run(frame, info, folder, task, split)
    found: dict[tuple[Run, str], Sample] = {}
    for (target,), rows in frame.partition_by("target", as_dict=True).items():
        gold = folder.split(task, str(target), split).select("id", "label", "group")
        known = not gold["label"].has_nulls()
        counts = np.bincount(gold["label"].to_numpy(), minlength=len(info.labels)) if known else None
        folds = folded_codes(info, counts > 0) if counts is not None and info.label_folds else None
        placed = rows.sort("source", "seed", "id").join(gold, on="id", how="left", maintain_order="left")
        for (source, seed), run in placed.partition_by("source", "seed", as_dict=True, maintain_order=True).items():
            codes = run["label"].to_numpy().astype(np.int64) if known else None
            found[(str(source), int(str(seed))), str(target)] = make_sample(run, info.labels, codes, folds)
    return found


def _grade_by_run(
    frame: pl.DataFrame, info: TaskInfo, folder: DatasetFolder, task: str, split: str
) -> dict[tuple[Run, str], Sample]:
    """Score each answer or generated text."""
    found: dict[tuple[Run, str], Sample] = {}
    for (target,), rows in frame.partition_by("target", as_dict=True).items():
        every = folder.split(task, str(target), split)
        gold = every.join(rows, on="id", how="semi").sort("id")
        known = not gold[GOLD[info.kind]].has_nulls()
        for (source, seed), run in rows.partition_by("source", "seed", as_dict=True).items():
            ordered = run.sort("id")
            graded = outcomes(info, gold, every, ordered["prediction"], None).example_scores[0] if known else None
            sample = Sample(ordered["id"], None, None, None, graded, _group_codes(gold))
            found[(str(source), int(str(seed))), str(target)] = sample
    return found


def _group_codes(rows: pl.DataFrame) -> Codes | None:
    if "group" not in rows.columns or rows["group"].has_nulls():
        return None
    return (rows["group"].rank("dense").to_numpy() - 1).astype(np.int64)


def _tabulate_probabilities(lists: pl.Series, n_classes: int) -> Floats | None:
    """Return probabilities as a table; None if no row has any."""
    if lists.null_count() == len(lists):
        return None
    even = pl.Series([[1 / n_classes] * n_classes], dtype=lists.dtype).new_from_index(0, len(lists))
    table = lists.zip_with(lists.is_not_null(), even).explode().to_numpy().reshape(len(lists), n_classes)
    return np.asarray(table / table.sum(axis=1, keepdims=True), dtype=np.float64)


def _join_samples(parts: Sequence[Sample]) -> Sample:
    """Join samples of one run that all have labels."""
    if len(parts) == 1:
        return parts[0]
    names = ("predicted", "probabilities", "labels", "graded")
    arrays = [[getattr(part, name) for part in parts] for name in names]
    joined = [None if any(each is None for each in column) else np.concatenate(column) for column in arrays]
    return Sample(pl.concat([part.ids for part in parts]), *joined)  # groups are not needed in domain


def _refuse_other_order(samples: Sequence[Sample], split: str, labels: tuple[str, ...], task: str, file: str) -> None:
    """Refuse probabilities on a split that seem to be in a different order than the task's labels."""
    agreed = n = 0
    for sample in samples:
        if sample.probabilities is not None and sample.predicted is not None:
            usable = sample.predicted < len(labels)
            agreed += int((sample.probabilities.argmax(axis=1) == sample.predicted)[usable].sum())
            n += int(usable.sum())
    check_agreement(agreed, n, split, labels, task, file)


def _problem_of_spans(folder: DatasetFolder, task: str) -> Problem:
    what = "only means over texts can be forecast, and span F1 is not a mean over texts"
    cure = f"choose a classification, question answering or generation task: {NO_MEANING}"
    return Problem(what, str(folder.path), f"'{task}' is a tagging task", cure)


def _problem_of_missing_home(file: str, task: str, runs: Sequence[Run]) -> Problem:
    what = "no run has predictions on labelled held-out texts of its own source"
    sources = quote_names(list(dict.fromkeys(source for source, _ in runs)))
    cure = (
        "also predict the source's labelled test rows; or, for a dataset folder, write predictions on its validation "
        "rows to NAME.validation.parquet next to the file"
    )
    return Problem(what, file, f"task '{task}', sources {sources}", cure)
