"""Probabilities of all labels: read alike from every format, and refused by what is wrong with them."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

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


NOT_NUMBERS = "the probabilities are not a list of numbers; found "
LENGTH = "the numbers of probabilities and labels differ; found "
OUTSIDE = "a probability is not between 0 and 1; found "
SUM = "the probabilities of a row do not add up to 1; found "
LONG = "a list of probabilities is too long; found "


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    ("bad", "what"),
    [
        ([0.5, float("nan"), 0.5], NOT_NUMBERS),
        ([0.5, float("inf"), 0.5], NOT_NUMBERS),
        ([0.5, 0.5], LENGTH + "2 probabilities, 3 labels"),
        ([0.25] * 4, LENGTH + "4 probabilities, 3 labels"),
        ([1.5, -0.25, -0.25], OUTSIDE),
        ([50.0, 25.0, 25.0], OUTSIDE),
        ([0.5, 0.25, 0.2], SUM),
        ([0.5, 0.5, 0.5], SUM),
        ([1e-4] * 10_000, LONG),
    ],
)
def test_a_bad_list_is_refused_by_row(tmp_path: Path, suffix: str, bad: list[float], what: str) -> None:
    if suffix == ".jsonl" and what == NOT_NUMBERS:
        bad = [0.5, "high", 0.5]  # type: ignore[list-item]  # NaN is no JSON
    message = refusal(written(tmp_path / f"p{suffix}", [SOUND, bad, bad]))
    assert message.startswith(f"p{suffix}, column 'probabilities', row 2: {what}")
    assert len(message) < 700
    assert "(2 such rows)" in message or "1 more" in message


def test_rounding_is_no_fault(tmp_path: Path) -> None:
    found = check_prediction_file(written(tmp_path / "p.csv", [[0.333, 0.333, 0.333], [0.3335] * 3]), [TASK])
    assert found["probabilities"][0].to_list() == [0.333, 0.333, 0.333]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_rows_without_are_refused_among_others(tmp_path: Path, suffix: str) -> None:
    message = refusal(written(tmp_path / f"p{suffix}", [SOUND, None]))
    assert message.startswith(f"p{suffix}, column 'probabilities', row 2: some rows of task 'nli' have probabilities")
    assert UNPARSED in message


def test_a_column_of_numbers_is_no_list(tmp_path: Path) -> None:
    grid(TASK, sources=("fiction",)).with_columns(probabilities=pl.lit(0.5)).write_parquet(tmp_path / "p")
    assert refusal(tmp_path / "p").startswith(f"p, column 'probabilities', row 1: {NOT_NUMBERS}0.5 (9 such rows)")


def test_tasks_without_labels_have_none(tmp_path: Path) -> None:
    questions = replace(build_task("qa"), kind=TaskKind.EXTRACTIVE_QA, labels=())
    frame = pl.concat([grid(TASK, ("fiction",)), grid(build_task("qa"), ("fiction",))])
    lists = pl.Series([SOUND] * 9 + [None] * 9, dtype=pl.List(pl.Float64))
    frame.with_columns(probabilities=lists).write_parquet(tmp_path / "p")
    assert check_prediction_file(tmp_path / "p", [TASK, questions])["probabilities"].null_count() == 9
    frame.with_columns(probabilities=pl.lit(SOUND)).write_parquet(tmp_path / "p")
    message = refusal(tmp_path / "p", TASK, questions)
    assert message.startswith(
        "p, column 'probabilities', row 10: task 'qa' has no labels, so it takes no probabilities"
    )


def test_more_than_memory_holds_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probabilities, "MAX_LIST_ELEMENTS", 20)
    assert "there are too many probabilities; found 27 numbers" in refusal(written(tmp_path / "p.csv", []))
