"""The loop of every trained baseline: one run per source and seed, each predicting every target.

Slow programs use a ``WorkFolder``: finished runs are saved there, and an interrupted program resumes.
"""

import json
import logging
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.builders.cache import cache_key
from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.validation.json_text import parse_json
from shiftbench.validation.output_files import replace_file
from shiftbench.validation.progress import progress
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean
from shiftbench.validation.vocabulary import SOURCE_JOINER, TaskKind, source_parts

log = logging.getLogger(__name__)
RawAnswers = tuple[NDArray[np.int64] | Sequence[Any], NDArray[np.float64] | None]
"""Predictions of n rows, and their confidences.

Predictions are label codes, tag codes (a list per row) or texts. Confidences are in [0, 1], shape (n,), or the
probabilities of the labels 0 to K - 1, shape (n, K), where K - 1 is the highest code seen in training; None if unknown.
"""

Features = Mapping[str, Any]
"""One row as a model reads it: lists of numbers (``input_ids``, ...) and plain numbers (``labels``, ...)."""

Predict = Callable[[pl.DataFrame], RawAnswers]
"""A trained model: maps rows to predictions, in the order of the rows."""


@dataclass(frozen=True)
class Run:
    """The data of one run: source (or several joined by ``+``), seed, rows, and a folder for resuming it, if any."""

    source: str
    seed: int
    train: pl.DataFrame
    validation: pl.DataFrame | None = None
    scratch: Path | None = None


@dataclass(frozen=True)
class Trained:
    """A trained model, intermediate states of its training by name, and facts about the training as JSON data."""

    predict: Predict
    states: Mapping[str, Predict] = field(default_factory=dict)
    record: Mapping[str, Any] = field(default_factory=dict)


PROGRAM_FOR = {
    TaskKind.CLASSIFICATION: "finetune-classifier",
    TaskKind.TAGGING: "finetune-tagger",
    TaskKind.EXTRACTIVE_QA: "finetune-qa",
    TaskKind.GENERATION: "finetune-seq2seq",
}

_VALIDATION = "validation"
"""Value of the column ``state`` for predictions of the source's validation rows."""

Fit = Callable[[Run], Predict | Trained]
"""Training: maps a run to a trained model."""


