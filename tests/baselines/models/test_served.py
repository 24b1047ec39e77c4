"""A served model: asked without demonstrations, answers kept, and what is not for a server refused."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from fastapi.responses import JSONResponse

from shiftbench.baselines.models.doubts import list_doubts
from shiftbench.baselines.models.loading import load_model
from shiftbench.baselines.models.settings import ModelSettings
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.vocabulary import TaskKind
from tests.baselines.prompting.chat_server import ChatServer, completion, running_chat_server


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("SHIFTBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with running_chat_server() as running:
        yield running


def load(spec: str, kind: TaskKind = TaskKind.CLASSIFICATION, **options: Any) -> Any:
    asked = {"kind": kind, "inputs": ["text"], "labels": ["negative", "positive"], "served_model": "chatty", **options}
    return load_model(spec, **asked)


def test_rows_are_asked_once_and_answers_parsed(server: ChatServer) -> None:
    server.reply = lambda body: "POSITIVE." if "kettle" in body["messages"][-1]["content"] else "hm"
    model = load(server.url)
    rows = pl.DataFrame({"text": ["a fine kettle", "a lamp", ""]})
    assert model.predict(rows)["prediction"].to_list() == ["positive", "__unparsed__", "__unparsed__"]
    assert load(server.url).predict(rows)["prediction"][0] == "positive"
    assert len(server.asked) == 3
    assert "negative, positive" in server.asked[0]["messages"][0]["content"]
    assert (model.name, model.facts["paradigm"], model.counts.empty) == ("chatty", "zero-shot", 1)
    own = load(server.url, settings=ModelSettings(instruction="Is it good? Say one of {labels}")).predict(rows[:1])
    assert own["prediction"].to_list() == ["positive"]
    assert server.asked[-1]["messages"][0]["content"] == "Is it good? Say one of negative, positive"


def test_words_of_its_own_are_mapped(server: ChatServer) -> None:
    server.reply = lambda body: "It is pos." if "kettle" in body["messages"][-1]["content"] else "neg"
    rows = pl.DataFrame({"text": ["a fine kettle", "a lamp"]})
    model = load(server.url, label_map={"POS": "Positive", "neg": "__unparsed__"})
    assert model.predict(rows)["prediction"].to_list() == ["positive", "__unparsed__"]
    with pytest.raises(InvalidInput, match="the task has no such label; found 'fine'"):
        load(server.url, label_map={"pos": "fine"})


def test_a_model_none_of_whose_answers_can_be_read_is_refused_at_once(server: ChatServer) -> None:
    server.reply = lambda _: "pos"
    with pytest.raises(InvalidInput) as refused:
        load(server.url).predict(pl.DataFrame({"text": ["a", "b", "c"]}))
    assert str(refused.value) == (
        "chatty: no answer of this model names a label of the task; found 'pos' of 3 answers; the task's labels are "
        "'negative', 'positive'; ask in other words: --model-arg instruction=TEXT; or map its words: "
        "--label-map 'pos=?'"
    )
    server.reply = lambda _: "pos, or rather Positive"
    assert load(server.url).predict(pl.DataFrame({"text": ["d"]}))["prediction"].to_list() == ["positive"]


def test_tags_are_lists(server: ChatServer) -> None:
    server.reply = lambda _: "O B-x"
    model = load(server.url, TaskKind.TAGGING, inputs=["tokens"], labels=["O", "B-x"])
    found = model.predict(pl.DataFrame({"tokens": [["a", "b"], ["c"]]}))
    assert found["prediction"].to_list() == [["O", "B-x"], ["__unparsed__"]]


def test_what_goes_with_a_server_and_what_does_not(server: ChatServer, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="a server may have several models; name the one to use with --model"):
        load(server.url, served_model=None)
    with pytest.raises(InvalidInput, match="--model: this is for a server; found chatty"):
        load(str(tmp_path))
    with pytest.raises(InvalidInput, match="the address holds a password"):
        load("http://me:secret@localhost/v1")


def test_how_answers_ended_is_told_and_a_missing_one_refused(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reply(body: Any) -> Any:
        answer = completion("positive")
        answer["choices"][0]["finish_reason"] = "length" if "lamp" in body["messages"][-1]["content"] else "stop"
        return JSONResponse(answer)

    server.reply = reply
    model = load(server.url, settings=ModelSettings(timeout=9))
    assert model.server._options["timeout"] == 9
    gold = pl.Series([1, 1])
    found = model.predict(pl.DataFrame({"text": ["a fine kettle", "a lamp"]}))["prediction"]
    assert "of 2 answers not all ended by themselves: 1 truncated" in list_doubts(
        model, gold, found, ["negative", "positive"]
    )
    monkeypatch.setattr("shiftbench.baselines.prompting.server.LONGEST_WAIT", 0.01)
    server.reply = lambda _: JSONResponse(completion("x") | {"choices": []})
    with pytest.raises(InvalidInput, match="chatty: 1 of 2 requests stayed without an answer; found text 2"):
        model.predict(pl.DataFrame({"text": ["a fine kettle", "a tent"]}))
