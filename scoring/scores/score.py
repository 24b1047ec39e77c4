"""Scoring of a prediction file: a long table (one value per row) and the nested scores with intervals."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.builders.cache import cache_folder
from shiftbench.builders.encoder import Encoder, machine_encoder
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.metrics.depth import LAMBDAS
from shiftbench.scoring.scores.calibration import add_confidence
from shiftbench.scoring.scores.controls import add_annotators, add_controls
from shiftbench.scoring.scores.floors import mark_floors
from shiftbench.scoring.scores.limits import add_non_inferiority, refuse_margin
from shiftbench.scoring.scores.shape import Scores
from shiftbench.scoring.scores.summary import encoder_name, summarise_values
from shiftbench.scoring.scores.validation_rows import read_validation, refuse_other_order, refuse_other_training
from shiftbench.scoring.scores.values import OWN, Cell, TaskValues, task_values
from shiftbench.validation.cards import card_beside
from shiftbench.validation.prediction_files import PredictionFile, PredictionInput
from shiftbench.validation.prediction_task import PredictionTask
from shiftbench.validation.predictions import check_prediction_file
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.vocabulary import TaskKind

N_STORED = 400
"""Number of stored replicates per primary score, from which rank intervals are computed (see ``metrics.ranking``)."""

SCORE_COLUMNS = pl.Schema(
    {
        "task": pl.String(),
        "source": pl.String(),
        "target": pl.String(),
        "seed": pl.Int64(),
        "metric": pl.String(),
        "value": pl.Float64(),
        "n": pl.Int64(),
        "replicates": pl.List(pl.Float32),
        "df": pl.Float64(),
    }
)
"""The long table: one score of one run (task, source, target, seed) per row, sorted by the first five columns.

- ``metric``: depth metrics end in ``@<lambda>``; ``tt_depth_...`` rows contain the target's own run (its seed),
  weighted by the depths in ``source``.
- ``value``: a fraction, except for ``effective_n`` (a number of texts); NaN if undefined.
- ``n``: number of test rows; for a depth metric, those retained at its lambda.
- ``replicates``: for the primary metric, ``N_STORED`` replicates: the score with each group's influence added or
  subtracted at random, with the same signs for every entry. Null for other metrics, and if the score has no interval
  (fewer than 5 effective groups, for example): ranks computed from it then have no interval either.
- ``df``: degrees of freedom of the score's variance over test texts; null without replicates.

No other value is null.
"""


@dataclass(frozen=True)
class Scored:
    """One prediction file's scores: the long table (``SCORE_COLUMNS``) and the nested scores."""

    table: pl.DataFrame
    scores: Scores


def score_file(
    path: Path | str | PredictionInput,
    folder: DatasetFolder | Path | str,
    subset: str = "all",
    *,
    encoder: Encoder | None = None,
    reference: Path | str | None = None,
    margin: float | None = None,
) -> Scores:
    """Read, check and score a prediction file.

    Args:
        path: the file, and how to read it.
        folder: the dataset that it is for, or its path.
        subset: the subset of test ids that it covers.
        encoder: embeds tokens for BERTScore; only needed for tasks with that metric.
        reference: prediction file of a reference model, whose TT gives ``reference_td`` if ``path`` has no TT.
        margin: test whether no drop exceeds this fraction, fixed before the scores were seen.

    Returns: the scores of every task that the file has predictions for, fractions in [0, 1], with their intervals.

    Raises: InvalidInput with every problem found in the file, or if the folder withholds its labels.
    """
    if margin is not None:
        refuse_margin(margin)
    if not isinstance(folder, DatasetFolder):
        folder = DatasetFolder.open(folder)
    frame = checked_predictions(PredictionInput.of(path), folder, subset)
    folder.refuse_withheld()  # after the check, because the file's problems can be listed without labels
    pinned = checked_predictions(Path(reference), folder, subset) if reference else None
    scored = score_predictions(frame, folder, subset, encoder=encoder, reference=pinned, margin=margin)
    return scored.scores


def token_encoder(folder: DatasetFolder, name: str | None = None) -> Encoder | None:
    """Open the encoder of BERTScore's tokens.

    Args:
        folder: the dataset.
        name: Hub id or path of the encoder; None for the machine's configured encoder, or the default one.

    Returns: the encoder, one per process; None if the dataset has no generation task, or the extra is not installed:
        BERTScore is then listed as missing.
    """
    generates = any(task.kind is TaskKind.GENERATION for task in folder.manifest.tasks.values())
    installed = find_spec("sentence_transformers") is not None
    return _encoder(name or machine_encoder(), cache_folder()) if generates and installed else None


