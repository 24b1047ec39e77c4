"""Losses of a batch: plain cross entropy, focal loss and label smoothing, for labels of texts and of tokens."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from shiftbench.baselines.training.batches import IGNORED
from shiftbench.baselines.training.trainer import Batch, Loss

LogitsLoss = Callable[[Tensor, Tensor], Tensor]
"""Maps logits, shape (..., C), and labels, shape (...), to the mean loss over labels other than ``IGNORED``."""

ReadLogits = Callable[[Any], Tensor]
"""Maps a model's output to logits, shape (..., C)."""

NO_INPUTS = frozenset({"labels", "row", "domain"})
"""Keys of a batch that are not model inputs: labels, training row indices and domains."""


def cross_entropy(logits: Tensor, labels: Tensor, *, gamma: float = 0.0, epsilon: float = 0.0) -> Tensor:
    """Compute the mean cross entropy, optionally with focal weights and label smoothing.

    For an example, ``-sum_c q_c (1 - p_c)^gamma log p_c``, where p is the softmax of the logits, and q is ``1 - epsilon
    + epsilon / C`` for the label and ``epsilon / C`` for each other class. With both, each class's share of the
    smoothed label has its own focal weight; with gamma 0 it is label smoothing, with epsilon 0 focal loss.

    Args:
        logits: shape (..., C).
        labels: shape (...), each in [0, C) or ``IGNORED``.
        gamma: focusing parameter, which down-weights well-predicted examples, at least 0; BOSS's focal loss has 2.
        epsilon: share of the label that is spread over all classes, in [0, 1); BOSS's label smoothing has 0.1.
    Returns: a scalar, at least 0; 0 if every label is ignored.
    Source: Lin et al. 2017, eq. 4, without alpha; Szegedy et al. 2016, sec. 7.
    """

    def weighed(log_p: Tensor) -> Tensor:
        return (1 - log_p.exp()) ** gamma * log_p if gamma else log_p

    counted = labels != IGNORED
    log_p = torch.log_softmax(logits.float(), dim=-1)
    of_label = weighed(log_p.gather(-1, labels.clamp(min=0).unsqueeze(-1)).squeeze(-1))  # (...)
    # Without smoothing the sum over all classes is skipped: a vocabulary has tens of thousands.
    losses = -((1 - epsilon) * of_label + epsilon * weighed(log_p).mean(dim=-1)) if epsilon else -of_label
    return torch.where(counted, losses, 0.0).sum() / counted.sum().clamp(min=1)


def logits_of(output: Any) -> Tensor:
    """Return the logits of a model's output."""
    logits: Tensor = output.logits
    return logits


def loss_of(
    logits_loss: LogitsLoss = cross_entropy, read: ReadLogits = logits_of, *, reads_labels: bool = False
) -> Loss:
    """Build a loss of a model's output and the batch's ``labels``, which a decoder may also read (teacher forcing)."""

    def loss(model: Any, batch: Batch) -> Tensor:
        labels = {"labels": batch["labels"]} if reads_labels else {}
        return logits_loss(read(model(**inputs_of(batch), **labels)), batch["labels"])

    return loss


def inputs_of(batch: Mapping[str, Any]) -> dict[str, Any]:
    """Return the model inputs of a batch."""
    return {name: value for name, value in batch.items() if name not in NO_INPUTS}
