"""GroupDRO: minimise the loss of the domain that is worst off (Sagawa et al. 2020)."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from shiftbench.baselines.robust.losses import ReadLogits, inputs_of, logits_of
from shiftbench.baselines.training.trainer import Batch

STEP_SIZE = 0.01


class GroupDro(nn.Module):
    """The loss ``sum_g q_g l_g`` over domains, whose weights q grow where the loss is high.

    Before each step ``q_g <- q_g exp(0.01 l_g)``, made to add up to 1; ``l_g`` is the mean cross entropy of the
    domain's rows in the batch, 0 where it has none. The weights are part of the model's state, so that a checkpoint
    holds them.

    Args:
        n_domains: number of domains.
        read: gives the labels' logits of a model's output.
    Source: Sagawa et al. 2020, algorithm 1; step size as in their code (``kohpangwei/group_DRO``), without its
        adjustments by group size.
    """

    q: Tensor

    def __init__(self, n_domains: int, read: ReadLogits = logits_of) -> None:
        super().__init__()
        self._read = read
        self.register_buffer("q", torch.full((n_domains,), 1 / n_domains))

    def forward(self, model: Any, batch: Batch) -> Tensor:
        """Return the loss of a batch with ``domain``, shape (B,)."""
        logits = self._read(model(**inputs_of(batch)))
        losses = domain_losses(logits, batch["labels"], batch["domain"], len(self.q))
        with torch.no_grad():
            grown = self.q * torch.exp(STEP_SIZE * losses.detach())
            self.q.copy_(grown / grown.sum())
        return losses @ self.q


def domain_losses(logits: Tensor, labels: Tensor, domains: Tensor, n_domains: int) -> Tensor:
    """Compute the mean cross entropy of each domain's rows; 0 where there are none, shape (n_domains,)."""
    losses = functional.cross_entropy(logits.float(), labels, reduction="none")  # (B,)
    member = functional.one_hot(domains, n_domains).to(losses)  # (B, G)
    return losses @ member / member.sum(dim=0).clamp(min=1)
