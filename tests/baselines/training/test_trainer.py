"""Training: it learns, a stopped one goes on to the same weights, and validation chooses the epoch."""

import errno
import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from syrupy.assertion import SnapshotAssertion

from shiftbench.baselines.training import trainer as module
from shiftbench.baselines.training.batches import Padding
from shiftbench.baselines.training.models import Device, load_model
from shiftbench.baselines.training.options import Hyperparameters
from shiftbench.baselines.training.trainer import (
    Objective,
    Trajectory,
    load_state,
    n_labels,
    n_next_tokens,
    plain_step,
    train,
)
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal

CPU = Device("cpu", bf16=False)
SETTINGS = Hyperparameters(epochs=3, batch_size=8, learning_rate=5e-3)
STEPS = 15
"""An epoch of 120 rows."""


class StoppedError(Exception):
    """What a kill is to these tests."""


def model(path: Path, seed: int = 0) -> Any:
    return load_model("AutoModelForSequenceClassification", str(path), seed, num_labels=2)


def trained(path: Path, rows: list[dict[str, Any]], **options: Any) -> Trajectory:
    options = {"seed": 0, "device": CPU} | options
    settings = options.pop("settings", SETTINGS)
    return train(model(path), rows, Padding(0), settings, **options)


def weights(found: Any) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in found.parameters()])


def stopping_at(step: int) -> Objective:
    taken = 0

    def count(model: Any, batch: Any, loss: Any, backward: Callable[[Any], None]) -> torch.Tensor:
        nonlocal taken
        taken += 1
        if taken > step:
            raise StoppedError
        return plain_step(model, batch, loss, backward)

    return Objective(step=count)


def accuracy(found: Any, rows: list[dict[str, Any]]) -> float:
    batch = Padding(0)(rows)
    labels = batch.pop("labels")
    with torch.inference_mode():
        return float((found.eval()(**batch).logits.argmax(dim=1) == labels).float().mean())


def test_training_learns_and_tells_of_itself(tiny_bert: Path, rows: list[dict[str, Any]]) -> None:
    assert accuracy(model(tiny_bert), rows) < 0.7
    found = trained(tiny_bert, rows)
    assert accuracy(found.model, rows) > 0.95
    assert found.record["steps"] == 3 * STEPS
    assert found.record["examples"] == 120
    assert found.record["tokens_per_second"] > 0
    assert found.record["parameters"] == found.record["tunable_parameters"] == len(weights(found.model))
    assert found.score is None


def test_the_seed_decides_the_weights(tiny_bert: Path, rows: list[dict[str, Any]]) -> None:
    first = weights(trained(tiny_bert, rows).model)
    assert torch.equal(first, weights(trained(tiny_bert, rows).model))
    assert not torch.equal(first, weights(trained(tiny_bert, rows, seed=1).model))


MANY_STOPS: tuple[tuple[bool, int, tuple[int, ...]], ...] = ((True, 300, (3, STEPS, 5)), (False, 0, (3, 14, 5)))


