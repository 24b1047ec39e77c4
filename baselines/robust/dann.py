"""DANN: domain-adversarial features (Ganin et al. 2016)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import skip_init
from transformers import TrainerCallback

from shiftbench.baselines.robust.last_layer import last_layer, logits_and_features
from shiftbench.baselines.robust.losses import cross_entropy
from shiftbench.baselines.robust.method import MethodTraining, TrainingMethod, strength
from shiftbench.baselines.training.trainer import Batch

HIDDEN = 256
STEEPNESS = 10.0


@dataclass(frozen=True)
class DomainAdversarial(TrainingMethod):
    """DANN: domain-adversarial training with gradient reversal."""

    of_domains = True
    models = "encoders"
    weight: float = strength(1.0, "1 (Ganin et al. 2016; DomainBed)", draws=(1e-2, 1e2))
    steepness: float = strength(STEEPNESS, "10 (Ganin et al. 2016)")

    def loss(self, training: MethodTraining, model: Any) -> "Dann":
        """Build the loss, with the domain classifier."""
        width = last_layer(model).in_features
        return Dann(width, training.n_domains, training.seed, self.weight, self.steepness)

    def callbacks(self, training: MethodTraining, model: Any, folder: Path | None) -> Sequence[TrainerCallback]:
        """Build the callback that passes the training progress to the loss."""
        return [Progress(model.own_loss)]


class Dann(nn.Module):
    """Cross entropy plus the loss of a domain classifier whose gradient is reversed at the features.

    The domain classifier is trained at full weight throughout; the weight of the reversed gradient rises from 0 to
    ``weight`` over the training. The classifier's layers are used only in training; their weights must be trained with
    the model's.

    Attributes:
        progress: completed share of the training, in [0, 1]; set by ``Progress``.

    Source: Ganin et al. 2016, eq. 10 and sec. 5.2.2.
    """

    def __init__(
        self, width: int, n_domains: int, seed: int, weight: float = 1.0, steepness: float = STEEPNESS
    ) -> None:
        super().__init__()
        self.progress, self._weight, self._steepness = 0.0, weight, steepness
        generator = torch.Generator().manual_seed(seed)
        layers = [(width, HIDDEN), (HIDDEN, n_domains)]
        # A linear layer's own initialisation would use the global random state.
        made = [skip_init(nn.Linear, *sizes) for sizes in layers]  # type: ignore[no-untyped-call]
        for layer in made:
            nn.init.kaiming_uniform_(layer.weight, generator=generator)
            nn.init.zeros_(layer.bias)
        self.domain_classifier = nn.Sequential(made[0], nn.ReLU(), made[1])

    def forward(self, model: Any, batch: Batch) -> Tensor:
        """Return the loss of a batch with ``domain``, shape (B,)."""
        logits, features = logits_and_features(model, batch)
        weight = self._weight * reversal_weight(self.progress, self._steepness)
        domain_logits = self.domain_classifier(reversed_gradient(features.float(), weight))
        return cross_entropy(logits, batch["labels"]) + functional.cross_entropy(domain_logits, batch["domain"])


class Progress(TrainerCallback):
    """Sets the completed share of the training in a loss before each step."""

    def __init__(self, loss: Dann) -> None:
        self._loss = loss

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Set the completed share of the training."""
        self._loss.progress = state.global_step / state.max_steps


def reversal_weight(progress: float, steepness: float = STEEPNESS) -> float:
    """Return the schedule of the gradient's weight, ``2 / (1 + exp(-steepness p)) - 1``, at progress p.

    >>> reversal_weight(0), round(reversal_weight(0.25), 4)
    (0.0, 0.8483)
    """
    return 2 / (1 + math.exp(-steepness * progress)) - 1


def reversed_gradient(values: Tensor, weight: float) -> Tensor:
    """Reverse gradients: identity in the forward pass; gradients are multiplied by ``-weight`` in the backward pass."""
    return values.detach() * (1 + weight) - weight * values  # equals values; only the second term has a gradient
