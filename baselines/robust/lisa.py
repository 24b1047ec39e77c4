"""LISA: mixup of rows with one label and different domains, or one domain and different labels (Yao et al. 2022)."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.distributions import Beta
from torch.nn import functional

from shiftbench.baselines.robust.last_layer import last_layer, logits_and_features
from shiftbench.baselines.robust.method import MethodTraining, TrainingMethod, strength
from shiftbench.baselines.training.trainer import Batch, Loss

ALPHA, SAME_LABEL = 2.0, 0.5


@dataclass(frozen=True)
class Lisa(TrainingMethod):
    """LISA: mixup of rows of one label across domains, or of one domain across labels."""

    of_domains = True
    models = "encoders"
    alpha: float = strength(ALPHA, "2 (Yao et al. 2022)", least=1e-3, draws=(0.2, 4))
    same_label: float = strength(SAME_LABEL, "tuned for each data set (Yao et al. 2022)", most=1)

    def loss(self, training: MethodTraining, model: Any) -> Loss:
        """Build the loss."""
        return partial(lisa_loss, alpha=self.alpha, same_label=self.same_label)


def lisa_loss(model: Any, batch: Batch, alpha: float = ALPHA, same_label: float = SAME_LABEL) -> Tensor:
    """Compute the loss of mixed rows; features are mixed at the input of the model's last layer.

    Random numbers are from torch's global generator, which dropout also uses and checkpoints save.

    Args:
        alpha: mixing shares are from Beta(alpha, alpha).
        same_label: probability of mixing rows of one label across domains, rather than rows of one domain across
            labels.
    Source: Yao et al. 2022, eq. 3 and 4, algorithm 1; one share per row, from Beta(2, 2), at the input of the last
        layer, as for texts in their code (``huaxiuyao/LISA``). There a row's partner is from the whole data set, here
        from its batch.
    """
    _, features = logits_and_features(model, batch)
    labels, domains = batch["labels"], batch["domain"]
    across_domains = bool(torch.rand(()) < same_label)
    partner = draw_partners(labels, domains, across_domains=across_domains)
    share = Beta(alpha, alpha).sample((len(labels),)).to(features)
    return mixed_loss(last_layer(model), features, labels, partner, share)


def mixed_loss(layer: Any, features: Tensor, labels: Tensor, partner: Tensor, share: Tensor) -> Tensor:
    """Compute the cross entropy of mixtures of each row and its partner, against both of their labels.

    Args:
        features: shape (B, d).
        partner: index of each row's partner, shape (B,).
        share: share of the row itself in the mixture, in [0, 1], shape (B,).
    """
    part = share.unsqueeze(1)
    logits = layer(part * features + (1 - part) * features[partner]).float()
    own = functional.cross_entropy(logits, labels, reduction="none")
    other = functional.cross_entropy(logits, labels[partner], reduction="none")
    return (share * own + (1 - share) * other).mean()


def draw_partners(labels: Tensor, domains: Tensor, *, across_domains: bool) -> Tensor:
    """Sample a partner for each row: same label and another domain, or same domain and another label.

    Returns: indices, shape (B,); a row's own index if there is no such row.
    """
    same_label = labels.unsqueeze(1) == labels
    same_domain = domains.unsqueeze(1) == domains
    fits = same_label & ~same_domain if across_domains else same_domain & ~same_label  # (B, B)
    drawn = torch.multinomial(fits.float() + 1e-12, 1).squeeze(1)  # fails on a row of zeros
    return torch.where(fits.any(dim=1), drawn, torch.arange(len(labels), device=labels.device))
