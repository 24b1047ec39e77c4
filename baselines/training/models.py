"""Loading models and tokenizers by Hub id or path, on the best device, with one-line error messages."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shiftbench.baselines.training.options import Adapter, BaseDtype, Precision, TrainingOptions
from shiftbench.builders.checksums import folder_state
from shiftbench.builders.encoder import offline_weights
from shiftbench.validation.command_line import require
from shiftbench.validation.report import InvalidInput, Problem, first_line


def model_path(name: str) -> str:
    """Return the name or path to load: the folder of the ``offline`` extra for the default encoder, else the name."""
    return str(offline_weights(name) or name)


def load_tokenizer(name: str, **settings: Any) -> Any:
    """Load a model's fast tokenizer.

    Args:
        name: Hub id or path of the model.
        **settings: further arguments of ``from_pretrained``, such as ``add_prefix_space``.
    Raises: InvalidInput if there is no such model, it has no tokenizer, or the tokenizer's maximum length is invalid.
    """
    require("peft", "train")
    from transformers import AutoTokenizer

    with _report_load_errors(name):
        tokenizer = AutoTokenizer.from_pretrained(model_path(name), trust_remote_code=False, **settings)
    if not isinstance(tokenizer.model_max_length, int | float) or tokenizer.model_max_length < 1:
        found, cure = f"{tokenizer.model_max_length!r}"[:100], "set a number of tokens there"
        what = "the tokenizer's maximum length is not valid"
        raise InvalidInput(Problem(what, "--model", found, cure, key="model_max_length"))
    # Without tokenizer files, transformers builds one with only special tokens, so that every word is unknown.
    if len(tokenizer) <= len(set(tokenizer.all_special_ids)):
        cure = "copy its tokenizer's files to the folder of its weights"
        raise InvalidInput(Problem("the model has no tokenizer", "--model", f"'{name}'", cure))
    return tokenizer


def padding_token(tokenizer: Any, name: str) -> int:
    """Return the padding token, setting one if the tokenizer has none, as for decoders.

    Args:
        tokenizer: the model's tokenizer; without a padding token, its end-of-text or else its unknown token is used.
    Raises: InvalidInput if the tokenizer has none of the three.
    """
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
    if tokenizer.pad_token_id is None:
        what, cure = "the model's tokenizer has no padding token", "set pad_token in the tokenizer's files"
        raise InvalidInput(Problem(what, "--model", f"'{name}'", cure))
    return int(tokenizer.pad_token_id)


def set_padding(model: Any, token: int) -> None:
    """Set the padding token in a model's configuration: a decoder classifies at the last token that is not padding."""
    for config in {id(each): each for each in (model.config, model.config.get_text_config())}.values():
        config.pad_token_id = token


def model_version(name: str) -> Any:
    """Return the version of a model as JSON data: the state of each file, or a Hub revision; None if unknown."""
    folder = Path(model_path(name))
    if not folder.is_dir():
        return getattr(load_config(name), "_commit_hash", None)
    return folder_state(folder)


def load_config(name: str, **settings: Any) -> Any:
    """Load a model's configuration; InvalidInput if there is no such model."""
    require("peft", "train")
    from transformers import AutoConfig

    with _report_load_errors(name):
        return AutoConfig.from_pretrained(model_path(name), trust_remote_code=False, **settings)


def load_model(auto_class: str, name: str, seed: int, *, base_dtype: BaseDtype = BaseDtype.FP32, **config: Any) -> Any:
    """Load a pretrained model; missing weights, such as those of a new head, are initialised from the seed.

    Args:
        auto_class: class of transformers, such as ``AutoModelForSequenceClassification``.
        base_dtype: number format of the weights: single precision, unless they stay frozen under an adapter.
        **config: override the model's configuration, for example ``num_labels``.
    Raises: InvalidInput if there is no such model, or the extra 'train' is not installed.
    """
    import torch

    transformers = _transformers()
    # AdamW does not work with weights in half precision.
    dtype = torch.float32 if base_dtype is BaseDtype.FP32 else torch.bfloat16
    with _report_load_errors(name), seeded(seed):
        kind = getattr(transformers, auto_class)
        return kind.from_pretrained(model_path(name), trust_remote_code=False, dtype=dtype, **config)


def new_model(auto_class: str, config: Any, seed: int) -> Any:
    """Initialise all weights of a model at random, in single precision."""
    import torch

    transformers = _transformers()
    with seeded(seed):
        return getattr(transformers, auto_class).from_config(config, dtype=torch.float32)


def prepare(model: Any, options: TrainingOptions, task_type: str) -> Any:
    """Freeze the weights that are not trained: token embeddings, or everything except an adapter.

    Args:
        task_type: peft's name of the kind of task, such as ``SEQ_CLS``; new heads are always trained.
    Raises: InvalidInput if the model does not support the adapter.
    """
    if options.freeze_embeddings:
        model.get_input_embeddings().requires_grad_(False)
    if options.adapter is Adapter.NONE:
        return model
    import peft

    if options.adapter is Adapter.LORA:
        return add_low_rank_updates(model, task_type, options.adapter_size, options.lora_targets)
    try:
        return peft.get_peft_model(
            model, peft.PromptTuningConfig(task_type=task_type, num_virtual_tokens=options.adapter_size)
        )
    except ValueError as error:
        what, found, cure = "the model does not support the adapter", str(error)[:200], "omit --adapter for this model"
        raise InvalidInput(Problem(what, "--adapter", found, cure)) from error


