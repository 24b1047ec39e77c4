"""Loading models: which version a name stands for, and what a model must bring."""

import shutil
from pathlib import Path

import pytest

from baselines.training.models import load_model, load_tokenizer, model_version, padding_token
from validation.report import InvalidInput


def test_other_weights_in_the_same_folder_are_another_version(tiny_bert: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bert"
    shutil.copytree(tiny_bert, folder)
    before = model_version(str(folder))
    assert model_version(str(folder)) == before
    (folder / "model.safetensors").write_bytes(b"trained further")
    assert model_version(str(folder)) != before


def test_a_model_without_padding_is_refused(tiny_bert: Path) -> None:
    tokenizer = load_tokenizer(str(tiny_bert))
    assert padding_token(tokenizer, "bert") == 0
    tokenizer.pad_token = None
    with pytest.raises(InvalidInput, match="--model: the model's tokenizer has no padding token; found 'bert'"):
        padding_token(tokenizer, "bert")


def test_a_folder_of_weights_alone_is_refused(tiny_bert: Path, tmp_path: Path) -> None:
    for name in ("config.json", "model.safetensors"):
        shutil.copy(tiny_bert / name, tmp_path)
    with pytest.raises(InvalidInput, match="--model: the model has no tokenizer"):
        load_tokenizer(str(tmp_path))


def test_weights_that_are_cut_short_are_told_in_one_line(tiny_bert: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bert"
    shutil.copytree(tiny_bert, folder)
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:500])
    with pytest.raises(InvalidInput, match="--model: the model cannot be loaded"):
        load_model("AutoModel", str(folder), 0)
