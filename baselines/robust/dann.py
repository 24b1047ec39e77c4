"""DANN: features that do not tell the domain (Ganin et al. 2016)."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import skip_init

from baselines.robust.last_layer import logits_and_features
from baselines.robust.losses import cross_entropy
from baselines.training.trainer import Batch

WEIGHT = 1.0
HIDDEN = 256


class Dann(nn.Module):
    """Cross entropy plus that of a classifier of domains, whose gradient is reversed where it enters the features.

    The classifier learns to tell domains, the model learns features that it cannot tell them by. Its layers are for
    training only; their weights must be trained beside the model's.

    Args:
        width: size of the features.
        n_domains: number of domains.
        seed: decides the first weights.
    Source: Ganin et al. 2016, eq. 10 and sec. 4.2; the weight is 1 throughout, without the paper's schedule.
    """

    def __init__(self, width: int, n_domains: int, seed: int) -> None:
        super().__init__()
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
        told = self.tell_domain(reversed_gradient(features.float(), WEIGHT))
        return cross_entropy(logits, batch["labels"]) + functional.cross_entropy(told, batch["domain"])


def reversed_gradient(values: Tensor, weight: float) -> Tensor:
    """Return values as they are; gradients come back times ``-weight``."""
    return values.detach() * (1 + weight) - weight * values