@dataclass(frozen=True)
class FittedClassifier:
    """A trained classifier: maps rows to the probability of each of ``classes`` (label codes), shape (n, classes)."""

    classes: NDArray[np.int64]
    probabilities: Callable[[pl.DataFrame], NDArray[np.float64]]

    def predict(self, rows: pl.DataFrame) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return each row's most probable label, and all labels' probabilities in the format of ``RawAnswers``."""
        probabilities = self.probabilities(rows)
        by_code = np.zeros((len(rows), int(self.classes.max()) + 1))
        by_code[:, self.classes] = probabilities
        return self.classes[probabilities.argmax(axis=1)], by_code


class WorkFolder:
    """The folder for finished runs, next to the prediction file.

    Args:
        out: the future prediction file; the folder is ``<its stem>.work`` next to it.
        settings: everything that the predictions depend on, as JSON data: runs with other settings are not reused.
    """

    def __init__(self, out: Path, settings: Mapping[str, Any]) -> None:
        self.path = out.with_name(f"{out.stem}.work")
        self._settings = json.dumps(settings, sort_keys=True, default=str)

    def scratch(self, source: str, seed: int) -> Path:
        """Return the folder for checkpoints of an unfinished run."""
        key = cache_key({"settings": self._settings, "source": source, "seed": seed})
        return self.path / f"{source[:80]}-{seed}-{key[:16]}"  # file names are limited to 255 bytes

    def read_finished(self, source: str, seed: int) -> tuple[pl.DataFrame, dict[str, Any]] | None:
        """Read the predictions and the record of a finished run; None if it is not finished."""
        scratch = self.scratch(source, seed)
        record = scratch.with_name(f"{scratch.name}.json")
        if not record.is_file():  # the record is written last
            return None
        return pl.read_parquet(scratch.with_name(f"{scratch.name}.parquet")), parse_json(record.read_text("utf-8"))

    def write_finished(self, source: str, seed: int, predictions: pl.DataFrame, record: Mapping[str, Any]) -> None:
        """Write a finished run atomically, and remove its scratch folder."""
        scratch = self.scratch(source, seed)
        with replace_file(scratch.with_name(f"{scratch.name}.parquet")) as new:
            predictions.write_parquet(new)
        with replace_file(scratch.with_name(f"{scratch.name}.json")) as new:
            new.write_text(json.dumps(record), encoding="utf-8")
        shutil.rmtree(scratch, ignore_errors=True)

    def clear(self) -> None:
        """Remove the folder; called after the prediction file is written."""
        shutil.rmtree(self.path, ignore_errors=True)


@dataclass(frozen=True)
class Results:
    """The predictions and records of all runs.

    Attributes:
        predictions: a prediction frame (source, id, prediction, seed; confidence if the model has one; probabilities if
            requested).
        states: prediction frames of intermediate states, by name.
        validation: a prediction frame of the sources' own validation rows, if requested and available.
        records: for each run its source, its seed and the program's own facts.
    """

    predictions: pl.DataFrame
    states: Mapping[str, pl.DataFrame]
    validation: pl.DataFrame | None
    records: Sequence[Mapping[str, Any]]


def train_and_predict(
    fit: Fit,
    folder: DatasetFolder,
    task: str,
    *,
    sources: Sequence[str] | None,
    targets: Sequence[str] | None,
    seeds: Sequence[int] | None,
    candidates: bool = False,
    probabilities: bool = False,
    validation: bool = False,
    kinds: Sequence[TaskKind] = (TaskKind.CLASSIFICATION,),
    work: WorkFolder | None = None,
) -> Results:
    """Train a model on every source, and predict every target's test split with each.

    Args:
        fit: trains one model, and returns a function that predicts with it.
        sources: training domains; ``a+b`` trains on both. Default: the task's ID domain, the joined source of a
            pairing, or else every domain that has training rows.
        targets: domains to predict; default: all.
        seeds: one run per seed; default: 0.
        candidates: also predict the candidate data sets of this task.
        probabilities: store the probabilities of all labels, as float32; confidences are then taken from them.
        validation: also predict the validation rows of each run's own source.
        kinds: kinds of task that the program supports.
        work: folder that saves finished runs, so that an interrupted program resumes; None: nothing is saved.
    Raises: InvalidInput if the task is of another kind, or a source, target or candidate is missing.
    """
    info = folder.task(task)
    if info.kind not in kinds:
        names = " and ".join(kind.value for kind in kinds)
        found, cure = f"a task of kind {info.kind.value!r}", f"try '{PROGRAM_FOR[info.kind]}'"
        raise InvalidInput(Problem(f"this baseline is for {names} tasks", f"{folder.path}, {task}", found, cure))
    if probabilities and info.kind is not TaskKind.CLASSIFICATION:
        found, cure = f"a task of kind {info.kind.value!r}", "omit --probabilities"
        raise InvalidInput(Problem("only tasks with labels have probabilities", f"{folder.path}, {task}", found, cure))
    sources = choose_sources(folder, task, sources)
    predictable = [domain for domain, facts in info.domains.items() if "test" in facts.splits]
    targets = list(targets or predictable)
    for target in targets:
        _check_domain(target, predictable, "--target")
    tests = [folder.split(task, target, "test") for target in targets]
    tests += _candidate_tests(folder, task) if candidates else []
    runs = [(source, seed) for source in sources for seed in dict.fromkeys(seeds or (0,))]
    frames: list[pl.DataFrame] = []
    records: list[dict[str, Any]] = []
    for number, (source, seed) in enumerate(progress(runs, desc="training", unit="model"), start=1):
        finished = work.read_finished(source, seed) if work else None
        if work:  # in a log file, which has no progress bar, these lines show progress
            what = "train" if finished is None else "already trained, reused"
            log.info("%d of %d: %s: %s, seed %d", number, len(runs), what, source, seed)
        if finished is None:
            train, held_out = (_source_rows(folder, task, source, split) for split in ("train", "validation"))
            assert train is not None
            run = Run(source, seed, train, held_out, work.scratch(source, seed) if work else None)
            finished = _predict_tests(fit(run), run, tests, info, probabilities=probabilities, validation=validation)
            if work:
                work.write_finished(source, seed, *finished)
        frames.append(finished[0])
        records.append({"source": source, "seed": seed, **finished[1]})
    parts = pl.concat(frames).partition_by("state", maintain_order=True, include_key=False, as_dict=True)
    end, own_validation = parts.pop((None,)), parts.pop((_VALIDATION,), None)
    return Results(end, {str(state): part for (state,), part in parts.items()}, own_validation, records)


def choose_sources(folder: DatasetFolder, task: str, sources: Sequence[str] | None) -> list[str]:
    """Choose the sources to train on.

    Args:
        sources: the requested ones; None or empty: the ID domain, a pairing's joined source, or every domain.
    Returns: the sources; a joined source has its domains joined by ``+``.
    Raises: InvalidInput if there is nothing to train on or no such domain.
    """
    info = folder.task(task)
    trainable = [domain for domain, facts in info.domains.items() if "train" in facts.splits]
    if not trainable:
        cure = "build it with more rows per domain"
        if info.candidates_for is not None:
            cure = f"train on task '{info.candidates_for}' with --candidates, which also predicts these data sets"
        raise InvalidInput(Problem(f"no domain of task '{task}' has train rows", str(folder.path), cure=cure))
    if not sources and info.id_domain is not None and info.id_domain not in trainable:
        what, cure = f"the folder lacks the ID data set '{info.id_domain}' of task '{task}'", "fetch its files"
        raise InvalidInput(Problem(what, str(folder.path), cure=f"{cure} and build again, or choose a --source"))
    whole = info.joined_source or info.id_domain
    default = [whole] if whole is not None else trainable
    parts = [sorted({*source.split(SOURCE_JOINER)}) for source in sources or default]
    chosen = list(dict.fromkeys(map(SOURCE_JOINER.join, parts)))
    for source in chosen:
        for part in source.split(SOURCE_JOINER):  # 'none' is not a domain
            _check_domain(part, trainable, "--source")
    return chosen


def require_two_labels(train: pl.DataFrame) -> None:
    """Raise InvalidInput if all training rows have the same label, so that no classifier can be trained."""
    if train["label"].n_unique() < 2:
        domains = ", ".join(train["domain"].unique(maintain_order=True))
        cure = "choose other domains with --source"
        raise InvalidInput(Problem(f"all train rows of {domains} have the same label", "--source", cure=cure))


def _predict_tests(
    trained: Predict | Trained,
    run: Run,
    tests: Sequence[pl.DataFrame],
    info: TaskInfo,
    *,
    probabilities: bool,
    validation: bool,
) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Predict all test splits with a run's model and its saved states: one frame; the last column names the state."""
    model = trained if isinstance(trained, Trained) else Trained(trained)
    asked = [(state, pl.concat(tests), predict) for state, predict in [(None, model.predict), *model.states.items()]]
    if validation and run.validation is not None:
        asked.append((_VALIDATION, run.validation, model.predict))
    began = time.perf_counter()
    frames = [
        _predictions(run, rows, predict, info, probabilities=probabilities).with_columns(state=pl.lit(state, pl.String))
        for state, rows, predict in asked
    ]
    seconds = round(time.perf_counter() - began, 3)
    return pl.concat(frames), {**model.record, "prediction_seconds": seconds}


