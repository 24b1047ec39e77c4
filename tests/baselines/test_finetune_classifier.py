"""Fine-tuned classifiers as a program, on a tiny encoder: it learns, goes on, keeps states and tells what it did."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.baselines import finetune_classifier
from shiftbench.baselines.models.loading import load_model
from shiftbench.baselines.models.settings import ModelSettings
from shiftbench.baselines.robust.synonyms import SynonymSource
from shiftbench.baselines.training import trainer
from shiftbench.baselines.training.options import Adapter, Precision
from shiftbench.baselines.training.prediction import _TOKENS
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.scores.score import score_file
from shiftbench.validation.cards import read_card
from shiftbench.validation.report import InvalidInput
from tests.baselines.tiny import save_bert, save_llama, words_in
from tests.refusals import refusal

ASKED: dict[str, Any] = {"source": ["lamps"], "target": ["lamps", "tents"], "epochs": 4, "learning_rate": 5e-3}


@pytest.fixture(scope="module")
def encoder(synthetic: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_bert(tmp_path_factory.mktemp("model"), words_in(synthetic, "sa")))


def run(out: Path, folder: DatasetFolder, encoder: str, **options: Any) -> pl.DataFrame:
    finetune_classifier.main("sa", folder.path, out, model=encoder, **{**ASKED, **options})
    return pl.read_parquet(out)


def test_it_learns_and_leaves_file_card_and_record(encoder: str, synthetic: DatasetFolder, tmp_path: Path) -> None:
    out = tmp_path / "p.parquet"
    run(out, synthetic, encoder, epochs=8)
    (scores,) = score_file(out, synthetic).tasks
    assert scores.shifts[0].ss.value > 0.6
    card = read_card(tmp_path / "p.card.yaml")
    assert (card.base_model, card.family, card.paradigm) == (encoder, "bert", "fine-tuned")
    assert (card.model_selection, card.tuning_trials) == ("source-validation", 1)
    assert card.parameters == card.tunable_parameters
    assert {"torch", "transformers"} <= set(card.versions)
    (record,) = json.loads((tmp_path / "p.training.json").read_text(encoding="utf-8"))
    assert (record["source"], record["seed"], len(record["validation"])) == ("lamps", 0, 8)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.card.yaml", "p.parquet", "p.training.json"]


def test_the_same_seed_gives_the_same_bytes(encoder: str, synthetic: DatasetFolder, tmp_path: Path) -> None:
    first, second = tmp_path / "a.parquet", tmp_path / "b.parquet"
    run(first, synthetic, encoder, epochs=1)
    run(second, synthetic, encoder, epochs=1)
    assert first.read_bytes() == second.read_bytes()


def test_a_stopped_program_goes_on_where_it_was(
    encoder: str, synthetic: DatasetFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"seed": [0, 1], "epochs": 1}
    whole = run(tmp_path / "whole.parquet", synthetic, encoder, **options)
    started: list[int] = []
    train = trainer.train

    def stopped_at_second(*args: Any, seed: int, **kwargs: Any) -> Any:
        started.append(seed)
        if started == [0, 1]:
            raise KeyboardInterrupt
        return train(*args, seed=seed, **kwargs)

    monkeypatch.setattr(trainer, "train", stopped_at_second)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "p.parquet", synthetic, encoder, **options)
    assert not (tmp_path / "p.parquet").exists()
    assert run(tmp_path / "p.parquet", synthetic, encoder, **options).equals(whole)
    assert started == [0, 1, 1]


def test_states_are_files_with_their_step(encoder: str, synthetic: DatasetFolder, tmp_path: Path) -> None:
    run(tmp_path / "p.parquet", synthetic, encoder, epochs=2, keep_state=[0.0, 0.5, 2.0], select=False)
    cards = {path.name: read_card(path) for path in tmp_path.glob("*.card.yaml")}
    (record,) = json.loads((tmp_path / "p.training.json").read_text(encoding="utf-8"))
    steps = record["steps"]
    assert {name: card.step for name, card in cards.items()} == {
        "p.card.yaml": None,
        "p.epoch-0.card.yaml": 0,
        "p.epoch-0.5.card.yaml": round(steps / 4),
        "p.epoch-2.card.yaml": steps,
    }
    assert len({card.name for card in cards.values()}) == 1
    frames = {name: pl.read_parquet(tmp_path / f"{name}.parquet") for name in ("p", "p.epoch-0", "p.epoch-2")}
    assert frames["p"].equals(frames["p.epoch-2"])
    assert not frames["p"].equals(frames["p.epoch-0"])


@pytest.mark.parametrize(
    ("options", "smaller"),
    [
        ({"freeze_embeddings": True}, True),
        ({"adapter": Adapter.LORA, "adapter_size": 2}, True),
        ({"adapter": Adapter.PROMPT, "adapter_size": 3}, True),
        ({"train_size": 20, "method": ["eda"], "synonyms": SynonymSource.EMBEDDINGS}, False),
    ],
)
def test_less_can_be_trained(
    options: dict[str, Any], smaller: bool, encoder: str, synthetic: DatasetFolder, tmp_path: Path
) -> None:
    frame = run(tmp_path / "p.parquet", synthetic, encoder, epochs=1, **options)
    assert len(frame) == 60
    card = read_card(tmp_path / "p.card.yaml")
    assert card.parameters is not None
    assert card.tunable_parameters is not None
    assert (card.tunable_parameters < card.parameters) is smaller
    assert card.training_size == options.get("train_size")


def test_a_trained_model_is_saved_as_transformers_reads_it(
    encoder: str, synthetic: DatasetFolder, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"epochs": 1, "target": ["lamps"], "save_model": tmp_path / "models"}
    frame = run(tmp_path / "p.parquet", synthetic, encoder, **options)
    info = synthetic.task("sa")
    place = str(tmp_path / "models" / "lamps-0")
    model = load_model(
        place, kind=info.kind, inputs=info.inputs, labels=info.labels, settings=ModelSettings(max_length=64)
    )
    rows = synthetic.split("sa", "lamps", "test")
    again = rows.select("id").with_columns(model.predict(rows))
    both = frame.filter(source="lamps").join(again, on="id", suffix="_again")
    assert len(both) == len(rows)
    assert (both["prediction"] == both["prediction_again"]).all()
    for other in ({"keep_state": [1]}, {"adapter": Adapter.LORA}):
        with pytest.raises(InvalidInput, match="complete"):
            run(tmp_path / "q.parquet", synthetic, encoder, **{**options, **other})


def test_a_sweep_is_told_with_all_its_scores(encoder: str, synthetic: DatasetFolder, tmp_path: Path) -> None:
    out = tmp_path / "p.parquet"
    finetune_classifier.main(
        "sa",
        synthetic.path,
        out,
        source=["lamps"],
        target=["tents"],
        model=encoder,
        epochs=1,
        sweep="dr",
        batch_size=64,
    )
    (record,) = json.loads((tmp_path / "p.training.json").read_text(encoding="utf-8"))
    assert [each["record"]["settings"]["learning_rate"] for each in record["sweep"]] == [1e-5, 5e-5, 1e-4]
    best = max(record["sweep"], key=lambda each: each["score"])
    assert record["settings"] == best["record"]["settings"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"model": "/no/such/model"}, "--model: the model cannot be loaded; found '/no/such/model'"),
        ({"recipe": "bos"}, "--recipe: there is no such choice; found 'bos'; did you mean 'boss'"),
        ({"precision": Precision.BF16}, "--precision: bf16 requires a GPU that supports it"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_line(
    options: dict[str, Any], words: str, encoder: str, synthetic: DatasetFolder, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInput) as refused:
        run(tmp_path / "p.parquet", synthetic, options.pop("model", encoder), **options)
    assert str(refused.value).startswith(words)
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_reads_from_left_to_right_takes_no_freelb(
    synthetic: DatasetFolder, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    llama = save_llama(tmp_path / "model", words_in(synthetic, "sa"))
    assert refusal(InvalidInput, run, tmp_path / "p.parquet", synthetic, str(llama), method=["freelb"]) == wording


@pytest.mark.parametrize("pad", [None, pytest.param("[PAD]", marks=pytest.mark.long)])
def test_a_decoder_classifies_whatever_its_files_say_of_padding(
    pad: str | None, synthetic: DatasetFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither configuration names a padding token; each text's label is read at its own last token."""
    llama = save_llama(tmp_path / "model", words_in(synthetic, "sa"))
    for name, key, value in (("config.json", "pad_token_id", None), ("tokenizer_config.json", "pad_token", pad)):
        content = json.loads((llama / name).read_text(encoding="utf-8"))
        (llama / name).write_text(json.dumps({**content, key: value}), encoding="utf-8")
    options: dict[str, Any] = {"epochs": 1, "adapter": Adapter.LORA, "lora_targets": ["q_proj", "v_proj"]}
    together = run(tmp_path / "a.parquet", synthetic, str(llama), **options)
    monkeypatch.setitem(_TOKENS, "cpu", 1)
    alone = run(tmp_path / "b.parquet", synthetic, str(llama), **options)
    assert together["prediction"].equals(alone["prediction"])
    np.testing.assert_allclose(together["confidence"], alone["confidence"], atol=1e-5)
    assert together["confidence"].n_unique() > 20
