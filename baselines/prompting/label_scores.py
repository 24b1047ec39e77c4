"""Log-probabilities of labels after prompts, by a model on this machine: each prompt is read once for all labels."""

import inspect
from collections.abc import Sequence
from typing import Any


def score_labels(model: Any, prompts: Sequence[Sequence[int]], labels: Sequence[Sequence[int]]) -> list[list[float]]:
    """Compute how likely each label is after each prompt; what the prompt left in the model's cache is shared.

    Args:
        model: a causal language model of transformers.
        prompts: B prompts as tokens, none of them empty.
        labels: C labels as tokens, none of them empty.
    Returns: for each prompt the sums of the labels' log-probabilities, natural logarithms.
    """
    import torch

    device = model.device
    width, longest = max(map(len, prompts)), max(map(len, labels))
    ids = torch.tensor([[0] * (width - len(row)) + list(row) for row in prompts], device=device)  # (B, T)
    mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in prompts], device=device)
    first = torch.tensor([row[0] for row in labels], device=device)  # (C,)
    # Labels of one token are known after the prompt alone.
    more = [place for place, row in enumerate(labels) if len(row) > 1]
    rest = torch.tensor([[*labels[place], *[-1] * (longest - len(labels[place]))] for place in more], device=device)
    with torch.inference_mode():
        places = _places(model, (mask.cumsum(dim=1) - 1).clamp(min=0))
        read = model(input_ids=ids, attention_mask=mask, use_cache=True, logits_to_keep=1, **places)
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


def _places(model: Any, positions: Any) -> dict[str, Any]:
    """Name the positions where a model takes them: padding stands on the left."""
    return {"position_ids": positions} if "position_ids" in inspect.signature(model.forward).parameters else {}
