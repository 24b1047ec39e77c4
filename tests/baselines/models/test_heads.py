"""The head that fine-tuning starts from: a checkpoint's own by name, in the task's order, else a new one, and said."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
import torch
from syrupy.assertion import SnapshotAssertion

from shiftbench.baselines import finetune_classifier
from shiftbench.baselines.models.heads import CLASSIFIER, TAGGER, Head
from shiftbench.baselines.models.loading import load_model
from shiftbench.baselines.training.models import load_config
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.validation.vocabulary import TaskKind
from tests.baselines.models.saved import save_classifier, save_with_head
from tests.baselines.tiny import save_bert
from tests.heard import heard

EXAMPLE = {"input_ids": torch.tensor([[2, 5, 6, 3]])}


def logits(model: Any) -> Any:
    return model.eval()(**EXAMPLE).logits.detach()


def head(spec: str, *labels: str, kind: tuple[str, str] = CLASSIFIER) -> Head:
    return Head.of(load_config(spec), kind, labels)


def test_a_head_for_the_same_labels_is_kept_in_the_tasks_order(tmp_path: Path, wording: SnapshotAssertion) -> None:
    spec = save_classifier(tmp_path / "m", "Contradiction", "ENTAILMENT", "neutral")
    own = head(spec, "Contradiction", "ENTAILMENT", "neutral").load(spec, 0)
    turned = head(spec, "entailment", "neutral", "contradiction")
    model = turned.load(spec, 0)
    assert torch.allclose(logits(model), logits(own)[:, [1, 2, 0]], atol=1e-6)
    assert model.config.id2label == {0: "entailment", 1: "neutral", 2: "contradiction"}
    other = save_classifier(tmp_path / "other", "negative", "positive")
    assert [turned.note, head(other, "benign", "toxic").note] == wording


def test_a_head_for_other_labels_is_drawn_anew_and_said(tmp_path: Path) -> None:
    spec = save_classifier(tmp_path / "m", "negative", "positive")
    other = head(spec, "benign", "toxic")

    first, second = other.load(spec, 1), other.load(spec, 2)
    assert torch.equal(first.bert.embeddings.word_embeddings.weight, second.bert.embeddings.word_embeddings.weight)
    assert not torch.equal(first.classifier.weight, second.classifier.weight)
    assert torch.equal(first.classifier.weight, other.load(spec, 1).classifier.weight)
    assert head(spec, "a", "b", "c").load(spec, 0).classifier.out_features == 3
    numbered = save_classifier(tmp_path / "n", "LABEL_0", "LABEL_1")
    assert head(numbered, "benign", "toxic").order is None


def test_taggers_and_encoders(tmp_path: Path) -> None:
    spec = save_with_head(tmp_path / "t", "BertForTokenClassification", id2label={0: "B-x", 1: "O"})
    model = head(spec, "O", "B-x", kind=TAGGER).load(spec, 0)
    own = head(spec, "B-x", "O", kind=TAGGER).load(spec, 0)
    assert torch.allclose(logits(model), logits(own)[..., [1, 0]], atol=1e-6)
    encoder = str(save_bert(tmp_path / "encoder", ["red"]))
    plain = head(encoder, "a", "b", "c")
    assert (plain.note, plain.load(encoder, 0).config.num_labels) == (None, 3)


@pytest.mark.parametrize("names", [("negative", "positive"), ("Positive", "Negative")])
def test_without_training_a_classifier_predicts_as_it_is(
    names: tuple[str, str], synthetic: DatasetFolder, tmp_path: Path
) -> None:
    spec, out = save_classifier(tmp_path / "m", *names), tmp_path / "p.parquet"
    options: dict[str, Any] = {"source": ["lamps"], "target": ["tents"], "probabilities": True}
    with heard() as lines:
        finetune_classifier.main("sa", synthetic.path, out, model=spec, epochs=0, **options)
    assert any("head" in line for line in lines)
    rows, info = synthetic.split("sa", "tents", "test"), synthetic.task("sa")
    asked: dict[str, Any] = {"kind": TaskKind.CLASSIFICATION, "inputs": info.inputs, "labels": info.labels}
    expected = load_model(spec, **asked).predict(rows)
    found = rows.select("id").join(pl.read_parquet(out), on="id", maintain_order="left")
    assert found["prediction"].equals(expected["prediction"])
