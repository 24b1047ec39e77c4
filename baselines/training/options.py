"""The options shared by all fine-tuning programs, and the settings derived from them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from shiftbench.builders.encoder import DEFAULT_ENCODER
from shiftbench.validation.command_line import option
from shiftbench.validation.report import InvalidInput, Problem, UnknownChoice, did_you_mean


class Adapter(StrEnum):
    """The weights that are trained instead of all weights."""

    NONE = "none"
    LORA = "lora"
    PROMPT = "prompt"


class Precision(StrEnum):
    """Number format of computations on a GPU; weights are always in single precision."""

    AUTO = "auto"
    BF16 = "bf16"
    FP32 = "fp32"


class BaseDtype(StrEnum):
    """Number format of the weights that stay frozen under an adapter."""

    FP32 = "fp32"
    BF16 = "bf16"


class Schedule(StrEnum):
    """The learning rate schedule after warm-up."""

    LINEAR = "linear"
    CONSTANT = "constant"


@dataclass(frozen=True)
class Hyperparameters:
    """Hyperparameters of one training run.

    Attributes:
        epochs: passes over the training rows.
        batch_size: rows per optimizer step.
        learning_rate: AdamW's peak learning rate.
        weight_decay: AdamW's weight decay, not applied to biases and norms.
        warmup: share of the steps in which the learning rate rises, in [0, 1].
        schedule: learning rate schedule after the warm-up.
        clip: maximum gradient norm; 0: no clipping.
        max_length: maximum word pieces per text in training.
        eval_max_length: maximum word pieces per text in prediction.
        accumulate: number of parts in which each batch is computed, to save GPU memory; the batches stay the same.
    """

    epochs: float = 3.0
    batch_size: int = 16
    learning_rate: float = 5e-5
    weight_decay: float = 0.01
    warmup: float = 0.06
    schedule: Schedule = Schedule.LINEAR
    clip: float = 1.0
    max_length: int = 256
    eval_max_length: int = 512
    accumulate: int = 1

    def with_typed(self, **typed: Any) -> "Hyperparameters":
        """Return a copy with the given settings overridden; None keeps a setting's value."""
        return replace(self, **{name: value for name, value in typed.items() if value is not None})


_PAPER_GRID = tuple(
    {"learning_rate": rate, "batch_size": size} for size in (4, 8, 16, 64) for rate in (1e-5, 5e-5, 1e-4)
)
_GENERATION_GRID = tuple({"learning_rate": rate} for rate in (1e-3, 5e-4, 1e-4, 5e-5, 1e-5))

RECIPES: Mapping[str, Hyperparameters] = {
    "default": Hyperparameters(),
    "dr": Hyperparameters(epochs=10),
    "boss": Hyperparameters(
        epochs=10, learning_rate=1e-5, warmup=0.0, schedule=Schedule.CONSTANT, clip=0.0, eval_max_length=768
    ),
}
"""Settings of the papers for classifiers and taggers (Domain Robustness paper, App. B; BOSS paper, App. F)."""

GENERATION_RECIPES: Mapping[str, Hyperparameters] = {
    "default": Hyperparameters(learning_rate=3e-4, batch_size=32, max_length=512),
    "dr": Hyperparameters(epochs=15, batch_size=64, max_length=512),
    "boss": replace(RECIPES["boss"], epochs=5, learning_rate=2e-5, max_length=768),
}
"""Settings of the papers for models that generate text."""

SWEEPS: Mapping[str, tuple[Mapping[str, Any], ...]] = {"none": ({},), "dr": _PAPER_GRID}
"""Hyperparameters to choose from on the source's validation rows (Domain Robustness paper, App. B)."""

GENERATION_SWEEPS: Mapping[str, tuple[Mapping[str, Any], ...]] = {"none": ({},), "dr": _GENERATION_GRID}

_MOST = {"weight-decay": math.inf, "warmup": 1.0, "clip": math.inf}
"""The settings of ``--set`` that are non-negative numbers, and their largest values."""


