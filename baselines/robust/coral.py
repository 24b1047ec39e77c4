"""CORAL: aligns feature means and covariances across domains (Sun and Saenko 2016)."""

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
    """CORAL: penalises differences between the domains' feature means and covariances."""

    of_domains = True
    models = "encoders"
    weight: float = strength(1.0, "1 (DomainBed; WILDS: 0.1, 1 or 10)", draws=(0.1, 10))

    def loss(self, training: MethodTraining, model: Any) -> Loss:
        """Build the loss."""
        return partial(coral_loss, weight=self.weight)


def coral_loss(model: Any, batch: Batch, weight: float = 1.0) -> Tensor:
    """Compute cross entropy plus ``coral_penalty`` of the last layer's input."""
    logits, features = logits_and_features(model, batch)
    return cross_entropy(logits, batch["labels"]) + weight * coral_penalty(features.float(), batch["domain"])


def coral_penalty(features: Tensor, domains: Tensor) -> Tensor:
    """Compute the distance between the domains' means and covariances, averaged over pairs of domains.

    For a pair: the mean squared difference of the means, plus that of the covariances (n - 1).

    Args:
        features: shape (B, d).
        domains: shape (B,); domains with a single row in the batch are skipped.
    Returns: a scalar, at least 0; 0 if fewer than two domains have two rows.
    Source: Sun and Saenko 2016, eq. 1, for several domains and including the means, as in DomainBed (Gulrajani and
        Lopez-Paz 2021), with its default weight of 1.
    """
    groups = [features[domains == domain] for domain in torch.unique(domains)]
    moments = [(rows.mean(dim=0), torch.cov(rows.T)) for rows in groups if len(rows) > 1]
    terms = [
        (one[0] - other[0]).square().mean() + (one[1] - other[1]).square().mean()
        for one, other in combinations(moments, 2)
    ]
    return torch.stack(terms).mean() if terms else features.new_zeros(())
