"""Attacks on a running server, with what each left; the counts before are those of version 0.1.0, taken with the same
functions (``tests.leaderboard.attacks``) on a disk with 75 GiB of room.
"""

import errno
import re
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryFile
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute
from starlette.routing import Mount, Route

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.app import connections, middleware, uploads
from shiftbench.leaderboard.app.faults import FaultLog
from shiftbench.leaderboard.app.gradio_queue import MAX_REMEMBERED_SESSIONS
from shiftbench.leaderboard.app.server import Server, create_app
from shiftbench.leaderboard.app.uploads import Uploads
from shiftbench.leaderboard.store import Store
from shiftbench.validation import operating_system
from tests.leaderboard import attacks
from tests.leaderboard.app.test_server import free_port
from tests.leaderboard.app.waiting import gradio_of


@dataclass(frozen=True)
class Attacked:
    """A server whose patience is a second or two, and the folder that its uploads go to."""

    url: str
    app: Any
    temporary: Path


@pytest.fixture(scope="module")
def attacked(synthetic: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    home = tmp_path_factory.mktemp("attacked")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADIO_TEMP_DIR", str(home / "gradio"))
        patch.setattr(connections, "IDLE_SECONDS", 2.0)
        patch.setattr(connections, "STUCK_SECONDS", 1.0)
        patch.setattr(connections, "SECONDS_BETWEEN_LOOKS", 0.2)
        patch.setattr(middleware, "SECONDS_TO_BEGIN", 1.0)
        app = create_app([synthetic], Store(home / "store"))
        server = Server(app, "127.0.0.1", free_port())
        try:
            gradio_of(server.url)
            yield Attacked(server.url, app, home / "gradio")
        finally:
            server.close()
    assert attacks.files_in(home / "gradio") == []  # a server takes its folder with it


def test_idle_uploads_take_no_room_from_others(attacked: Attacked, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before: each of 297 sockets that announced 256 MiB held that much of the disk and its socket, without end."""
    nearly_full = SimpleNamespace(free=uploads.MIN_FREE_BYTES + 2**20)
    monkeypatch.setattr(uploads.shutil, "disk_usage", lambda _: nearly_full)
    with attacks.sockets(attacked.url, 100, attacks.upload_head(attacked.url, attacks.ANNOUNCED)) as opened:
        assert attacks.upload(attacked.url).status_code == 200
        assert attacks.held(opened, 20) == 0
    nearly_full.free = uploads.MIN_FREE_BYTES - 1
    assert attacks.upload(attacked.url).status_code == 503


HALF_A_BODY = b"POST /gradio_api/call/board HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n["


@pytest.mark.parametrize("sent", [b"", b"GET / HT", HALF_A_BODY], ids=["nothing", "head", "body"])
def test_half_a_request_holds_no_socket(attacked: Attacked, sent: bytes) -> None:
    """Before: 300 of 300 were held for as long as was looked."""
    with attacks.sockets(attacked.url, 100, sent) as opened:
        assert httpx.get(f"{attacked.url}/healthz").text == "ok"
        assert attacks.held(opened, 20) == 0


def test_a_trickle_is_no_upload(attacked: Attacked) -> None:
    """A byte now and then would hold the socket for years."""
    with attacks.sockets(attacked.url, 1, attacks.upload_head(attacked.url, 10**6)) as (slow,):
        deadline = time.monotonic() + 20
        while attacks.held([slow]) and time.monotonic() < deadline:
            slow.send(b"a")
            time.sleep(0.2)
        assert not attacks.held([slow])


def send_for_a_while(to: socket.socket, content: bytes) -> None:
    for _ in range(50):
        to.sendall(content)
        time.sleep(0.05)


def test_a_reader_who_takes_nothing_is_left(attacked: Attacked) -> None:
    request = b"GET /config HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 200
    with socket.socket() as stuck:
        stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stuck.connect(("127.0.0.1", httpx.URL(attacked.url).port))
        stuck.sendall(request)
        time.sleep(4)  # in which nothing is read
        with pytest.raises(ConnectionError):
            send_for_a_while(stuck, request)


def test_a_newcomer_gets_in_where_all_places_are_taken(
    synthetic: DatasetFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 20)
    server = Server(create_app([synthetic], Store(tmp_path / "store")), "127.0.0.1", free_port())
    try:
        stream = b"GET /gradio_api/heartbeat/a HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        for sent in (b"GET / HT", stream):
            with attacks.sockets(server.url, 60, sent) as opened:
                assert httpx.get(f"{server.url}/healthz").text == "ok"
                time.sleep(0.2)
                assert 0 < attacks.held(opened) <= 20
    finally:
        server.close()


def test_the_soft_limit_on_open_files_is_raised() -> None:
    program = (
        "import resource; from shiftbench.leaderboard.app.connections import bounded_connections\n"
        "hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]; resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))\n"
        "print(bounded_connections().keywords['most'], resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    soft = connections.WANTED_FILES if hard == resource.RLIM_INFINITY else min(connections.WANTED_FILES, hard)
    assert said.stdout.split() == [str(min(connections.MAX_CONNECTIONS, soft // 2)), str(soft)]


def test_aborted_uploads_leave_nothing(attacked: Attacked) -> None:
    """Before: 20 files of 20 uploads, until somebody deletes them by hand."""
    before = attacks.files_in(attacked.temporary)
    attacks.abort_uploads(attacked.url, 20, 2**21)
    assert attacks.files_in(attacked.temporary) == before
    whole = Path(attacks.upload(attacked.url, b"id\n1\n", "../../.evil \u202e name.csv").json()[0])
    assert (whole.read_bytes(), whole.suffix) == (b"id\n1\n", ".csv")
    assert whole.is_relative_to(attacked.temporary)


def test_uploads_are_swept_hourly_and_after_a_kill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path))
    with TemporaryFile() as file:
        killed = Uploads()
        left = killed.save("a.csv", file, 0)
        killed._lock.release()  # which the system does for a process that is killed
        running = Uploads()
        assert not left.exists()
        kept = running.save("a.csv", file, 0)
        other = Uploads()  # finds the folder of one that runs, and leaves it
        running.sweep()
        assert running.holds(str(kept))
        assert not other.holds(str(kept))
        assert not running.holds(f"{kept}/../{kept.name}")
        assert not running.holds("/etc/passwd")
        monkeypatch.setattr(uploads, "SECONDS_KEPT", 0)
        running.sweep()
    assert not kept.exists()


def test_tiny_uploads_leave_room_for_others(attacked: Attacked, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before: 6,882 uploads of a byte in 15 s took 14,111 files of the disk's, for an hour, until it had none."""
    monkeypatch.setattr(uploads, "MAX_KEPT", 5)
    paths = [Path(attacks.upload(attacked.url).json()[0]) for _ in range(20)]
    assert [path for path in paths if path.exists()] == paths[-5:]
    assert not [path for path in paths[:-5] if path.parent.exists()]
    blocks = dict.fromkeys(("f_bavail", "f_bfree", "f_blocks"), 2**30) | {"f_frsize": 4096}
    few = SimpleNamespace(f_files=10**6, f_favail=uploads.MIN_FREE_FILES - 1, **blocks)
    monkeypatch.setattr(operating_system.os, "statvfs", lambda _: few)
    assert attacks.upload(attacked.url).status_code == 503
    few.f_files = 0  # a file system that counts none
    assert attacks.upload(attacked.url).status_code == 200


def test_who_fills_the_disk_shuts_nobody_out_for_long(attacked: Attacked, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before: 503 for everybody for an hour, and again as soon as it was filled again."""
    filled = [Path(attacks.upload(attacked.url).json()[0]) for _ in range(3)]

    def usage(_: object) -> SimpleNamespace:
        return SimpleNamespace(free=uploads.MIN_FREE_BYTES + (-1 if filled[0].exists() else 1_000))

    monkeypatch.setattr(uploads.shutil, "disk_usage", usage)
    assert attacks.upload(attacked.url).status_code == 503
    monkeypatch.setattr(uploads, "SECONDS_SURE", 0.0)
    assert attacks.upload(attacked.url).status_code == 200
    assert [path.exists() for path in filled] == [False, True, True]


def test_no_input_is_fetched_from_an_address(attacked: Attacked, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before: the server fetched in most of 558 calls, for text boxes and numbers, too, and wrote 20 lines for each."""
    fetched: list[str] = []

    async def fetch(url: str, **_: Any) -> str:
        fetched.append(url)
        raise ValueError("fetched")

    monkeypatch.setattr("gradio.processing_utils.async_ssrf_protected_download", fetch)
    answers = attacks.calls_with_files(attacked.url, "http://127.0.0.1:9/preds.csv", ways=1)
    assert len(answers) > 50
    assert fetched == []
    refused = ("a file is not expected here", "send the file itself, not a URL", "not found")
    assert [where for where, answer in answers.items() if not any(words in answer for words in refused)] == []


def test_a_name_of_wide_characters_leaves_no_folder_behind(attacked: Attacked) -> None:
    """Before: 100 such characters are more bytes than a file's name may have: status 500, and a folder for good."""
    for letter in ("\N{CJK UNIFIED IDEOGRAPH-4E2D}", "\N{LINEAR B SYLLABLE B008 A}"):
        answer = httpx.post(f"{attacked.url}/gradio_api/upload", files={"files": (letter * 300 + ".csv", b"id")})
        assert answer.status_code == 200
        assert answer.json()[0].endswith(f"{letter}.csv")


def test_answers_that_nobody_reads_are_bounded(attacked: Attacked) -> None:
    """Before: 60 calls of 0.9 MiB in one session left 298 MiB for good."""
    base, named = f"{attacked.url}/gradio_api", "nobody-reads"
    with httpx.Client(timeout=20) as session:
        functions = session.get(f"{attacked.url}/config").json()["dependencies"]
        boards = next(each["id"] for each in functions if each["api_name"] == "boards")
        for _ in range(30):
            session.post(f"{base}/queue/join", json={"data": [], "fn_index": boards, "session_hash": named})
        with session.stream("GET", f"{base}/queue/data", params={"session_hash": named}) as answers:
            text = answers.read().decode()
    assert "earlier" in text


def test_few_sessions_are_remembered(attacked: Attacked) -> None:
    """Before: 40 sessions that sent 0.9 MiB each left 227 MiB, of 10,000 that Gradio remembers."""
    with httpx.Client(timeout=20) as session:
        for _ in range(MAX_REMEMBERED_SESSIONS + 8):
            attacks.join(session, attacked.url, 0, [])
    blocks = next(
        route.app.get_blocks() for route in attacked.app.routes if hasattr(getattr(route, "app", None), "get_blocks")
    )
    assert len(blocks.state_holder.session_data) <= MAX_REMEMBERED_SESSIONS + 1


def test_errors_do_not_fill_the_log(attacked: Attacked, capfd: pytest.CaptureFixture[str]) -> None:
    """Before: 6,960 lines for 220 requests; now each fault is written once, then counted."""
    attacks.fail_in_many_ways(attacked.url, 1)
    capfd.readouterr()
    assert attacks.fail_in_many_ways(attacked.url, 4) == 44
    assert len(capfd.readouterr().err.splitlines()) <= 10


def test_a_fault_is_written_once_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    log = FaultLog()

    def fail(how: Callable[[], Any]) -> None:
        try:
            how()
        except Exception as fault:
            log.write(fault)

    for _ in range(100):
        fail(lambda: 1 / 0)
    said = capsys.readouterr().err
    assert said.count("Traceback") == 1
    assert re.findall(r": (\d+) times", said) == ["10", "100"]


def routes(app: Any, prefix: str = "") -> set[str]:
    """List the addresses of an application and of what is mounted in it, with something for each parameter."""
    found = set()
    for route in app.routes:
        if isinstance(route, Mount):
            found |= routes(route, prefix + route.path)
        elif isinstance(route, (Route, APIRoute)):
            parts = [part if not part.startswith("{") else "a" for part in route.path.split("/")]
            found.add(prefix + "/".join(parts))
        elif hasattr(route, "original_router"):
            found |= routes(route.original_router, prefix)
    return found


def test_every_answer_of_every_route_has_the_headers(attacked: Attacked) -> None:
    """Before: 18 of 27 addresses lacked them, ``/submit`` among them."""
    known = routes(attacked.app)
    assert {"/", "/submit", "/gradio", "/config", "/healthz", "/logout", "/theme.css"} <= known
    asked = known | {"/nothing", "/assets/none.js", "/gradio_api/file=/etc/passwd", "/gradio_api/mcp/schema"}
    lacking = []
    with attacks.client() as session:
        for method, path in product(("GET", "POST"), sorted(asked)):
            with session.stream(method, attacked.url + path) as answer:
                headers = answer.headers
            policy = headers.get("content-security-policy", "")
            # One address is there to be shown in frames of other pages: a picture and a link.
            ancestors = "*" if path == "/embed" else "'self' https://huggingface.co"
            sound = "default-src 'none'" in policy and f"frame-ancestors {ancestors}" in policy
            if not sound or headers.get("x-content-type-options") != "nosniff":
                lacking.append((method, path))
    assert len(asked) > 40
    assert lacking == []


def test_the_form_runs_only_scripts_that_were_sent(attacked: Attacked) -> None:
    answer = httpx.get(f"{attacked.url}/gradio")
    scripts = answer.headers["content-security-policy"].split("script-src ")[1].split(";")[0]
    assert "'unsafe-inline'" not in scripts
    assert scripts.count("'sha256-") >= answer.text.count("<script>")


def test_nobody_is_signed_out_by_a_link(attacked: Attacked) -> None:
    """Before: fetching the address, as an image on any page does, ended the session."""
    address, own = f"{attacked.url}/logout", {"origin": attacked.url}
    asked = httpx.get(address, headers={"cookie": "session=a"})
    assert (asked.status_code, "set-cookie" in asked.headers) == (200, False)
    assert 'method="post"' in asked.text
    for origin in ("https://evil.example", "null", "http://127.0.0.1:9"):
        assert httpx.post(address, headers={"origin": origin}).status_code == 403
    done = httpx.post(address, headers=own)
    assert (done.status_code, done.headers["location"]) == (303, "/submit")
    assert 'session=""' in done.headers["set-cookie"]
    assert "Max-Age=0" in done.headers["set-cookie"]


def test_an_upload_on_a_full_disk_leaves_nothing(attacked: Attacked, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before: status 500, and the folder with the part of the file that was written."""

    def fill_disk(_: Any, to: Any) -> None:
        to.write(b"part")
        raise OSError(errno.ENOSPC, "No space left on device")

    before = sorted(attacked.temporary.rglob("*"))
    monkeypatch.setattr(uploads.shutil, "copyfileobj", fill_disk)
    answer = attacks.upload(attacked.url)
    assert (answer.status_code, "store" in answer.text) == (507, True)
    assert sorted(attacked.temporary.rglob("*")) == before


def first_line(url: str, request: bytes) -> str:
    """Send bytes, and return the first line of what is answered."""
    with attacks.sockets(url, 1, request) as (connection,):
        return connection.makefile().readline().strip()


@pytest.mark.parametrize("path", ["/", "/gradio_api/call/boards", "/gradio_api/upload", "/logout"])
def test_a_body_of_two_lengths_is_refused(attacked: Attacked, path: str) -> None:
    """Before: status 200; a proxy that believes the other length sees two requests where this server sees one."""
    for lengths in (
        b"Content-Length: 5\r\nTransfer-Encoding: chunked",
        b"Transfer-Encoding: chunked\r\nContent-Length: 5",
    ):
        head = b"POST " + path.encode() + b" HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n" + lengths
        answer = first_line(attacked.url, head + b'\r\n\r\nb\r\n{"data":[]}\r\n0\r\n\r\n')
        assert answer.split()[1] == "400"


@pytest.mark.parametrize("path", ["/", "/entry?id=0", "/compare", "/healthz", "/board.csv", "/submit", "/logout"])
def test_head_is_answered_as_get_without_the_body(attacked: Attacked, path: str) -> None:
    """Before: 404, as if the page were not there; 405 at ``/submit``."""
    asked, got = (httpx.request(method, attacked.url + path) for method in ("HEAD", "GET"))
    assert (asked.status_code, asked.content) == (got.status_code, b"")
    assert asked.headers["content-length"] == got.headers["content-length"]


@pytest.mark.parametrize("number", ["1e999", "-1e999"])
@pytest.mark.parametrize("endpoint", ["queue/join", "cancel", "reset"])
def test_values_that_json_cannot_repeat_are_refused(attacked: Attacked, endpoint: str, number: str) -> None:
    """Before: status 500."""
    body = '{"session_hash": "\\ud800", "event_id": ' + number + ', "fn_index": ' + number + "}"
    headers = {"content-type": "application/json"}
    answer = httpx.post(f"{attacked.url}/gradio_api/{endpoint}", content=body, headers=headers)
    assert answer.status_code == 422
    assert {"type", "loc", "msg"} == set(answer.json()["detail"][0])


def test_a_sender_who_leaves_is_no_fault(attacked: Attacked, capfd: pytest.CaptureFixture[str]) -> None:
    head = "POST /submit HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: multipart/form-data; boundary=x\r\n"
    sent = f"{head}Content-Length: 1000\r\n\r\n--x".encode()
    with attacks.sockets(attacked.url, 1, sent):
        time.sleep(0.2)  # it is being read
    time.sleep(0.2)
    assert httpx.get(f"{attacked.url}/healthz").text == "ok"
    assert "ClientDisconnect" not in capfd.readouterr().err


@pytest.mark.parametrize("letters", [256, 5_000])
def test_addresses_that_no_file_can_have_are_refused(attacked: Attacked, letters: int) -> None:
    """Before: status 500 below /static and /assets."""
    for folder in ("/static", "/assets", "/svelte", "/gradio_api/call", "/entry"):
        answer = httpx.get(f"{attacked.url}{folder}/{'a' * letters}")
        assert (answer.status_code, answer.text.count("\n")) == (414, 1)
    assert httpx.get(f"{attacked.url}/static/{'a' * 200}").status_code == 404


@pytest.mark.parametrize("origin", ["http://127.0.0.1:9", "http://localhost:9", "https://evil.example", "null"])
@pytest.mark.parametrize("host", [None, "ada-board.hf.space"])
def test_no_other_site_reads_answers(attacked: Attacked, origin: str, host: str | None) -> None:
    """Before: on loopback any port's pages might, with cookies; elsewhere any site's."""
    headers = {"origin": origin, **({"host": host} if host else {})}
    asks = {"access-control-request-method": "POST", "access-control-request-headers": "content-type"}
    for path in ("/", "/rows", "/config", "/submit", "/gradio_api/info"):
        asked = httpx.get(attacked.url + path, headers=headers)
        asked_before = httpx.options(attacked.url + path, headers={**headers, **asks})
        for answer in (asked, asked_before):
            assert "access-control-allow-origin" not in answer.headers
            assert "access-control-allow-credentials" not in answer.headers


def test_a_server_without_datasets_answers(tmp_path: Path) -> None:
    """Before: status 500 for the rows and the CSV of a board."""
    server = Server(create_app([], Store(tmp_path / "store")), "127.0.0.1", free_port())
    try:
        for path, status in (
            ("/", 200),
            ("/data", 200),
            ("/submit", 200),
            ("/forecast", 200),
            ("/forecast.csv", 200),
            ("/rows", 404),
            ("/board.csv", 404),
            ("/overall.csv", 404),
        ):
            answer = httpx.get(server.url + path)
            assert answer.status_code == status, path
            assert status == 200 or "dataset" in answer.text
    finally:
        server.close()
