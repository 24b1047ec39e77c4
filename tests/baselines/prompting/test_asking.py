"""Answers are asked for once, kept at once, and paid for within the budget."""

import sqlite3
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from tqdm import tqdm

from shiftbench.baselines.prompting.asking import Asker, Budget, Prices
from shiftbench.baselines.prompting.cache import AnswerStore, answer_key
from shiftbench.baselines.prompting.models import Ending, KeepAnswer, ModelAnswer, Request
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal


class Echo:
    """A model that says what it was asked; notes it, and fails at one request."""

    def __init__(self, fails_at: str | None = None, name: str = "echo", tokens: int | None = 1_000) -> None:
        self.asked: list[str] = []
        self._fails_at, self._name, self._tokens = fails_at, name, tokens

    def identity(self, request: Request) -> Mapping[str, Any]:
        return {"name": self._name, "messages": list(request.messages), "max_tokens": request.max_tokens}

    def answer(self, requests: Sequence[Request], keep: KeepAnswer) -> None:
        for place, request in reversed(list(enumerate(requests))):
            text = request.messages[0]["content"]
            self.asked.append(text)
            if text == self._fails_at:
                raise ConnectionError(text)
            keep(place, ModelAnswer(None if text == "odd" else text.upper(), self._tokens, self._tokens))


def asker(model: Echo, store: AnswerStore, prices: Prices | None = None, budget: Budget | None = None) -> Asker:
    return Asker(model, store, prices or Prices(), budget or Budget())


def ask(asker: Asker, *texts: str) -> list[str | None]:
    bar: tqdm[Any] = tqdm(disable=True)
    requests = [Request(({"role": "user", "content": text},), 8) for text in texts]
    return [answer.text for answer in asker.ask(requests, bar)]


def test_answers_come_in_the_order_asked_and_equal_requests_once(tmp_path: Path) -> None:
    model = Echo()
    with AnswerStore(tmp_path) as store:
        first = asker(model, store)
        assert ask(first, "a", "b", "a", "c") == ["A", "B", "A", "C"]
        assert sorted(model.asked) == ["a", "b", "c"]
        assert ask(first, "b", "d") == ["B", "D"]
        assert first.asked == 4
        assert first.tokens == (4_000, 4_000)
    again = Echo()
    with AnswerStore(tmp_path) as store:
        second = asker(again, store)
        assert ask(second, "d", "a") == ["D", "A"]
        assert (again.asked, second.asked, second.tokens) == ([], 0, (2_000, 2_000))


def test_another_model_or_parameter_is_asked_anew(tmp_path: Path) -> None:
    other = Echo(name="other")
    with AnswerStore(tmp_path) as store:
        ask(asker(Echo(), store), "a")
        ask(asker(other, store), "a")
    assert other.asked == ["a"]
    assert answer_key({"a": 1, "b": 2}) == answer_key({"b": 2, "a": 1}) != answer_key({"a": 1, "b": 3})


def test_what_came_before_a_failure_is_kept(tmp_path: Path) -> None:
    with AnswerStore(tmp_path) as store, pytest.raises(ConnectionError):
        ask(asker(Echo(fails_at="b"), store), "a", "b", "c", "d")
    again = Echo()
    with AnswerStore(tmp_path) as store:
        assert ask(asker(again, store), "a", "b", "c", "d") == ["A", "B", "C", "D"]
    assert sorted(again.asked) == ["a", "b"]


def test_answers_that_come_faster_than_the_disk_are_all_kept(tmp_path: Path) -> None:
    keys = [bytes([place]) for place in range(200)]
    with AnswerStore(tmp_path) as store, AnswerStore(tmp_path) as other:
        for key in keys:
            store.put(key, ModelAnswer(key.hex()))
        store.flush()
        assert {key: answer.text for key, answer in other.get(keys).items()} == {key: key.hex() for key in keys}


