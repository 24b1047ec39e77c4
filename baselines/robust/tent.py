"""Tent: at test time the layer norms are trained on the target to make predictions certain (Wang et al. 2021)."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from shiftbench.baselines.training.trainer import Batch
from shiftbench.validation.report import InvalidInput, Problem

BATCH = 64
LEARNING_RATE = 1e-3


def norm_weights(model: Any) -> list[nn.Parameter]:
    """List the weights of a model's LayerNorms, which are all that changes.

    Raises: InvalidInput when the model has none.
    """
    norms = [module for module in model.modules() if isinstance(module, nn.LayerNorm)]
    weights = [weight for norm in norms for weight in norm.parameters()]
    if not weights:
        what, cure = "the model has no LayerNorm, whose weights Tent trains", "leave out --method tent"
        raise InvalidInput(Problem(what, "--method tent", type(model).__name__, cure))
    return weights


def mean_entropy(logits: Tensor) -> Tensor:
    """Compute the mean entropy of the predictions of logits, shape (B, C)."""
    log_p = torch.log_softmax(logits.float(), dim=-1)
    return -(log_p.exp() * log_p).sum(dim=-1).mean()


def adapt_and_predict(model: Any, batches: Sequence[Batch], read: Callable[[Any], Tensor]) -> list[Tensor]:
    """Predict a target's batches in their order; after each one the norms take a step towards lower entropy.

    The model is afterwards as it was: each target begins anew, so that no target depends on another. Dropout is off.

    Args:
        model: a trained classifier.
        batches: of one target, without labels, always in the same order.
        read: gives the labels' logits of a model's output.
    Returns: logits of each batch, of the model that it met, shape (B, C).
    Source: Wang et al. 2021, eq. 1 and sec. 3.2 to 3.3, with LayerNorm, which has no statistics to estimate, in place
        of batch norm; Adam with the learning rate 1e-3 and one step a batch as in their code (``DequanWang/tent``).
    """
    weights = norm_weights(model)
    before = [weight.detach().clone() for weight in weights]
    needed = [(parameter, parameter.requires_grad) for parameter in model.parameters()]
    predicted: list[Tensor] = []
    try:
        model.eval().requires_grad_(requires_grad=False)
        for weight in weights:
            weight.requires_grad = True
        optimizer = torch.optim.Adam(weights, lr=LEARNING_RATE)
        for batch in batches:
            logits = read(model(**batch))
            predicted.append(logits.detach().float())
            optimizer.zero_grad()
            mean_entropy(logits).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    finally:
        with torch.no_grad():
            for weight, start in zip(weights, before, strict=True):
                weight.copy_(start)
        for parameter, was_needed in needed:
            parameter.grad = None
            parameter.requires_grad = was_needed
    return predicted