@dataclass(frozen=True)
class OptimizerOptions:
    """The options of every program that trains weights, as typed; None: the program's or recipe's own value."""

    epochs: float | None = option(None, "Training epochs.", min=0)
    learning_rate: float | None = option(None, "Peak learning rate.", min=0)
    accumulate: int | None = option(None, "Gradient accumulation: parts per batch, to save memory.", min=1)
    precision: Precision = option(Precision.AUTO, "Number format on a GPU; 'auto': bf16 if the GPU supports it.")
    deterministic: bool = option(False, "Use only deterministic algorithms, so that results on a GPU are reproducible.")


@dataclass(frozen=True)
class TrainingOptions(OptimizerOptions):
    """The options of a fine-tuning program, as typed."""

    model: str = option(DEFAULT_ENCODER, "Hub id or path of the pretrained model.")
    recipe: str = option("default", "Base hyperparameters: 'default', or a paper's: 'dr', 'boss'.")
    sweep: str = option("none", "Choose hyperparameters on validation rows: 'none', or the grid of 'dr'.")
    batch_size: int | None = option(None, "Rows per optimizer step.", min=1)
    max_length: int | None = option(None, "Maximum tokens per text in training.", min=8)
    eval_max_length: int | None = option(None, "Maximum tokens per text in prediction.", min=8)
    select: bool = option(True, "Select the best epoch on the source's validation rows.", "--select/--no-select")
    freeze_embeddings: bool = option(False, "Freeze the token embeddings.")
    adapter: Adapter = option(Adapter.NONE, "Train only low-rank updates (LoRA) or a soft prompt.")
    adapter_size: int = option(16, "Rank of low-rank updates, or tokens of a soft prompt.", min=1)
    lora_targets: list[str] | None = option(None, "Linear layers to update, as 'q_proj'; repeat. Default: peft's.")
    train_size: int | None = option(None, "Train on this many random rows of a source.", min=1)
    shots: int | None = option(None, "Train on this many random rows per label.", min=1)
    keep_state: list[float] | None = option(None, "Also write predictions after this many epochs; repeat.", min=0)
    save_model: Path | None = option(None, "Save each model to DIR/SOURCE-SEED, in transformers format.", metavar="DIR")
    name: str | None = option(None, "The model's name on the leaderboard.")
    settings: list[str] | None = option(
        None,
        "Set weight-decay, warmup, clip, schedule, or a method's hyperparameter, as 'irm.weight=10'; repeat.",
        "--set",
        metavar="NAME=VALUE",
    )

    def hyperparameters(self, recipes: Mapping[str, Hyperparameters] = RECIPES) -> Hyperparameters:
        """Return the recipe's settings, overridden by the given options; InvalidInput if an option is invalid."""
        if self.recipe not in recipes:
            raise _unknown("--recipe", self.recipe, list(recipes))
        typed = {field.name: getattr(self, field.name, None) for field in fields(Hyperparameters)}
        chosen = recipes[self.recipe].with_typed(**typed | self.set_hyperparameters())
        last = max(self.keep_state or (), default=0)
        if last > chosen.epochs:
            what, cure = "this state is after the end of training", f"use at most {chosen.epochs:g}"
            raise InvalidInput(Problem(what, "--keep-state", f"{last:g}", cure))
        return chosen

    def candidates(
        self,
        recipes: Mapping[str, Hyperparameters] = RECIPES,
        sweeps: Mapping[str, tuple[Mapping[str, Any], ...]] = SWEEPS,
    ) -> list[Hyperparameters]:
        """List the candidate settings of the sweep; options given explicitly override them in all candidates."""
        if self.sweep not in sweeps:
            raise _unknown("--sweep", self.sweep, list(sweeps))
        settings = self.hyperparameters(recipes)
        free = [
            {name: value for name, value in each.items() if getattr(self, name) is None} for each in sweeps[self.sweep]
        ]
        return list(dict.fromkeys(replace(settings, **each) for each in free))

    def strengths(self) -> dict[str, str]:
        """Return the methods' hyperparameters given by ``--set``, as typed, by names such as 'irm.weight'."""
        return {name: value for name, value in self._settings().items() if "." in name}

    def set_hyperparameters(self) -> dict[str, Any]:
        """Parse the training settings given by ``--set``; InvalidInput if a name or value is invalid."""
        return {
            name.replace("-", "_"): _parse_setting(name, value)
            for name, value in self._settings().items()
            if "." not in name
        }

    def _settings(self) -> dict[str, str]:
        """Split ``--set`` into names and values; InvalidInput if an item is not NAME=VALUE, or a name is repeated."""
        split: dict[str, str] = {}
        for word in self.settings or ():
            name, equals, value = word.partition("=")
            if not equals or not name or not value:
                raise InvalidInput(Problem("this is not a setting", "--set", f"'{word}'", "write NAME=VALUE"))
            if name in split:
                raise InvalidInput(Problem("this is set twice", "--set", f"'{name}'", "omit one of them"))
            split[name] = value
        return split

    def check(self) -> None:
        """Raise InvalidInput, before any work, if options are incompatible."""
        if self.train_size is not None and self.shots is not None:
            raise InvalidInput(Problem("these options exclude each other", "--train-size, --shots", cure="use one"))
        if self.lora_targets and self.adapter is not Adapter.LORA:
            cure = "add --adapter lora"
            raise InvalidInput(Problem("this option requires low-rank updates", "--lora-targets", cure=cure))
        if self.sweep != "none" and not self.select:
            raise InvalidInput(Problem("a sweep selects on validation rows", "--no-select", cure="omit one"))
        if self.sweep != "none" and self.keep_state:
            cure = "run the sweep first, then train the chosen settings with --keep-state"
            raise InvalidInput(Problem("a sweep does not save intermediate states", "--keep-state", cure=cure))
        if self.save_model is not None and (self.keep_state or self.adapter is not Adapter.NONE):
            found = "--keep-state" if self.keep_state else f"--adapter {self.adapter}"
            what, cure = "only a complete model at the end of training can be saved", f"omit {found} or --save-model"
            raise InvalidInput(Problem(what, "--save-model", found, cure))
        if self.sweep != "none" and self.epochs == 0:
            raise InvalidInput(Problem("a sweep cannot compare settings without training", "--epochs", "0"))


