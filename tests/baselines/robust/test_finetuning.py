"""The methods as options of ``finetune-classifier``, on tiny models."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
import torch
from transformers import T5Config, T5ForConditionalGeneration

from baselines import finetune_classifier
from baselines.robust.method import Method
from baselines.robust.synonyms import SynonymSource
from builders.folder.reader import DatasetFolder
from leaderboard.scoring.score import score_file
from tests.baselines.tiny import save_bert, words_in
from tests.baselines.training.tiny_tokenizers import t5_tokenizer
from validation.cards import read_card


@pytest.fixture(autouse=True)
def _few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("baselines.robust.bias.TREES", 5)


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
    """Fine-tune as the command does; gives the predictions."""
    finetune_classifier.main(
        "nli",
        folder.path,
        out,
        source=["harbour"],
        target=["harbour", "kitchen"],
        method=[Method(name) for name in methods],
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
