"""Models of transformers: outputs by name, what is cut or empty counted, what cannot be used refused."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from safetensors.torch import load_file, save_file
from syrupy.assertion import SnapshotAssertion

from shiftbench.baselines.models.loaded import RowFailure
from shiftbench.baselines.models.loading import load_model
from shiftbench.baselines.models.settings import ModelSettings
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.vocabulary import TaskKind
from tests.baselines.models.saved import save_classifier, save_with_head
from tests.baselines.tiny import save_bert
from tests.baselines.tiny_models import save_t5
from tests.refusals import refusal

TEXT = pl.DataFrame({"text": ["red cup", "", "blue " * 31, "blue " * 30, "boat"]})


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> str:
    return save_classifier(tmp_path_factory.mktemp("model") / "sorter", "No", "YES", "maybe")


def load(spec: str, kind: TaskKind = TaskKind.CLASSIFICATION, **options: Any) -> Any:
    return load_model(spec, **{"kind": kind, "inputs": ["text"], "labels": ["yes", "no", "maybe"], **options})


def test_a_classifier_is_read_by_name_and_counts_what_it_cannot_read(classifier: str) -> None:
    model = load(classifier)
    found = model.predict(TEXT)
    assert (model.name, model.revision) == ("sorter", None)
    assert (model.counts.rows, model.counts.empty, model.counts.truncated) == (5, 1, 1)
    assert model.counts.truncated_share == pytest.approx(1 / 5)
    turned = load(classifier, labels=["maybe", "yes", "no"]).predict(TEXT)
    assert turned["prediction"].equals(found["prediction"])
    assert [row[1:] + row[:1] for row in turned["probabilities"].to_list()] == [
        pytest.approx(row) for row in found["probabilities"].to_list()
    ]
    assert found["confidence"].to_list() == pytest.approx([max(row) for row in found["probabilities"].to_list()])


def test_its_probabilities_are_those_of_the_librarys_own_pipeline(classifier: str) -> None:
    from transformers import pipeline

    own = pipeline("text-classification", classifier, top_k=None)(TEXT["text"].to_list()[3:])
    found = load(classifier).predict(TEXT)["probabilities"].to_list()[3:]
    for row, scores in zip(found, own, strict=True):
        by_name = {one["label"].lower(): one["score"] for one in scores}
        assert row == pytest.approx([by_name[name] for name in ("yes", "no", "maybe")], abs=1e-5)


def test_pairs_are_read_as_pairs(classifier: str, wording: SnapshotAssertion) -> None:
    rows = pl.DataFrame({"text1": ["red cup", "red"], "text2": ["boat", "cup boat"]})
    found = load(classifier, inputs=["text1", "text2"]).predict(rows)["probabilities"].to_list()
    assert found[0] != pytest.approx(found[1])
    assert refusal(InvalidInput, load(classifier, inputs=["text1", "text2"]).predict, rows.drop("text2")) == wording


def test_a_row_that_gives_nan_is_named_and_those_before_it_are_kept(tmp_path: Path) -> None:
    folder = Path(save_classifier(tmp_path / "m", "yes", "no", "maybe"))
    weights = load_file(folder / "model.safetensors")
    weights["bert.embeddings.word_embeddings.weight"][8] = float("nan")  # 'cup'
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    rows = pl.DataFrame({"text": ["red", "boat", "the cup", "blue"]})
    with pytest.raises(RowFailure, match=r"m, row 3: .*NaN") as refused:
        load(str(folder)).predict(rows)
    assert refused.value.row == 2
    assert len(refused.value.done) == 2


def test_a_tagger_reads_every_word(tmp_path: Path) -> None:
    names = {0: "B-PER", 1: "I-PER", 2: "O", 3: "B-MISC"}
    spec = save_with_head(tmp_path / "tagger", "BertForTokenClassification", id2label=names)
    labels, rows = ["O", "B-person", "I-person"], pl.DataFrame({"tokens": [["red", "cup"], ["boat", "blue"] * 40, []]})
    options: dict[str, Any] = {"inputs": ["tokens"], "labels": labels}
    model = load(spec, TaskKind.TAGGING, **options, label_map={"PER": "person", "MISC": "O"})
    found = model.predict(rows)["prediction"].to_list()
    assert list(map(len, found)) == [2, 80, 0]
    assert {tag for row in found for tag in row} <= set(labels)
    assert (model.counts.empty, model.counts.truncated_share) == (1, 0)
    with pytest.raises(InvalidInput, match="found 3 of 4: 'B-PER'"):
        load(spec, TaskKind.TAGGING, **options)


def test_answers_are_spans_and_none_where_the_model_may_abstain(tmp_path: Path) -> None:
    spec = save_with_head(tmp_path / "reader", "BertForQuestionAnswering")
    rows = pl.DataFrame({"context": ["red cup of the boat " * 9] * 2, "question": ["red", "cup " * 20]})
    options: dict[str, Any] = {"inputs": ["context", "question"], "labels": []}
    model = load(spec, TaskKind.EXTRACTIVE_QA, **options)
    answers = model.predict(rows)["prediction"].to_list()
    assert all(answer and answer in context for answer, context in zip(answers, rows["context"], strict=True))
    assert model.counts.truncated_share == 0.5  # a question of more than a quarter of a window
    load(spec, TaskKind.EXTRACTIVE_QA, **options, settings=ModelSettings(may_abstain=True)).predict(rows)


def test_an_encoder_decoder_writes_texts_and_labels(tmp_path: Path, wording: SnapshotAssertion) -> None:
    from transformers import AutoConfig, AutoTokenizer, T5ForConditionalGeneration

    folder = save_t5(tmp_path / "t5", ["yes", "no", "maybe"])
    T5ForConditionalGeneration(AutoConfig.from_pretrained(folder)).save_pretrained(folder)
    rows = pl.DataFrame({"text": ["abc", "abc " * 300]})
    model = load(folder, TaskKind.GENERATION, labels=[], settings=ModelSettings(form="summarize: {text}", max_target=4))
    written = model.predict(rows)["prediction"].to_list()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert all(len(tokenizer(text)["input_ids"]) <= 10 for text in written)
    assert model.counts.truncated_share == 0.5
    assert set(load(folder, settings=ModelSettings(max_target=2)).predict(rows)["prediction"]) <= {
        "yes",
        "no",
        "maybe",
        "__unparsed__",
    }
    assert (
        refusal(InvalidInput, load, folder, TaskKind.GENERATION, labels=[], settings=ModelSettings(form="summarize:"))
        == wording
    )


def test_what_cannot_be_used_is_told_with_its_cure(classifier: str, tmp_path: Path, wording: SnapshotAssertion) -> None:
    encoder = str(save_bert(tmp_path / "encoder", ["red"]))
    assert [
        refusal(InvalidInput, load, encoder),
        refusal(InvalidInput, load, classifier, TaskKind.TAGGING, inputs=["tokens"]),
    ] == wording
    folder = Path(save_classifier(tmp_path / "headless", "yes", "no", "maybe"))
    weights = load_file(folder / "model.safetensors")
    save_file(
        {name: each for name, each in weights.items() if "classifier" not in name},
        folder / "model.safetensors",
        {"format": "pt"},
    )
    assert refusal(InvalidInput, load, str(folder)) == wording
    (tmp_path / "notes.txt").write_text("a kettle", encoding="utf-8")
    assert [
        refusal(InvalidInput, load, str(tmp_path / "notes.txt")),
        refusal(InvalidInput, load, "./no-model"),
        refusal(InvalidInput, load, classifier, inputs=["a", "b", "c"]),
    ] == wording
    names = dict(enumerate(("yes", "no", "maybe")))
    many: dict[str, Any] = {"problem_type": "multi_label_classification", "id2label": names}
    assert (
        refusal(InvalidInput, load, save_with_head(tmp_path / "many", "BertForSequenceClassification", **many))
        == wording
    )
