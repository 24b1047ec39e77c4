"""Training with transformers' Trainer: length-bucketed batches, few device synchronisations, and resuming after a kill.

Training that is stopped and restarted with the same settings takes the same steps on the same batches with the same
dropout, and ends with the same weights.
"""

import errno
import logging
import math
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_callback import PrinterCallback
from transformers.trainer_utils import IntervalStrategy, SaveStrategy

from shiftbench.baselines.runs import Features
from shiftbench.baselines.training.batches import IGNORED, BatchParts, EpochLoader, FeatureRows, LengthBatches, Padding
from shiftbench.baselines.training.models import Device, enough_memory, n_parameters, seeded
from shiftbench.baselines.training.options import Hyperparameters
from shiftbench.validation.json_text import parse_json
from shiftbench.validation.output_files import replace_file
from shiftbench.validation.progress import progress

log = logging.getLogger(__name__)
Batch = dict[str, Tensor]
Loss = Callable[[Any, Batch], Tensor]
"""Maps a model and a batch to the mean loss of one forward pass."""

Step = Callable[[Any, Batch, Loss, Callable[[Tensor], None]], Tensor]
"""Runs the forward and backward passes of a batch: maps model, batch, loss and backward to the loss to report."""

_CHECKPOINT_SECONDS = 300
_SCORE = "eval_score"


def plain_loss(model: Any, batch: Batch) -> Tensor:
    """Compute the model's built-in loss from ``labels``."""
    loss: Tensor = model(**batch).loss
    return loss


def plain_step(model: Any, batch: Batch, loss: Loss, backward: Callable[[Tensor], None]) -> Tensor:
    """Run one forward and one backward pass."""
    value = loss(model, batch)
    backward(value)
    return value.detach()


def n_labels(batch: Batch) -> int:
    """Count the labels in a batch's mean loss: those that are not ignored."""
    return int((batch["labels"] != IGNORED).sum())


def n_next_tokens(batch: Batch) -> int:
    """Count the labels in a causal language model's loss, which predicts every token except the first of a row."""
    return int((batch["labels"][:, 1:] != IGNORED).sum())


@dataclass(frozen=True)
class Objective:
    """What training minimises.

    Attributes:
        loss: mean loss of a batch.
        step: forward and backward passes of a batch.
        weight: number of terms in a batch's mean loss, to average the parts of a batch (``accumulate``).
    """

    loss: Loss = plain_loss
    step: Step = plain_step
    weight: Callable[[Batch], int] = n_labels


@dataclass(frozen=True)
class Trajectory:
    """A finished training run.

    Attributes:
        model: the trained model, with the best epoch's weights if validation selected one.
        score: its validation score; None without selection.
        states: files with the trained weights of saved states, by epochs.
        record: settings, examples (rows of features), steps, validation scores, seconds and tokens per second, as JSON
            data.
    """

    model: Any
    score: float | None
    states: Mapping[float, Path]
    record: Mapping[str, Any] = field(default_factory=dict)


def train(
    model: Any,
    rows: Sequence[Features],
    padding: Padding,
    settings: Hyperparameters,
    *,
    seed: int,
    device: Device,
    scratch: Path | None = None,
    validate: Callable[[Any], float] | None = None,
    objective: Objective | None = None,
    keep: Sequence[float] = (),
    callbacks: Sequence[TrainerCallback] = (),
) -> Trajectory:
    """Train a model on rows of features.

    Args:
        model: a model of transformers (or peft); trained in place.
        rows: training rows with ``labels``.
        scratch: folder for checkpoints, so that a training can be resumed; None: no checkpoints.
        validate: scores a model on validation rows, higher is better; the epoch with the highest score is used (the
            first in a tie). None: the last epoch.
        objective: what to minimise; default: the model's own loss.
        keep: states to save, in epochs; 0 is before training.
    Raises: InvalidInput if the device's memory is too small.
    """
    found = f"batches of {settings.batch_size} rows of up to {settings.max_length} tokens"
    cure = f"use --accumulate {settings.accumulate * 2} (the same batches in smaller parts), or a lower --max-length"
    with (
        _open_folder(scratch, keep) as folder,
        seeded(seed),
        enough_memory("training", device, found, cure),
        _report_full_disk(folder),
    ):
        trainer = _SourceTrainer(model, rows, padding, settings, seed, device, folder, validate, objective, keep)
        for callback in callbacks:
            trainer.add_callback(callback)
        checkpoint = _last_checkpoint(folder)
        if checkpoint:
            log.info("resuming after step %s", checkpoint.name.split("-")[1])
        start = time.perf_counter()
        if settings.epochs > 0:
            trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
        else:
            trainer.saver.save(0)
        seconds = time.perf_counter() - start
    sizes = n_parameters(model)
    scores = [entry[_SCORE] for entry in trainer.state.log_history if _SCORE in entry]
    record: dict[str, Any] = {
        "settings": asdict(settings), "examples": len(rows), "steps": trainer.state.global_step, "validation": scores,
        "family": model.config.model_type, "parameters": sizes[0], "tunable_parameters": sizes[1],
        "state_steps": {state_name(epochs): step for epochs, step in trainer.saver.steps.items()},
    }  # fmt: skip
    if checkpoint is None:
        tokens = float(trainer.rows.lengths.sum()) * settings.epochs
        record |= {"seconds": round(seconds, 3), "tokens_per_second": round(tokens / seconds, 1)}
    return Trajectory(model, max(scores) if scores else None, trainer.saver.files, record)


