from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from peft import LoraConfig, get_peft_model
from syrupy.assertion import SnapshotAssertion
from transformers import BertForSequenceClassification

from shiftbench.baselines.robust import method as method_module
from shiftbench.baselines.robust.method import MethodTraining, Robustness
from shiftbench.baselines.robust.synonyms import SynonymSource
from shiftbench.baselines.training.batches import Padding
from shiftbench.baselines.training.models import Device
from shiftbench.baselines.training.options import Hyperparameters
from shiftbench.baselines.training.trainer import train
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal

WORDS = ("ferry", "spoon", "crane", "apple", "chisel", "anchor")


@pytest.fixture
def rows() -> pl.DataFrame:
    """Build rows of which one word decides the label."""
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 3, 48)
    return pl.DataFrame(
        {
            "id": [f"own/sa/a/train/{i:012x}" for i in range(48)],
            "group": [f"g{i // 2}" for i in range(48)],
            "text": [" ".join([WORDS[label], *generator.choice(WORDS[3:], 3)]) for label in labels],
            "label": labels,
        }
    )


def features(rows: pl.DataFrame) -> list[dict[str, Any]]:
    """Read texts by the numbers of their words."""
    return [
        {
            "input_ids": (ids := [1, *(WORDS.index(word) + 2 for word in text.split())]),
            "attention_mask": [1] * len(ids),
            "labels": label,
            "row": row,
        }
        for row, (text, label) in enumerate(rows.select("text", "label").iter_rows())
    ]


def prepare(
    robustness: Robustness, rows: pl.DataFrame, embeddings: Callable[[], Any] = lambda: None, seed: int = 0
) -> MethodTraining:
    """Change rows and compute what losses need, as a training does first."""
    return robustness.prepare(MethodTraining(rows, ["text"], 3, seed, embeddings, None))


def trained(
    robustness: Robustness, rows: pl.DataFrame, model: BertForSequenceClassification, scratch: Path, epochs: float = 10
) -> tuple[Any, float]:
    """Train a model; returns it and its accuracy on the rows without methods."""
    prepared = prepare(robustness, rows, model.get_input_embeddings)
    settings = Hyperparameters(epochs=epochs, learning_rate=3e-3, batch_size=16, warmup=0)
    device = Device("cpu", False)
    train(
        model,
        features(prepared.rows),
        Padding(0),
        settings,
        seed=0,
        device=device,
        scratch=scratch,
        objective=robustness.objective(prepared, model),
    )
    batch = Padding(0)(features(rows))
    with torch.inference_mode():
        found = model.eval()(batch["input_ids"], batch["attention_mask"]).logits.argmax(dim=-1)
    return model, float((found == batch["labels"]).float().mean())


@pytest.fixture(autouse=True)
def _few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shiftbench.baselines.robust.bias.TREES", 5)


@pytest.fixture(autouse=True)
def _some_synonyms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Return synonyms: names of things that no label depends on are synonyms of each other."""
    monkeypatch.setattr(
        "shiftbench.baselines.robust.eda.wordnet",
        lambda: lambda word: sorted({*WORDS[3:]} - {word}) if word in WORDS[3:] else [],
    )


@pytest.mark.parametrize(
    "methods",
    [
        [],
        ["eda"],
        ["freelb"],
        ["focal"],
        ["smoothing"],
        ["ensemble"],
        ["eda", "freelb", "focal", "smoothing"],
        ["eda", "freelb", "ensemble"],
    ],
    ids="+".join,
)
def test_every_method_and_what_goes_together_trains(
    methods: Sequence[str], rows: pl.DataFrame, bert: Any, tmp_path: Path
) -> None:
    robustness = Robustness.of(list(methods))
    model, accuracy = trained(robustness, rows, bert, tmp_path)
    if "ensemble" in methods:  # the words give the labels away, so that the bias model leaves nothing to learn
        assert hasattr(model, "own_loss")
    else:
        assert accuracy > 0.9


def test_a_training_that_goes_on_ends_as_one_that_was_not_stopped(
    rows: pl.DataFrame, bert: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FreeLB's draws and the ensemble's layer are in the checkpoint."""
    robustness = Robustness.of(["freelb", "ensemble"])
    start = {name: weight.clone() for name, weight in bert.state_dict().items()}
    whole, _ = trained(robustness, rows, bert, tmp_path / "whole", 2)
    end = {name: weight.clone() for name, weight in whole.state_dict().items()}
    assert (whole.own_loss.weight.bias != 0).all()  # it is trained
    del bert.own_loss
    bert.load_state_dict(start)
    monkeypatch.setattr("shiftbench.baselines.training.trainer._CHECKPOINT_SECONDS", 0)
    stop_at(bert, step=4)
    with pytest.raises(KeyboardInterrupt):
        trained(robustness, rows, bert, tmp_path / "stopped", 2)
    bert.load_state_dict(start, strict=False)
    again, _ = trained(robustness, rows, bert, tmp_path / "stopped", 2)
    torch.testing.assert_close(dict(again.state_dict()), end, rtol=0, atol=0)


def stop_at(model: torch.nn.Module, step: int) -> None:
    """Interrupt a model at the first forward pass of a step (of three each)."""
    passes = 0

    def count(*_: Any) -> None:
        nonlocal passes
        passes += 1
        if passes == step * 3 + 1:
            handle.remove()
            raise KeyboardInterrupt

    handle = model.register_forward_pre_hook(count)


@pytest.mark.parametrize("other", ["focal", "smoothing"])
def test_losses_of_two_models_and_of_one_do_not_go_together(other: str) -> None:
    with pytest.raises(InvalidInput, match=f"'ensemble' .*'{other}'"):
        Robustness.of([other, "ensemble", "eda"])


def test_methods_of_classifiers_are_not_for_taggers(wording: SnapshotAssertion) -> None:
    assert refusal(InvalidInput, Robustness.of, ["focal", "coral"], of_words=True) == wording


def test_an_adapter_and_the_ensemble_do_not_go_together(
    rows: pl.DataFrame, bert: Any, wording: SnapshotAssertion
) -> None:
    adapted = get_peft_model(bert, LoraConfig(task_type="SEQ_CLS"))
    robustness = Robustness.of(["ensemble"])
    prepared = prepare(robustness, rows)
    assert refusal(InvalidInput, robustness.objective, prepared, adapted) == wording


def test_lacking_synonyms_are_told_before_any_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr("nltk.data.path", [])
    with pytest.raises(InvalidInput, match="WordNet"):
        Robustness.of(["eda"])
    assert Robustness.of(["eda"], SynonymSource.EMBEDDINGS).synonyms == "embeddings"
    assert Robustness.of(["focal"]).methods.keys() == {"focal"}


def test_the_seed_decides_the_copies(rows: pl.DataFrame) -> None:
    eda = Robustness.of(["eda"])
    first, again, other = (prepare(eda, rows, seed=seed).rows for seed in (0, 0, 1))
    assert len(first) == 2 * len(rows)
    assert first.equals(again)
    assert not first.equals(other)


def test_naming_methods_loads_no_heavy_library() -> None:
    assert not hasattr(method_module, "torch")
    assert not hasattr(method_module, "polars")
