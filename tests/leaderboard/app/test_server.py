"""The page's endpoints over HTTP, on a server of the test's own that listens on the loopback address only."""

import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import polars as pl
import pytest
from gradio_client import Client, handle_file
from gradio_client.exceptions import AppError
from syrupy.assertion import SnapshotAssertion

from shiftbench.leaderboard.app.client import answer_lines, submit_to_url
from shiftbench.leaderboard.app.live_index import LiveIndex
from shiftbench.leaderboard.app.middleware import MAX_BODY_BYTES
from shiftbench.leaderboard.app.server import Server, serve
from shiftbench.leaderboard.board import Index
from shiftbench.leaderboard.store import Store
from shiftbench.validation.report import InvalidInput
from tests.leaderboard import attacks
from tests.leaderboard.conftest import Filled, fill


class Served:
    """A page that is being served, and its store."""

    def __init__(self, server: Server, filled: Filled) -> None:
        self.filled, self.server, self.url = filled, server, server.url
        self.client = Client(self.url, verbose=False)

    def ask(self, api_name: str, *arguments: Any) -> Any:
        return self.client.predict(*arguments, api_name=api_name)


@pytest.fixture(scope="module")
def served(filled: Filled, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    own = fill(filled.folder, tmp_path_factory.mktemp("served"))
    with pytest.MonkeyPatch.context() as patch:
        # Even where somebody opens the folders around them, the store and the datasets stay closed.
        patch.setenv("GRADIO_ALLOWED_PATHS", f"{own.store.root.parent},{own.folder.path.parent}")
        server = serve([own.folder], own.store, port=free_port(), block=False)
    try:
        yield Served(server, own)
    finally:
        server.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def new_file(served: Served, tmp_path: Path) -> Path:
    """A prediction file that the store does not hold yet."""
    domains = list(served.filled.folder.task("sa").domains)
    rows = served.filled.folder.split("sa", domains[0], "test")
    label = served.filled.folder.task("sa").labels[0]
    rows.select("id", source=pl.lit(domains[0]), prediction=pl.lit(label)).write_csv(tmp_path / "new.csv")
    return tmp_path / "new.csv"


def card_text(served: Served, **changes: Any) -> str:
    return json.dumps(served.filled.card("good").model_copy(update=changes).as_dict())


def test_it_listens_on_the_loopback_address_only(served: Served) -> None:
    assert httpx.get(served.url).status_code == 200
    port = int(served.url.rsplit(":", 1)[1])
    listening = {line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines() if line.split()[3] == "0A"}
    assert f"0100007F:{port:04X}" in listening
    assert f"00000000:{port:04X}" not in listening


def test_a_proxy_closes_idle_connections_before_the_server_does(served: Served) -> None:
    nginx = (Path(__file__).parents[3] / "deploy" / "nginx.conf").read_text()
    (seconds,) = re.findall(r"keepalive_timeout (\d+)s;", nginx)
    assert int(seconds) < served.server._server.config.timeout_keep_alive


def test_board(served: Served) -> None:
    rows = served.ask("/board", "synthetic/nli")
    assert [row["rank"] for row in rows] == [1, 1, 3, 4, None]
    assert 0 < rows[0]["mean_st"]["value"] < 1
    assert served.ask("/board", "synthetic/sa") == []
    assert served.ask("/boards") == ["synthetic/nli", "synthetic/sa"]
    with pytest.raises(AppError, match="'synthetic/nli'"):
        served.ask("/board", "syntetic/nli")


def test_scores(served: Served) -> None:
    entry = served.filled.entries["good"]
    scores = served.ask("/scores", entry.id)
    assert scores == served.filled.store.scores(entry, served.filled.folder).model_dump(mode="json")
    with pytest.raises(AppError, match="entry"):
        served.ask("/scores", "../" + entry.id)


def test_labels_by_index_are_a_third_argument_that_may_be_left_out(served: Served, tmp_path: Path) -> None:
    numbers = {label: str(number) for number, label in enumerate(served.filled.folder.task("nli").labels)}
    frame = pl.read_parquet(served.filled.files["good"]).with_columns(pl.col("prediction").replace(numbers))
    path = tmp_path / "numbers.csv"
    frame.write_csv(path)
    refused = served.ask("/check", handle_file(str(path)), card_text(served))
    assert "numbers" in refused["problems"][0]
    assert served.ask("/check", handle_file(str(path)), card_text(served), True)["ok"]


def test_check_keeps_nothing(served: Served, new_file: Path) -> None:
    before = served.filled.store.entries()
    answer = served.ask("/check", handle_file(str(new_file)), card_text(served))
    assert answer["ok"]
    assert answer["summary"]["tasks"][0]["task"] == "sa"
    assert served.filled.store.entries() == before


def test_the_same_file_twice_is_one_entry(served: Served, new_file: Path, wording: SnapshotAssertion) -> None:
    name = "Sent twice"
    card = card_text(served, name=name)
    first = served.ask("/submit", handle_file(str(new_file)), card)
    again = served.ask("/submit", handle_file(str(new_file)), card)
    assert (first["ok"], first["new"]) == (True, True)
    assert (again["ok"], again["new"], again["entry"]) == (True, False, first["entry"])
    assert [row["id"] for row in served.ask("/board", "synthetic/sa")] == [first["entry"]]
    # The command's own client says the same.
    answer = submit_to_url(served.url, new_file, served.filled.card("good").model_copy(update={"name": name}))
    assert (answer["entry"], answer["new"]) == (first["entry"], False)
    # It says where the entry stands, and what it would take to be ranked: the file is of one source.
    page, board, *missing = answer_lines(answer, f"{served.url}/submit", over_http=True)
    assert [page, board, *missing] == wording
    assert name in httpx.get(board.split(": ")[1]).text
    assert name in httpx.get(page.split(": ")[1]).text


def test_problems_come_back_and_nothing_is_kept(served: Served, tmp_path: Path) -> None:
    before = served.filled.store.entries()
    bad = tmp_path / "bad.parquet"
    pl.read_parquet(served.filled.files["good"]).head(20).write_parquet(bad)
    answer = served.ask("/submit", handle_file(str(bad)), card_text(served))
    assert not answer["ok"]
    assert any("missing" in problem for problem in answer["problems"])
    # Neither this machine's paths nor the folder that uploads go to.
    assert "/" not in "".join(problem.split(":")[0] for problem in answer["problems"])
    with pytest.raises(InvalidInput, match="missing"):
        submit_to_url(served.url, bad, served.filled.card("good"))
    assert served.filled.store.entries() == before


def submitted_with(served: Served, new_file: Path, headers: dict[str, str], name: str) -> dict[str, Any]:
    """Submit as a client with headers of its own."""
    client = Client(served.url, verbose=False, headers=headers)
    answer: dict[str, Any] = client.predict(
        handle_file(str(new_file)), card_text(served, name=name), api_name="/submit"
    )
    return answer


@pytest.mark.parametrize(
    "headers",
    [{"x-forwarded-for": "192.0.2.7"}, {"x-real-ip": "192.0.2.7"}, {"forwarded": "for=192.0.2.7"}],
    ids=lambda headers: next(iter(headers)),
)
def test_nobody_submits_through_a_proxy(served: Served, new_file: Path, headers: dict[str, str]) -> None:
    before = served.filled.store.entries()
    answer = submitted_with(served, new_file, headers, "By proxy")
    assert not answer["ok"]
    assert "machine" in answer["problems"][0]
    assert served.filled.store.entries() == before


def call(served: Served, api_name: str, data: list[Any], headers: dict[str, str] | None = None) -> str:
    """Call an endpoint as a program would that does not use Gradio's client; give the stream it answers with."""
    base = f"{served.url}/gradio_api/call{api_name}"
    started = httpx.post(base, json={"data": data}, headers=headers)
    if started.status_code != 200:
        return started.text
    return httpx.get(f"{base}/{started.json()['event_id']}", headers=headers, timeout=30).text


def test_a_web_page_elsewhere_cannot_submit_through_a_visitors_browser(served: Served) -> None:
    answer = call(served, "/submit", [None, ""], {"origin": "https://evil.example", "host": "evil.example"})
    assert "card" not in answer
    answer = call(served, "/submit", [None, ""])
    assert "card" in answer


@pytest.fixture
def other_server(tmp_path: Path) -> Iterator[tuple[str, socket.socket]]:
    """An address that notices being fetched from."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.5)
        yield f"http://127.0.0.1:{server.getsockname()[1]}/preds.csv", server


@pytest.mark.parametrize("api_name", ["/check", "/submit"])
def test_an_address_instead_of_a_file_is_refused_and_not_fetched(
    served: Served, other_server: tuple[str, socket.socket], api_name: str
) -> None:
    url, server = other_server
    answer = call(served, api_name, [{"path": url, "meta": {"_type": "gradio.FileData"}}, card_text(served)])
    assert "URL" in answer
    for file in ({"path": None, "url": url}, {"path": url, "url": url}, url):
        answer = call(served, api_name, [file, card_text(served)])
        assert '"ok": true' not in answer
        with pytest.raises(TimeoutError):
            server.accept()


def test_files_of_the_server_cannot_be_named(served: Served) -> None:
    """A path is not an upload: neither entries of the store nor anything else on the machine is read."""
    secret = served.filled.store.root / "entries" / served.filled.entries["poor"].id / "predictions.parquet"
    for path in (secret, Path("/etc/passwd"), Path("pyproject.toml").resolve()):
        file = {"path": str(path), "meta": {"_type": "gradio.FileData"}}
        answer = call(served, "/check", [file, card_text(served)])
        assert answer.partition("\n")[0].endswith("error")


def test_server_and_dataset_files_cannot_be_fetched(served: Served) -> None:
    folder, store = served.filled.folder.path, served.filled.store.root
    files = [
        folder / "shiftbench.json",
        next(folder.glob("data/nli/*/test-*.parquet")),
        store / "entries" / served.filled.entries["good"].id / "card.json",
        store / "entries" / served.filled.entries["good"].id / "predictions.parquet",
        Path("/etc/passwd"),
        Path(__file__),
        Path("pyproject.toml").resolve(),
    ]
    for file in files:
        assert file.is_file()
        for name in (file, f"{folder}/../{folder.name}/../..{file}", f"./{file}"):
            answer = httpx.get(f"{served.url}/gradio_api/file={name}")
            assert answer.status_code == 404, name
    # Nor what somebody uploaded, or what lies at another address.
    uploaded = attacks.upload(served.url).json()[0]
    for name in (uploaded, "https://example.org/", "http://127.0.0.1/"):
        assert httpx.get(f"{served.url}/gradio_api/file={name}").status_code == 404


def test_only_the_named_endpoints_are_open(served: Served) -> None:
    api = served.client.view_api(return_format="dict", print_info=False)
    assert set(api["named_endpoints"]) == {
        "/check",
        "/submit",
        "/withdraw",
        "/scores",
        "/board",
        "/boards",
        "/compare",
        "/claim",
    }
    assert api["unnamed_endpoints"] == {}


def test_the_api_explains_itself(served: Served) -> None:
    document = httpx.get(f"{served.url}/gradio_api/openapi.json").json()
    assert {"/gradio_api/call/board", "/gradio_api/call/submit"} <= {path.split("/{")[0] for path in document["paths"]}
    tools = httpx.get(f"{served.url}/gradio_api/mcp/schema").json()
    assert {tool["name"] for tool in tools} >= {"board", "boards", "scores", "compare"}
    assert all(tool["description"] for tool in tools)


def call_tool(served: Served, name: str, headers: dict[str, str], **arguments: Any) -> str:
    """Call a tool of the MCP server; give what it answers with."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    accept = {"accept": "application/json, text/event-stream"}
    return httpx.post(f"{served.url}/gradio_api/mcp/", json=body, headers={**accept, **headers}, timeout=60).text


def test_the_mcp_server_calls_nobody_but_this_server(served: Served, other_server: tuple[str, socket.socket]) -> None:
    """Its client goes for good where the first request says that the server is."""
    url, server = other_server
    host = url.split("/")[2]
    for headers in ({"host": host}, {"x-forwarded-host": host}, {"x-gradio-server": f"http://{host}/"}):
        assert "synthetic/nli" in call_tool(served, "boards", headers)
        with pytest.raises(TimeoutError):
            server.accept()
    assert "synthetic/nli" in call_tool(served, "boards", {"x-forwarded-proto": "https"})


def test_nobody_withdraws_by_way_of_the_mcp_server(served: Served) -> None:
    """It calls from this machine, whoever calls it."""
    answer = call_tool(served, "withdraw_entry", {}, entry=served.filled.entries["poor"].id)
    assert "machine" in answer
    assert served.filled.entries["poor"].id in served.filled.store.ids()


def test_the_queue_cannot_be_passed_by(served: Served) -> None:
    for path in ("run", "api"):
        answer = httpx.post(f"{served.url}/gradio_api/{path}/check", json={"data": [None, ""]})
        assert (answer.status_code, "card" in answer.text) == (404, False)


@pytest.mark.parametrize("path", ["process_recording", "component_server", "vibe-edit", "deep_link?session_hash=a"])
def test_what_no_page_here_has_is_closed(served: Served, path: str) -> None:
    for method in ("GET", "POST"):
        answer = httpx.request(method, f"{served.url}/gradio_api/{path}")
        assert (answer.status_code, answer.text.count("\n")) == (404, 1)


@pytest.mark.parametrize("said", [True, False])
def test_a_request_that_is_too_large_is_refused(served: Served, said: bool) -> None:
    """Whether it says how large it is or not, and whatever reads it."""
    size = MAX_BODY_BYTES + 1

    def parts() -> Iterator[bytes]:
        for _ in range(-(-size // 2**16)):
            yield b" " * 2**16

    content: Any = b" " * size if said else parts()
    for path in ("/gradio_api/queue/join", "/gradio_api/call/check", "/"):
        answer = httpx.post(f"{served.url}{path}", content=content, headers={"content-type": "application/json"})
        assert answer.status_code in (400, 405, 413), path
        content = b" " * size if said else parts()
    assert httpx.get(f"{served.url}/healthz").text == "ok"


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/rows",
        "/board.csv",
        "/overall.csv",
        "/entry?id={good}",
        "/scores.json?id={good}",
        "/compare",
        "/data",
        "/about",
    ],
)
def test_every_page_answers_with_a_strict_policy(served: Served, path: str) -> None:
    answer = httpx.get(served.url + path.format(good=served.filled.entries["good"].id))
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("identity", ["nonsense", "../../../etc/passwd", "%2e%2e%2f", "0" * 16, "", "x" * 3000])
def test_an_entry_that_is_not_there_gets_a_page_that_says_so(served: Served, identity: str) -> None:
    for path in ("/entry", "/compare"):
        answer = httpx.get(served.url + path, params={"id": identity})
        assert answer.status_code in (200, 404)
        assert str(served.filled.store.root) not in answer.text
    assert httpx.get(served.url + "/scores.json", params={"id": identity}).status_code == 404


def test_an_old_address_of_an_entry_leads_to_its_page(served: Served) -> None:
    entry = served.filled.entries["good"].id
    answer = httpx.get(served.url, params={"entry": entry})
    assert (answer.status_code, answer.headers["location"]) == (307, f"/entry?id={entry}")


def test_comparisons_and_claims_are_endpoints(served: Served) -> None:
    ids = [served.filled.entries[name].id for name in ("good", "poor")]
    assert len(served.ask("/compare", ids, "nli")) == 1
    claim = served.ask("/claim", ids, "nli")
    assert [entry["entry"] for entry in claim["entries"]] == ids
    assert claim["comparisons"] == served.ask("/compare", ids, "nli")


def test_a_fault_does_not_end_the_looking_and_scoring(filled: Filled, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = threading.Semaphore(0)

    def look() -> None:
        looks.release()
        raise OSError("the disk is away")

    monkeypatch.setattr("shiftbench.leaderboard.app.live_index.SECONDS_BETWEEN_LOOKS", 0.01)
    monkeypatch.setattr("shiftbench.leaderboard.app.live_index.SECONDS_AFTER_FAULT", 0.01)
    index = Index([filled.folder], Store(filled.store.root), background=True)
    monkeypatch.setattr(index.store, "refresh", look)
    live = LiveIndex(index)
    live.start()
    assert looks.acquire(timeout=10)
    assert looks.acquire(timeout=10)
    live.stop()


def test_the_page_serves_what_other_programs_add(served: Served, filled: Filled, new_file: Path) -> None:
    """The store has one truth, its folder: an entry added beside the running server is on the next board."""
    card = filled.card("poor").model_copy(update={"name": "Added beside"})
    others = pl.read_csv(new_file).with_columns(prediction=pl.lit(filled.folder.task("sa").labels[1]))
    others.write_csv(new_file)  # no copy of what another test sends
    entry, new = Store(served.filled.store.root).submit(new_file, card, [filled.folder])
    assert new
    time.sleep(1.1)  # the folder is looked at once a second
    assert entry.id in [row["id"] for row in served.ask("/board", "synthetic/sa")]