def state_name(epochs: float) -> str:
    """Return the name of a saved state.

    >>> state_name(0.1), state_name(2.0)
    ('epoch 0.1', 'epoch 2')
    """
    return f"epoch {epochs:g}"


def load_state(model: Any, file: Path) -> None:
    """Load the trained weights of a saved state into the model that was trained; others are not changed."""
    model.load_state_dict(torch.load(file, map_location="cpu", weights_only=True), strict=False)


def save_state(model: Any, file: Path) -> None:
    """Write the trainable weights of a model atomically."""
    trained = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    weights = {name: tensor for name, tensor in model.state_dict().items() if name in trained}
    with replace_file(file) as new:
        torch.save(weights, new)


class _SourceTrainer(Trainer):
    """The Trainer with our batches, loss and validation."""

    def __init__(
        self,
        model: Any,
        rows: Sequence[Features],
        padding: Padding,
        settings: Hyperparameters,
        seed: int,
        device: Device,
        folder: Path,
        validate: Callable[[Any], float] | None,
        objective: Objective | None,
        keep: Sequence[float],
    ) -> None:
        self.rows = FeatureRows(rows)
        self._validate = validate
        self._objective = objective or Objective()
        # Rows have a domain only for a loss that compares domains, which needs evenly sampled batches.
        domains = np.array([row["domain"] for row in rows]) if "domain" in rows[0] else None
        self._batches = LengthBatches(self.rows.lengths, settings.batch_size, seed, domains)
        self._parts = BatchParts(padding, settings.accumulate)
        n_steps = len(self._batches)
        total = math.ceil(n_steps * settings.epochs)
        each_epoch = SaveStrategy.EPOCH if validate else SaveStrategy.NO
        arguments = TrainingArguments(
            output_dir=str(folder),
            num_train_epochs=settings.epochs,
            per_device_train_batch_size=settings.batch_size,
            learning_rate=settings.learning_rate,
            weight_decay=settings.weight_decay,
            warmup_steps=math.ceil(total * settings.warmup),
            lr_scheduler_type=settings.schedule.value,
            max_grad_norm=settings.clip,
            bf16=device.bf16,
            use_cpu=device.name == "cpu",
            seed=seed,
            save_strategy=each_epoch,
            eval_strategy=each_epoch.value,
            load_best_model_at_end=validate is not None,
            metric_for_best_model=_SCORE,
            greater_is_better=True,
            save_total_limit=1,
            # Logging would synchronise the device at each step.
            logging_strategy="no",
            logging_nan_inf_filter=False,
            disable_tqdm=True,
            report_to="none",
            remove_unused_columns=False,
        )
        # Several GPUs are used for several trainings; the Trainer would split one training's batches among them.
        arguments._n_gpu = min(1, arguments.n_gpu)
        self.saver = _StateSaver(model, folder, {epochs: round(epochs * n_steps) for epochs in keep})
        callbacks = [self.saver, _Checkpoints(n_steps), _Bar(total)]
        super().__init__(model, arguments, train_dataset=self.rows, eval_dataset=self.rows, callbacks=callbacks)
        self.remove_callback(PrinterCallback)
        self.model_accepts_loss_kwargs = False  # training_step averages the loss itself

    def get_train_dataloader(self) -> EpochLoader:
        pinned = self.args.device.type == "cuda"
        return EpochLoader(self.rows, batch_sampler=self._batches, collate_fn=self._parts, pin_memory=pinned)

    def training_step(self, model: nn.Module, inputs: Any, num_items_in_batch: Any = None) -> Tensor:
        """Process the parts of a batch; their gradients sum to that of the mean over the batch."""
        model.train()
        # The parts are still on the CPU here, so counting their labels does not synchronise the device.
        weights = [self._objective.weight(part) for part in inputs] if len(inputs) > 1 else [1]
        total = torch.zeros((), device=self.args.device)
        for part, weight in zip(inputs, weights, strict=True):
            share = weight / max(1, sum(weights))
            batch = {name: tensor.to(self.args.device, non_blocking=True) for name, tensor in part.items()}
            total += share * self._objective.step(model, batch, self._objective.loss, self._backward(share))
        return total

    def _backward(self, share: float) -> Callable[[Tensor], None]:
        def backward(loss: Tensor) -> None:
            self.accelerator.backward(loss if share == 1 else loss * share)

        return backward

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        assert self._validate is not None
        metrics = {_SCORE: self._validate(self.model)}
        self.log(metrics)
        return metrics

    def floating_point_ops(self, inputs: Any) -> int:
        """Return 0: the Trainer's own count iterates over all parameters at every step."""
        return 0


