"""Probabilities of all labels: read alike from every format, and refused by what is wrong with them."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.validation import probabilities
from shiftbench.validation.predictions import CHECKED_PREDICTIONS, check_prediction_file
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.vocabulary import UNPARSED, TaskKind

from .test_predictions import LABELS, build_task, grid

SUFFIXES = (".parquet", ".jsonl", ".csv")
TASK = build_task()
SOUND = [0.5, 0.25, 0.25]


def written(path: Path, lists: Sequence[Any], predictions: Sequence[str] | None = None) -> Path:
    """Write a grid whose first rows have these probabilities; the others have sound ones."""
    frame = grid(TASK, sources=("fiction",)).drop("seed")
    rows = frame.to_dicts()
    for number, row in enumerate(rows):
        row["probabilities"] = lists[number] if number < len(lists) else SOUND
        row["prediction"] = predictions[number] if predictions and number < len(predictions) else LABELS[0]
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".csv":
        for row in rows:
            row["probabilities"] = " ".join(map(str, row["probabilities"] or []))
        pl.DataFrame(rows).write_csv(path)
    else:
        pl.DataFrame(rows, infer_schema_length=None, strict=False).write_parquet(path)
    return path


def refusal(path: Path, *tasks: Any) -> str:
    with pytest.raises(InvalidInput) as refused:
        check_prediction_file(path, tasks or [TASK])
    return str(refused.value).replace(str(path), path.name)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_all_formats_are_read_alike(tmp_path: Path, suffix: str) -> None:
    lists = [[1.0, 0.0, 0.0], [0.125, 0.5, 0.375], None]
    found = check_prediction_file(written(tmp_path / f"p{suffix}", lists, [LABELS[0], LABELS[1], UNPARSED]), [TASK])
    assert found.schema["probabilities"] == CHECKED_PREDICTIONS["probabilities"]
    assert found["probabilities"].to_list() == [*lists, *[SOUND] * 6]
    assert found.columns == [name for name in CHECKED_PREDICTIONS if name != "confidence"]


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.float32()), pa.large_list(pa.float64()), pa.list_(pa.float64(), 3), pa.list_(pa.int8())]
)
def test_lists_of_any_numbers(tmp_path: Path, kind: pa.DataType) -> None:
    table = grid(TASK, sources=("fiction",)).to_arrow()
    pq.write_table(table.append_column("probabilities", pa.array([[0, 1, 0]] * len(table), kind)), tmp_path / "p")
    found = check_prediction_file(tmp_path / "p", [TASK])
    assert found["probabilities"].to_list() == [[0.0, 1.0, 0.0]] * 9


def test_an_array_of_numpy_in_a_polars_frame(tmp_path: Path) -> None:
    frame = grid(TASK, sources=("fiction",)).with_columns(probabilities=np.full((9, 3), 1 / 3))
    frame.write_parquet(tmp_path / "p")
    assert check_prediction_file(tmp_path / "p", [TASK])["probabilities"].list.len().unique().to_list() == [3]


BAD: dict[str, list[Any] | None] = {
    "not a number": [0.5, float("nan"), 0.5],
    "infinite": [0.5, float("inf"), 0.5],
    "too few": [0.5, 0.5],
    "too many": [0.25] * 4,
    "negative": [1.5, -0.25, -0.25],
    "points": [50.0, 25.0, 25.0],
    "a small sum": [0.5, 0.25, 0.2],
    "a large sum": [0.5, 0.5, 0.5],
    "far too long": [1e-4] * 10_000,
    "none": None,
}


def test_a_bad_list_is_refused_by_row(tmp_path: Path, wording: SnapshotAssertion) -> None:
    said = {}
    for name, bad in BAD.items():
        messages = set()
        for suffix in SUFFIXES:
            given = (
                [0.5, "high", 0.5] if suffix == ".jsonl" and name in ("not a number", "infinite") else bad
            )  # no JSON
            message = refusal(written(tmp_path / f"p{suffix}", [SOUND, given, given]))
            assert len(message) < 700
            # Each format shows a list in its own way.
            messages.add(re.sub(r"found ['\[].*?(?= \(|;)", "found LIST", message.replace(f"p{suffix}", "p")))
        (said[name],) = messages
    assert said == wording


def test_rounding_is_no_fault(tmp_path: Path) -> None:
    found = check_prediction_file(written(tmp_path / "p.csv", [[0.333, 0.333, 0.333], [0.3335] * 3]), [TASK])
    assert found["probabilities"][0].to_list() == [0.333, 0.333, 0.333]


def test_a_column_of_numbers_is_no_list(tmp_path: Path) -> None:
    grid(TASK, sources=("fiction",)).with_columns(probabilities=pl.lit(0.5)).write_parquet(tmp_path / "p")
    assert refusal(tmp_path / "p").startswith("p, column 'probabilities', row 1: ")


def test_tasks_without_labels_have_none(tmp_path: Path) -> None:
    questions = replace(build_task("qa"), kind=TaskKind.EXTRACTIVE_QA, labels=())
    frame = pl.concat([grid(TASK, ("fiction",)), grid(build_task("qa"), ("fiction",))])
    lists = pl.Series([SOUND] * 9 + [None] * 9, dtype=pl.List(pl.Float64))
    frame.with_columns(probabilities=lists).write_parquet(tmp_path / "p")
    assert check_prediction_file(tmp_path / "p", [TASK, questions])["probabilities"].null_count() == 9
    frame.with_columns(probabilities=pl.lit(SOUND)).write_parquet(tmp_path / "p")
    assert refusal(tmp_path / "p", TASK, questions).startswith("p, column 'probabilities', row 10: ")


def test_more_than_memory_holds_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probabilities, "MAX_LIST_ELEMENTS", 20)
    assert " 27 " in refusal(written(tmp_path / "p.csv", []))
