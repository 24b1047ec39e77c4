"""Single test texts with a model's outputs, for the datastore of Every Eval Ever: one JSON object a line.

Texts whose licence does not allow publishing them are left out. A text's score is that of its row: labels and tag
sequences are right or wrong, answers have token F1 and generated texts ROUGE-L (``metadata.score_metric``).
"""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.interchange.every_eval_ever import COLLECTION, SCHEMA_VERSION, DatastorePlace
from shiftbench.scoring.interchange.shared_entry import SharedEntry
from shiftbench.scoring.scores.examples import why_hidden
from shiftbench.scoring.scores.outcomes import TargetRuns, target_runs
from shiftbench.validation.vocabulary import GOLD, PLACEBO, TOKENS, TaskKind

_METRICS = {
    TaskKind.CLASSIFICATION: "exact_match",
    TaskKind.TAGGING: "exact_match",
    TaskKind.EXTRACTIVE_QA: "token_f1",
    TaskKind.GENERATION: "rouge_l",
}
"""The metric of a single text's score."""


def why_no_samples(shared: SharedEntry) -> str:
    """Find why single texts of an entry may not be shared; empty where they may."""
    if not shared.manifest.has_public_labels:
        return "labels are withheld"
    return "" if shared.card.allows_bulk else "the card does not have share_predictions: true"


def write_samples(
    path: Path, place: DatastorePlace, shared: SharedEntry, predictions: pl.DataFrame, folder: DatasetFolder
) -> int:
    """Write the lines of an entry's texts, by task, target, source, seed and id.

    Args:
        path: the file, whose folder is there.
        place: what the lines refer to.
        shared: the entry, whose texts may be passed on (``why_no_samples``).
        predictions: checked ones, as ``shiftbench.validation.predictions.CHECKED_PREDICTIONS`` has them.
        folder: the dataset.
    Returns: how many lines; with none, no file is left.
    """
    n_lines = 0
    with path.open("w", encoding="utf-8") as file:
        for line in _lines(place, shared, predictions, folder):
            file.write(line + "\n")
            n_lines += 1
    if not n_lines:
        path.unlink()
    return n_lines


def _lines(
    place: DatastorePlace, shared: SharedEntry, predictions: pl.DataFrame, folder: DatasetFolder
) -> Iterator[str]:
    for task in shared.scores.tasks:
        if task.task.endswith(PLACEBO):
            continue
        rows = predictions.filter(pl.col("task") == task.task).sort("target", "source", "seed", "id")
        for runs in target_runs(task.task, rows, folder, shared.scores.subset):
            if not why_hidden(folder, task.task, runs.target):
                yield from _target_lines(place, shared.scores.benchmark, runs, rows, folder)


def _target_lines(
    place: DatastorePlace, benchmark: str, runs: TargetRuns, predictions: pl.DataFrame, folder: DatasetFolder
) -> Iterator[str]:
    info = folder.task(runs.task)
    gold = folder.split(runs.task, runs.target, "test").filter(pl.col("id").is_in(runs.ids.implode())).sort("id")
    texts = [_text_facts(row, info) for row in gold.iter_rows(named=True)]
    said = predictions.filter(pl.col("target") == runs.target)
    for number, (source, seed) in enumerate(runs.runs):
        own = said.filter((pl.col("source") == source) & (pl.col("seed") == seed)).sort("id")
        figure = "ss" if source == runs.target else "st"
        key = f"{runs.task}/{figure}/{source}->{runs.target}"
        refers = {
            "schema_version": SCHEMA_VERSION,
            "evaluation_id": place.evaluation_id,
            "model_id": place.model_id,
            "evaluation_name": f"{COLLECTION}-{benchmark}/{key}",
            "evaluation_result_id": key,
        }
        metadata = {
            "source": source,
            "target": runs.target,
            "seed": str(seed),
            "score_metric": _METRICS[info.kind],
        }
        scores = runs.outcomes.example_scores[number].tolist()
        for identity, text, predicted, score in zip(runs.ids, texts, own["prediction"], scores, strict=True):
            line = refers | {"sample_id": identity} | text | _answer_fields(predicted, score) | {"metadata": metadata}
            # ASCII, because some readers split lines at other characters than \n.
            yield json.dumps(line, allow_nan=False)


def _text_facts(row: dict[str, Any], info: TaskInfo) -> dict[str, Any]:
    """Build the part of a line that describes the text itself."""
    given = {"raw": _input(row, info), "reference": _reference(row, info)}
    hashed = json.dumps(given, sort_keys=True, separators=(",", ":"))
    choices = {"choices": list(info.labels)} if info.kind is TaskKind.CLASSIFICATION else {}
    return {
        "sample_hash": hashlib.sha256(hashed.encode()).hexdigest(),
        "interaction_type": "single_turn",
        "input": given | choices,
    }


def _answer_fields(predicted: str, score: float) -> dict[str, Any]:
    extracted = {
        "turn_idx": 0,
        "source": "output.raw",
        "extracted_value": predicted,
        "extraction_method": "as in the prediction file",
        "is_terminal": True,
    }
    return {
        "output": {"raw": [predicted]},
        "answer_attribution": [extracted],
        "evaluation": {"score": score, "is_correct": score == 1},
    }


def _input(row: dict[str, Any], info: TaskInfo) -> str:
    values = {name: " ".join(row[name]) if name == TOKENS else row[name] for name in info.inputs}
    if len(values) == 1:
        return str(next(iter(values.values())))
    return "\n".join(f"{name}: {value}" for name, value in values.items())


def _reference(row: dict[str, Any], info: TaskInfo) -> list[str]:
    gold: Any = row[GOLD[info.kind]]
    if info.kind is TaskKind.CLASSIFICATION:
        return [info.labels[gold]]
    if info.kind is TaskKind.TAGGING:
        return [" ".join(info.labels[code] for code in gold)]
    if info.kind is TaskKind.EXTRACTIVE_QA:
        return list(dict.fromkeys(gold["text"])) or [""]
    return [str(gold)]
