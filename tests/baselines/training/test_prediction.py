"""Prediction: each distinct row once, in any order, and answers in the order of the rows."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from baselines.training.batches import Padding
from baselines.training.models import Device, load_model
from baselines.training.prediction import logits, predict_rows

CPU = Device("cpu", bf16=False)


def test_rows_are_answered_as_if_each_was_alone(tiny_bert: Path, rows: list[dict[str, Any]]) -> None:
    model = load_model("AutoModelForSequenceClassification", str(tiny_bert), 0, num_labels=3)
    inputs = [{name: row[name] for name in ("input_ids", "attention_mask")} for row in rows]
    found = np.array(predict_rows(model, inputs, Padding(0), CPU, logits))
    alone = np.array([predict_rows(model, [row], Padding(0), CPU, logits)[0] for row in inputs[:20]])
    assert found.shape == (120, 3)
    np.testing.assert_allclose(found[:20], alone, atol=1e-5)
    assert len(np.unique(found.round(4), axis=0)) > 60


def test_each_distinct_row_is_read_once(tiny_bert: Path, rows: list[dict[str, Any]]) -> None:
    read = 0

    def count(model: Any, batch: Mapping[str, torch.Tensor]) -> Sequence[Any]:
        nonlocal read
        read += len(batch["input_ids"])
        return batch["input_ids"][:, 1].tolist()

    model = load_model("AutoModelForSequenceClassification", str(tiny_bert), 0, num_labels=3)
    inputs = [{"input_ids": row["input_ids"]} for row in [*rows[:30], *rows[:30]]]
    found = predict_rows(model, inputs, Padding(0), CPU, count)
    assert found == [row["input_ids"][1] for row in inputs]
    assert read == len({tuple(row["input_ids"]) for row in inputs})


def test_nothing_to_predict_is_nothing(tiny_bert: Path) -> None:
    model = load_model("AutoModelForSequenceClassification", str(tiny_bert), 0, num_labels=3)
    assert predict_rows(model, [], Padding(0), CPU, logits) == []
