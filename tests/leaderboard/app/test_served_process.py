"""``shiftbench serve`` as a process of its own: what visitors can have it write to its log, and how it stops."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from shiftbench.builders.folder.reader import DatasetFolder
from tests.leaderboard import attacks
from tests.leaderboard.app.test_server import free_port
from tests.leaderboard.app.waiting import gradio_of

JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
TIMES = 12
MAX_BYTES = 300
"""That a dozen requests of one kind may write after the first ones: a count at the tenth time."""


@dataclass(frozen=True)
class Running:
    """A server, its process and its log."""

    url: str
    process: subprocess.Popen[bytes]
    log: Path


@contextmanager
def running(folder: DatasetFolder, home: Path) -> Iterator[Running]:
    port, log = free_port(), home / "serve.log"
    words = ["serve", "--data", str(folder.path), "--store", str(home / "store"), "--port", str(port)]
    environment = os.environ | {"GRADIO_TEMP_DIR": str(home / "gradio")}
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "shiftbench", *words],
            stdout=file,
            stderr=file,
            env=environment,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + 90
        while "the leaderboard is at" not in log.read_text():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        yield Running(f"http://127.0.0.1:{port}", process, log)
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def served(synthetic: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(synthetic, tmp_path_factory.mktemp("served")) as server:
        gradio_of(server.url)
        yield server


def rpc(method: Any, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


MCP, CALL = "/gradio_api/mcp/", "/gradio_api/call/board"
BAD: dict[str, dict[str, Any]] = {
    "an unknown MCP method": {"method": "POST", "url": MCP, "json": rpc("no/such\x1b[2J" + "x" * 900)},
    "an MCP method of no text": {"method": "POST", "url": MCP, "json": rpc(7)},
    "an MCP notification": {"method": "POST", "url": MCP, "json": {"jsonrpc": "2.0", "method": "notifications/x"}},
    "an MCP answer": {"method": "POST", "url": MCP, "json": {"jsonrpc": "2.0", "id": [1], "result": {}}},
    "an MCP error": {"method": "POST", "url": MCP, "json": {"jsonrpc": "2.0", "id": 1, "error": {"code": "x"}}},
    "an unknown tool": {"method": "POST", "url": MCP, "json": rpc("tools/call", name="nothing", arguments={})},
    "a tool's wrong arguments": {
        "method": "POST", "url": MCP, "json": rpc("tools/call", name="board", arguments={"name": 1}),
    },
    "an MCP list": {"method": "POST", "url": MCP, "json": [rpc("ping")] * 3},
    "MCP that is no JSON": {"method": "POST", "url": MCP, "content": b"[" * 9_000},
    "MCP of another type": {"method": "POST", "url": MCP, "content": b"x", "headers": {"content-type": "text/plain"}},
    "MCP deleted": {"method": "DELETE", "url": MCP},
    "an MCP session": {"method": "GET", "url": MCP, "headers": JSON | {"mcp-session-id": "x" * 300}},
    "a call that is no JSON": {"method": "POST", "url": CALL, "content": b"{"},
    "a call of no list": {"method": "POST", "url": CALL, "json": {"data": 7}},
    "a queue's name": {"method": "POST", "url": "/gradio_api/queue/join", "json": {"data": [], "fn_index": "x"}},
    "an unread session": {"method": "GET", "url": "/gradio_api/queue/data?session_hash=none"},
    "a file's address": {"method": "GET", "url": "/gradio_api/file=/etc/passwd"},
    "half a character": {"method": "GET", "url": "/?board=%ff%fe%00"},
    "a sign-in": {"method": "GET", "url": "/login/huggingface?_target_url=x"},
    "no form": {
        "method": "POST", "url": "/submit", "content": b"x", "headers": {"content-type": "multipart/form-data"},
    },
    "no upload": {"method": "POST", "url": "/gradio_api/upload", "content": b"x"},
    "a huge cookie": {"method": "GET", "url": "/submit", "headers": {"cookie": "session=" + "a" * 20_000}},
    "another method": {"method": "PROPFIND", "url": "/"},
}  # fmt: skip


def settled_size(log: Path) -> int:
    """Return the size of a log once it has not grown for a while: some requests are worked on after their answer."""
    sizes = [-1]
    while len(sizes) < 4 or len(set(sizes[-4:])) > 1:
        time.sleep(0.05)
        sizes.append(log.stat().st_size)
    return sizes[-1]


@pytest.mark.parametrize("kind", BAD)
def test_a_visitor_cannot_fill_the_log(served: Running, kind: str) -> None:
    """Before: 6,606 bytes for each unknown method of the MCP server, from anybody."""
    request = {"headers": JSON, **BAD[kind]}
    request["url"] = served.url + request["url"]

    def send() -> None:
        with client.stream(**request):  # an answer may go on for good
            pass

    with attacks.client() as client:
        before = served.log.stat().st_size
        send()
        first = settled_size(served.log)
        assert first - before < 8_000
        for _ in range(TIMES):
            send()
        settled_size(served.log)
    written = served.log.read_bytes()
    assert len(written) - first < MAX_BYTES, written[first:][:2_000].decode(errors="replace")
    assert b"\x1b" not in written


NAMING = ("x-forwarded-host", "x-gradio-server", "x-forwarded-server", "forwarded", "x-original-host", "x-host")


@pytest.mark.parametrize("path", ["/config", "/submit", "/gradio_api/info", "/gradio_api/openapi.json", "/login"])
def test_no_header_makes_the_page_another_servers(served: Running, path: str) -> None:
    """Before: the root of Gradio's page was the host that anybody named."""
    evil = {name: "http://evil.example" if name == "x-gradio-server" else "evil.example" for name in NAMING}
    answer = httpx.get(served.url + path, headers=evil)
    told = answer.text + str(answer.headers)
    assert "evil.example" not in told
    if path == "/config":
        assert answer.json()["root"] == served.url


def test_stopping_a_busy_server_prints_no_traceback(served: Running) -> None:
    """The last test of this file: it stops the server as Ctrl-C in a terminal does, with all of its processes."""

    def send(request: Callable[[], object]) -> None:
        with suppress(httpx.HTTPError):
            while served.process.poll() is None:
                request()

    streams = [f"{served.url}/gradio_api/heartbeat/a", f"{served.url}/gradio_api/queue/data?session_hash=a"]
    fields = {"do": "check", "name": "x", "paradigm": "other"}
    with attacks.client() as client, ThreadPoolExecutor(8) as pool:
        requests: list[Callable[[], object]] = [
            *(partial(client.get, address) for address in streams),
            partial(client.get, f"{served.url}/submit"),
            partial(attacks.upload, served.url, b"x" * 10**6),
            partial(attacks.call, client, served.url, "boards", []),
            partial(
                client.post, f"{served.url}/submit", data=fields, files={"file": ("p.csv", b"id\n" * 10**5)},
                headers={"origin": served.url},
            ),
        ]  # fmt: skip
        for request in requests:
            pool.submit(send, request)
        time.sleep(0.5)
        before = served.log.stat().st_size
        os.killpg(served.process.pid, signal.SIGINT)
        code = served.process.wait(timeout=30)
    written = served.log.read_text()[before:]
    assert code == 130
    assert "Traceback" not in written
    assert written.count("\n") <= 3
