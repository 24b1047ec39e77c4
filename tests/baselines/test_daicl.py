"""DAICL as a program, on a tiny language model and the stub encoder."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import torch
from syrupy.assertion import SnapshotAssertion
from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel

from shiftbench.baselines import daicl
from shiftbench.baselines.training import trainer
from shiftbench.baselines.training.options import BaseDtype
from shiftbench.builders.building.own import build_own
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.scores.score import score_file
from shiftbench.validation.cards import read_card
from shiftbench.validation.report import InvalidInput
from tests.baselines.tiny import save_llama, tokenizer_of, words_in
from tests.refusals import refusal


@pytest.fixture(autouse=True)
def _stub_encoder(monkeypatch: pytest.MonkeyPatch, word_encoder: Any) -> None:
    monkeypatch.setattr(daicl, "Encoder", lambda name: word_encoder)


@pytest.fixture(scope="module")
def llama(synthetic: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> str:
    words = [*words_in(synthetic, "sa"), "Text", "Label", ":", *synthetic.task("sa").labels]
    return str(save_llama(tmp_path_factory.mktemp("model"), words))


def run(folder: DatasetFolder, out: Path, model: str, **options: Any) -> pl.DataFrame:
    given = {
        "source": ["lamps"],
        "target": ["lamps", "tents"],
        "batch_size": 16,
        "accumulate": 2,
        "epochs": 1,
    } | options
    daicl.main("sa", folder.path, out, model=model, **given)
    return pl.read_parquet(out)


def test_every_test_text_is_predicted_and_the_card_says_what_was_read(
    llama: str, synthetic: DatasetFolder, tmp_path: Path
) -> None:
    out = tmp_path / "p.parquet"
    frame = run(synthetic, out, llama)
    assert sorted(frame["id"]) == sorted(
        [*synthetic.split("sa", "lamps", "test")["id"], *synthetic.split("sa", "tents", "test")["id"]]
    )
    assert frame["confidence"].is_between(0.5, 1).all()
    (scores,) = score_file(out, synthetic).tasks
    assert [shift.target for shift in scores.shifts] == ["tents"]
    card = read_card(tmp_path / "p.card.yaml")
    assert card.tuning_trials == 1
    assert (card.paradigm, card.shots, card.family) == ("retrieval", 3, "llama")
    assert card.extra_data
    assert card.tunable_parameters == 4 * 2 * 32 * 16
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.card.yaml", "p.parquet", "p.training.json"]
    (record,) = json.loads((tmp_path / "p.training.json").read_text(encoding="utf-8"))
    assert record["targets"].keys() == {"lamps", "tents"}
    assert record["targets"]["tents"]["steps"] == -(-record["train_rows"] // 16)


def test_the_frozen_base_may_be_in_half_precision_and_the_updates_elsewhere(
    llama: str, synthetic: DatasetFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = {}

    def stop(model: Any, *given: Any, **options: Any) -> None:
        seen.update({name: (weight.dtype, weight.requires_grad) for name, weight in model.named_parameters()})
        model(input_ids=torch.tensor([[4, 5, 6]]), labels=torch.tensor([[4, 5, 6]])).loss.backward()
        raise InterruptedError

    monkeypatch.setattr(trainer, "train", stop)
    with pytest.raises(InterruptedError):
        run(synthetic, tmp_path / "p.parquet", llama, base_dtype=BaseDtype.BF16, lora_targets=["up_proj"])
    updates = {name: facts for name, facts in seen.items() if "lora" in name}
    assert set(updates.values()) == {(torch.float32, True)}
    assert all("up_proj" in name for name in updates)
    assert {facts for name, facts in seen.items() if "lora" not in name} == {(torch.bfloat16, False)}


def test_source_texts_with_labels_are_learned_after_target_texts_without(
    llama: str, synthetic: DatasetFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[Any, Any]] = []

    def stop(model: Any, rows: Any, padding: Any, settings: Any, **_: Any) -> None:
        seen.append((rows, settings))
        raise InterruptedError

    monkeypatch.setattr(trainer, "train", stop)
    with pytest.raises(InterruptedError):
        run(synthetic, tmp_path / "p.parquet", llama, target=["tents"])
    ((rows, settings),) = seen
    source = synthetic.split("sa", "lamps", "train")
    words = tokenizer_of([]).backend_tokenizer.pre_tokenizer

    def spelled(text: str) -> str:
        return " ".join(word for word, _ in words.pre_tokenize_str(text))

    unlabelled = {spelled(text) for text in synthetic.split("sa", "tents", "train")["text"]}
    names = synthetic.task("sa").labels
    assert len(rows) == len(source)
    tokenizer = AutoTokenizer.from_pretrained(llama)
    for row, (text, label) in zip(rows, source.select("text", "label").iter_rows(), strict=True):
        sequence = " ".join(tokenizer.convert_ids_to_tokens(row["input_ids"]))
        *contexts, query = sequence.removeprefix("Text : ").split(" Text : ")
        assert len(contexts) == 3
        assert set(contexts) <= unlabelled
        assert query == f"{spelled(text)} Label : {names[label]} [SEP]"
    assert (settings.learning_rate, settings.max_length, settings.weight_decay) == (3e-4, 512, 0)


def test_a_finished_target_is_not_trained_again(
    llama: str, synthetic: DatasetFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run(synthetic, tmp_path / "whole.parquet", llama)
    real, calls = trainer.train, []

    def train(*given: Any, **options: Any) -> Any:
        calls.append(options["scratch"].name)
        if calls.count("tents") == 1 and calls[-1] == "tents":
            raise KeyboardInterrupt
        return real(*given, **options)

    monkeypatch.setattr(trainer, "train", train)
    with pytest.raises(KeyboardInterrupt):
        run(synthetic, tmp_path / "p.parquet", llama)
    assert run(synthetic, tmp_path / "p.parquet", llama).equals(whole)
    assert calls == ["lamps", "tents", "tents"]


def test_targets_without_train_texts_are_refused_before_any_training(
    llama: str, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    (tmp_path / "c.csv").write_text(
        "domain,label,text,split\na,x,one,train\na,y,two,train\na,x,six,test\nb,x,three,test\nb,y,four,test\n"
    )
    build_own("sa", tmp_path / "c.csv", tmp_path / "own")
    folder = DatasetFolder.open(tmp_path / "own")
    assert refusal(InvalidInput, run, folder, tmp_path / "p.parquet", llama, source=["a"], target=None) == wording


def test_long_texts_are_not_trained_on(llama: str, tmp_path: Path, wording: SnapshotAssertion) -> None:
    text = " ".join(["word"] * 50)
    rows = [f"a,{label},{text} {number},train" for number, label in enumerate("xyxy")]
    (tmp_path / "c.csv").write_text("\n".join(["domain,label,text,split", *rows, "a,x,six,test", "b,y,ten,test", ""]))
    build_own("sa", tmp_path / "c.csv", tmp_path / "own")
    assert (
        refusal(
            InvalidInput,
            run,
            DatasetFolder.open(tmp_path / "own"),
            tmp_path / "p.parquet",
            llama,
            source=["a"],
            target=["a"],
        )
        == wording
    )


def test_a_model_with_another_attention_is_refused(
    synthetic: DatasetFolder, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    tokenizer = tokenizer_of(["Label"])
    tokenizer.save_pretrained(tmp_path / "gpt2")
    GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), n_embd=8, n_layer=1, n_head=1)).save_pretrained(
        tmp_path / "gpt2"
    )
    assert refusal(InvalidInput, run, synthetic, tmp_path / "p.parquet", str(tmp_path / "gpt2")) == wording
