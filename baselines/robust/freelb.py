"""FreeLB: train on what small changes of the input embeddings make hardest (Zhu et al. 2020, algorithm 1)."""

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
    """FreeLB: several passes a batch, each with the input embeddings moved to where the loss is higher."""

    of_words = True
    models = "encoders and encoder-decoders"
    steps: int = strength(3, "3 (BOSS; Zhu et al. 2020: 2 to 3)", least=1)
    step_size: float = strength(1e-2, "0.01 (BOSS)", draws=(1e-3, 1e-1))
    start: float = strength(2e-2, "0.02 (BOSS)", draws=(2e-3, 2e-1))

    def step(self) -> Step:
        """Build the steps of a batch."""
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

    Each step's loss is of the embeddings plus a change. The first change is random; each next one moves by
    ``step_size`` along its gradient, whose L2 norm over an example is made 1. Padding never changes. There is no
    bound on the change (BOSS sets none), and dropout is drawn anew in each step, as in plain training.

    Args:
        model: takes ``inputs_embeds`` in place of ``input_ids``; its embeddings may be frozen.
        batch: ``input_ids`` and ``attention_mask``, shape (B, T), and what else ``loss`` needs.
        loss: gives the mean loss of a batch by one forward pass.
        backward: runs the backward pass of one step's loss.
        steps: forward and backward passes, at least 1.
        step_size: length of a move.
        start: a random change is uniform, at most ``start / sqrt(n_tokens * d)`` in each direction, so that an
            example's whole change is shorter than ``start`` whatever its length.
        generator: draws the random changes, on its own device; None is torch's default one, which dropout draws from
            and checkpoints keep, so that a training goes on as if it had not been stopped.
    Returns: the mean loss over the steps, detached.
    Raises: InvalidInput when the model takes no ``inputs_embeds``.
    Source: BOSS paper, sec. 4.1 (3 steps); step and start are those of its code.
    """
    ids, mask = batch["input_ids"], batch["attention_mask"]
    embed: nn.Embedding = model.get_input_embeddings()
    inputs = {name: value for name, value in batch.items() if name != "input_ids"}
    change = _start(mask, embed.embedding_dim, start, generator)  # (B, T, d)
    total = torch.zeros((), device=mask.device)
    for step in range(steps):
        change.requires_grad_(step < steps - 1)  # the last one moves no more
        try:
            of_step = loss(model, inputs | {"inputs_embeds": embed(ids) + change}) / steps
        except NotImplementedError as error:  # T5ForSequenceClassification finds the end of a text by its id
            what, cure = "FreeLB changes input embeddings, which this model does not take", "leave out --method freelb"
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
