"""SWAD: the mean of all weights on the way through the valley of the validation loss (Cha et al. 2021)."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import TrainerCallback

from shiftbench.baselines.robust.averages import mean_state
from shiftbench.validation.output_files import replace_file

LOOKS = 20
"""How often in a training the validation loss is looked at."""
TO_START, TO_END, TOLERANCE = 3, 6, 1.3
"""Looks without a lower loss that start the valley, looks above the threshold that end it, and the threshold's factor:
those of the authors' code (``khanrc/swad``)."""


def find_valley(losses: Sequence[float]) -> tuple[int, int]:
    """Find where the validation loss has come down, and where it rises again.

    The valley starts at the first look whose loss is the lowest of itself and the next two, and ends before six looks
    in a row are above 1.3 times the mean of those three.

    Args:
        losses: one a look, at least one.
    Returns: places of the first and the last look of the valley; twice the last look where the loss falls throughout.
    Source: Cha et al. 2021, algorithm 1.
    """
    starts = range(len(losses) - TO_START + 1)
    start = next((place for place in starts if losses[place] == min(losses[place : place + TO_START])), None)
    if start is None:
        return len(losses) - 1, len(losses) - 1
    threshold = TOLERANCE * sum(losses[start : start + TO_START]) / TO_START
    for place in range(start + TO_START, len(losses)):
        window = losses[max(start + TO_START, place - TO_END + 1) : place + 1]
        if len(window) == TO_END and min(window) > threshold:
            return start, place - TO_END
    return start, len(losses) - 1


class StretchMean(nn.Module):
    """The mean of a model's weights over the steps since the last look, kept in checkpoints as part of the model."""

    n_steps: Tensor

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.names = [name for name, weight in model.named_parameters() if weight.requires_grad]
        for place, name in enumerate(self.names):
            self.register_buffer(f"mean_{place}", torch.zeros_like(model.get_parameter(name)))
        self.register_buffer("n_steps", torch.zeros((), dtype=torch.long))

    @torch.no_grad()
    def add(self, model: Any) -> None:
        """Add a step's weights to the mean."""
        self.n_steps += 1
        for place, name in enumerate(self.names):
            mean = self.get_buffer(f"mean_{place}")
            mean += (model.get_parameter(name) - mean) / self.n_steps

    def take_mean(self) -> dict[str, Tensor]:
        """Return the mean on the CPU, and start a new one."""
        state = {name: self.get_buffer(f"mean_{place}").cpu().clone() for place, name in enumerate(self.names)}
        for place in range(len(self.names)):
            self.get_buffer(f"mean_{place}").zero_()
        self.n_steps.zero_()
        return state


class Stretches(TrainerCallback):
    """Looks at the validation loss twenty times in a training, and writes the mean weights of each stretch between.

    A training that goes on after a kill writes the same files: the mean under way is in the checkpoint, and stretches
    that come again are written again.

    Args:
        model: the model, which gets the mean as ``stretch_mean``.
        folder: where the files lie, each as large as the weights that are trained.
        loss: of the model on validation rows.
    """

    def __init__(self, model: Any, folder: Path, loss: Callable[[Any], float]) -> None:
        self._model, self._folder, self._loss = model, folder, loss
        model.stretch_mean = StretchMean(model)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Add the step to the mean; at a look, write the stretch and begin the next."""
        means = self._model.stretch_mean
        means.add(self._model)
        every = max(1, state.max_steps // LOOKS)
        if state.global_step % every == 0 or state.global_step == state.max_steps:
            n_steps = int(means.n_steps)
            look = {"loss": self._loss(self._model), "n_steps": n_steps, "weights": means.take_mean()}
            with replace_file(self._folder / f"stretch-{state.global_step:09}.pt") as new:
                torch.save(look, new)

    def mean(self) -> tuple[dict[str, Tensor], int, int]:
        """Compute the mean of the weights in the valley; every step counts as much.

        Returns: the weights; the steps after which the valley's first stretch began and its last one ended.
        """
        files = sorted(self._folder.glob("stretch-*.pt"))
        looks = [torch.load(file, map_location="cpu", weights_only=True) for file in files]
        first, last = find_valley([look["loss"] for look in looks])
        chosen = looks[first : last + 1]
        n_steps = [look["n_steps"] for look in chosen]
        mean = mean_state([look["weights"] for look in chosen], [n / sum(n_steps) for n in n_steps])
        ends = [int(file.stem.rpartition("-")[2]) for file in files]
        return mean, ends[first] - looks[first]["n_steps"], ends[last]