@pytest.mark.parametrize(
    ("validate", "seconds", "stops"),
    [(True, 0, (17,)), *(pytest.param(*case, marks=pytest.mark.long) for case in MANY_STOPS)],
)
def test_a_stopped_training_ends_in_the_same_weights(
    validate: bool,
    seconds: int,
    stops: tuple[int, ...],
    tiny_bert: Path,
    rows: list[dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_CHECKPOINT_SECONDS", seconds)
    options: dict[str, Any] = {
        "validate": (lambda found: accuracy(found, rows)) if validate else None,
        "settings": replace(SETTINGS, epochs=2),
    }
    whole = trained(tiny_bert, rows, **options)
    for stop in stops:
        with pytest.raises(StoppedError):
            trained(tiny_bert, rows, scratch=tmp_path, objective=stopping_at(stop), **options)
    resumed = trained(tiny_bert, rows, scratch=tmp_path, **options)
    assert torch.equal(weights(whole.model), weights(resumed.model))
    assert whole.record["validation"] == resumed.record["validation"]


def test_an_epoch_whose_validation_was_stopped_is_validated(
    tiny_bert: Path, rows: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_CHECKPOINT_SECONDS", 0)
    options: dict[str, Any] = {"settings": replace(SETTINGS, epochs=1), "scratch": tmp_path}

    def stop(found: Any) -> float:
        raise StoppedError

    with pytest.raises(StoppedError):
        trained(tiny_bert, rows, validate=stop, **options)
    assert trained(tiny_bert, rows, validate=lambda found: 0.5, **options).record["validation"] == [0.5]


def test_a_folder_that_moved_keeps_its_best_epoch(tiny_bert: Path, rows: list[dict[str, Any]], tmp_path: Path) -> None:
    options: dict[str, Any] = {"settings": replace(SETTINGS, epochs=2)}
    seen: list[torch.Tensor] = []

    def validate(found: Any) -> float:
        seen.append(weights(found).clone())
        return (0.7, 0.2)[len(seen) - 1]

    with pytest.raises(StoppedError):
        trained(tiny_bert, rows, scratch=tmp_path / "here", validate=validate, objective=stopping_at(20), **options)
    (tmp_path / "here").rename(tmp_path / "there")
    found = trained(tiny_bert, rows, scratch=tmp_path / "there", validate=validate, **options)
    assert found.record["validation"] == [0.7, 0.2]
    assert torch.equal(weights(found.model), seen[0])


def test_a_resumed_training_takes_no_step_again(
    tiny_bert: Path, rows: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_CHECKPOINT_SECONDS", 0)
    options: dict[str, Any] = {"settings": replace(SETTINGS, epochs=1), "scratch": tmp_path}
    with pytest.raises(StoppedError):
        trained(tiny_bert, rows, objective=stopping_at(6), **options)
    trained(tiny_bert, rows, objective=stopping_at(STEPS - 6), **options)


def test_a_checkpoint_that_a_kill_cut_short_is_not_taken_up(
    tiny_bert: Path, rows: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_CHECKPOINT_SECONDS", 0)
    with pytest.raises(StoppedError):
        trained(tiny_bert, rows, scratch=tmp_path, objective=stopping_at(2))
    (half,) = tmp_path.glob("checkpoint-*")
    half.rename(tmp_path / "checkpoint-10")
    (tmp_path / "checkpoint-20").mkdir()
    (tmp_path / "checkpoint-20/trainer_state.json").write_text('{"global_step": 2')
    assert module._last_checkpoint(tmp_path) == tmp_path / "checkpoint-10"
    assert not (tmp_path / "checkpoint-20").exists()


def test_validation_chooses_the_first_of_the_best_epochs(tiny_bert: Path, rows: list[dict[str, Any]]) -> None:
    seen: list[torch.Tensor] = []
    scores = iter([0.2, 0.7, 0.7])

    def validate(found: Any) -> float:
        seen.append(weights(found).clone())
        return next(scores)

    found = trained(tiny_bert, rows, validate=validate)
    assert found.score == 0.7
    assert found.record["validation"] == [0.2, 0.7, 0.7]
    assert torch.equal(weights(found.model), seen[1])
    assert not torch.equal(seen[1], seen[2])


def test_states_are_kept_when_their_step_comes(tiny_bert: Path, rows: list[dict[str, Any]], tmp_path: Path) -> None:
    found = trained(tiny_bert, rows, scratch=tmp_path, keep=(0, 0.4, 3))
    assert found.record["state_steps"] == {"epoch 0": 0, "epoch 0.4": 6, "epoch 3": 45}
    state = model(tiny_bert, seed=5)
    load_state(state, found.states[0])
    assert torch.equal(weights(state), weights(model(tiny_bert)))
    load_state(state, found.states[3])
    assert torch.equal(weights(state), weights(found.model))


def test_no_epoch_is_the_pretrained_model(tiny_bert: Path, rows: list[dict[str, Any]]) -> None:
    found = trained(tiny_bert, rows, settings=replace(SETTINGS, epochs=0))
    assert torch.equal(weights(found.model), weights(model(tiny_bert)))


@pytest.mark.parametrize("size", [7, pytest.param(8, marks=pytest.mark.long)])
def test_accumulation_computes_the_same_batches_in_parts(
    size: int, tiny_bert: Path, rows: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without dropout they end in the model that whole batches give; 7 leaves a last batch of three rows."""
    undropped = partial(load_model, "AutoModelForSequenceClassification", str(tiny_bert), 0, num_labels=2)
    monkeypatch.setattr(
        "tests.baselines.training.test_trainer.model",
        lambda path: undropped(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0),
    )
    settings = replace(SETTINGS, epochs=1, batch_size=size, learning_rate=1e-3)
    whole, parts, other = (
        trained(tiny_bert, rows[:24], settings=replace(settings, accumulate=n), seed=seed)
        for n, seed in ((1, 0), (3, 0), (1, 1))
    )
    assert whole.record["steps"] == parts.record["steps"] == -(-24 // size)
    batch = Padding(0)(rows)
    batch.pop("labels")
    logits = [found.model.eval()(**batch).logits.detach() for found in (whole, parts, other)]
    torch.testing.assert_close(logits[1], logits[0], rtol=0, atol=1e-4)
    assert (logits[2] - logits[0]).abs().max() > 1e-3


def test_a_part_counts_by_its_labels(tiny_bert: Path, rows: list[dict[str, Any]]) -> None:
    """The mean over a batch of tagged words is over words, however they are dealt to the parts."""
    counted = {"labels": torch.tensor([[-100, 1, 0], [-100, 1, -100]])}
    assert (n_labels(counted), n_labels({"labels": torch.tensor([0, 1, 1])})) == (3, 3)
    assert n_next_tokens({"labels": torch.tensor([[5, 6, 7], [8, -100, -100]])}) == 2


def test_training_leaves_the_generators_as_they_were(tiny_bert: Path, rows: list[dict[str, Any]]) -> None:
    before = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state()  # type: ignore[index]  # noqa: NPY002
    trained(tiny_bert, rows, settings=replace(SETTINGS, epochs=1))
    assert random.getstate() == before[0]
    assert np.random.get_state()[1].tolist() == before[1]  # type: ignore[index]  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), before[2])


def failing(error: Exception) -> Objective:
    def fail(*_: Any) -> torch.Tensor:
        raise error

    return Objective(step=fail)


def test_too_small_a_gpu_is_told_with_its_cure(
    tiny_bert: Path, rows: list[dict[str, Any]], wording: SnapshotAssertion
) -> None:
    full = failing(torch.OutOfMemoryError("CUDA out of memory"))
    assert refusal(InvalidInput, trained, tiny_bert, rows, objective=full) == wording


def test_a_full_disk_is_told_by_its_name(tiny_bert: Path, rows: list[dict[str, Any]], tmp_path: Path) -> None:
    full = RuntimeError("[enforce fail at inline_container.cc:672] . PytorchStreamWriter failed writing file data/0")
    with pytest.raises(OSError, match="space") as refused:
        trained(tiny_bert, rows, scratch=tmp_path, objective=failing(full))
    assert (refused.value.errno, refused.value.filename) == (errno.ENOSPC, str(tmp_path))
