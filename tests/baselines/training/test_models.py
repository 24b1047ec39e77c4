"""Loading models: which version a name stands for, and what a model must bring."""

import os
import shutil
from pathlib import Path

import pytest
import torch
from syrupy.assertion import SnapshotAssertion

from shiftbench.baselines.training.models import (
    add_low_rank_updates,
    determinism,
    load_model,
    load_tokenizer,
    model_version,
    padding_token,
)
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal


def test_other_weights_in_the_same_folder_are_another_version(tiny_bert: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bert"
    shutil.copytree(tiny_bert, folder)
    before = model_version(str(folder))
    assert model_version(str(folder)) == before
    (folder / "model.safetensors").write_bytes(b"trained further")
    assert model_version(str(folder)) != before


def test_a_tokenizer_without_padding_gets_its_end_of_text_or_unknown_token(
    tiny_bert: Path, wording: SnapshotAssertion
) -> None:
    tokenizer = load_tokenizer(str(tiny_bert))
    assert padding_token(tokenizer, "bert") == 0
    tokenizer.pad_token, tokenizer.eos_token = None, "[SEP]"
    assert (padding_token(tokenizer, "bert"), tokenizer.pad_token) == (3, "[SEP]")
    tokenizer.pad_token = tokenizer.eos_token = None
    assert padding_token(tokenizer, "bert") == 1
    tokenizer.pad_token = tokenizer.unk_token = None
    assert refusal(InvalidInput, padding_token, tokenizer, "bert") == wording


def test_low_rank_updates_go_where_they_are_asked_for(tiny_bert: Path, wording: SnapshotAssertion) -> None:
    def updated(targets: list[str] | None) -> set[str]:
        model = load_model("AutoModelForSequenceClassification", str(tiny_bert), 0)
        names = dict(add_low_rank_updates(model, "SEQ_CLS", 2, targets).named_parameters())
        return {name.split(".lora_")[0].rpartition(".")[2] for name in names if ".lora_A" in name}

    assert updated(None) == {"query", "value"}
    assert updated(["key", "dense"]) == {"key", "dense"}
    assert refusal(InvalidInput, updated, ["key", "q_proj"]) == wording


def test_determinism_is_kept_where_asked_and_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    for asked in (True, False):
        with determinism(asked=asked):
            assert torch.are_deterministic_algorithms_enabled() is asked
            assert ("CUBLAS_WORKSPACE_CONFIG" in os.environ) is asked
    assert not torch.are_deterministic_algorithms_enabled()
    assert "CUBLAS_WORKSPACE_CONFIG" not in os.environ
    words = "--deterministic: an operation of the model has no deterministic implementation"
    with pytest.raises(InvalidInput, match=words), determinism(asked=True):
        raise RuntimeError("x_cuda does not have a deterministic implementation, but you set ...")
    assert not torch.are_deterministic_algorithms_enabled()
    with pytest.raises(RuntimeError, match="other"), determinism(asked=True):
        raise RuntimeError("other")


def test_a_folder_of_weights_alone_is_refused(tiny_bert: Path, tmp_path: Path, wording: SnapshotAssertion) -> None:
    for name in ("config.json", "model.safetensors"):
        shutil.copy(tiny_bert / name, tmp_path)
    assert refusal(InvalidInput, load_tokenizer, str(tmp_path)) == wording


def test_weights_that_are_cut_short_are_told_in_one_line(tiny_bert: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bert"
    shutil.copytree(tiny_bert, folder)
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:500])
    with pytest.raises(InvalidInput, match=r"--model: .* loaded"):
        load_model("AutoModel", str(folder), 0)
