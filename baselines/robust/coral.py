"""CORAL: features whose means and covariances agree between domains (Sun and Saenko 2016)."""

from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import torch
from torch import Tensor

from shiftbench.baselines.robust.last_layer import logits_and_features
from shiftbench.baselines.robust.losses import cross_entropy
from shiftbench.baselines.robust.method import MethodTraining, TrainingMethod, strength
from shiftbench.baselines.training.trainer import Batch, Loss


@dataclass(frozen=True)
class Coral(TrainingMethod):
    """CORAL: the domains' features have like means and covariances."""

    of_domains = True
    models = "encoders"
    weight: float = strength(1.0, "1 (DomainBed; WILDS: 0.1, 1 or 10)", draws=(0.1, 10))

    def loss(self, training: MethodTraining, model: Any) -> Loss:
        """Build the loss."""
        return partial(coral_loss, weight=self.weight)


def coral_loss(model: Any, batch: Batch, weight: float = 1.0) -> Tensor:
    """Compute cross entropy plus ``coral_penalty`` of what the model's last layer reads.

    Args:
        model: a classifier.
        batch: tensors of B rows, ``labels`` and ``domain`` among them.
        weight: of the penalty.
    Returns: the loss, a scalar.
    """
    logits, features = logits_and_features(model, batch)
    return cross_entropy(logits, batch["labels"]) + weight * coral_penalty(features.float(), batch["domain"])


def coral_penalty(features: Tensor, domains: Tensor) -> Tensor:
    """Compute how far the domains' means and covariances are apart, on average over pairs of domains.

    Of a pair: the mean of the squared differences of the means, plus that of the covariances (n - 1).

    Args:
        features: shape (B, d).
        domains: shape (B,); domains of one row in the batch are left out.
    Returns: a scalar, at least 0; 0 where fewer than two domains have two rows.
    Source: Sun and Saenko 2016, eq. 1, for several domains and with the means, as DomainBed has it (Gulrajani and
        Lopez-Paz 2021), with its default weight of 1.
    """
    groups = [features[domains == domain] for domain in torch.unique(domains)]
    moments = [(rows.mean(dim=0), torch.cov(rows.T)) for rows in groups if len(rows) > 1]
    terms = [
        (one[0] - other[0]).square().mean() + (one[1] - other[1]).square().mean()
        for one, other in combinations(moments, 2)
    ]
    return torch.stack(terms).mean() if terms else features.new_zeros(())
