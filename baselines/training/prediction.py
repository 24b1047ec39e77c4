"""Prediction in length-bucketed batches as large as the device's memory allows; duplicate rows are run once."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from shiftbench.baselines.runs import Features
from shiftbench.baselines.training.batches import Padding
from shiftbench.baselines.training.models import Device, enough_memory
from shiftbench.validation.progress import progress

_TOKENS = {"cpu": 4096, "cuda": 32768}
"""Tokens per forward pass: enough to keep a device busy, few enough for its caches or memory."""

HEADS = frozenset({"classifier", "classify", "score", "qa_outputs", "lm_head"})
"""Names of the layer that computes the logits, in models of transformers and in ``robust.contrastive``."""


def predict_rows(
    model: Any,
    rows: Sequence[Features],
    padding: Padding,
    device: Device,
    read: Callable[[Any, Mapping[str, torch.Tensor]], Sequence[Any]],
    description: str = "predicting",
    tokens: int | None = None,
) -> list[Any]:
    """Run a model on rows of features without gradients; its head computes in single precision.

    Args:
        read: maps model and batch to one value per row.
        description: label of the progress bar; "" for none.
        tokens: tokens per forward pass; default: a value for the device. If memory runs out, it is halved, down to one
            row.
    Returns: n values, in the order of the rows.
    Raises: InvalidInput if one row does not fit into the device's memory.
    """
    keys = [_key(row) for row in rows]
    first: dict[Any, int] = {}
    for index, key in enumerate(keys):
        first.setdefault(key, index)
    value_of: dict[Any, Any] = {}
    model.to(device.name).eval()
    # Longest first, so that running out of memory shows at once.
    order = sorted(first.values(), key=lambda index: (-len(rows[index]["input_ids"]), index))
    most = tokens or _TOKENS[device.name]
    cure = "truncate texts (--model-arg max_length=N, --eval-max-length for training), or use another model"
    with (
        enough_memory("prediction", device, "a batch of one row", cure),
        torch.inference_mode(),
        device.computing(),
        _precise_head(model, device),
        progress(total=len(first), desc=description, unit="row", shown=bool(description), leave=False) as bar,
    ):
        start = 0
        while start < len(order):
            longest = len(rows[order[start]]["input_ids"])
            batch = order[start : start + max(1, most // max(1, longest))]
            try:
                tensors = {name: tensor.to(device.name) for name, tensor in padding([rows[i] for i in batch]).items()}
                values = read(model, tensors)
            except torch.OutOfMemoryError:
                if len(batch) == 1:
                    raise
                most = max(1, most // 2)
                continue
            value_of.update(zip((keys[index] for index in batch), values, strict=True))
            start += len(batch)
            bar.update(len(batch))
    return [value_of[key] for key in keys]


def logits(model: Any, batch: Mapping[str, torch.Tensor]) -> Sequence[Any]:
    """Return a batch's logits: B arrays of float32, shape (n_classes,), or (n_tokens, n_classes) for a tagger."""
    return list(model(**batch).logits.float().cpu().numpy())


def starts_and_ends(model: Any, batch: Mapping[str, torch.Tensor]) -> Sequence[Any]:
    """Return each piece's scores as start and as end of an answer: B arrays of float32, shape (n_pieces, 2)."""
    output = model(**batch)
    return list(torch.stack([output.start_logits, output.end_logits], dim=-1).float().cpu().numpy())


@contextmanager
def _precise_head(model: Any, device: Device) -> Iterator[None]:
    """Run the head (hidden states to logits) in single precision, whatever the precision of the rest.

    Logits in bfloat16 have two or three digits: confidences would be coarse, and labels would tie. A head whose weights
    are not in single precision is left unchanged.
    """
    heads = (
        [module for name, module in model.named_modules() if name.rpartition(".")[2] in HEADS] if device.bf16 else []
    )
    heads = [head for head in heads if all(weight.dtype == torch.float32 for weight in head.parameters())]
    own = [head.__dict__.get("forward") for head in heads]

    def precise(forward: Callable[..., Any]) -> Callable[..., Any]:
        def compute(*args: Any, **named: Any) -> Any:
            with torch.autocast(device.name, enabled=False):
                return forward(*map(_single, args), **{name: _single(value) for name, value in named.items()})

        return compute

    for head in heads:
        head.forward = precise(head.forward)
    try:
        yield
    finally:
        for head, forward in zip(heads, own, strict=True):
            if forward is None:
                del head.forward
            else:
                head.forward = forward


def _single(value: Any) -> Any:
    return value.float() if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def _key(row: Features) -> Any:
    return tuple((name, tuple(value) if hasattr(value, "__len__") else value) for name, value in row.items())
