"""The server's log: ids of requests, slow ones, JSON lines, and nothing that a visitor typed unescaped."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.app import request_log
from shiftbench.leaderboard.app.config import Log
from shiftbench.leaderboard.app.faults import FaultLog
from shiftbench.leaderboard.app.request_log import HEADER, MAX_SLOW_PER_MINUTE, RequestLog
from shiftbench.leaderboard.app.server import ServerSettings, create_app
from shiftbench.leaderboard.store import Store

NASTY = "/no%0a%7b%22level%22:%22error%22%7d%0d%1b%5b2J%e2%80%ae%c2%85%e2%80%a8/such"
"""A path with line ends of four kinds, an escape sequence, a direction mark and what looks like a line of JSON."""


@pytest.fixture
def every(synthetic: DatasetFolder, tmp_path: Path) -> Iterator[TestClient]:
    settings = ServerSettings(log=Log.model_validate({"json": True, "requests": True, "slow_seconds": 600.0}))
    with TestClient(create_app([synthetic], Store(tmp_path / "store"), settings), "http://127.0.0.1") as client:
        yield client


def test_each_request_is_a_json_line_with_the_id_of_its_answer(
    every: TestClient, capfd: pytest.CaptureFixture[str]
) -> None:
    capfd.readouterr()
    answers = [every.get(path, headers={"x-forwarded-for": "203.0.113.9"}) for path in ("/", "/healthz", NASTY)]
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert [line["id"] for line in lines] == [answer.headers[HEADER] for answer in answers]
    assert [line["status"] for line in lines] == [200, 200, 404]
    assert [line["path"] for line in lines][:2] == ["/", "/healthz"]
    assert all(line["ms"] >= 0 and line["event"] == "request" for line in lines)


@pytest.mark.parametrize("as_json", [True, False])
def test_nothing_that_a_visitor_typed_is_a_line_of_its_own(
    as_json: bool, synthetic: DatasetFolder, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Check paths, queries, headers, forms and the messages of faults: one line each, in printable ASCII."""
    settings = ServerSettings(log=Log.model_validate({"json": as_json, "requests": True, "slow_seconds": 600.0}))
    application = create_app([synthetic], Store(tmp_path / "store"), settings)

    @application.get("/fails")
    def fails(text: str) -> None:
        raise ValueError(text)

    application.router.routes.insert(0, application.router.routes.pop())
    with TestClient(application, "http://127.0.0.1", raise_server_exceptions=False) as client:
        capfd.readouterr()
        typed = "a\nforged line\r\x1b[2J\u2028\u0085"
        client.get(NASTY, params={"q": typed}, headers={"user-agent": "forged\x1b[2J"})
        client.post(
            "/submit", data={"do": "check", "name": typed, "card": typed}, headers={"origin": "http://127.0.0.1"}
        )
        assert client.get("/fails", params={"text": typed}).status_code == 500
        assert client.get("/fails", params={"text": typed}).status_code == 500
    text = capfd.readouterr().err
    assert all(32 <= ord(letter) < 127 or letter == "\n" for letter in text)
    lines = text.splitlines()
    assert not [line for line in lines if line.strip().startswith(("forged", '{"level"'))]
    if as_json:
        read = [json.loads(line) for line in lines]
        assert {"request", "fault"} <= {line["event"] for line in read}
        (fault,) = [line for line in read if line["event"] == "fault"]
        (asked,) = [line for line in read if line.get("id") == fault["id"] and line["event"] == "request"]
        assert asked["path"].startswith("/fails")
        assert fault["kind"] == "ValueError"
    else:
        assert len([line for line in lines if line.startswith("request ")]) == 4


def slow_app(**options: float) -> TestClient:
    application = FastAPI()

    @application.get("/{name}")
    def answer(name: str) -> str:
        time.sleep(0.03 if name == "slow" else 0)
        return name

    application.add_middleware(RequestLog, as_json=True, every=False, slow_seconds=0.02)
    return TestClient(application)


def test_slow_requests_are_written_and_no_more_than_some_a_minute(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    client = slow_app()
    client.get("/slow")  # the first one also waits for what is made on first use
    capfd.readouterr()
    client.get("/fast")
    client.get("/slow")
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert [line["event"].split()[0] for line in lines if line["path"] == "/slow"] == ["slow"]
    monkeypatch.setattr(request_log, "MAX_SLOW_PER_MINUTE", 5)
    client = slow_app()
    for _ in range(8):
        client.get("/slow")
    assert 5 <= len(capfd.readouterr().err.splitlines()) <= 10  # a minute may end meanwhile
    assert MAX_SLOW_PER_MINUTE > 0


def test_a_fault_behind_another_is_written_whole_and_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        try:
            raise KeyError("first\nforged")
        except KeyError as error:
            raise ValueError("second\x1b[2J\nforged") from error

    for as_json in (False, True):
        try:
            fail()
        except ValueError as fault:
            FaultLog(as_json=as_json).write(fault)
        said = capsys.readouterr().err
        assert "first" in said
        assert "second" in said
        assert "\x1b" not in said
        assert not [line for line in said.splitlines() if line.startswith("forged")]
        assert as_json is (len(said.splitlines()) == 1)
