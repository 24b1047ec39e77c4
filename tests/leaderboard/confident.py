"""Predictions with probabilities that are calibrated at home, and overconfident elsewhere."""

from pathlib import Path

import numpy as np
import polars as pl

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.scores.score import score_predictions
from shiftbench.scoring.scores.shape import Scores
from shiftbench.scoring.scores.validation_rows import validation_file
from shiftbench.validation.predictions import check_predictions

TASK = "nli"


def confident(folder: DatasetFolder, seeds: int = 2, split: str = "test") -> pl.DataFrame:
    """Predict every target from every source, with confidences and probabilities; away from home less is known.

    On validation rows, those of each source alone.
    """
    labels, parts = np.array(folder.task(TASK).labels), []
    for source in folder.task(TASK).domains:
        for target in folder.task(TASK).domains if split == "test" else [source]:
            rows = folder.split(TASK, target, split)
            for seed in range(seeds):
                rng = np.random.default_rng([seed, *f"{source}{target}".encode()])
                scores = rng.normal(size=(len(rows), labels.size))
                scores[np.arange(len(rows)), rows["label"].to_numpy()] += 2 if source == target else 1
                table = np.exp(2 * scores) / np.exp(2 * scores).sum(axis=1, keepdims=True)
                parts.append(
                    rows.select(
                        "id",
                        source=pl.lit(source),
                        prediction=pl.Series(labels[table.argmax(axis=1)]),
                        seed=pl.lit(seed, pl.Int64),
                        confidence=pl.Series(table.max(axis=1)),
                        probabilities=pl.Series(table.tolist(), dtype=pl.List(pl.Float64)),
                    )
                )
    return pl.concat(parts).select("source", "id", "prediction", "seed", "confidence", "probabilities")


def score(frame: pl.DataFrame, folder: DatasetFolder) -> Scores:
    """Check and score a prediction frame."""
    return score_predictions(check_predictions(frame, [folder.prediction_task(TASK)], "p"), folder).scores


def write_confident(folder: DatasetFolder, place: Path, seeds: int = 1) -> tuple[Path, Path]:
    """Write such predictions and those on validation rows beside; returns both files."""
    file = place / "confident.parquet"
    held_out = validation_file(file)
    confident(folder, seeds).write_parquet(file)
    confident(folder, seeds, "validation").write_parquet(held_out)
    return file, held_out
