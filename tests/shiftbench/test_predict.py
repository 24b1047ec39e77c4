"""The command ``predict``: a file with its card for any kind of task, and work that goes on after a stop."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from skops import io
from syrupy.assertion import SnapshotAssertion

from shiftbench.baselines.models.pretrained import PretrainedClassifier
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.cli import predict as predicting
from shiftbench.scoring.scores.score import score_file
from shiftbench.validation.cards import read_card
from shiftbench.validation.notices import notes_on_stderr
from shiftbench.validation.report import InvalidInput
from tests.baselines.kinds import build_kinds
from tests.baselines.models.saved import save_classifier, save_with_head
from tests.refusals import refusal


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> DatasetFolder:
    return build_kinds(tmp_path_factory.mktemp("data") / "kinds")


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> str:
    return save_classifier(tmp_path_factory.mktemp("model") / "judge", "Positive", "Negative")


def predict(model: object, folder: DatasetFolder, out: Path, **options: Any) -> pl.DataFrame:
    with notes_on_stderr():
        predicting.predict(str(model), folder.path, out, **options)
    return pl.read_parquet(out)


def test_a_classifier_of_one_domain_is_scored_as_a_baseline_is(
    classifier: str, synthetic: DatasetFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "p.parquet"
    frame = predict(classifier, synthetic, out, task="sa", source="lamps")
    assert frame.columns == ["source", "id", "prediction", "seed", "confidence", "probabilities"]
    assert frame["source"].unique().to_list() == ["lamps"]
    assert sorted(frame["id"]) == sorted(synthetic.test("sa")["id"])
    (task,) = score_file(out, synthetic).tasks
    assert len(task.shifts) == 3
    card = read_card(tmp_path / "p.card.yaml")
    assert (card.name, card.base_model, card.paradigm, card.family) == ("judge", classifier, "fine-tuned", "bert")
    assert {"torch", "transformers"} <= set(card.versions)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.card.yaml", "p.parquet"]
    told = capsys.readouterr().err
    assert "240 rows" in told


def test_what_is_asked_for_is_what_is_written(classifier: str, synthetic: DatasetFolder, tmp_path: Path) -> None:
    options: dict[str, Any] = {"task": "sa", "target": ["tents"], "split": "train", "seed": 3, "name": "Mine"}
    frame = predict(classifier, synthetic, tmp_path / "p.parquet", **options, probabilities=False)
    assert frame.columns == ["source", "id", "prediction", "seed", "confidence"]
    assert frame.select("source", "seed").unique().row(0) == ("elsewhere", 3)
    assert frame["id"].to_list() == synthetic.split("sa", "tents", "train")["id"].to_list()
    assert read_card(tmp_path / "p.card.yaml").name == "Mine"


def test_a_stopped_command_goes_on_with_the_parts_it_has(
    classifier: str, synthetic: DatasetFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shiftbench.baselines.models.pretrained._part_rows", lambda *_: 100)
    whole = predict(classifier, synthetic, tmp_path / "whole.parquet", task="sa")
    asked: list[int] = []
    own = PretrainedClassifier._predict

    def stopped_at_second(self: PretrainedClassifier, rows: pl.DataFrame) -> pl.DataFrame:
        asked.append(len(rows))
        if asked == [100, 100]:
            raise KeyboardInterrupt
        return own(self, rows)

    monkeypatch.setattr(PretrainedClassifier, "_predict", stopped_at_second)
    out = tmp_path / "p.parquet"
    with pytest.raises(KeyboardInterrupt):
        predict(classifier, synthetic, out, task="sa")
    assert not out.exists()
    assert predict(classifier, synthetic, out, task="sa").equals(whole)
    assert asked == [100, 100, 100, 40]
    asked.clear()
    with pytest.raises(KeyboardInterrupt):
        predict(classifier, synthetic, out, task="sa")
    predict(classifier, synthetic, out, task="sa", model_arg=["max_length=16"])  # what was kept is of another setting
    assert asked[2:] == [100, 100, 40]


def test_tags_and_answers(kinds: DatasetFolder, tmp_path: Path) -> None:
    names = dict(enumerate(("I-name", "O", "B-place", "B-name")))
    tagger = save_with_head(tmp_path / "tagger", "BertForTokenClassification", id2label=names)
    predict(tagger, kinds, tmp_path / "tags.parquet", task="tags", source="notes")
    assert len(score_file(tmp_path / "tags.parquet", kinds).tasks) == 1
    reader = save_with_head(tmp_path / "reader", "BertForQuestionAnswering")
    predict(reader, kinds, tmp_path / "answers.parquet", task="questions", source="solved")
    assert len(score_file(tmp_path / "answers.parquet", kinds).tasks) == 1


def test_mixed_up_labels_are_warned_of(
    synthetic: DatasetFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    train = pl.concat([synthetic.split("sa", domain, "train") for domain in synthetic.task("sa").domains])
    labels = synthetic.task("sa").labels
    swapped = [labels[1 - code] for code in train["label"]]
    io.dump(
        make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(train["text"].to_list(), swapped),
        tmp_path / "m.skops",
    )
    predict(tmp_path / "m.skops", synthetic, tmp_path / "p.parquet", task="sa")
    told = capsys.readouterr().err
    assert "warning:" in told
    label_map = ["negative=positive", "positive=negative"]
    predict(tmp_path / "m.skops", synthetic, tmp_path / "p.parquet", task="sa", label_map=label_map)
    assert "warning" not in capsys.readouterr().err


def test_texts_that_are_cut_are_told(
    synthetic: DatasetFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = save_classifier(tmp_path / "judge", "positive", "negative")
    predict(model, synthetic, tmp_path / "p.parquet", task="sa", model_arg=["max_length=8"])
    assert "were truncated" in capsys.readouterr().err


def test_what_cannot_be_predicted(
    classifier: str, synthetic: DatasetFolder, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    options: dict[str, dict[str, Any]] = {
        "no task": {},
        "source": {"task": "sa", "source": "lampz"},
        "split": {"task": "sa", "split": "tests"},
        "target": {"task": "sa", "target": ["lampz"]},
        "a subset of train rows": {"task": "sa", "split": "train", "subset": "few"},
        "label map": {"task": "sa", "label_map": ["positive"]},
    }
    assert {
        name: refusal(InvalidInput, predict, classifier, synthetic, tmp_path / "p.parquet", **given)
        for name, given in options.items()
    } == wording
    assert list(tmp_path.iterdir()) == []
