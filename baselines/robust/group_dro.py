"""GroupDRO: minimises the worst domain's loss (Sagawa et al. 2020)."""

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
    """GroupDRO: weights domains by their loss, the worst most."""

    of_domains = True
    step_size: float = strength(0.01, "0.01 (Sagawa et al. 2020; WILDS)", draws=(1e-3, 1e-1))

    def loss(self, training: MethodTraining, model: Any) -> "GroupDro":
        """Build the loss, which stores the domains' weights."""
        return GroupDro(training.n_domains, training.read_logits, self.step_size)


class GroupDro(nn.Module):
    """The loss ``sum_g q_g l_g`` over domains, whose weights q grow with the domain's loss.

    Before each step ``q_g <- q_g exp(step_size l_g)``, normalised to sum to 1; ``l_g`` is the mean cross entropy of the
    domain's rows in the batch. Batches sample domains evenly (``training.batches``). A domain may still be absent, if a
    batch or its part has fewer rows than domains: the absent domain keeps its weight, and only other weights are
    renormalised. With a loss of 0 for absent domains, as in the authors' code, a domain would lose weight because it is
    rare. The weights are part of the model's state, so they are saved in checkpoints.

    Source: Sagawa et al. 2020, algorithm 1; step size and even sampling as in their code (``kohpangwei/group_DRO``,
        which they run with ``--reweight_groups``), without its adjustments by group size.
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

    Returns: the losses (0 for a domain without rows), and whether each domain has rows, shape (n_domains,) each.
    """
    losses = functional.cross_entropy(logits.float(), labels, reduction="none")  # (B,)
    member = functional.one_hot(domains, n_domains).to(losses)  # (B, G)
    n_rows = member.sum(dim=0)
    return losses @ member / n_rows.clamp(min=1), n_rows > 0