def test_a_disk_that_fails_is_told(tmp_path: Path) -> None:
    with AnswerStore(tmp_path) as store:
        store.put(b"a", ModelAnswer("A"))
        store.flush()
        store._connection.execute("DROP TABLE answers")
        store.put(b"b", ModelAnswer("B"))
        for act in (store.flush, lambda: store.put(b"c", ModelAnswer("C"))):
            with pytest.raises(sqlite3.OperationalError, match="table"):
                act()
        store._written = Future()
        store._written.set_result(None)


def test_an_answer_that_was_none_is_asked_for_again(tmp_path: Path) -> None:
    again = Echo()
    for model in (Echo(), again):
        with AnswerStore(tmp_path) as store:
            assert ask(asker(model, store), "a", "odd") == ["A", None]
    assert again.asked == ["odd"]


def test_how_an_answer_ended_is_kept(tmp_path: Path) -> None:
    key, cut = b"k", ModelAnswer("The label", 5, 8, Ending.TRUNCATED)
    with AnswerStore(tmp_path) as store:
        store.put(key, cut)
    with AnswerStore(tmp_path) as store:
        assert store.get([key]) == {key: cut}


def test_answers_of_an_earlier_version_are_not_read(tmp_path: Path) -> None:
    """They do not say how they ended: a cut answer is among them as an empty one."""
    with closing(sqlite3.connect(tmp_path / "answers.sqlite")) as old, old:
        old.execute("CREATE TABLE answers (key BLOB PRIMARY KEY, text TEXT, tokens_in INTEGER, tokens_out INTEGER)")
        old.execute("INSERT INTO answers VALUES (?, '', 0, 0)", [b"k"])
    with AnswerStore(tmp_path) as store:
        assert store.get([b"k"]) == {}
        store.put(b"k", ModelAnswer("A"))
    with AnswerStore(tmp_path) as store:
        assert store.get([b"k"]) == {b"k": ModelAnswer("A")}


def test_no_more_requests_than_allowed(tmp_path: Path) -> None:
    model = Echo()
    for left in ("3 requests", "1 request"):
        with AnswerStore(tmp_path) as store:
            limited = asker(model, store, budget=Budget(requests=2))
            with pytest.raises(InvalidInput, match=f"--max-requests: .* {left}"):
                ask(limited, "a", "b", "c", "d", "e")
    assert len(model.asked) == 4
    with AnswerStore(tmp_path) as store:
        limited = asker(model, store, budget=Budget(requests=2))
        assert len(ask(limited, "a", "b", "c", "d", "e")) == 5
        with pytest.raises(InvalidInput, match="1 request"):
            ask(limited, "f", "g")


def test_no_more_is_spent_than_allowed(tmp_path: Path) -> None:
    model, prices = Echo(), Prices(1.0, 4.0)  # 0.005 dollars an answer
    with AnswerStore(tmp_path) as store:
        limited = asker(model, store, prices, Budget(cost=0.01))
        with pytest.raises(InvalidInput, match=r"--max-cost: .*\$0.0100"):
            ask(limited, "a", "b", "c", "d")
        assert len(model.asked) == 2
    with AnswerStore(tmp_path) as store:
        free = asker(model, store, prices, Budget(cost=1))
        ask(free, "a", "b", "c", "d")
        assert free.cost == pytest.approx(0.02)
        assert "; $0.0200, $0.0100 " in free.account


def test_tokens_that_are_not_known_make_no_cost(tmp_path: Path, wording: SnapshotAssertion) -> None:
    with AnswerStore(tmp_path) as store:
        unknown = asker(Echo(tokens=None), store, Prices(1.0, 1.0))
        ask(unknown, "a")
        assert unknown.tokens is None
        assert unknown.cost is None
        assert [
            refusal(InvalidInput, ask, asker(Echo(tokens=None), store, Prices(1.0, 1.0), Budget(cost=5)), "b"),
            refusal(InvalidInput, asker, Echo(), store, Prices(1.0), Budget(cost=5)),
        ] == wording