class _StateSaver(TrainerCallback):
    """Saves the requested states, each at its step."""

    def __init__(self, model: Any, folder: Path, steps: Mapping[float, int]) -> None:
        self._model, self.steps = model, steps
        self.files = {epochs: folder / f"state-{epochs:g}.pt" for epochs in steps}

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.save(state.global_step)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.save(state.global_step)

    def save(self, step: int) -> None:
        for epochs, wanted in self.steps.items():
            if wanted == step and not self.files[epochs].is_file():
                save_state(self._model, self.files[epochs])


class _Checkpoints(TrainerCallback):
    """Requests a checkpoint every few minutes, so that a kill in a long epoch costs little."""

    def __init__(self, n_steps: int) -> None:
        self._n_steps, self._last = n_steps, time.monotonic()

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        # A checkpoint stores the path of the best one, which is wrong if the working directory has changed.
        best = Path(args.output_dir) / f"checkpoint-{state.best_global_step}"
        if best.is_dir():
            state.best_model_checkpoint = str(best)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        # At an epoch's end validation comes first: a training resumed from an earlier checkpoint would lack its score.
        ends = state.global_step % self._n_steps == 0 or state.global_step == state.max_steps
        validates = ends and args.eval_strategy != IntervalStrategy.NO
        if not validates and time.monotonic() - self._last > _CHECKPOINT_SECONDS:
            control.should_save = True

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._last = time.monotonic()


class _Bar(TrainerCallback):
    """A progress bar on standard error."""

    def __init__(self, total: int) -> None:
        self._total = total

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._bar = progress(total=self._total, initial=state.global_step, desc="steps", unit="step", leave=False)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._bar.update()

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._bar.close()


@contextmanager
def _open_folder(scratch: Path | None, keep: Sequence[float]) -> Iterator[Path]:
    """Open the folder for checkpoints; training without one uses a temporary folder."""
    if scratch is not None:
        scratch.mkdir(parents=True, exist_ok=True)
        yield scratch
        return
    if keep:
        raise ValueError("saving states requires a scratch folder")
    with tempfile.TemporaryDirectory(prefix="shiftbench-") as temporary:
        yield Path(temporary)


def _last_checkpoint(folder: Path) -> Path | None:
    """Find the newest complete checkpoint; delete those that a kill left incomplete."""
    for checkpoint in sorted(folder.glob("checkpoint-*"), key=lambda path: -int(path.name.split("-")[1])):
        try:
            parse_json((checkpoint / "trainer_state.json").read_text(encoding="utf-8"))  # this file is written last
        except (OSError, ValueError):
            shutil.rmtree(checkpoint)
            continue
        return checkpoint
    return None


@contextmanager
def _report_full_disk(folder: Path) -> Iterator[None]:
    """Re-raise a full disk as OSError, because libraries that write weights raise errors of their own."""
    try:
        yield
    except Exception as error:
        words = str(error)
        if any(sign in words for sign in ("PytorchStreamWriter", "iostream error", "os error 28", os.strerror(28))):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder)) from error
        raise