def is_setting(name: str) -> bool:
    """Return whether a name is set by ``--set``: a training setting without an option, or a method's hyperparameter.

    >>> is_setting("clip"), is_setting("irm.weight"), is_setting("learning-rate")
    (True, True, False)
    """
    return "." in name or name in (*_MOST, "schedule")


def _parse_setting(name: str, value: str) -> float | Schedule:
    if name == "schedule":
        if value not in list(Schedule):
            raise _unknown(f"--set {name}", value, list(Schedule))
        return Schedule(value)
    if name not in _MOST:
        own = name.replace("-", "_") in Hyperparameters.__dataclass_fields__
        cure = f"give --{name}" if own else did_you_mean(name, [*_MOST, "schedule"])
        what = "this setting has its own option" if own else "there is no such setting"
        raise UnknownChoice(Problem(what, "--set", f"'{name}'", cure))
    try:
        number = float(value)
    except ValueError:
        raise InvalidInput(Problem("this setting must be a number", f"--set {name}", f"'{value}'")) from None
    if not 0 <= number <= _MOST[name]:
        most = "" if math.isinf(_MOST[name]) else f" and at most {_MOST[name]:g}"
        raise InvalidInput(Problem("this is out of range", f"--set {name}", f"'{value}'", f"use at least 0{most}"))
    return number


def _unknown(option: str, value: str, known: list[str]) -> InvalidInput:
    return UnknownChoice(Problem("there is no such choice", option, f"'{value}'", did_you_mean(value, known)))
