"""Log-probabilities of labels after prompts, from a local model.

Each prompt is read once for all labels. The prompts' common prefix, such as the instruction and fixed demonstrations,
is read once for all prompts.
"""

import inspect
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Prefix:
    """The prompts' common prefix: its length in tokens, and the model's cache after it (None if it was not read)."""

    length: int = 0
    cache: Any = None


def score_labels(
    model: Any, prompts: Sequence[Sequence[int]], labels: Sequence[Sequence[int]], batch: int
) -> Iterator[list[list[float]]]:
    """Compute the log-probability of each label after each prompt.

    Args:
        prompts: tokens of each prompt, not empty.
        labels: tokens of each of C labels, not empty.
    Yields: for each batch of prompts, in order, the summed natural log-probabilities of the labels: a list of C for
        each prompt.
    """
    prefix = _read_prefix(model, prompts)
    for start in range(0, len(prompts), batch):
        rows = [prompt[prefix.length :] for prompt in prompts[start : start + batch]]
        yield _score_batch(model, prefix, rows, labels)


def _read_prefix(model: Any, prompts: Sequence[Sequence[int]]) -> Prefix:
    """Read the prompts' common prefix; return an empty one if the model cannot continue from a cached prefix.

    Prompts of different lengths are padded after the prefix, so the model must accept position ids and depend on
    nothing else for positions.
    """
    import torch
    from transformers.cache_utils import DynamicLayer

    length = _common_length(prompts)
    if len(prompts) < 2 or length == 0 or not _takes_positions(model):
        return Prefix()
    with torch.inference_mode():
        ids = torch.tensor([prompts[0][:length]], device=model.device)
        cache = model(input_ids=ids, use_cache=True, logits_to_keep=1).past_key_values
    # Sliding windows and recurrent states would treat the padding as tokens.
    whole = all(type(layer) is DynamicLayer for layer in getattr(cache, "layers", [None]))
    return Prefix(length, cache) if whole else Prefix()


def _common_length(prompts: Sequence[Sequence[int]]) -> int:
    """Return the length of the prompts' common prefix; at least one token of each prompt is left over."""
    first, last = min(map(list, prompts)), max(map(list, prompts))  # lexicographic ends share least
    most = min(map(len, prompts)) - 1
    return next((place for place in range(most) if first[place] != last[place]), most)


def _score_batch(
    model: Any, prefix: Prefix, prompts: Sequence[Sequence[int]], labels: Sequence[Sequence[int]]
) -> list[list[float]]:
    """Score C labels after B prompts, given as their tokens after the prefix."""
    import torch

    device = model.device
    width, longest = max(map(len, prompts)), max(map(len, labels))
    ids = torch.tensor([[0] * (width - len(row)) + list(row) for row in prompts], device=device)  # (B, T)
    padded = [[1] * prefix.length + [0] * (width - len(row)) + [1] * len(row) for row in prompts]
    mask = torch.tensor(padded, device=device)  # (B, P + T)
    first = torch.tensor([row[0] for row in labels], device=device)  # (C,)
    # Labels of one token are scored from the prompt only.
    more = [place for place, row in enumerate(labels) if len(row) > 1]
    rest = torch.tensor([[*labels[place], *[-1] * (longest - len(labels[place]))] for place in more], device=device)
    with torch.inference_mode():
        cache = deepcopy(prefix.cache)  # the model appends to its cache
        if cache is not None:
            cache.batch_repeat_interleave(len(prompts))
        places = _places(model, (mask.cumsum(dim=1) - 1).clamp(min=0)[:, prefix.length :])
        read = model(
            input_ids=ids, attention_mask=mask, past_key_values=cache, use_cache=bool(more), logits_to_keep=1, **places
        )
        scores = read.logits[:, -1].float().log_softmax(dim=-1)[:, first]  # (B, C)
        if more:
            n = len(more)
            read.past_key_values.batch_repeat_interleave(n)
            begun = rest[:, :-1].repeat(len(prompts), 1)  # (B M, L - 1)
            whole = torch.cat([mask.repeat_interleave(n, dim=0), (begun >= 0).long()], dim=1)
            lengths = mask.sum(dim=1).repeat_interleave(n).unsqueeze(1)
            places = _places(model, lengths + torch.arange(longest - 1, device=device))
            logits = model(
                input_ids=begun.clamp(min=0), attention_mask=whole, past_key_values=read.past_key_values, **places
            ).logits
            asked = rest[:, 1:].repeat(len(prompts), 1)
            log_p = logits.float().log_softmax(dim=-1).gather(-1, asked.clamp(min=0).unsqueeze(-1)).squeeze(-1)
            scores[:, more] += log_p.masked_fill(asked < 0, 0.0).sum(dim=1).view(len(prompts), n)
    return [[float(score) for score in row] for row in scores.cpu()]


def _takes_positions(model: Any) -> bool:
    return "position_ids" in inspect.signature(model.forward).parameters


def _places(model: Any, positions: Any) -> dict[str, Any]:
    """Build the position argument if the model accepts it; needed because of the left padding."""
    return {"position_ids": positions} if _takes_positions(model) else {}