@cache
def _encoder(name: str | None, vectors: Path) -> Encoder:
    """Return an encoder, built once per process, because computing its revision reads all of its weights."""
    return Encoder(name, vectors)


def checked_predictions(path: Path | PredictionInput, folder: DatasetFolder, subset: str = "all") -> pl.DataFrame:
    """Read a prediction file and check it against a dataset folder.

    Args:
        path: the file, and how to read it.
        folder: the dataset that it is for; it may withhold its labels.
        subset: the subset of test ids that it covers.

    Returns: rows in file order, with the columns of ``shiftbench.validation.predictions.CHECKED_PREDICTIONS``.

    Raises: InvalidInput with every problem found in the file, or if no task has the subset.
    """
    facts, versions = prediction_tasks(folder, subset), data_versions(PredictionInput.of(path).path, folder)
    return check_prediction_file(path, facts, versions)


def prediction_tasks(folder: DatasetFolder, subset: str = "all") -> list[PredictionTask]:
    """Return the task descriptions used to check predictions for a subset.

    Args:
        folder: the dataset.
        subset: the subset of test ids.

    Returns: one per task that has the subset.

    Raises: InvalidInput if no task has it.
    """
    tasks = [
        folder.prediction_task(task, subset) for task, info in folder.manifest.tasks.items() if subset in info.subsets
    ]
    if not tasks:
        cure = f"it has {', '.join(sorted({name for info in folder.manifest.tasks.values() for name in info.subsets}))}"
        raise InvalidInput(Problem("the dataset has no such subset", str(folder.path), f"'{subset}'", cure))
    return tasks


class FileChecks:
    """Checks and scores prediction files for a server, in the same process."""

    def predictions(self, path: Path | PredictionInput, folder: DatasetFolder, subset: str = "all") -> pl.DataFrame:
        """Read a file and check it against a dataset folder, as ``checked_predictions`` does."""
        return checked_predictions(path, folder, subset)

    def validation(self, path: Path | PredictionInput, folder: DatasetFolder) -> pl.DataFrame:
        """Read predictions on validation rows and check them, as ``read_validation`` does."""
        return read_validation(path, folder)

    def held_out(self, path: Path | PredictionInput, predictions: pl.DataFrame, folder: DatasetFolder) -> pl.DataFrame:
        """Read the validation rows that accompany checked predictions.

        Raises: InvalidInput also if labels are withheld (then nothing is forecast), if the rows are from other models,
            or if their probabilities seem to be in a different order than the labels.
        """
        if not folder.has_public_labels:
            what, cure = "validation rows are for forecasts, which are not made on withheld labels", "omit this file"
            raise InvalidInput(Problem(what, str(path), cure=cure))
        rows = self.validation(path, folder)
        refuse_other_training(rows, predictions, str(path))
        refuse_other_order(rows, folder, str(path))
        return rows

    def scores(self, predictions: pl.DataFrame, folder: DatasetFolder, subset: str = "all") -> Scores:
        """Score checked predictions for a preview, which is not stored."""
        return score_predictions(predictions, folder, subset, encoder=token_encoder(folder)).scores

    def benchmark(self, path: Path) -> str:
        """Return the benchmark's name: a file's first id up to the first slash; the text is not validated."""
        first = next(PredictionFile(path).parts(["id"]))["id"][0]
        return str(first).partition("/")[0]


IN_THIS_PROCESS = FileChecks()


def data_versions(path: Path, folder: DatasetFolder) -> str:
    """Describe the data versions of a folder and of a prediction file, for error messages.

    Args:
        path: the prediction file; its version is in the card next to it, if there is one.
        folder: the dataset.
    """
    here = f"this folder has {folder.version}"
    card, _ = card_beside(path)
    if card is None:
        return here
    same = not card.version.difference(folder.version)
    return (
        f"{here}, as stated in the card next to the file"
        if same
        else f"{here}, but the file's card refers to {card.version}"
    )


