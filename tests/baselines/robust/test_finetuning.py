"""The methods as options of ``finetune-classifier``, on tiny models."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import torch
from syrupy.assertion import SnapshotAssertion
from transformers import T5Config, T5ForConditionalGeneration

from shiftbench.baselines import finetune_classifier
from shiftbench.baselines.robust.synonyms import SynonymSource
from shiftbench.baselines.training.options import Adapter
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.scores.score import score_file
from shiftbench.validation.cards import read_card
from shiftbench.validation.report import InvalidInput
from tests.baselines.tiny import save_bert, save_llama, words_in
from tests.baselines.training.tiny_tokenizers import t5_tokenizer
from tests.refusals import refusal


@pytest.fixture(autouse=True)
def _few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shiftbench.baselines.robust.bias.TREES", 5)


@pytest.fixture(scope="module")
def encoder(synthetic: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_bert(tmp_path_factory.mktemp("model"), words_in(synthetic, "nli")))


@pytest.fixture(scope="module")
def t5(tmp_path_factory: pytest.TempPathFactory) -> str:
    path, tokenizer = tmp_path_factory.mktemp("t5"), t5_tokenizer(("Yes", "Maybe", "No"))
    marks = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
    config = T5Config(vocab_size=len(tokenizer), d_model=32, d_kv=16, d_ff=32, num_layers=1, num_heads=2, **marks)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        T5ForConditionalGeneration(config).save_pretrained(path)
    tokenizer.save_pretrained(path)
    return str(path)


def finetuned(folder: DatasetFolder, out: Path, model: str, methods: Sequence[str]) -> pl.DataFrame:
    """Run fine-tuning as the command does; returns the predictions."""
    finetune_classifier.main(
        "nli",
        folder.path,
        out,
        source=["harbour"],
        target=["harbour", "kitchen"],
        method=list(methods),
        synonyms=SynonymSource.EMBEDDINGS,
        model=model,
        epochs=1,
        learning_rate=3e-3,
        max_length=64,
    )
    return pl.read_parquet(out)


@pytest.mark.long
def test_every_method_trains_an_encoder_in_its_own_way(encoder: str, synthetic: DatasetFolder, tmp_path: Path) -> None:
    confidences = set()
    for methods in ([], ["eda"], ["freelb"], ["focal"], ["smoothing"], ["ensemble"], ["eda", "ensemble", "freelb"]):
        out = tmp_path / f"p{'-'.join(methods)}.parquet"
        frame = finetuned(synthetic, out, encoder, methods)
        (scores,) = score_file(out, synthetic).tasks
        assert [(shift.source, shift.target) for shift in scores.shifts] == [("harbour", "kitchen")]
        name = read_card(out.with_suffix(".card.yaml")).name
        assert name.endswith(", ".join(methods))
        confidences.add(tuple(frame["confidence"]))
    assert len(confidences) == 7


def test_an_encoder_decoder_is_trained_by_the_words_of_the_labels(
    t5: str, synthetic: DatasetFolder, tmp_path: Path
) -> None:
    frame = finetuned(synthetic, tmp_path / "p.parquet", t5, ["ensemble", "freelb"])
    assert len(frame) == 60
    assert set(frame["prediction"]) <= set(synthetic.task("nli").labels)


def trained(folder: DatasetFolder, out: Path, model: str, methods: Sequence[str], **options: Any) -> pl.DataFrame:
    """Run fine-tuning on two domains at once."""
    given = {"source": ["harbour+kitchen"], "target": ["orchard", "harbour"], "train_size": 48} | options
    finetune_classifier.main(
        "nli", folder.path, out, method=list(methods), model=model, epochs=1,
        learning_rate=3e-3, max_length=64, **given,
    )  # fmt: skip
    return pl.read_parquet(out)


MORE = (["group-dro", "freelb"], ["coral"], ["lisa"], ["dann"])


@pytest.mark.parametrize(
    "methods",
    [
        ["irm"],
        ["dann", "dfr"],
        *(pytest.param(each, marks=pytest.mark.long) for each in MORE),
    ],
    ids="+".join,
)
def test_methods_of_several_domains_and_those_after_training(
    methods: list[str], encoder: str, synthetic: DatasetFolder, tmp_path: Path
) -> None:
    out = tmp_path / "p.parquet"
    frame = trained(synthetic, out, encoder, methods)
    assert set(frame["source"]) == {"harbour+kitchen"}
    (record,) = json.loads((tmp_path / "p.training.json").read_text(encoding="utf-8"))
    assert record["examples"] == 48
    card = read_card(tmp_path / "p.card.yaml")
    assert card.name.endswith(", ".join(sorted(methods)))
    assert card.extra_data is None


def test_methods_that_lack_what_they_need_are_refused(
    encoder: str, synthetic: DatasetFolder, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    wrong: list[tuple[list[str], dict[str, Any]]] = [
        (["coral"], {"source": ["harbour"]}),
        (["coral", "lisa"], {}),
        (["irm", "focal"], {}),
        (["group-dro"], {"adapter": Adapter.LORA}),
        (["dfr"], {"adapter": Adapter.LORA}),
    ]
    out = tmp_path / "p.parquet"
    messages = {
        " ".join(methods): refusal(InvalidInput, trained, synthetic, out, encoder, methods, **options)
        for methods, options in wrong
    }
    assert messages == wording


def test_a_decoder_takes_no_method_of_features(
    synthetic: DatasetFolder, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    llama = str(save_llama(tmp_path / "model", words_in(synthetic, "nli")))
    assert refusal(InvalidInput, trained, synthetic, tmp_path / "p.parquet", llama, ["coral"]) == wording
