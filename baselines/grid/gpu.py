"""Estimated time of a training step on a GPU that is not present, from a model's layers, width and architecture.

Floating-point operations are counted per layer: the products with the weights, and attention, whose cost is quadratic
in the length. A training step costs three forward passes. For large models, time is the operations divided by a fixed
share of the GPU's peak rate; small models are limited by launching a fixed number of kernels per layer. Both constants
are guesses from published trainings, not measured on a GPU: expect the right order of magnitude, not calibrated times.
"""

import json
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from shiftbench.validation.report import InvalidInput, Problem, did_you_mean

UTILISATION = 0.35
"""Assumed utilisation: the share of the GPU's peak rate that these programs reach in training."""
LAYER_OVERHEAD = 0.4e-3
"""Seconds to launch the kernels of a plain layer in a step: forward, backward and optimizer."""
_CONFIG_KINDS = {"deberta-v2": "deberta", "t5": "encoder-decoder", "bart": "encoder-decoder"}


@dataclass(frozen=True)
class Architecture:
    """A model's dimensions; encoder and decoder layers are added, and an attention of width 0 has the hidden width."""

    kind: str
    layers: int
    width: int
    inner: int
    attention: int = 0

    def operations(self, rows: int, length: int) -> float:
        """Count the floating-point operations of a forward pass over ``rows`` sequences of ``length`` word pieces."""
        kind, heads = _data()["kinds"][self.kind], self.attention or self.width
        weights = kind["projections"] * self.width * heads + 2 * self.width * self.inner
        return float(self.layers * rows * length * (2 * weights + kind["attention"] * 4 * length * heads))

    @property
    def least_seconds(self) -> float:
        """Return the seconds needed to launch the kernels of a training step."""
        return float(self.layers * LAYER_OVERHEAD * _data()["kinds"][self.kind]["kernels"])


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("architectures.toml").read_text(encoding="utf-8"))


def find_architecture(model: str) -> Architecture | None:
    """Return the dimensions of a listed model, or of a local model from its ``config.json``; None for others."""
    if model in _data()["models"]:
        return Architecture(**_data()["models"][model])
    config = Path(model) / "config.json"
    if not config.is_file():
        return None
    facts = json.loads(config.read_text(encoding="utf-8"))
    kind = _CONFIG_KINDS.get(facts.get("model_type"), "encoder")
    names = (
        ("num_hidden_layers", "n_layers", "num_layers", "encoder_layers"), ("hidden_size", "dim", "d_model"),
        ("intermediate_size", "hidden_dim", "d_ff", "encoder_ffn_dim"),
    )  # fmt: skip
    layers, width, inner = (next((facts[name] for name in each if name in facts), 0) for each in names)
    if not (layers and width and inner):
        return None
    return Architecture(kind, layers * (2 if kind == "encoder-decoder" else 1), width, inner)


def step_seconds(model: Architecture, rows: int, length: int, gpu: str) -> float:
    """Estimate the seconds of a training step on ``rows`` texts of ``length`` word pieces, including padding."""
    return max(3 * model.operations(rows, length) / _rate(gpu), model.least_seconds)


def row_seconds(model: Architecture, rows: int, length: int, gpu: str) -> float:
    """Estimate the seconds to predict one row, in batches of ``rows``."""
    return max(model.operations(rows, length) / _rate(gpu), model.least_seconds / 3) / rows


def prompt_seconds(model: str, tokens: int, gpu: str) -> float | None:
    """Estimate the seconds in which a served model reads tokens of batched prompts; None if the model is not listed.

    Generated tokens are not counted: few for a label, more if the model reasons or writes texts.
    """
    billions = _data()["prompted"].get(model)
    return None if billions is None else 2e9 * billions * tokens / _rate(gpu)


def check_gpu(gpu: str) -> None:
    """Raise InvalidInput if a GPU is not listed."""
    known = _data()["gpus"]
    if gpu not in known:
        raise InvalidInput(Problem("nothing is known of this GPU", "--gpu", f"'{gpu}'", did_you_mean(gpu, list(known))))


def _rate(gpu: str) -> float:
    """Return a GPU's assumed floating-point operations per second."""
    return float(_data()["gpus"][gpu]) * 1e12 * UTILISATION
