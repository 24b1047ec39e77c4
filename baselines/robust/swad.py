"""SWAD: the mean of all weights on the way through the valley of the validation loss (Cha et al. 2021)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import TrainerCallback

from shiftbench.baselines.robust.averages import mean_state
from shiftbench.baselines.robust.method import MethodTraining, TrainingMethod, strength
from shiftbench.baselines.training.trainer import Trajectory
from shiftbench.validation.output_files import replace_file
from shiftbench.validation.report import InvalidInput, Problem

LOOKS = 20
"""How often in a training the validation loss is looked at."""
TO_START, TO_END, TOLERANCE = 3, 6, 1.3
"""Looks without a lower loss that start the valley, looks above the threshold that end it, and the threshold's factor:
those of the authors' code (``khanrc/swad``)."""


@dataclass(frozen=True)
class Swad(TrainingMethod):
    """SWAD: the mean of all steps' weights while the validation loss lies in its valley."""

    of_validation = True
    apart = frozenset({"wise-ft"})
    looks: int = strength(LOOKS, "every 50 to 300 steps (Cha et al. 2021)", least=1)
    to_start: int = strength(TO_START, "3 (Cha et al. 2021)", least=1)
    to_end: int = strength(TO_END, "6 (Cha et al. 2021)", least=1)
    tolerance: float = strength(TOLERANCE, "1.3 (Cha et al. 2021; 1.2 for VLCS)", least=1, draws=(1.05, 2))

    def callbacks(self, training: MethodTraining, model: Any, folder: Path | None) -> Sequence[TrainerCallback]:
        """Build the callback that gathers mean weights."""
        if hasattr(model, "peft_config") or folder is None:
            what = "checkpoints of an adapter hold nothing else, so a stopped training would lose SWAD's means"
            raise InvalidInput(Problem(what, "--method swad, --adapter", cure="leave one of them out"))
        folder.mkdir(parents=True, exist_ok=True)
        stretches = Stretches(model, folder, lambda each: _validation_loss(training, each), self)
        training.memory["stretches"] = stretches
        return [stretches]

    def finish(self, training: MethodTraining, trajectory: Trajectory) -> Mapping[str, Any]:
        """Load the mean over the valley into the model."""
        mean, *steps = training.memory["stretches"].mean()
        del trajectory.model.stretch_mean
        trajectory.model.load_state_dict(mean, strict=False)
        return {"swad": steps}


def _validation_loss(training: MethodTraining, model: Any) -> float:
    """Compute the mean cross entropy of a model on the source's validation rows."""
    from scipy.special import log_softmax

    assert training.validation is not None
    assert training.logits is not None
    log_p = log_softmax(training.logits(model, training.validation), axis=1)
    return float(-log_p[np.arange(len(log_p)), training.validation["label"].to_numpy()].mean())


def find_valley(
    losses: Sequence[float], to_start: int = TO_START, to_end: int = TO_END, tolerance: float = TOLERANCE
) -> tuple[int, int]:
    """Find where the validation loss has come down, and where it rises again.

    The valley starts at the first look whose loss is the lowest of ``to_start`` looks from it on, and ends before
    ``to_end`` looks in a row are above ``tolerance`` times the mean of those.

    Args:
        losses: one a look, at least one.
        to_start: looks without a lower loss that start the valley.
        to_end: looks above the threshold that end it.
        tolerance: the threshold's factor.
    Returns: places of the first and the last look of the valley; twice the last look where the loss falls throughout.
    Source: Cha et al. 2021, algorithm 1.
    """
    starts = range(len(losses) - to_start + 1)
    start = next((place for place in starts if losses[place] == min(losses[place : place + to_start])), None)
    if start is None:
        return len(losses) - 1, len(losses) - 1
    threshold = tolerance * sum(losses[start : start + to_start]) / to_start
    for place in range(start + to_start, len(losses)):
        window = losses[max(start + to_start, place - to_end + 1) : place + 1]
        if len(window) == to_end and min(window) > threshold:
            return start, place - to_end
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
        strengths: how often is looked, and what a valley is.
    """

    def __init__(self, model: Any, folder: Path, loss: Callable[[Any], float], strengths: Swad | None = None) -> None:
        self._model, self._folder, self._loss, self._strengths = model, folder, loss, strengths or Swad()
        model.stretch_mean = StretchMean(model)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Add the step to the mean; at a look, write the stretch and begin the next."""
        means = self._model.stretch_mean
        means.add(self._model)
        every = max(1, state.max_steps // self._strengths.looks)
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
        own, looks = self._strengths, [torch.load(file, map_location="cpu", weights_only=True) for file in files]
        first, last = find_valley([look["loss"] for look in looks], own.to_start, own.to_end, own.tolerance)
        chosen = looks[first : last + 1]
        n_steps = [look["n_steps"] for look in chosen]
        mean = mean_state([look["weights"] for look in chosen], [n / sum(n_steps) for n in n_steps])
        ends = [int(file.stem.rpartition("-")[2]) for file in files]
        return mean, ends[first] - looks[first]["n_steps"], ends[last]
