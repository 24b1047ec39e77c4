"""Attacks on a running server, and what they leave behind: plain sockets and requests, with counts.

Each function takes the address of any server, so that the counts of another version can be taken with the same code.
"""

import contextlib
import select
import socket
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx

ANNOUNCED = 256 * 2**20
BOUNDARY = "x"


def client() -> httpx.Client:
    """Make a client without certificates, as reading them for each request would take longer than the request.

    It keeps no connection open, for an impatient server might end it just when it is used again.
    """
    return httpx.Client(verify=False, trust_env=False, timeout=30, limits=httpx.Limits(max_keepalive_connections=0))


def _address(url: str) -> tuple[str, int]:
    parts = httpx.URL(url)
    return parts.host, parts.port or 80


def upload_head(url: str, announced: int) -> bytes:
    """Return the beginning of an upload, up to the first byte of its file."""
    return (
        f"POST /gradio_api/upload HTTP/1.1\r\nHost: {httpx.URL(url).netloc.decode()}\r\n"
        f"Content-Type: multipart/form-data; boundary={BOUNDARY}\r\nContent-Length: {announced}\r\n\r\n"
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="files"; filename="a.csv"\r\n\r\n'
    ).encode()


@contextmanager
def sockets(url: str, n: int, sent: bytes) -> Iterator[list[socket.socket]]:
    """Open many connections, send the same on each, and then nothing."""
    opened = []
    try:
        for _ in range(n):
            opened.append(socket.create_connection(_address(url), timeout=10))
            opened[-1].sendall(sent)
        yield opened
    finally:
        for each in opened:
            each.close()


def held(opened: Sequence[socket.socket], seconds: float = 0.0) -> int:
    """Count the connections that the server still holds after some seconds, or at once when none is left."""
    deadline, left = time.monotonic() + seconds, list(opened)
    while True:
        left = [each for each in left if not _is_ended(each)]
        if not left or time.monotonic() > deadline:
            return len(left)
        time.sleep(0.1)


def _is_ended(connection: socket.socket) -> bool:
    """Read what came, and return whether the connection has ended."""
    while select.select([connection], [], [], 0)[0]:
        try:
            if not connection.recv(2**16):
                return True
        except OSError:
            return True
    return False


def upload(url: str, content: bytes = b"id\n", name: str = "a.csv") -> httpx.Response:
    """Upload a file as clients do."""
    return httpx.post(f"{url}/gradio_api/upload", files={"files": (name, content)}, timeout=30)


def abort_uploads(url: str, n: int, n_bytes: int) -> None:
    """Begin many uploads, and disconnect when so many bytes of each are sent."""
    with sockets(url, n, upload_head(url, 2 * n_bytes + 1000) + b"a" * n_bytes):
        time.sleep(0.5)
    time.sleep(0.5)


def files_in(folder: Path) -> list[Path]:
    """List the files below a folder, without locks."""
    return [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock"]


def file_shaped(url: str) -> list[dict[str, Any]]:
    """Return data that looks like a file to Gradio and points to an address."""
    meta = {"_type": "gradio.FileData"}
    return [{"path": url, "meta": meta}, {"path": url, "url": url, "meta": meta, "orig_name": "a.csv"}]


def calls_with_files(url: str, address: str, ways: int = 6) -> dict[str, str]:
    """Call every function, by each way of calling, with an address in place of every input; return the answers.

    Args:
        url: the server's.
        address: what is named instead of a file.
        ways: how many shapes are tried, of all: two kinds of file, alone and within a list or an object.
    """
    shapes = [nested for value in file_shaped(address) for nested in (value, [value], {"a": [value]})]
    with client() as session, ThreadPoolExecutor(8) as pool:
        answers = {}
        for function in session.get(f"{url}/config").json()["dependencies"]:
            name, n_inputs = function["api_name"], len(function["inputs"])
            for place, (number, shape) in product(range(n_inputs), enumerate(shapes[:ways])):
                data = [shape if position == place else None for position in range(n_inputs)]
                where = f"{name or function['id']}[{place}] {number}"
                answers[f"join {where}"] = pool.submit(join, session, url, function["id"], data)
                if isinstance(name, str):
                    answers[f"call {where}"] = pool.submit(call, session, url, name, data)
                    answers[f"run {where}"] = pool.submit(run, session, url, name, data)
        return {where: answer.result() for where, answer in answers.items()}


def join(session: httpx.Client, url: str, fn_index: int, data: list[Any]) -> str:
    """Call a function through the queue; return its answer."""
    named = uuid4().hex
    body = {"data": data, "fn_index": fn_index, "session_hash": named}
    started = session.post(f"{url}/gradio_api/queue/join", json=body)
    if started.status_code != 200:
        return started.text
    return session.get(f"{url}/gradio_api/queue/data", params={"session_hash": named}).text


def call(session: httpx.Client, url: str, name: str, data: list[Any]) -> str:
    """Call a named endpoint like programs without Gradio's client; return its answer."""
    base = f"{url}/gradio_api/call/{name.lstrip('/')}"
    started = session.post(base, json={"data": data})
    if started.status_code != 200:
        return started.text
    return session.get(f"{base}/{started.json()['event_id']}").text


def run(session: httpx.Client, url: str, name: str, data: list[Any]) -> str:
    """Call a named endpoint past the queue; return its answer."""
    return session.post(f"{url}/gradio_api/run/{name.lstrip('/')}", json={"data": data}).text


def fail_in_many_ways(url: str, times: int) -> int:
    """Send invalid requests to every endpoint; return how many requests that were."""
    base, n_sent = f"{url}/gradio_api", 0
    with client() as session:
        for _ in range(times):
            for data in ([], [{"a": 1}, "x"], ["dr/nli", "many"]):
                call(session, url, "board", data)
            call(session, url, "compare", [1, 2])
            join(session, url, 0, [1, 2, 3, 4])
            session.post(f"{base}/queue/join", json={"data": [], "fn_index": 10**6, "session_hash": "a"})
            session.post(f"{base}/call/nothing", json={})
            with contextlib.suppress(httpx.RemoteProtocolError):  # the answer ends early
                session.get(f"{base}/queue/data", params={"session_hash": "nobody"})
            session.post(f"{base}/call/board", content=b"[" * 50_000, headers={"content-type": "application/json"})
            session.post(f"{base}/upload", content=b"x", headers={"content-type": "multipart/form-data"})
            with sockets(url, 1, b"nonsense\r\n\r\n") as opened:
                held(opened, 2)
            n_sent += 11
    return n_sent
