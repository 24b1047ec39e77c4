"""Prediction: each distinct row once, in any order, and answers in the order of the rows."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from shiftbench.baselines.training.batches import Padding
from shiftbench.baselines.training.models import Device, load_model
from shiftbench.baselines.training.prediction import logits, predict_rows
from shiftbench.validation.report import InvalidInput

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


@pytest.mark.parametrize("tokens", [None, 40])
def test_what_the_memory_does_not_hold_is_read_in_halves(
    tokens: int | None, tiny_bert: Path, rows: list[dict[str, Any]]
) -> None:
    """A device for 20 tokens: each batch that is larger fails, and each row is answered once all the same."""
    sizes: list[int] = []

    def read(model: Any, batch: Mapping[str, torch.Tensor]) -> Sequence[Any]:
        sizes.append(batch["input_ids"].numel())
        if sizes[-1] > 20:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return batch["input_ids"][:, 1].tolist()

    model = load_model("AutoModelForSequenceClassification", str(tiny_bert), 0, num_labels=3)
    inputs = [{"input_ids": row["input_ids"]} for row in rows]
    assert predict_rows(model, inputs, Padding(0), CPU, read, tokens=tokens) == [row["input_ids"][1] for row in inputs]
    assert sum(size > 20 for size in sizes) == (8 if tokens is None else 1)  # 4,096 tokens; 40
    assert len(sizes) > 20

    def never(model: Any, batch: Mapping[str, torch.Tensor]) -> Sequence[Any]:
        raise torch.OutOfMemoryError("CUDA out of memory")

    with pytest.raises(InvalidInput, match="prediction"):
        predict_rows(model, inputs, Padding(0), CPU, never)


def test_the_head_computes_in_single_precision_over_a_body_in_bfloat16(
    tiny_bert: Path, rows: list[dict[str, Any]]
) -> None:
    model = load_model("AutoModelForSequenceClassification", str(tiny_bert), 0, num_labels=3)
    inputs = [{name: row[name] for name in ("input_ids", "attention_mask")} for row in rows[:16]]
    seen: list[torch.Tensor] = []
    handle = model.classifier.register_forward_pre_hook(lambda module, given: seen.append(given[0]))
    found = torch.tensor(np.array(predict_rows(model, inputs, Padding(0), Device("cpu", bf16=True), logits, tokens=1)))
    handle.remove()
    hidden = {tuple(value.shape): value for value in seen}[(1, 32)]
    assert hidden.dtype == torch.bfloat16
    exact = torch.cat(seen).float() @ model.classifier.weight.T + model.classifier.bias
    torch.testing.assert_close(found.sort(0).values, exact.detach().sort(0).values)
    assert (found != found.bfloat16().float()).float().mean() > 0.9
    assert "forward" not in model.classifier.__dict__  # as it was
