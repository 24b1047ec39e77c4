"""Prediction: each distinct row once, rows of one length together, as many at a time as the device likes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from tqdm import tqdm

from baselines.training.batches import Features, Padding
from baselines.training.models import Device, enough_memory

_TOKENS = {"cpu": 4096, "cuda": 32768}
"""Tokens a forward pass: enough to keep a device busy, little enough for its caches or memory."""


def predict_rows(
    model: Any,
    rows: Sequence[Features],
    padding: Padding,
    device: Device,
    read: Callable[[Any, Mapping[str, torch.Tensor]], Sequence[Any]],
    description: str = "predicting",
) -> list[Any]:
    """Run a model over rows of features without gradients.

    Args:
        model: a model of transformers.
        rows: n rows of features.
        padding: makes tensors of them.
        device: where to run.
        read: what is wanted of a batch: model and batch in, one value a row out.
        description: what the progress bar says; empty shows none.
    Returns: n values, in the order of the rows.
    """
    keys = [_key(row) for row in rows]
    first: dict[Any, int] = {}
    for index, key in enumerate(keys):
        first.setdefault(key, index)
    found: dict[Any, Any] = {}
    model.to(device.name).eval()
    found_rows = f"{_TOKENS[device.name]:,} word pieces at a time"
    with (
        enough_memory(
            "prediction",
            device,
            found_rows,
            "read less of a text (--max-length of predict, --eval-max-length of trainings), or give another model",
        ),
        torch.inference_mode(),
        device.computing(),
        tqdm(total=len(first), desc=description, unit="row", disable=None if description else True, leave=False) as bar,
    ):
        for batch in _batches(rows, list(first.values()), _TOKENS[device.name]):
            tensors = {name: tensor.to(device.name) for name, tensor in padding([rows[i] for i in batch]).items()}
            found.update(zip((keys[index] for index in batch), read(model, tensors), strict=True))
            bar.update(len(batch))
    return [found[key] for key in keys]


def logits(model: Any, batch: Mapping[str, torch.Tensor]) -> Sequence[Any]:
    """Read the logits of a batch.

    Args:
        model: a classifier or tagger of transformers.
        batch: tensors of B rows.
    Returns: B arrays of float32, shape (n_classes,), or (n_tokens, n_classes) of a tagger.
    """
    return list(model(**batch).logits.float().cpu().numpy())


def starts_and_ends(model: Any, batch: Mapping[str, torch.Tensor]) -> Sequence[Any]:
    """Read each piece's scores as start and as end of an answer.

    Args:
        model: an extractive question answering model of transformers.
        batch: tensors of B rows.
    Returns: B arrays of float32, shape (n_pieces, 2).
    """
    found = model(**batch)
    return list(torch.stack([found.start_logits, found.end_logits], dim=-1).float().cpu().numpy())


def _batches(rows: Sequence[Features], indices: list[int], tokens: int) -> Iterator[list[int]]:
    """Cut rows into batches of about so many tokens, longest first: what does not fit shows at once."""
    ordered = sorted(indices, key=lambda index: (-len(rows[index]["input_ids"]), index))
    start = 0
    while start < len(ordered):
        size = max(1, tokens // max(1, len(rows[ordered[start]]["input_ids"])))
        yield ordered[start : start + size]
        start += size


def _key(row: Features) -> Any:
    return tuple((name, tuple(value) if hasattr(value, "__len__") else value) for name, value in row.items())
