"""How long a step takes on a GPU that is not here, by a model's layers, width and architecture.

Operations are counted layer by layer: the products with the weights, and attention, whose work grows with the square of
the length. A training step costs three forward passes. Divided by a share of what the GPU's maker promises, that is the
time of large models; small ones are bound by the start of kernels, so many a layer. Both constants are guesses from
published trainings, and no GPU was there to measure them: an estimate is of the right order, and not calibrated.
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
"""Share of the GPU's promised operations that a training of these programs is taken to reach."""
LAYER_OVERHEAD = 0.4e-3
"""Seconds in which the kernels of a plain layer are started, forward and back and in the optimizer."""
_CONFIG_KINDS = {"deberta-v2": "deberta", "t5": "encoder-decoder", "bart": "encoder-decoder"}


@dataclass(frozen=True)
class Architecture:
    """A model's shape.

    Attributes:
        kind: as in ``architectures.toml``.
        layers: of both halves of an encoder-decoder.
        width: of the hidden states.
        inner: width of the feed-forward layer.
        attention: width of all heads together; by default the hidden states'.
    """

    kind: str
    layers: int
    width: int
    inner: int
    attention: int = 0

    def operations(self, rows: int, length: int) -> float:
        """Count the floating-point operations of a forward pass over rows of a length in word pieces."""
        kind, heads = _data()["kinds"][self.kind], self.attention or self.width
        weights = kind["projections"] * self.width * heads + 2 * self.width * self.inner
        return float(self.layers * rows * length * (2 * weights + kind["attention"] * 4 * length * heads))

    @property
    def least_seconds(self) -> float:
        """Return the seconds that starting the kernels of a training step takes."""
        return float(self.layers * LAYER_OVERHEAD * _data()["kinds"][self.kind]["kernels"])


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("architectures.toml").read_text(encoding="utf-8"))


def find_architecture(model: str) -> Architecture | None:
    """Return the shape of a model that is listed, or of one in a folder with its ``config.json``; None of others."""
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
    """Estimate the seconds of a training step.

    Args:
        model: its shape.
        rows: of a batch.
        length: word pieces of each, padding included.
        gpu: one of ``architectures.toml``.
    """
    return max(3 * model.operations(rows, length) / _rate(gpu), model.least_seconds)


def row_seconds(model: Architecture, rows: int, length: int, gpu: str) -> float:
    """Estimate the seconds that predicting a row takes, in batches of ``rows``."""
    return max(model.operations(rows, length) / _rate(gpu), model.least_seconds / 3) / rows


def prompt_seconds(model: str, tokens: int, gpu: str) -> float | None:
    """Estimate the seconds in which a served model reads tokens, many prompts at once; None if it is not listed.

    What it writes is not counted: a label's few tokens, but more where it reasons or writes texts.
    """
    billions = _data()["prompted"].get(model)
    return None if billions is None else 2e9 * billions * tokens / _rate(gpu)


def check_gpu(gpu: str) -> None:
    """Raise InvalidInput if nothing is known of a GPU."""
    known = _data()["gpus"]
    if gpu not in known:
        raise InvalidInput(Problem("nothing is known of this GPU", "--gpu", f"'{gpu}'", did_you_mean(gpu, list(known))))


def _rate(gpu: str) -> float:
    """Return the operations a second that a GPU is taken to reach."""
    return float(_data()["gpus"][gpu]) * 1e12 * UTILISATION
