"""IRM: features on which one classifier is optimal in all domains (Arjovsky et al. 2019)."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from shiftbench.baselines.robust.losses import ReadLogits, cross_entropy, inputs_of, logits_of
from shiftbench.baselines.robust.method import MethodTraining, TrainingMethod, strength
from shiftbench.baselines.training.trainer import Batch

WEIGHT, WARM_UP = 100.0, 500


@dataclass(frozen=True)
class InvariantRisk(TrainingMethod):
    """IRM: penalises features on which no single classifier is optimal in all domains."""

    of_domains = True
    weight: float = strength(WEIGHT, "100 (DomainBed; WILDS: 1 to 1,000)", least=1, draws=(1, 1e4))
    warm_up: int = strength(WARM_UP, "500 steps (DomainBed)", draws=(1, 1000))

    def loss(self, training: MethodTraining, model: Any) -> "Irm":
        """Build the loss, which counts its steps."""
        return Irm(training.read_logits, self.weight, self.warm_up)


class Irm(nn.Module):
    """Cross entropy plus the IRMv1 penalty, averaged over the domains of a batch.

    The penalty has weight 1 for the first ``warm_up`` steps, then ``weight``; from then on the whole loss is divided by
    ``weight``, to keep the scale of gradients. With fewer steps, training is fine-tuning with a small penalty. The step
    count is part of the model's state.

    Source: Arjovsky et al. 2019, eq. IRMv1; weight and warm-up are DomainBed's, the division is from the authors' code.
    """

    step: Tensor

    def __init__(self, read: ReadLogits = logits_of, weight: float = WEIGHT, warm_up: int = WARM_UP) -> None:
        super().__init__()
        self._read, self._weight, self._warm_up = read, weight, warm_up
        self.register_buffer("step", torch.zeros((), dtype=torch.long))

    def forward(self, model: Any, batch: Batch) -> Tensor:
        """Return the loss of a batch with ``domain``, shape (B,)."""
        logits, labels, domains = self._read(model(**inputs_of(batch))).float(), batch["labels"], batch["domain"]
        penalties = [irm_penalty(logits[domains == one], labels[domains == one]) for one in torch.unique(domains)]
        # Computed on the device: a Python number would force a synchronisation.
        weight = torch.where(self.step < self._warm_up, 1.0, self._weight)
        self.step += 1
        return (cross_entropy(logits, labels) + weight * torch.stack(penalties).mean()) / weight


def irm_penalty(logits: Tensor, labels: Tensor) -> Tensor:
    """Compute the IRMv1 penalty: the squared gradient of a domain's risk w.r.t. a scale of its logits, at scale 1.

    With p the softmax of the logits z, it is the square of the mean over rows of ``sum_c (p_c - y_c) z_c``.

    Args:
        logits: logits of one domain, shape (B, C).
    Returns: a scalar, at least 0.
    """
    wrong = torch.softmax(logits, dim=-1) - functional.one_hot(labels, logits.shape[-1])
    return (wrong * logits).sum(dim=-1).mean().square()