def add_low_rank_updates(model: Any, task_type: str, rank: int, targets: Sequence[str] | None) -> Any:
    """Add low-rank updates (LoRA) to a model's linear layers; only they and a new head are trained.

    Args:
        rank: rank of the updates, also used as alpha.
        targets: names of the layers, for example 'q_proj'; None: peft's defaults for the model type.
    Raises: InvalidInput if the model has no such layers, or peft has no defaults for it; the message lists the layers.
    """
    import peft
    from torch import nn
    from transformers.pytorch_utils import Conv1D  # GPT-2's linear layers

    named = list(dict.fromkeys(targets or ())) or None
    config = peft.LoraConfig(task_type=task_type, r=rank, lora_alpha=rank, lora_dropout=0.05, target_modules=named)
    layers = [
        name.rpartition(".")[2] for name, module in model.named_modules() if isinstance(module, nn.Linear | Conv1D)
    ]
    # peft ignores names without a layer, as long as another name matches.
    strangers = [name for name in named or () if not any(layer == name for layer in layers)]
    try:
        if strangers:
            raise ValueError(f"no layer is named {', '.join(map(repr, strangers))}")
        return peft.get_peft_model(model, config)
    except ValueError as error:
        cure = f"choose layers with --lora-targets; this model has {', '.join(dict.fromkeys(layers))}"
        problem = Problem("the model does not support LoRA", "--lora-targets", first_line(error)[:200], cure)
        raise InvalidInput(problem) from error


@dataclass(frozen=True)
class Device:
    """The device that models run on, and whether it computes in bfloat16."""

    name: str
    bf16: bool

    @classmethod
    def best(cls, precision: Precision) -> "Device":
        """Choose the GPU if there is one, else the CPU, which computes in single precision.

        Raises: InvalidInput if bf16 is requested and not supported.
        """
        import torch

        gpu = torch.cuda.is_available()
        able = gpu and torch.cuda.is_bf16_supported(including_emulation=False)  # emulation is slow
        if precision is Precision.BF16 and not able:
            found, cure = "no such GPU" if not gpu else torch.cuda.get_device_name(), "use --precision auto"
            raise InvalidInput(Problem("bf16 requires a GPU that supports it", "--precision", found, cure))
        return cls("cuda" if gpu else "cpu", able and precision is not Precision.FP32)

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Run the ``with`` block in the device's precision."""
        import torch

        with torch.autocast(self.name, torch.bfloat16, enabled=self.bf16):
            yield


@contextmanager
def enough_memory(what: str, device: Device, found: str, cure: str) -> Iterator[None]:
    """Convert out-of-memory errors of the ``with`` block to a one-line message with a suggestion."""
    import torch

    try:
        yield
    except torch.OutOfMemoryError as error:
        problem = Problem(f"out of GPU memory for this {what}", device.name, found, cure)
        raise InvalidInput(problem) from error


def n_parameters(model: Any) -> tuple[int, int]:
    """Count a model's parameters: all, and those that training changes."""
    sizes = [(parameter.numel(), parameter.requires_grad) for parameter in model.parameters()]
    return sum(size for size, _ in sizes), sum(size for size, trained in sizes if trained)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed the global generators that torch and transformers use, and restore their states afterwards."""
    import random

    import numpy as np
    import torch
    from transformers import set_seed

    before = random.getstate(), np.random.get_state()  # noqa: NPY002
    with torch.random.fork_rng(device_type="cuda"):
        try:
            set_seed(seed)
            yield
        finally:
            random.setstate(before[0])
            np.random.set_state(before[1])  # noqa: NPY002


@contextmanager
def determinism(*, asked: bool) -> Iterator[None]:
    """Use only deterministic algorithms in this block, if asked; InvalidInput if an operation has none."""
    import torch

    if not asked:
        yield
        return
    before = torch.are_deterministic_algorithms_enabled(), torch.backends.cudnn.benchmark, os.environ.get(_WORKSPACE)
    os.environ[_WORKSPACE] = ":4096:8"  # torch requires this setting for cuBLAS
    try:
        torch.use_deterministic_algorithms(mode=True)
        torch.backends.cudnn.benchmark = False
        yield
    except RuntimeError as error:
        if "deterministic" not in str(error):
            raise
        what, cure = "an operation of the model has no deterministic implementation", "omit --deterministic"
        raise InvalidInput(Problem(what, "--deterministic", first_line(error)[:200], cure)) from error
    finally:
        torch.use_deterministic_algorithms(mode=before[0])
        torch.backends.cudnn.benchmark = before[1]
        if before[2] is None:
            del os.environ[_WORKSPACE]
        else:
            os.environ[_WORKSPACE] = before[2]


_WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"


def _transformers() -> Any:
    """Import the library, with its log and progress bars off."""
    require("peft", "train")
    import transformers
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    logging.set_verbosity_error()  # type: ignore[no-untyped-call] # no table of newly initialised weights
    return transformers


@contextmanager
def _report_load_errors(name: str) -> Iterator[None]:
    """Convert errors in loading a model to a one-line message."""
    try:
        yield
    except Exception as error:  # the library does not validate a folder's files, so it may raise anything
        if isinstance(error, OSError) and error.errno is not None and not isinstance(error, FileNotFoundError):
            raise  # the system's own message is clear: a full disk, or no permission
        if type(error) in (OSError, FileNotFoundError, ValueError, KeyError, RuntimeError) and Path(name).is_dir():
            found = "a folder without a suitable model"
        else:
            found = first_line(error)
        cure = "pass the Hub id or folder of such a model; the extra 'offline' installs the default one"
        raise InvalidInput(Problem("the model cannot be loaded", "--model", f"'{name}': {found}", cure)) from error
