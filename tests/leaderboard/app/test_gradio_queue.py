"""What Gradio keeps for readers who never come, and what its functions are called with."""

import asyncio
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import gradio as gr
import httpx
import orjson
import pytest
from gradio.server_messages import ProcessCompletedMessage, ProcessStartsMessage
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.app import gradio_queue
from shiftbench.leaderboard.app.gradio_queue import GuardedQueue, UnreadAnswers
from shiftbench.leaderboard.app.server import Server, create_app
from shiftbench.leaderboard.store import Store
from tests.leaderboard import attacks
from tests.leaderboard.app.test_server import free_port
from tests.leaderboard.app.waiting import gradio_of

MIB = 2**20
MOST_UNREAD = 16 * 2**10
ERROR = "event: error"


@dataclass(frozen=True)
class Queued:
    """A server, and the queue in it."""

    url: str
    queue: GuardedQueue

    def functions(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = httpx.get(f"{self.url}/config").json()["dependencies"]
        return found

    def number(self, name: str) -> int:
        return next(int(each["id"]) for each in self.functions() if each["api_name"] == name)

    def unread_bytes(self) -> int:
        """Count the answers that wait, as they would be sent."""
        waiting = [message for each in self.queue.pending_messages_per_session.values() for message, _ in each._queue]
        return sum(len(orjson.dumps(message.model_dump(), default=str)) for message in waiting)


@pytest.fixture(scope="module")
def queued(synthetic: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Queued]:
    app = create_app([synthetic], Store(tmp_path_factory.mktemp("queued") / "store"))
    server = Server(app, "127.0.0.1", free_port())
    try:
        gradio_of(server.url)
        blocks = next(
            route.app.get_blocks() for route in app.routes if hasattr(getattr(route, "app", None), "get_blocks")
        )
        yield Queued(server.url, blocks._queue)
    finally:
        server.close()


def test_no_function_shows_what_it_is_sent(queued: Queued) -> None:
    """Before: a report of 4.3 MiB for 0.9 MiB sent, kept until its session is read; 10 sessions left 172 MiB."""
    text = "&" * 900_000
    answers = {"ok": False, "entry": None, "new": False, "problems": [text], "note": "", "summary": {}}
    with attacks.client() as session:
        for function in queued.functions():
            n_inputs = len(function["inputs"])
            for value in (text, answers, [text]):
                told = attacks.join(session, queued.url, function["id"], [value] * n_inputs)
                assert len(told) < 20_000, function["api_name"]


def test_unread_answers_are_bounded_over_all_sessions(queued: Queued, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before: 40 calls of 0.9 MiB in 10 sessions left 172 MiB (280 in memory); 2,000 sessions were kept."""
    monkeypatch.setattr(gradio_queue, "MAX_UNREAD_BYTES", MOST_UNREAD)
    boards = queued.number("boards")
    with attacks.client() as session:
        for number in range(40):
            named = {"session_hash": f"unread-{number}"}
            body = {"data": [], "fn_index": boards, **named}
            assert session.post(f"{queued.url}/gradio_api/queue/join", json=body).status_code == 200
        # The queue goes on for others, who come after all of them, and for the last of these.
        assert "synthetic/nli" in attacks.join(session, queued.url, boards, [])
        data = f"{queued.url}/gradio_api/queue/data"
        assert "synthetic/nli" in session.get(data, params=named).text
        with session.stream("GET", data, params={"session_hash": "unread-0"}) as dropped:
            first = next(dropped.iter_lines())
    assert "404" in first
    assert 0 < queued.unread_bytes() <= queued.queue.pending_messages_per_session.n_bytes <= MOST_UNREAD


def test_long_names_of_sessions_are_refused(queued: Queued) -> None:
    """Before: the names of the last 10,000 calls' sessions were kept, of 0.9 MB each if they had it."""
    body = {"data": [], "fn_index": queued.number("boards"), "session_hash": "a" * 101}
    for path in ("queue/join", "call/boards"):
        answer = httpx.post(f"{queued.url}/gradio_api/{path}", json=body)
        assert answer.status_code == 400
        assert "100 " in answer.json()["detail"]
    for number in range(120):
        queued.queue.event_analytics[f"{number}"] = {}
    assert attacks.call(httpx.Client(), queued.url, "boards", [])
    assert len(queued.queue.event_analytics) <= 100


def test_a_name_of_half_a_character_harms_no_later_call(queued: Queued, capfd: pytest.CaptureFixture[str]) -> None:
    """Before: from one such call on, each of the next 10,000 of anybody left a traceback in the log, and its data."""
    content = json.dumps({"data": [], "session_hash": "\ud800"})
    json_type = {"content-type": "application/json"}
    with attacks.client() as session:
        answer = session.post(f"{queued.url}/gradio_api/call/boards", content=content, headers=json_type)
        assert answer.status_code == 400
        for _ in range(5):
            assert "synthetic/nli" in attacks.call(session, queued.url, "boards", [])
    assert capfd.readouterr().err == ""
    # A call leaves the queue a moment after its answer.
    until = time.monotonic() + 30
    while queued.queue.event_ids_to_events and time.monotonic() < until:
        time.sleep(0.05)
    assert queued.queue.event_ids_to_events == {}


def test_what_the_mcp_server_cannot_read_is_logged_once(queued: Queued, capfd: pytest.CaptureFixture[str]) -> None:
    """Before: two tracebacks for each request, of some 60 lines."""
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    for path in ("mcp", "mcp/") * 3:
        answer = httpx.post(f"{queued.url}/gradio_api/{path}", content=b"[" * 9_000, headers=headers)
        assert answer.status_code == 500
    assert capfd.readouterr().err.count("Traceback") <= 1


def test_calls_of_what_is_not_there_are_refused(queued: Queued) -> None:
    """Before: status 500 for both, and a fault in the log."""
    answer = httpx.post(f"{queued.url}/gradio_api/call/nothing", json={"data": []})
    assert (answer.status_code, "endpoint" in answer.json()["detail"]) == (404, True)
    body = {"data": [], "fn_index": 10**6, "session_hash": "a"}
    answer = httpx.post(f"{queued.url}/gradio_api/queue/join", json=body)
    assert (answer.status_code, "1000000" in answer.json()["detail"]) == (400, True)


def test_wrong_arguments_are_told_what_was_wanted(queued: Queued, wording: SnapshotAssertion) -> None:
    """Before: 'this call failed' for 8 of the first 10, and for the others the wrong value was taken as a text."""
    wrong: list[tuple[str, list[Any]]] = [
        ("board", []),
        ("board", [1]),
        ("board", ["synthetic/nli", "many"]),
        ("board", ["synthetic/nli", 1.5]),
        ("board", ["synthetic/nli", True]),
        ("board", ["x" * 3_000]),
        ("scores", [{"a": 1}]),
        ("compare", [1, 2]),
        ("compare", ["ab"]),
        ("compare", [["a"], 2]),
        ("withdraw", [5]),
        ("withdraw", ["x" * 101]),
        ("check", [None, 5]),
        ("check", [None]),
    ]
    with attacks.client() as session:
        answers = [attacks.call(session, queued.url, name, data) for name, data in wrong]
    assert {answer.partition("\n")[0] for answer in answers} == {ERROR}
    assert [json.loads(answer.split("data: ")[1].splitlines()[0])["error"] for answer in answers] == wording


def test_what_has_a_default_need_not_be_sent(queued: Queued) -> None:
    with attacks.client() as session:
        assert "complete" in attacks.call(session, queued.url, "board", ["synthetic/nli"]).partition("\n")[0]


def answer_of(n_bytes: int) -> ProcessCompletedMessage:
    return ProcessCompletedMessage(output={"data": "a" * n_bytes}, success=True, event_id="e")


def test_what_was_read_counts_no_more_and_the_oldest_unread_goes_first() -> None:
    async def count() -> None:
        event_ids = {"read": {"e"}, "first": {"e"}, "second": {"e"}}
        unread = UnreadAnswers(event_ids)
        for session in event_ids:
            unread[session] = asyncio.Queue()
        unread["read"].put_nowait(answer_of(MIB))
        first = unread["first"]
        unread["first"].put_nowait(answer_of(20 * MIB))
        unread["second"].put_nowait(answer_of(MIB))
        assert 22 * MIB < unread.n_bytes < 23 * MIB
        await unread["read"].get()
        assert 21 * MIB < unread.n_bytes < 22 * MIB
        unread["read"].put_nowait(answer_of(12 * MIB))
        assert list(unread) == ["second", "read"]
        assert set(event_ids) == {"second", "read"}
        assert 13 * MIB < unread.n_bytes < 14 * MIB
        first.put_nowait(answer_of(MIB))  # by a call that was under way
        unread["first"].put_nowait(ProcessStartsMessage())
        await first.get()
        assert 13 * MIB < unread.n_bytes < 14 * MIB
        del unread["second"], unread["second"]
        await unread["read"].get()
        assert unread.n_bytes == 0

    asyncio.run(count())


def test_sessions_with_a_reader_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradio_queue, "MAX_WAITING_SESSIONS", 3)

    async def count() -> None:
        unread = UnreadAnswers({})
        unread["read"] = asyncio.Queue()
        reader = asyncio.create_task(unread["read"].get())
        await asyncio.sleep(0)
        for number in range(10):
            unread[f"{number}"] = asyncio.Queue()
        assert list(unread) == ["read", "8", "9"]
        unread["read"].put_nowait(answer_of(1))
        assert (await reader).success

    asyncio.run(count())


def test_the_form_and_its_functions_are_bounded(queued: Queued) -> None:
    """Every text box has a bound, which holds for what is sent by programs, too."""
    config = httpx.get(f"{queued.url}/config").json()
    boxes = [each["props"] for each in config["components"] if each["type"] == "textbox"]
    assert len(boxes) > 3
    assert all(props["max_length"] for props in boxes)
    assert gr.Textbox().max_length is None  # otherwise the above would say nothing
