"""Pipelines of scikit-learn, and heads of SetFit folders: from skops, and from pickles that are trusted."""

import json
import pickle
import sys
import types
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import polars as pl
import pytest
import torch
from safetensors.numpy import save_file
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from skops import io

from shiftbench.baselines.models import load_model
from shiftbench.baselines.models.settings import ModelSettings
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.vocabulary import TaskKind
from tests.baselines.models.saved import WORDS
from tests.baselines.tiny import save_bert

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
    assert (model.name, model.truncated, model.libraries) == ("p", None, ("scikit-learn",))
    assert model.predict(ROWS.clear()).schema == found.schema


def test_classes_by_number_need_a_map_and_labels_alone_are_enough(tmp_path: Path) -> None:
    io.dump(fitted([1.0, 1.0, 0.0, 0.0], RidgeClassifier()), tmp_path / "p.skops")
    with pytest.raises(InvalidInput, match=r"numbers its labels .*--label-map '0=\?' --label-map '1=\?'") as refused:
        load(tmp_path / "p.skops")
    assert "id2label" not in str(refused.value)  # a key of transformers' configurations
    found = load(tmp_path / "p.skops", label_map={"1": "land", "0": "sea"}).predict(ROWS)
    assert found.columns == ["prediction"]
    assert found["prediction"].to_list() == ["land", "sea"]


def test_a_file_that_names_other_code_is_refused(tmp_path: Path) -> None:
    from numpy.testing._private import utils

    for function in (json.loads, utils.runstring):
        io.dump(make_pipeline(FunctionTransformer(function)), tmp_path / "p.skops")
        with pytest.raises(InvalidInput, match=f"not on the list of those .*; found .*{function.__name__}"):
            load(tmp_path / "p.skops")
    (tmp_path / "broken.skops").write_bytes(b"no zip")
    with pytest.raises(InvalidInput, match="the skops file cannot be loaded; found BadZipFile"):
        load(tmp_path / "broken.skops")


def test_a_pickle_is_code_and_is_loaded_where_it_is_trusted(tmp_path: Path) -> None:
    path = tmp_path / "p.pkl"
    path.write_bytes(pickle.dumps(fitted(["land", "land", "sea", "sea"])))
    with pytest.raises(
        InvalidInput,
        match=r"a pickle can run any code on this machine when it is loaded; .*--model-arg trust_pickle=yes",
    ):
        load(path)
    assert load(path, settings=TRUSTED).predict(ROWS)["prediction"].to_list() == ["land", "sea"]
    path.write_bytes(pickle.dumps([1, 2]))
    with pytest.raises(InvalidInput, match="this is no fitted classifier; found list"):
        load(path, settings=TRUSTED)
    path.write_bytes(b"\x80nothing")
    with pytest.raises(InvalidInput, match="the pickle cannot be loaded"):
        load(path, settings=TRUSTED)
    with pytest.raises(InvalidInput, match="there is no such file"):
        load(tmp_path / "none.joblib", settings=TRUSTED)


def test_several_columns_are_a_frame(tmp_path: Path) -> None:
    from sklearn.compose import make_column_transformer

    columns = make_column_transformer((CountVectorizer(), "text1"), (CountVectorizer(), "text2"))
    rows = pl.DataFrame({"text1": TEXTS, "text2": TEXTS[::-1]})
    pipeline = make_pipeline(columns, LogisticRegression()).fit(rows.to_pandas(), ["land", "land", "sea", "sea"] * 5)
    io.dump(pipeline, tmp_path / "p.skops")
    found = load(tmp_path / "p.skops", inputs=["text1", "text2"]).predict(rows)
    assert found["prediction"].to_list() == pipeline.predict(rows.to_pandas()).tolist()


@pytest.fixture
def body(tmp_path: Path) -> Path:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    save_bert(tmp_path / "bert", WORDS)
    words = Transformer(str(tmp_path / "bert"), max_seq_length=16)
    SentenceTransformer(modules=[words, Pooling(32)], device="cpu").save(str(tmp_path / "setfit"))
    return tmp_path / "setfit"


