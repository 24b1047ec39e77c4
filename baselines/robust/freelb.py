"""FreeLB: training on adversarial perturbations of the input embeddings (Zhu et al. 2020, algorithm 1)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from shiftbench.baselines.robust.method import TrainingMethod, strength
from shiftbench.baselines.training.trainer import Batch, Loss, Step
from shiftbench.validation.report import InvalidInput, Problem


@dataclass(frozen=True)
class FreeLb(TrainingMethod):
    """FreeLB: several passes per batch, each with the input embeddings perturbed to increase the loss."""

    of_words = True
    models = "encoders and encoder-decoders"
    steps: int = strength(3, "3 (BOSS; Zhu et al. 2020: 2 to 3)", least=1)
    step_size: float = strength(1e-2, "0.01 (BOSS)", draws=(1e-3, 1e-1))
    start: float = strength(2e-2, "0.02 (BOSS)", draws=(2e-3, 2e-1))

    def step(self) -> Step:
        """Build the training step of a batch."""
        return partial(freelb_step, steps=self.steps, step_size=self.step_size, start=self.start)


def freelb_step(
    model: Any,
    batch: Batch,
    loss: Loss,
    backward: Callable[[Tensor], None],
    *,
    steps: int = 3,
    step_size: float = 1e-2,
    start: float = 2e-2,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Add a batch's FreeLB gradients to the parameters: the mean over the ascent steps.

    Each step's loss is computed on embeddings plus a perturbation. The first perturbation is random; each further one
    moves by ``step_size`` along its gradient, normalised to L2 norm 1 per example. Padding is never perturbed. The
    perturbation is unbounded (BOSS sets no bound), and dropout is resampled in each step, as in plain training.

    Args:
        model: accepts ``inputs_embeds`` in place of ``input_ids``; its embeddings may be frozen.
        batch: ``input_ids`` and ``attention_mask``, shape (B, T), and whatever else ``loss`` needs.
        start: the initial perturbation is uniform, at most ``start / sqrt(n_tokens * d)`` per dimension, so that its
            norm over an example is below ``start`` whatever the length.
        generator: samples the initial perturbations, on its own device; None: torch's default generator, which dropout
            also uses and checkpoints save, so that a resumed training equals an uninterrupted one.
    Returns: the mean loss over the steps, detached.
    Raises: InvalidInput if the model does not accept ``inputs_embeds``.
    Source: BOSS paper, sec. 4.1 (3 steps); step and start are those of its code.
    """
    ids, mask = batch["input_ids"], batch["attention_mask"]
    embed: nn.Embedding = model.get_input_embeddings()
    inputs = {name: value for name, value in batch.items() if name != "input_ids"}
    change = _start(mask, embed.embedding_dim, start, generator)  # (B, T, d)
    total = torch.zeros((), device=mask.device)
    for step in range(steps):
        change.requires_grad_(step < steps - 1)  # the last one is not updated
        try:
            of_step = loss(model, inputs | {"inputs_embeds": embed(ids) + change}) / steps
        except NotImplementedError as error:  # T5ForSequenceClassification finds the end of a text by its id
            what, cure = "FreeLB requires a model that accepts input embeddings", "omit --method freelb"
            raise InvalidInput(
                Problem(what, "--method freelb", f"{type(model).__name__}: {error}"[:200], cure)
            ) from error
        backward(of_step)
        total += of_step.detach()
        if change.grad is not None:
            norm = change.grad.flatten(1).norm(dim=1).clamp(min=1e-12).view(-1, 1, 1)
            change = (change.detach() + step_size * change.grad / norm) * mask.unsqueeze(-1)
    return total


def _start(mask: Tensor, width: int, start: float, generator: torch.Generator | None) -> Tensor:
    device = mask.device if generator is None else generator.device
    uniform = torch.rand((*mask.shape, width), generator=generator, device=device).to(mask.device) * 2 - 1
    longest = start / (mask.sum(dim=1) * width).clamp(min=1).sqrt()  # (B,)
    return uniform * mask.unsqueeze(-1) * longest.view(-1, 1, 1)
