"""SWAD: averages the weights of all steps within the valley of the validation loss (Cha et al. 2021)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import TrainerCallback

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
    """SWAD: averages the weights of all steps while the validation loss is in its valley."""

    of_validation = True
    looks: int = strength(LOOKS, "every 50 to 300 steps (Cha et al. 2021)", least=1)
    to_start: int = strength(TO_START, "3 (Cha et al. 2021)", least=1)
    to_end: int = strength(TO_END, "6 (Cha et al. 2021)", least=1)
    tolerance: float = strength(TOLERANCE, "1.3 (Cha et al. 2021; 1.2 for VLCS)", least=1, draws=(1.05, 2))

    def callbacks(self, training: MethodTraining, model: Any, folder: Path | None) -> Sequence[TrainerCallback]:
        """Build the callback that collects the averages."""
        if hasattr(model, "peft_config") or folder is None:
            what = "checkpoints of an adapter hold nothing else, so a stopped training would lose SWAD's means"
            raise InvalidInput(Problem(what, "--method swad, --adapter", cure="leave one of them out"))
        folder.mkdir(parents=True, exist_ok=True)
        stretches = Stretches(model, folder, lambda each: _validation_loss(training, each), self)
        training.memory["stretches"] = stretches
        return [stretches]

    def finish(self, training: MethodTraining, trajectory: Trajectory) -> Mapping[str, Any]:
        """Load the average over the valley into the model."""
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
    """Find the valley of the validation loss: where it has reached its minimum, and where it rises again.

    The valley starts at the first evaluation whose loss is the lowest of ``to_start`` evaluations starting with it. It
    ends before ``to_end`` consecutive evaluations above ``tolerance`` times the mean of those.

    Returns: indices of the first and last evaluation of the valley; the last evaluation twice if no valley starts.
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
    """The mean of a model's weights since the last evaluation; a part of the model, so that checkpoints save it."""

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
        """Return the mean on the CPU, and reset it."""
        state = {name: self.get_buffer(f"mean_{place}").cpu().clone() for place, name in enumerate(self.names)}
        for place in range(len(self.names)):
            self.get_buffer(f"mean_{place}").zero_()
        self.n_steps.zero_()
        return state


class Stretches(TrainerCallback):
    """Evaluates the validation loss at regular steps, and writes the mean weights of each stretch between evaluations.

    A resumed training writes the same files: the current mean is in the checkpoint, and repeated stretches are
    overwritten.

    Args:
        model: the model, which gets the mean as ``stretch_mean``.
        folder: folder for the files, each as large as the trained weights.
    """

    def __init__(self, model: Any, folder: Path, loss: Callable[[Any], float], strengths: Swad | None = None) -> None:
        self._model, self._folder, self._loss, self._strengths = model, folder, loss, strengths or Swad()
        model.stretch_mean = StretchMean(model)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Add the step to the mean; at an evaluation, write the stretch and start the next."""
        means = self._model.stretch_mean
        means.add(self._model)
        every = max(1, state.max_steps // self._strengths.looks)
        if state.global_step % every == 0 or state.global_step == state.max_steps:
            n_steps = int(means.n_steps)
            look = {"loss": self._loss(self._model), "n_steps": n_steps, "weights": means.take_mean()}
            with replace_file(self._folder / f"stretch-{state.global_step:09}.pt") as new:
                torch.save(look, new)

    def mean(self) -> tuple[dict[str, Tensor], int, int]:
        """Average the weights over the valley, with equal weight per step.

        Returns: the weights; the steps at which the valley's first stretch starts and its last one ends.
        """
        files = sorted(self._folder.glob("stretch-*.pt"))
        own, looks = self._strengths, [torch.load(file, map_location="cpu", weights_only=True) for file in files]
        first, last = find_valley([look["loss"] for look in looks], own.to_start, own.to_end, own.tolerance)
        chosen = looks[first : last + 1]
        n_steps = [look["n_steps"] for look in chosen]
        shares = [n / sum(n_steps) for n in n_steps]
        names = chosen[0]["weights"].keys()
        weights = {
            name: [share * look["weights"][name] for share, look in zip(shares, chosen, strict=True)] for name in names
        }
        mean = {name: torch.stack(parts).sum(dim=0) for name, parts in weights.items()}
        ends = [int(file.stem.rpartition("-")[2]) for file in files]
        return mean, ends[first] - looks[first]["n_steps"], ends[last]
