"""Pipelines of scikit-learn: from skops, and from pickles that are trusted."""

import json
import pickle
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from skops import io
from syrupy.assertion import SnapshotAssertion

from shiftbench.baselines.models.loading import load_model
from shiftbench.baselines.models.settings import ModelSettings
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.vocabulary import TaskKind
from tests.refusals import refusal

TEXTS = ["red cup", "blue cup", "green boat", "white boat"] * 5
ROWS = pl.DataFrame({"text": ["red cup", "the boat"]})

TRUSTED = ModelSettings(trust_pickle=True)


def fitted(labels: list[Any], classifier: Any = None) -> Pipeline:
    return make_pipeline(CountVectorizer(), classifier or LogisticRegression(C=100)).fit(TEXTS, labels * 5)


def load(path: Path, **options: Any) -> Any:
    asked = {"kind": TaskKind.CLASSIFICATION, "inputs": ["text"], "labels": ["land", "sea"], **options}
    return load_model(str(path), **asked)


def test_a_pipeline_saved_with_skops(tmp_path: Path) -> None:
    io.dump(fitted(["Land", "Land", "Sea", "Sea"]), tmp_path / "p.skops")
    model = load(tmp_path / "p.skops")
    found = model.predict(ROWS)
    assert found["prediction"].to_list() == ["land", "sea"]
    assert found["probabilities"].to_list()[0][0] == pytest.approx(found["confidence"][0])
    assert (model.name, model.counts.truncated_share, model.libraries) == ("p", None, ("scikit-learn",))
    assert model.predict(ROWS.clear()).schema == found.schema


def test_classes_by_number_need_a_map_and_labels_alone_are_enough(tmp_path: Path) -> None:
    io.dump(fitted([1.0, 1.0, 0.0, 0.0], RidgeClassifier()), tmp_path / "p.skops")
    with pytest.raises(InvalidInput, match=r"--label-map '0=\?' --label-map '1=\?'") as refused:
        load(tmp_path / "p.skops")
    assert "id2label" not in str(refused.value)  # a key of transformers' configurations
    found = load(tmp_path / "p.skops", label_map={"1": "land", "0": "sea"}).predict(ROWS)
    assert found.columns == ["prediction"]
    assert found["prediction"].to_list() == ["land", "sea"]


def test_a_file_that_names_other_code_is_refused(tmp_path: Path) -> None:
    from numpy.testing._private import utils

    for function in (json.loads, utils.runstring):
        io.dump(make_pipeline(FunctionTransformer(function)), tmp_path / "p.skops")
        with pytest.raises(InvalidInput, match=function.__name__):
            load(tmp_path / "p.skops")
    (tmp_path / "broken.skops").write_bytes(b"no zip")
    with pytest.raises(InvalidInput, match="BadZipFile"):
        load(tmp_path / "broken.skops")


def test_a_pickle_is_code_and_is_loaded_where_it_is_trusted(tmp_path: Path, wording: SnapshotAssertion) -> None:
    path = tmp_path / "p.pkl"
    path.write_bytes(pickle.dumps(fitted(["land", "land", "sea", "sea"])))
    assert refusal(InvalidInput, load, path) == wording
    assert load(path, settings=TRUSTED).predict(ROWS)["prediction"].to_list() == ["land", "sea"]
    path.write_bytes(pickle.dumps([1, 2]))
    assert refusal(InvalidInput, load, path, settings=TRUSTED) == wording
    path.write_bytes(b"\x80nothing")
    with pytest.raises(InvalidInput, match="pickle"):
        load(path, settings=TRUSTED)
    assert refusal(InvalidInput, load, tmp_path / "none.joblib", settings=TRUSTED) == wording


def test_several_columns_are_a_frame(tmp_path: Path) -> None:
    from sklearn.compose import make_column_transformer

    columns = make_column_transformer((CountVectorizer(), "text1"), (CountVectorizer(), "text2"))
    rows = pl.DataFrame({"text1": TEXTS, "text2": TEXTS[::-1]})
    pipeline = make_pipeline(columns, LogisticRegression()).fit(rows.to_pandas(), ["land", "land", "sea", "sea"] * 5)
    io.dump(pipeline, tmp_path / "p.skops")
    found = load(tmp_path / "p.skops", inputs=["text1", "text2"]).predict(rows)
    assert found["prediction"].to_list() == pipeline.predict(rows.to_pandas()).tolist()


def test_a_setfit_folder_is_left_to_its_package(tmp_path: Path, wording: SnapshotAssertion) -> None:
    (tmp_path / "model_head.pkl").write_bytes(pickle.dumps([1]))
    assert refusal(InvalidInput, load, tmp_path, settings=TRUSTED) == wording
