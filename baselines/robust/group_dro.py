"""GroupDRO: minimise the loss of the domain that is worst off (Sagawa et al. 2020)."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from shiftbench.baselines.robust.losses import ReadLogits, inputs_of, logits_of
from shiftbench.baselines.robust.method import MethodTraining, TrainingMethod, strength
from shiftbench.baselines.training.trainer import Batch


@dataclass(frozen=True)
class WorstDomain(TrainingMethod):
    """GroupDRO: domains weigh by their loss, the worst most."""

    of_domains = True
    step_size: float = strength(0.01, "0.01 (Sagawa et al. 2020; WILDS)", draws=(1e-3, 1e-1))

    def loss(self, training: MethodTraining, model: Any) -> "GroupDro":
        """Build the loss, which keeps the domains' weights."""
        return GroupDro(training.n_domains, training.read_logits, self.step_size)


class GroupDro(nn.Module):
    """The loss ``sum_g q_g l_g`` over domains, whose weights q grow where the loss is high.

    Before each step ``q_g <- q_g exp(step_size l_g)``, made to add up to 1; ``l_g`` is the mean cross entropy of the
    domain's rows in the batch. Batches draw domains evenly (``training.batches``). A domain that is absent all the
    same, in a batch of fewer rows than domains or a part of one, keeps its weight, and the others share theirs: counted
    as a loss of 0, as in the authors' code, a rare domain would lose its weight because it is rare. The weights are
    part of the model's state, so that a checkpoint holds them.

    Args:
        n_domains: number of domains.
        read: gives the labels' logits of a model's output.
        step_size: how fast weights follow losses.
    Source: Sagawa et al. 2020, algorithm 1; step size and even draws as in their code (``kohpangwei/group_DRO``, which
        they run with ``--reweight_groups``), without its adjustments by group size.
    """

    q: Tensor

    def __init__(self, n_domains: int, read: ReadLogits = logits_of, step_size: float = 0.01) -> None:
        super().__init__()
        self._read, self._step_size = read, step_size
        self.register_buffer("q", torch.full((n_domains,), 1 / n_domains))

    def forward(self, model: Any, batch: Batch) -> Tensor:
        """Return the loss of a batch with ``domain``, shape (B,)."""
        logits = self._read(model(**inputs_of(batch)))
        losses, is_present = domain_losses(logits, batch["labels"], batch["domain"], len(self.q))
        with torch.no_grad():
            held = self.q * is_present
            grown = held * torch.exp(self._step_size * losses.detach())
            self.q.copy_(torch.where(is_present, grown * held.sum() / grown.sum(), self.q))
        return losses @ self.q / (self.q * is_present).sum()


def domain_losses(logits: Tensor, labels: Tensor, domains: Tensor, n_domains: int) -> tuple[Tensor, Tensor]:
    """Compute the mean cross entropy of each domain's rows.

    Returns: the losses, 0 where a domain has no rows, and which domains have any, shape (n_domains,) each.
    """
    losses = functional.cross_entropy(logits.float(), labels, reduction="none")  # (B,)
    member = functional.one_hot(domains, n_domains).to(losses)  # (B, G)
    n_rows = member.sum(dim=0)
    return losses @ member / n_rows.clamp(min=1), n_rows > 0
