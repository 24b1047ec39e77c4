"""Callables of one's own: every form of output, errors that name the row, and work that is taken up again."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shiftbench.baselines.models.loaded import RowFailure
from shiftbench.baselines.models.loading import load_model
from shiftbench.baselines.models.parts import predict_in_parts
from shiftbench.baselines.runs import WorkFolder
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.vocabulary import TaskKind

ROWS = pl.DataFrame({"text": ["a", "b", "c"]})
Load = Callable[..., Any]


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Load:
    """Write a module in the working directory and load its ``answer``."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    made = iter(range(100))

    def loaded(code: str, kind: TaskKind = TaskKind.CLASSIFICATION, path: str = "answer", **options: Any) -> Any:
        name = f"own_{abs(hash(request.node.name))}_{next(made)}"
        Path(f"{name}.py").write_text(f"import numpy as np\n{code}\n", encoding="utf-8")
        asked = {"kind": kind, "inputs": ["text"], "labels": ["no", "yes"], **options}
        return load_model(f"{name}:{path}", **asked)

    return loaded


@pytest.mark.parametrize(
    "code",
    [
        "def answer(texts): return ['Yes'] * 2 + ['NO']",
        "def answer(texts): return np.array(['yes', 'yes', 'no'])",
        "def answer(texts): return [{'yes': .7, 'no': .3}, {'yes': 1.0}, {'no': .6, 'yes': .4}]",
        "def answer(texts): return [{'label': 'YES', 'score': .7}] * 2 + [{'label': 'no', 'score': .6}]",
        "def scored(p): return [{'label': 'no', 'score': 1 - p}, {'label': 'yes', 'score': p}]\n"
        "def answer(texts): return list(map(scored, (.7, 1, .4)))",
        "def answer(texts): return np.array([[.7, .3], [1, 0], [.4, .6]])\nanswer.labels = ['yes', 'no']",
    ],
)  # fmt: skip
def test_labels_and_probabilities_in_any_form(code: str, load: Load) -> None:
    found = load(code).predict(ROWS)
    assert found["prediction"].to_list() == ["yes", "yes", "no"]
    if "probabilities" in found.columns:
        assert found["probabilities"].to_list()[0] == pytest.approx([0.3, 0.7])
        assert found["confidence"].to_list() == pytest.approx([0.7, 1, 0.6])


def test_columns_and_numbers_without_names_need_a_map(load: Load) -> None:
    for code in ("def answer(texts): return [[.7, .3]] * 3", "def answer(texts): return [0, 1, 0]"):
        with pytest.raises(InvalidInput, match=r"--label-map '0=\?' --label-map '1=\?'"):
            load(code).predict(ROWS)
        found = load(code, label_map={"0": "yes", "1": "no"}).predict(ROWS)
        assert found["prediction"][0] == "yes"


def test_a_method_names_the_columns_of_its_object(load: Load) -> None:
    code = """
class Model:
    classes_ = np.array(["yes", "no"])
    def predict_proba(self, texts): return np.array([[.9, .1]] * len(texts))
model = Model()
"""
    assert load(code, path="model.predict_proba").predict(ROWS)["prediction"].to_list() == ["yes"] * 3


@pytest.mark.parametrize(
    ("code", "row", "told"),
    [
        ("return ['yes', 'yess', 'no']", 1, "found 1 of 1: 'yess' \\(nearest: 'yes'\\)"),
        ("return ['yes', 'no', None]", 2, "the callable did not return a label; found None"),
        ("return [{'yes': 1.0}, {'yes': float('nan'), 'no': 0}, {'no': 1.0}]", 1, "the model's output is not a number"),
        ("return [{'yes': 1.0}, {'yes': 3.0, 'no': -2.0}, {'no': 1.0}]", 1, "not a probability distribution; found"),
        ("return ['yes']", 0, "one output per input; found 1 outputs"),
        (
            "return ['yes' if t != 'c' else 1 / 0 for t in texts]",
            2,
            "raised an exception; found ZeroDivisionError: .* for 'c'",
        ),
        ("raise ValueError('no such thing')", 0, "raised an exception; found ValueError: no such thing, for 'a'"),
    ],
)
def test_what_is_wrong_is_told_with_its_row(code: str, row: int, told: str, load: Load) -> None:
    with pytest.raises(RowFailure, match=told) as refused:
        load(f"def answer(texts): {code}").predict(ROWS)
    assert refused.value.row == row
    assert refused.value.done["prediction"].to_list() == ["yes", "no", "?"][:row] or len(refused.value.done) == row