def _predictions(
    run: Run, rows: pl.DataFrame, predict: Predict, info: TaskInfo, *, probabilities: bool
) -> pl.DataFrame:
    answers, confidence = predict(rows)
    frame = pl.DataFrame(
        {
            "source": pl.repeat(run.source, len(rows), eager=True),
            "id": rows["id"],
            "prediction": _label_names(answers, info),
            "seed": pl.repeat(run.seed, len(rows), eager=True, dtype=pl.Int64),
        }
    )
    if confidence is None:
        return frame
    by_label = np.asarray(confidence, dtype=np.float64)
    if by_label.ndim == 1:
        return frame.with_columns(confidence=pl.Series(by_label))
    by_label = by_label.astype(np.float32).astype(np.float64) if probabilities else by_label
    own = np.take_along_axis(by_label, np.asarray(answers)[:, None], axis=1)[:, 0]
    frame = frame.with_columns(confidence=pl.Series(own))
    if not probabilities:
        return frame
    # Labels after the last one seen in training get probability 0.
    whole = np.pad(by_label, ((0, 0), (0, len(info.labels) - by_label.shape[1])))
    return frame.with_columns(probabilities=pl.Series(whole.astype(np.float32)).arr.to_list())


def _label_names(answers: Any, info: TaskInfo) -> pl.Series:
    """Replace label and tag codes by their names; texts stay as they are."""
    if info.kind is TaskKind.CLASSIFICATION:
        return pl.Series(answers).replace_strict(dict(enumerate(info.labels)), return_dtype=pl.String)
    if info.kind is TaskKind.TAGGING:
        return pl.Series([[info.labels[code] for code in tags] for tags in answers], dtype=pl.List(pl.String))
    return pl.Series(answers, dtype=pl.String)


def _candidate_tests(folder: DatasetFolder, task: str) -> list[pl.DataFrame]:
    """Read the test rows of all candidates for a task."""
    tests = [
        folder.split(name, domain, "test")
        for name, info in folder.manifest.tasks.items()
        if info.candidates_for == task
        for domain, facts in info.domains.items()
        if "test" in facts.splits
    ]
    if not tests:
        what, cure = f"the folder has no candidates for task '{task}'", "omit --candidates, or build the candidates"
        raise InvalidInput(Problem(what, str(folder.path), cure=cure))
    return tests


def _source_rows(folder: DatasetFolder, task: str, source: str, split: str) -> pl.DataFrame | None:
    """Read a split of a source; None if none of its domains has it."""
    domains = folder.task(task).domains
    parts = [folder.split(task, part, split) for part in source_parts(source) if split in domains[part].splits]
    return pl.concat(parts) if parts else None


def _check_domain(domain: str, domains: Sequence[str], option: str) -> None:
    if domain not in domains:
        raise InvalidInput(Problem("there is no such domain", option, f"'{domain}'", did_you_mean(domain, domains)))
