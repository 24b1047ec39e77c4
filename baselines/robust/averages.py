"""Weights of several models averaged: WiSE-FT (Wortsman et al. 2022a) and greedy soups (Wortsman et al. 2022b)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

State = Mapping[str, Tensor]
"""A model's weights by name."""

WISE_SHARE = 0.5
"""Share of the fine-tuned model; the other half is the linear probe's."""


def copy_state(model: Any) -> dict[str, Tensor]:
    """Copy a model's weights to the CPU; integer values are left out."""
    state = model.state_dict()
    return {name: value.detach().cpu().clone() for name, value in state.items() if value.is_floating_point()}


def mean_state(states: Sequence[State], shares: Sequence[float]) -> dict[str, Tensor]:
    """Compute the weighted mean of states; shares add up to 1."""
    names = states[0].keys()
    pairs = list(zip(shares, states, strict=True))
    return {name: torch.stack([share * state[name] for share, state in pairs]).sum(dim=0) for name in names}


def wise_ft(probe: State, finetuned: State, share: float = WISE_SHARE) -> dict[str, Tensor]:
    """Compute the weights between a linear probe and the model that was fine-tuned from it.

    ``(1 - a) probe + a finetuned``. From a head of random weights, in place of the probe's, the mean would be between a
    model and none; so the last layer is fitted on the frozen features first (LP-FT, Kumar et al. 2022).

    Args:
        probe: weights with which fine-tuning began.
        finetuned: weights with which it ended.
        share: a, of the fine-tuned model.
    Source: Wortsman et al. 2022a, eq. 1.
    """
    return mean_state([probe, finetuned], [1 - share, share])


def greedy_soup(states: Sequence[State], score: Callable[[State], float]) -> tuple[dict[str, Tensor], list[int]]:
    """Average the states that help: from the best one on, each next one stays if the mean scores no less with it.

    Args:
        states: of one training, or of several from the same weights.
        score: of a state on validation rows of the source, higher is better.
    Returns: the mean of the states that stayed, and their places.
    Source: Wortsman et al. 2022b, recipe 1.
    """
    scores = [score(state) for state in states]
    order = sorted(range(len(states)), key=lambda place: -scores[place])
    kept, best = [order[0]], scores[order[0]]
    for place in order[1:]:
        tried = [*kept, place]
        mean_score = score(mean_state([states[each] for each in tried], [1 / len(tried)] * len(tried)))
        if mean_score >= best:
            kept, best = tried, mean_score
    return mean_state([states[each] for each in kept], [1 / len(kept)] * len(kept)), kept
