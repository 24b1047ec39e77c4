"""MSCL: a classifier trained with a supervised contrastive loss and a memory of earlier representations."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from shiftbench.baselines.robust.losses import cross_entropy, inputs_of
from shiftbench.baselines.training.trainer import Batch

DIMENSIONS = 256
MEMORY = 128
TEMPERATURE = 0.2
BASE_TEMPERATURE = 1.0
DROPOUT = 0.1
EMPTY = -1
"""Label of unused slots of the memory."""


def supervised_contrastive(
    z: Tensor,
    labels: Tensor,
    memory: Tensor,
    memory_labels: Tensor,
    temperature: float = TEMPERATURE,
    base_temperature: float = BASE_TEMPERATURE,
) -> Tensor:
    """Compute the supervised contrastive loss of a batch against itself and a memory.

    For an anchor i with positives P (the contrasts with its label): ``-t / b mean_{p in P} log(exp(z_i . z_p / t) /
    sum_c exp(z_i . z_c / t))`` over all contrasts c except itself. Anchors without positives are skipped.

    Args:
        z: unit vectors of the anchors, shape (B, d). As contrasts they are detached: gradients flow only through
            anchors.
        labels: shape (B,).
        memory: earlier z, shape (M, d).
        memory_labels: shape (M,); ``EMPTY`` in unused slots of the memory.
        base_temperature: b, above 0; the factor ``t / b`` keeps the scale of gradients independent of the temperature.
    Returns: the mean over anchors with positives, at least 0; 0 if there are none.
    Source: Khosla et al. 2020, eq. 2 (positives averaged outside the logarithm); Tan et al. 2022, sec. 3; factor and
        base temperature are in the code of both (``memory_supcontrast.py`` of tonytan48/MSCL), not in the equations.
    """
    contrasts, contrast_labels = torch.cat([z.detach(), memory]), torch.cat([labels, memory_labels])
    counted = (contrast_labels != EMPTY).repeat(len(z), 1)  # (B, B + M)
    counted[:, : len(z)].fill_diagonal_(False)
    cosines = z @ contrasts.T / temperature
    log_p = cosines - cosines.masked_fill(~counted, torch.finfo(cosines.dtype).min).logsumexp(dim=1, keepdim=True)
    positive = counted & (labels.unsqueeze(1) == contrast_labels)
    n_positive = positive.sum(dim=1)
    losses = -log_p.masked_fill(~positive, 0.0).sum(dim=1) / n_positive.clamp(min=1)
    return temperature / base_temperature * losses.sum() / (n_positive > 0).sum().clamp(min=1)


@dataclass(frozen=True)
class Output:
    """Logits, shape (B, C), and the representation z for the contrastive loss, shape (B, d), unit vectors."""

    logits: Tensor
    z: Tensor


class MemoryClassifier(nn.Module):
    """An encoder that classifies its first token, projected to a unit vector z, shape (256,), with a memory of z.

    The memory is part of the model's state, so it is saved in checkpoints.

    Source: Tan et al. 2022, sec. 3.
    """

    memory: Tensor
    memory_labels: Tensor

    def __init__(self, encoder: Any, n_classes: int) -> None:
        super().__init__()
        self.config = encoder.config
        self.encoder = encoder
        self.dropout = nn.Dropout(DROPOUT)
        self.project = nn.Linear(self.config.hidden_size, DIMENSIONS)
        self.classify = nn.Linear(DIMENSIONS, n_classes)
        self.register_buffer("memory", torch.zeros(MEMORY, DIMENSIONS))
        self.register_buffer("memory_labels", torch.full((MEMORY,), EMPTY))

    def forward(self, **inputs: Tensor) -> Output:
        """Encode and classify a batch of texts."""
        first = self.encoder(**inputs).last_hidden_state[:, 0]
        z = functional.normalize(self.project(torch.tanh(self.dropout(first))).float(), dim=-1)
        return Output(self.classify(torch.tanh(z)), z)

    @torch.no_grad()
    def remember(self, z: Tensor, labels: Tensor) -> None:
        """Add a batch to the memory; the oldest rows are dropped."""
        self.memory = torch.cat([self.memory, z])[-MEMORY:]
        self.memory_labels = torch.cat([self.memory_labels, labels])[-MEMORY:]


def mscl_loss(model: Any, batch: Batch) -> Tensor:
    """Compute cross entropy plus the contrastive loss of a batch, and add the batch to the model's memory."""
    output, labels = model(**inputs_of(batch)), batch["labels"]
    contrastive = supervised_contrastive(output.z, labels, model.memory, model.memory_labels)
    model.remember(output.z, labels)
    return cross_entropy(output.logits, labels) + contrastive