def test_an_error_of_many_inputs_together_is_told_as_such(load: Load) -> None:
    with pytest.raises(RowFailure, match=r"MemoryError.* 'c'"):
        load("def answer(texts):\n  if len(texts) > 2: raise MemoryError\n  return ['yes'] * len(texts)").predict(ROWS)


def test_a_callable_that_raises_on_row_1713_goes_on_there(load: Load, tmp_path: Path) -> None:
    code = """
asked = []
broken = True
def answer(texts):
    asked.extend(texts)
    return ["yes" if not broken or text != "text 1712" else 1 / 0 for text in texts]
"""
    rows = pl.DataFrame({"id": [f"id-{n}" for n in range(2000)], "text": [f"text {n:04}" for n in range(2000)]})
    model, work = load(code), WorkFolder(tmp_path / "p.parquet", {"model": 1})
    with pytest.raises(RowFailure, match=r"row 1713: .* ZeroDivisionError: .*id-1712"):
        predict_in_parts(model, rows, ["text"], work=work)
    module = model.function.__globals__
    module["broken"] = False
    module["asked"].clear()
    assert len(predict_in_parts(model, rows, ["text"], work=work)) == 2000
    assert module["asked"][0] == "text 1712"
    assert len(module["asked"]) == 2000 - 1712


def test_rows_before_a_failure_are_kept_whatever_their_form(load: Load, tmp_path: Path) -> None:
    code = "def answer(texts): return [{'yes': .9, 'no': .1} if text != '300' else 1 / 0 for text in texts]"
    rows = pl.DataFrame({"text": [str(number) for number in range(600)]})
    for number in (200, 256):  # within a call, and first in one
        asked = rows[300 - number :]
        model = load(code)
        with pytest.raises(RowFailure) as refused:
            model.predict(asked)
        assert (refused.value.row, len(refused.value.done)) == (number, number)
        with pytest.raises(RowFailure) as refused:
            predict_in_parts(model, asked, ["text"])
        assert len(refused.value.done) > 0
        assert refused.value.done["probabilities"].null_count() == 0


def test_pairs_tags_questions_and_texts(load: Load) -> None:
    pairs = pl.DataFrame({"a": ["x", "y"], "b": ["x", "z"]})
    same = load("def answer(pairs): return ['yes' if a == b else 'no' for a, b in pairs]", inputs=["a", "b"])
    assert same.predict(pairs)["prediction"].to_list() == ["yes", "no"]
    words = pl.DataFrame({"tokens": [["a", "b"], ["c"]]})
    options: dict[str, Any] = {"kind": TaskKind.TAGGING, "inputs": ["tokens"], "labels": ["O", "B-x"]}
    tagger = load("def answer(sentences): return [['b-x'] + ['O'] * (len(s) - 1) for s in sentences]", **options)
    assert tagger.predict(words)["prediction"].to_list() == [["B-x", "O"], ["B-x"]]
    with pytest.raises(RowFailure, match=r"row 2: .* 2 tags .* 1 words"):
        load("def answer(sentences): return [['O', 'O']] * 2", **options).predict(words)
    asked = pl.DataFrame({"title": ["t"], "context": ["a b"], "question": ["q"]})
    options = {"kind": TaskKind.EXTRACTIVE_QA, "inputs": ["title", "context", "question"], "labels": []}
    reader = load("def answer(rows): return [{'answer': r['context'][:1], 'score': 1} for r in rows]", **options)
    assert reader.predict(asked)["prediction"].to_list() == ["a"]
    with pytest.raises(RowFailure, match=r"text.* 3"):
        load("def answer(rows): return [3]", **options).predict(asked)


def test_what_is_no_callable_is_told(load: Load) -> None:
    with pytest.raises(InvalidInput, match="ModuleNotFoundError"):
        load_model("no_such_module:f", kind=TaskKind.CLASSIFICATION, inputs=["text"], labels=["a", "b"])
    with pytest.raises(InvalidInput, match=r" own:f"):
        load_model("own.py:f", kind=TaskKind.CLASSIFICATION, inputs=["text"], labels=["a", "b"])
    with pytest.raises(InvalidInput, match="ZeroDivisionError"):
        load("1 / 0")
    with pytest.raises(InvalidInput, match=r"'anser'.*'answer'"):
        load("def answer(texts): pass", path="anser")
    with pytest.raises(InvalidInput, match=r"\bint\b"):
        load("answer = 3")
