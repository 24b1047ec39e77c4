"""Models that write are trained from scratch until they copy what they read."""

from itertools import zip_longest
from pathlib import Path

import polars as pl
import pytest
import torch
from syrupy.assertion import SnapshotAssertion

from shiftbench.baselines import finetune_seq2seq
from shiftbench.baselines.robust.synonyms import SynonymSource
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.validation.cards import read_card
from shiftbench.validation.prediction_files import read_predictions
from shiftbench.validation.predictions import check_predictions
from shiftbench.validation.report import InvalidInput
from tests.baselines.kinds import LETTERS, WORDS
from tests.baselines.tiny import save_bert
from tests.baselines.tiny_models import save_t5
from tests.baselines.training.tiny_tokenizers import t5_tokenizer
from tests.refusals import refusal


def test_a_model_of_random_weights_learns_to_copy(kinds: DatasetFolder, tmp_path: Path) -> None:
    out = tmp_path / "p.parquet"
    model = save_t5(tmp_path / "t5", LETTERS)
    options = {"epochs": 3, "learning_rate": 8e-3, "batch_size": 64, "max_target": 8}
    finetune_seq2seq.main("copies", kinds.path, out, model=model, **options)
    frame = pl.read_parquet(out).join(kinds.split("copies", "short", "test"), on="id")
    pairs = [
        pair
        for row in frame.iter_rows(named=True)
        for pair in zip_longest(row["prediction"].split(), row["target_text"].split())
    ]
    assert len(frame) == 200
    assert sum(written == asked for written, asked in pairs) / len(pairs) > 0.95
    card = read_card(tmp_path / "p.card.yaml")
    assert card.name == "t5"
    assert card.base_model == model
    assert card.model_selection == "source-validation"


def test_answers_are_written_within_their_length_by_a_search_with_beams(kinds: DatasetFolder, tmp_path: Path) -> None:
    out = tmp_path / "p.parquet"
    options = {"epochs": 1, "train_size": 32, "batch_size": 8, "max_target": 3, "beams": 2}
    model = save_t5(tmp_path / "t5", [*WORDS, "No", "answer"])
    finetune_seq2seq.main("questions", kinds.path, out, model=model, source=["open"], **options)
    frame = read_predictions(out)
    assert len(check_predictions(frame, [kinds.prediction_task("questions")], "p")) == 60
    assert frame["prediction"].str.split(" ").list.len().max() <= 3


@pytest.mark.parametrize("task", ["tags", "copies"])
def test_what_cannot_write_is_refused(task: str, kinds: DatasetFolder, tmp_path: Path) -> None:
    words = {
        "tags": "this baseline is for generation and extractive_qa tasks",
        "copies": "the model is not an encoder-dec",
    }
    model = str(save_bert(tmp_path / "m", WORDS)) if task == "copies" else save_t5(tmp_path / "m", WORDS)
    with pytest.raises(InvalidInput, match=words[task]):
        finetune_seq2seq.main(task, kinds.path, tmp_path / "p.parquet", model=model)


def test_a_vocabulary_larger_than_the_models_is_refused(
    kinds: DatasetFolder, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    model = save_t5(tmp_path / "m", WORDS)
    t5_tokenizer([*WORDS, "zebra"]).save_pretrained(model)
    assert (
        refusal(InvalidInput, finetune_seq2seq.main, "copies", kinds.path, tmp_path / "p.parquet", model=model)
        == wording
    )


def test_methods_train_models_that_write(kinds: DatasetFolder, tmp_path: Path) -> None:
    """Copies of questions have other questions, and the context and answer of their original."""
    options = {"epochs": 1, "train_size": 16, "batch_size": 8, "max_target": 3, "select": False}
    model, out = save_t5(tmp_path / "t5", [*WORDS, "No", "answer"]), tmp_path / "p.parquet"
    methods = ["eda", "freelb", "focal", "smoothing"]
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shiftbench.baselines.training.finetuner.Finetuner.embeddings", lambda self: torch.eye(300))
        train = finetune_seq2seq.Seq2seqFinetuner.labelled_features
        patch.setattr(
            finetune_seq2seq.Seq2seqFinetuner,
            "labelled_features",
            lambda self, rows, n: seen.append(rows) or train(self, rows, n),
        )
        finetune_seq2seq.main(
            "questions", kinds.path, out, model=model, source=["open"], target=["open"], method=methods,
            synonyms=SynonymSource.EMBEDDINGS, **options,
        )  # fmt: skip
    (rows,) = seen
    assert rows[16:].select("context", "answers").equals(rows[:16].select("context", "answers"))
    assert (rows[16:]["question"] != rows[:16]["question"]).any()
    assert read_card(tmp_path / "p.card.yaml").name.split(", ") == ["t5", *sorted(methods)]
    assert pl.read_parquet(out)["prediction"].len() == 30