def test_a_setfit_folder(body: Path) -> None:
    from sentence_transformers import SentenceTransformer

    with pytest.raises(InvalidInput, match="the model is for another kind of task; found BertModel"):
        load(body)
    vectors = SentenceTransformer(str(body), device="cpu").encode(TEXTS, normalize_embeddings=True)
    head = LogisticRegression(C=1000).fit(vectors, [0, 0, 1, 1] * 5)
    (body / "config_setfit.json").write_text(json.dumps({"normalize_embeddings": True, "labels": ["land", "sea"]}))
    (body / "model_head.pkl").write_bytes(pickle.dumps(head))
    with pytest.raises(InvalidInput, match="a pickle can run any code"):
        load(body)
    rows = pl.DataFrame({"text": [*TEXTS[:4], "red " * 40]})
    pickled = load(body, settings=TRUSTED)
    found = pickled.predict(rows)
    assert found["prediction"].to_list()[:4] == ["land", "land", "sea", "sea"]
    assert pickled.truncated == pytest.approx(1 / 5)
    (body / "model_head.pkl").unlink()
    io.dump(head, body / "model_head.skops")
    assert load(body).predict(rows)["probabilities"].to_list() == found["probabilities"].to_list()
    (body / "model_head.skops").unlink()
    weight = np.concatenate([-head.coef_, head.coef_]).astype(np.float32) / 2
    bias = np.concatenate([-head.intercept_, head.intercept_]).astype(np.float32) / 2
    save_file({"linear.weight": weight, "linear.bias": bias}, body / "model_head.safetensors")
    linear = np.array(load(body).predict(rows)["probabilities"].to_list())
    assert linear == pytest.approx(np.array(found["probabilities"].to_list()), abs=1e-4)


class SetFitHead(torch.nn.Module):
    """A head as SetFit 1.2 keeps it: its attributes, and what they come to."""

    def __init__(self, temperature: float, *, multitarget: bool = False) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(32, 2)
        self.in_features, self.out_features, self.bias = 32, 2, True
        self.temperature, self.eps, self.multitarget, self._device = temperature, 1e-5, multitarget, "cpu"

    def predict_proba(self, vectors: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.linear(vectors) / (self.temperature + self.eps), dim=-1)


SetFitHead.__module__ = "setfit.modeling"


def test_a_setfit_folder_with_a_differentiable_head(body: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sentence_transformers import SentenceTransformer

    head = SetFitHead(temperature=0.25)
    vectors = torch.from_numpy(SentenceTransformer(str(body), device="cpu").encode(TEXTS))
    expected = head.predict_proba(vectors).detach().numpy()
    with monkeypatch.context() as installed:
        for name in ("setfit", "setfit.modeling"):
            installed.setitem(sys.modules, name, types.SimpleNamespace(SetFitHead=SetFitHead))
        joblib.dump(head, body / "model_head.pkl")
    (body / "config_setfit.json").write_text(json.dumps({"normalize_embeddings": False, "labels": ["sea", "land"]}))
    with pytest.raises(InvalidInput, match="a pickle can run any code"):
        load(body)
    found = load(body, settings=TRUSTED).predict(pl.DataFrame({"text": TEXTS}))
    by_label = [row[::-1] for row in found["probabilities"].to_list()]  # the task's labels are land, sea
    assert np.array(by_label) == pytest.approx(expected, abs=1e-5)
    with monkeypatch.context() as installed:
        for name in ("setfit", "setfit.modeling"):
            installed.setitem(sys.modules, name, types.SimpleNamespace(SetFitHead=SetFitHead))
        joblib.dump(SetFitHead(1.0, multitarget=True), body / "model_head.pkl")
    with pytest.raises(InvalidInput, match="the head gives several labels a text"):
        load(body, settings=TRUSTED)
