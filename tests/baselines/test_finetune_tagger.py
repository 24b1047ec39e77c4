"""Taggers are trained end to end: what is easy is learnt, every word gets a tag, and all encoders can be read."""

import json
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion
from transformers import ByT5Tokenizer, T5Config

from shiftbench.baselines import finetune_tagger
from shiftbench.baselines.robust.synonyms import SynonymSource
from shiftbench.baselines.training.options import Adapter, TrainingOptions
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.scores.score import score_file
from shiftbench.validation.cards import read_card
from shiftbench.validation.report import InvalidInput
from tests.baselines.kinds import WORDS
from tests.baselines.tiny import save_bert
from tests.baselines.tiny_models import save_roberta
from tests.refusals import refusal


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_bert(tmp_path_factory.mktemp("bert"), WORDS))


def run(folder: DatasetFolder, out: Path, **options: object) -> pl.DataFrame:
    finetune_tagger.main("tags", folder.path, out, **options)
    return pl.read_parquet(out)


def test_names_are_learnt_and_every_target_is_tagged(kinds: DatasetFolder, bert: str, tmp_path: Path) -> None:
    out = tmp_path / "p.parquet"
    frame = run(kinds, out, model=bert, epochs=3, learning_rate=5e-3, batch_size=8)
    (scores,) = score_file(out, kinds).tasks
    assert {shift.source for shift in scores.shifts} == {"notes", "letters"}
    assert min(shift.ss.value for shift in scores.shifts) > 0.95
    assert frame["prediction"].dtype == pl.List(pl.String)
    card = read_card(tmp_path / "p.card.yaml")
    assert (card.base_model, card.paradigm, card.model_selection) == (bert, "fine-tuned", "source-validation")


def test_words_beyond_the_model_are_tagged_too(kinds: DatasetFolder, bert: str, tmp_path: Path) -> None:
    """Windows of eight pieces hold six words; sentences have up to twelve."""
    out = tmp_path / "p.parquet"
    options = {"epochs": 3, "learning_rate": 5e-3, "batch_size": 8, "max_length": 8, "eval_max_length": 8}
    run(kinds, out, model=bert, source=["letters"], target=["letters"], **options)
    assert score_file(out, kinds).tasks[0].summary.mean_ss.value > 0.9


def test_low_rank_updates_are_all_that_is_trained(kinds: DatasetFolder, bert: str, tmp_path: Path) -> None:
    rest = {"epochs": 1, "train_size": 16, "adapter": Adapter.LORA, "adapter_size": 2, "target": ["notes"]}
    run(kinds, tmp_path / "p.parquet", model=bert, source=["notes"], **rest)
    card = read_card(tmp_path / "p.card.yaml")
    assert (card.name.endswith(", LoRA"), card.training_size) == (True, 16)
    assert 0 < (card.tunable_parameters or 0) < 1_000


def test_a_soft_prompt_is_refused(kinds: DatasetFolder, bert: str, tmp_path: Path, wording: SnapshotAssertion) -> None:
    assert refusal(InvalidInput, run, kinds, tmp_path / "p.parquet", model=bert, adapter=Adapter.PROMPT) == wording


def test_a_tokenizer_that_cannot_tell_places_is_refused(
    kinds: DatasetFolder, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    ByT5Tokenizer().save_pretrained(tmp_path)
    T5Config().save_pretrained(tmp_path)
    assert (
        refusal(InvalidInput, finetune_tagger.TaggerFinetuner, kinds.task("tags"), TrainingOptions(model=str(tmp_path)))
        == wording
    )


def test_a_tokenizer_that_needs_spaces_before_words_gets_them(kinds: DatasetFolder, tmp_path: Path) -> None:
    tagger = finetune_tagger.TaggerFinetuner(
        kinds.task("tags"), TrainingOptions(model=save_roberta(tmp_path / "roberta"))
    )
    (features,) = tagger.labelled_features(pl.DataFrame({"tokens": [["ab", "c"]], "tags": [[1, 2]]}), 32)
    assert tagger.tokenizer.decode(features["input_ids"]) == "<s> ab c</s>"
    assert [label for label in features["labels"] if label >= 0] == [1, 2]


def test_a_perfect_tagger_of_nothing_scores_full(
    kinds: DatasetFolder, bert: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Validation rows without a span choose no worse epoch, nor an error."""
    tagger = finetune_tagger.TaggerFinetuner(kinds.task("tags"), TrainingOptions(model=bert))
    rows = pl.DataFrame({"tokens": [["the", "of"], ["and"]], "tags": [[0, 0], [0]]})
    score = tagger.scorer(None, rows)  # type: ignore[arg-type]
    monkeypatch.setattr(tagger, "_tags", lambda *_: [[0, 0], [0]])
    assert score(None) == 1.0
    monkeypatch.setattr(tagger, "_tags", lambda *_: [[0, 1], [0]])
    assert score(None) == 0.0


def test_other_kinds_of_task_are_refused(
    kinds: DatasetFolder, bert: str, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    assert (
        refusal(InvalidInput, finetune_tagger.main, "copies", kinds.path, tmp_path / "p.parquet", model=bert) == wording
    )


def test_methods_train_taggers(kinds: DatasetFolder, bert: str, tmp_path: Path) -> None:
    options = {"source": ["notes"], "target": ["notes"], "epochs": 1, "learning_rate": 5e-3, "train_size": 24}
    methods = ["smoothing", "focal", "freelb", "eda"]
    run(kinds, tmp_path / "p.parquet", model=bert, **options, method=methods, synonyms=SynonymSource.EMBEDDINGS)
    assert read_card(tmp_path / "p.card.yaml").name.split(", ") == [Path(bert).name, *sorted(methods)]
    (record,) = json.loads((tmp_path / "p.training.json").read_text(encoding="utf-8"))
    assert (record["train_rows"], record["examples"]) == (24, 48)
