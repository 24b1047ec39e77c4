"""Log-probabilities of labels after prompts, by a model on this machine.

Each prompt is read once for all labels, and what all prompts begin with, such as an instruction, once for all prompts.
"""

import inspect
import math
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class SharedStart:
    """What all prompts begin with, as a model read it once.

    Attributes:
        length: its tokens; 0 where nothing was read.
        cache: the keys and values of its tokens, of one row; None where nothing was read.
    """

    length: int = 0
    cache: Any = None


def read_start(model: Any, prompts: Sequence[Sequence[int]], longest: int) -> SharedStart:
    """Read what all prompts begin with, such as an instruction, so that ``score_labels`` need not for each.

    Padding then stands behind it. A window that slides over the text would count padding in, so a model with one that
    the longest prompt and label do not fit into reads each prompt whole.

    Args:
        model: a causal language model of transformers.
        prompts: all prompts as tokens.
        longest: tokens of the longest label.
    Returns: the start; of no length where reading it apart gains little.
    """
    import torch

    if len(prompts) < 2:
        return SharedStart()
    window = getattr(model.config.get_text_config(), "sliding_window", None) or math.inf
    least = min(map(len, prompts)) - 1
    length = next((place for place in range(least) if len({row[place] for row in prompts}) > 1), least)
    if length < _LEAST_SHARED or max(map(len, prompts)) + longest > window:
        return SharedStart()
    with torch.inference_mode():
        ids = torch.tensor([prompts[0][:length]], device=model.device)
        return SharedStart(length, model(input_ids=ids, use_cache=True, logits_to_keep=1).past_key_values)


_LEAST_SHARED = 8


def score_labels(
    model: Any, prompts: Sequence[Sequence[int]], labels: Sequence[Sequence[int]], start: SharedStart | None = None
) -> list[list[float]]:
    """Compute how likely each label is after each prompt; what was read before stays in the model's cache.

    Args:
        model: a causal language model of transformers.
        prompts: B prompts as tokens, none of them empty.
        labels: C labels as tokens, none of them empty.
        start: what these and other prompts begin with.
    Returns: for each prompt the sums of the labels' log-probabilities, natural logarithms.
    """
    import torch

    device, start = model.device, start or SharedStart()
    own = [row[start.length :] for row in prompts]
    width, longest = max(map(len, own)), max(map(len, labels))
    ids = torch.tensor([[0] * (width - len(row)) + list(row) for row in own], device=device)  # (B, T)
    mask = torch.tensor([[1] * start.length + [0] * (width - len(row)) + [1] * len(row) for row in own], device=device)
    first = torch.tensor([row[0] for row in labels], device=device)  # (C,)
    # Labels of one token are known after the prompt alone.
    more = [place for place, row in enumerate(labels) if len(row) > 1]
    rest = torch.tensor([[*labels[place], *[-1] * (longest - len(labels[place]))] for place in more], device=device)
    with torch.inference_mode():
        cache = deepcopy(start.cache)
        if cache is not None:
            cache.batch_repeat_interleave(len(prompts))
        places = _places(model, (mask.cumsum(dim=1) - 1).clamp(min=0)[:, start.length :])
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
            ).logits.float()
            asked = rest[:, 1:].repeat(len(prompts), 1)
            log_p = logits.gather(-1, asked.clamp(min=0).unsqueeze(-1)).squeeze(-1) - logits.logsumexp(dim=-1)
            scores[:, more] += log_p.masked_fill(asked < 0, 0.0).sum(dim=1).view(len(prompts), n)
    return [[float(score) for score in row] for row in scores.cpu()]


def _places(model: Any, positions: Any) -> dict[str, Any]:
    """Name the positions where a model takes them: padding stands on the left."""
    return {"position_ids": positions} if "position_ids" in inspect.signature(model.forward).parameters else {}
