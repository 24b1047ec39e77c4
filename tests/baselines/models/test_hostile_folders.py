"""Model folders that somebody else wrote: whatever their files hold is refused in one sentence, and none of it runs."""

import json
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.baselines.models.loading import load_model
from shiftbench.baselines.training.models import load_config
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.vocabulary import TaskKind
from tests.baselines.models.saved import save_classifier
from tests.refusals import refusal


def load(folder: Path) -> Any:
    return load_model(str(folder), kind=TaskKind.CLASSIFICATION, inputs=["text"], labels=["yes", "no"])


def change(file: Path, **settings: Any) -> None:
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | settings), encoding="utf-8")


@pytest.mark.parametrize(
    ("file", "settings", "said"),
    [
        ("config.json", {"id2label": 5}, "the model cannot be loaded; found .*no attribute 'items'"),
        ("config.json", {"vocab_size": "x"}, "the model cannot be loaded; found .*'vocab_size'"),
        ("config.json", {"num_attention_heads": 0}, "the model cannot be loaded; found .*modulo by zero"),
        ("config.json", {"architectures": [5]}, "the model is for another kind of task; found 5 "),
        ("tokenizer_config.json", {"tokenizer_class": 5}, "the model cannot be loaded"),
        ("tokenizer_config.json", {"model_max_length": -5}, "key 'model_max_length': .*found -5; set a number"),
        ("tokenizer_config.json", {"model_max_length": "x"}, "key 'model_max_length': .*found 'x'; set a number"),
    ],
)
def test_settings_of_wrong_types(tmp_path: Path, file: str, settings: dict[str, Any], said: str) -> None:
    folder = Path(save_classifier(tmp_path / "model", "yes", "no"))
    change(folder / file, **settings)
    with pytest.raises(InvalidInput, match=said):
        load(folder)


def test_weights_that_are_a_program(tmp_path: Path) -> None:
    folder = Path(save_classifier(tmp_path / "model", "yes", "no"))
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(b"cposix\nsystem\n(S'echo'\ntR.")
    with pytest.raises(InvalidInput, match="Weights"):
        load(folder)


def test_an_adapter_leads_to_no_other_model(tmp_path: Path, wording: SnapshotAssertion) -> None:
    folder = Path(save_classifier(tmp_path / "model", "yes", "no"))
    elsewhere = {"peft_type": "LORA", "base_model_name_or_path": save_classifier(tmp_path / "other", "yes", "no")}
    (folder / "adapter_config.json").write_text(json.dumps(elsewhere), encoding="utf-8")
    assert refusal(InvalidInput, load, folder) == wording


def test_training_does_not_ask_whether_to_run_a_models_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("builtins.input", lambda _: "y")
    folder = Path(save_classifier(tmp_path / "model", "yes", "no"))
    mark = tmp_path / "ran"
    (folder / "own.py").write_text(f"open({str(mark)!r}, 'w')\n", encoding="utf-8")
    change(folder / "config.json", model_type="own", auto_map={"AutoConfig": "own.Config"})
    with pytest.raises(InvalidInput, match="loaded"):
        load_config(str(folder))
    assert not mark.exists()