def score_predictions(
    predictions: pl.DataFrame,
    folder: DatasetFolder,
    subset: str = "all",
    *,
    encoder: Encoder | None = None,
    reference: pl.DataFrame | None = None,
    margin: float | None = None,
) -> Scored:
    """Score checked predictions.

    Args:
        predictions: rows with the columns of ``shiftbench.validation.predictions.CHECKED_PREDICTIONS``.
        folder: the dataset that they are for.
        subset: the subset of test ids that they cover.
        encoder: embeds tokens for BERTScore; only needed for tasks with that metric.
        reference: checked predictions of a reference model, whose TT gives ``reference_td`` if there is no TT here.
        margin: test whether no drop exceeds this fraction.

    Returns: the long table of ``SCORE_COLUMNS``, and the nested scores.

    Raises: InvalidInput if the folder withholds its labels.
    """
    folder.refuse_withheld()

    def by_task(frame: pl.DataFrame) -> dict[str, TaskValues]:
        return {
            str(task): task_values(str(task), rows, folder, subset, encoder=encoder)
            for (task,), rows in frame.group_by("task", maintain_order=True)
        }

    values_by_task = by_task(predictions.drop("probabilities", strict=False))
    # Only the reference's in-domain scores are needed.
    pinned = by_task(reference.filter(pl.col("source") == pl.col("target"))) if reference is not None else None
    rows = [row for values in values_by_task.values() for row in _long_rows(values)]
    table = pl.DataFrame(rows, schema=SCORE_COLUMNS, orient="row").sort("task", "source", "target", "seed", "metric")
    scores = summarise_values(values_by_task, folder, subset, pinned, encoder_name(encoder))
    scores = add_controls(mark_floors(scores, folder, predictions), folder, values_by_task)
    scores = add_non_inferiority(add_annotators(scores, folder), values_by_task, margin)
    return Scored(table, add_confidence(scores, predictions, values_by_task, folder))


Row = tuple[str, str, str, int, str, float, int, list[float] | None, float | None]
_SIGNS = 5
"""First element of the seeds of ``group_signs``."""


def _long_rows(values: TaskValues) -> Iterator[Row]:
    replicates_of = _replicates(values)
    for metric, by_cell in values.scores.items():
        for (source, target), scores in by_cell.items():
            trained_on = target if metric.startswith(OWN) else source
            seeds = values.seeds[trained_on, target]
            n = values.texts_left[source, target][metric.rpartition("@")[2]] if "@" in metric else None
            is_primary = metric == values.info.metric
            drawn = replicates_of.get((source, target)) if is_primary else None
            df = None if drawn is None else values.figure(metric, (source, target)).df
            for run, (seed, score) in enumerate(zip(seeds, scores, strict=True)):
                rows = values.rows[source, target] if n is None else n
                replicates = None if drawn is None else drawn[:, run].tolist()
                yield (values.name, source, target, seed, metric, float(score), rows, replicates, df)
    for (source, target), by_lambda in values.effective_n.items():
        for lambda_ in map(str, LAMBDAS):
            for seed in values.seeds[source, target]:
                n = values.texts_left[source, target][lambda_]
                yield (values.name, source, target, seed, f"effective_n@{lambda_}", by_lambda[lambda_], n, None, None)


def _replicates(values: TaskValues) -> dict[Cell, NDArray[np.float32]]:
    """Draw replicates of the primary score of each run, shape (N_STORED, n_runs); only for scores with an interval."""
    metric, drawn = values.info.metric, {}
    by_target: dict[str, list[Cell]] = {}
    for cell in values.scores.get(metric, {}):
        if values.figure(metric, cell).has_interval:
            by_target.setdefault(cell[1], []).append(cell)
    for target, cells in by_target.items():
        influences = [values.run_influences(cell) for cell in cells]
        moved = group_signs(values.name, target, len(influences[0])) @ np.concatenate(influences, axis=1)
        for cell, part in zip(
            cells, np.split(moved, np.cumsum([len(values.seeds[each]) for each in cells])[:-1], axis=1), strict=True
        ):
            drawn[cell] = (values.scores[metric][cell] + part).astype(np.float32)
    return drawn


def group_signs(task: str, target: str, n_groups: int) -> NDArray[np.float32]:
    """Draw a random sign, 1 or -1, for each replicate and group of a test set, shape (N_STORED, n_groups)."""
    # Seeded by test set, not by entry: replicates of different entries can be compared only with the same signs.
    rng = np.random.default_rng([_SIGNS, *f"{task}/{target}".encode()])
    n_bytes = (n_groups + 7) // 8
    words = np.frombuffer(rng.bytes(N_STORED * n_bytes), dtype=np.uint8).reshape(N_STORED, n_bytes)
    return 2 * np.unpackbits(words, axis=1, count=n_groups).astype(np.float32) - 1
