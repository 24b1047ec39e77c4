"""Forecasts of every task of a prediction file, or of checked predictions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from shiftbench.builders.encoder import encoder_texts
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.forecasting import CONCEPT_SHIFT
from shiftbench.scoring.forecasting.methods import chosen_methods
from shiftbench.scoring.forecasting.run import forecast_task
from shiftbench.scoring.forecasting.samples import NO_MEANING, SCORES, Run, Sample, TaskSamples, task_samples
from shiftbench.scoring.forecasting.shape import Forecasts
from shiftbench.scoring.scores.validation_rows import read_validation, validation_file
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean, plural
from shiftbench.validation.vocabulary import source_parts


@dataclass(frozen=True)
class Unlabelled:
    """Predictions on targets that a dataset folder does not have: user rows without labels.

    Attributes:
        samples: samples by run and target.
        texts: input text of the model, by id.
    """

    samples: Mapping[tuple[Run, str], Sample] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)


def read_accompanying_validation(predictions: Path, folder: DatasetFolder) -> pl.DataFrame | None:
    """Read the validation predictions stored next to a prediction file (``validation_file``).

    Args:
        predictions: path of the prediction file.
        folder: the dataset.

    Returns: checked predictions on validation rows; None if there is no such file.

    Raises: InvalidInput as ``read_validation``.
    """
    path = validation_file(predictions)
    return read_validation(path, folder) if path.is_file() else None


def forecast_predictions(
    name: str,
    predictions: pl.DataFrame,
    folder: DatasetFolder,
    *,
    validation: pl.DataFrame | None = None,
    methods: Sequence[str] | None = None,
    unlabelled: Unlabelled | None = None,
    targets: Sequence[str] = (),
) -> Forecasts:
    """Forecast the accuracy of every run on every domain except its source.

    Args:
        name: display name of the predictions.
        predictions: checked predictions on test rows, whose gold may be withheld.
        folder: the dataset.
        validation: checked predictions on validation rows.
        methods: names; None for all.
        unlabelled: predictions on targets that the folder does not have; the folder then has one task.
        targets: the domains to forecast; empty for all. The others still calibrate intervals.

    Returns: forecasts by task; tagging tasks are omitted, and refused if there are no others.

    Raises: InvalidInput as ``task_samples`` and ``chosen_methods``; if a target is unknown, or is the source of every
        model; or if there are validation rows, but only of other tasks.
    """
    chosen, more = chosen_methods(methods), unlabelled or Unlabelled()
    tasks = predictions["task"].unique(maintain_order=True).to_list()
    able = [task for task in tasks if folder.task(task).kind in SCORES]
    if validation is not None and not set(validation["task"].unique()) & set(tasks):
        what, of = "the validation file next to the predictions is of other tasks", validation["task"].unique().sort()
        cure = "replace it with the validation file of the same training run, or remove it"
        raise InvalidInput(Problem(what, name, ", ".join(of), cure))
    found = []
    for task in able or tasks[:1]:
        rows = predictions.filter(pl.col("task") == task)
        held_out = None if validation is None else validation.filter(pl.col("task") == task)
        samples = task_samples(task, rows, folder, held_out, more.samples, name)
        _check_targets(targets, samples, folder)
        made = forecast_task(samples, chosen)
        shown = tuple(shift for shift in made.shifts if not targets or shift.target in targets)
        notes = [*made.notes, *_texts_in_train(samples, folder, _test_texts(samples, folder, more))]
        found.append(made.model_copy(update={"shifts": shown, "notes": tuple(notes)}))
    left_out = tuple(f"task '{task}': {NO_MEANING}" for task in tasks if task not in able)
    return Forecasts(predictions=name, tasks=tuple(found), left_out=left_out, concept_shift=CONCEPT_SHIFT)


def _test_texts(samples: TaskSamples, folder: DatasetFolder, more: Unlabelled) -> dict[str, list[str]]:
    """List the test texts of every target."""
    info = folder.task(samples.task)
    texts: dict[str, list[str]] = {}
    for (_, target), sample in samples.shifts.items():
        if target in texts:
            continue
        if target in info.domains:
            texts[target] = encoder_texts(folder.split(samples.task, target, "test"), info.inputs)
        else:
            texts[target] = [more.texts[id_] for id_ in sample.ids.to_list()]
    return texts


def _check_targets(targets: Sequence[str], samples: TaskSamples, folder: DatasetFolder) -> None:
    """Refuse targets that cannot be forecast."""
    known = [*samples.domains, *(part for source, _ in samples.home for part in source_parts(source))]
    for target in targets:
        if target in samples.domains:
            continue
        if target in known:
            what, cure = "the model was trained on this domain", "its score can be computed: run shiftbench score"
        else:
            what, cure = "the predictions have no such target", did_you_mean(target, samples.domains)
        raise InvalidInput(Problem(what, "--target", f"'{target}', task '{samples.task}'", cure))


def _texts_in_train(samples: TaskSamples, folder: DatasetFolder, tests: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """List shifts whose test texts occur verbatim in the source's training texts: accuracy there is memorisation."""
    info = folder.task(samples.task)
    train: dict[str, frozenset[str]] = {}
    for source, target in sorted({(run[0], target) for run, target in samples.shifts}):
        parts = source_parts(source)
        for part in parts:
            if part not in train:
                has_rows = part in info.domains and "train" in info.domains[part].splits
                rows = folder.split(samples.task, part, "train") if has_rows else None
                train[part] = frozenset() if rows is None else frozenset(encoder_texts(rows, info.inputs))
        n_known = sum(any(text in train[part] for part in parts) for text in tests[target])
        if n_known:
            yield (
                f"{plural(n_known, 'test text')} of '{target}' are exact duplicates of train texts of '{source}'; the "
                "forecast does not apply to them."
            )
