"""A served model: asked without demonstrations, answers kept, and what is not for a server refused."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from fastapi.responses import JSONResponse
from syrupy.assertion import SnapshotAssertion

from shiftbench.baselines.models.doubts import list_doubts
from shiftbench.baselines.models.loading import load_model
from shiftbench.baselines.models.settings import ModelSettings
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.vocabulary import TaskKind
from tests.baselines.prompting.chat_server import ChatServer, completion, running_chat_server
from tests.refusals import refusal


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


def test_words_of_its_own_are_mapped(server: ChatServer, wording: SnapshotAssertion) -> None:
    server.reply = lambda body: "It is pos." if "kettle" in body["messages"][-1]["content"] else "neg"
    rows = pl.DataFrame({"text": ["a fine kettle", "a lamp"]})
    model = load(server.url, label_map={"POS": "Positive", "neg": "__unparsed__"})
    assert model.predict(rows)["prediction"].to_list() == ["positive", "__unparsed__"]
    assert refusal(InvalidInput, load, server.url, label_map={"pos": "fine"}) == wording


def test_a_model_none_of_whose_answers_can_be_read_is_refused_at_once(
    server: ChatServer, wording: SnapshotAssertion
) -> None:
    server.reply = lambda _: "pos"
    assert refusal(InvalidInput, load(server.url).predict, pl.DataFrame({"text": ["a", "b", "c"]})) == wording
    server.reply = lambda _: "pos, or rather Positive"
    assert load(server.url).predict(pl.DataFrame({"text": ["d"]}))["prediction"].to_list() == ["positive"]


def test_tags_are_lists(server: ChatServer) -> None:
    server.reply = lambda _: "O B-x"
    model = load(server.url, TaskKind.TAGGING, inputs=["tokens"], labels=["O", "B-x"])
    found = model.predict(pl.DataFrame({"tokens": [["a", "b"], ["c"]]}))
    assert found["prediction"].to_list() == [["O", "B-x"], ["__unparsed__"]]


def test_what_goes_with_a_server_and_what_does_not(
    server: ChatServer, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    assert [
        refusal(InvalidInput, load, server.url, served_model=None),
        refusal(InvalidInput, load, str(tmp_path)),
        refusal(InvalidInput, load, "http://me:secret@localhost/v1"),
    ] == wording


def test_how_answers_ended_is_told_and_a_missing_one_refused(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
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
    assert list_doubts(model, gold, found, ["negative", "positive"]) == wording
    monkeypatch.setattr("shiftbench.baselines.prompting.server.LONGEST_WAIT", 0.01)
    server.reply = lambda _: JSONResponse(completion("x") | {"choices": []})
    monkeypatch.setattr("sys.argv", ["shiftbench", "predict"])
    message = refusal(InvalidInput, model.predict, pl.DataFrame({"text": ["a fine kettle", "a tent"]}))
    assert message == wording
