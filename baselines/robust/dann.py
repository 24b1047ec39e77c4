"""DANN: features that do not tell the domain (Ganin et al. 2016)."""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import skip_init
from transformers import TrainerCallback

from shiftbench.baselines.robust.last_layer import logits_and_features
from shiftbench.baselines.robust.losses import cross_entropy
from shiftbench.baselines.training.trainer import Batch

HIDDEN = 256
STEEPNESS = 10.0
"""How fast the weight of the reversed gradient rises from 0 to 1."""


class Dann(nn.Module):
    """Cross entropy plus that of a classifier of domains, whose gradient is reversed where it enters the features.

    The classifier learns to tell domains apart, at full weight throughout; the model learns features by which it
    cannot, with a weight that rises from 0 to 1 over the training. The classifier's layers are for training only; their
    weights must be trained beside the model's.

    Attributes:
        progress: share of the training that is done, in [0, 1]; ``Progress`` sets it.

    Args:
        width: size of the features.
        n_domains: number of domains.
        seed: decides the first weights.
    Source: Ganin et al. 2016, eq. 10 and sec. 5.2.2.
    """

    def __init__(self, width: int, n_domains: int, seed: int) -> None:
        super().__init__()
        self.progress = 0.0
        generator = torch.Generator().manual_seed(seed)
        layers = [(width, HIDDEN), (HIDDEN, n_domains)]
        # A linear layer's own first weights would be drawn from global random state.
        made = [skip_init(nn.Linear, *sizes) for sizes in layers]  # type: ignore[no-untyped-call]
        for layer in made:
            nn.init.kaiming_uniform_(layer.weight, generator=generator)
            nn.init.zeros_(layer.bias)
        self.tell_domain = nn.Sequential(made[0], nn.ReLU(), made[1])

    def forward(self, model: Any, batch: Batch) -> Tensor:
        """Return the loss of a batch with ``domain``, shape (B,)."""
        logits, features = logits_and_features(model, batch)
        domain_logits = self.tell_domain(reversed_gradient(features.float(), reversal_weight(self.progress)))
        return cross_entropy(logits, batch["labels"]) + functional.cross_entropy(domain_logits, batch["domain"])


class Progress(TrainerCallback):
    """Writes into a loss, before each step, which share of the training is done."""

    def __init__(self, loss: Dann) -> None:
        self._loss = loss

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Write the share of the training that is done."""
        self._loss.progress = state.global_step / state.max_steps


def reversal_weight(progress: float) -> float:
    """Return the weight of the reversed gradient, ``2 / (1 + exp(-10 p)) - 1``, at a share p of the training.

    >>> reversal_weight(0), round(reversal_weight(0.25), 4)
    (0.0, 0.8483)
    """
    return 2 / (1 + math.exp(-STEEPNESS * progress)) - 1


def reversed_gradient(values: Tensor, weight: float) -> Tensor:
    """Return values as they are; gradients come back times ``-weight``."""
    return values.detach() * (1 + weight) - weight * values
