"""A server on withheld labels: between rounds no byte that it sends depends on the ranking half."""

import html
import json
import re
import shutil
import time
from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from gradio_client import Client, handle_file
from gradio_client.exceptions import AppError
from huggingface_hub import HfApi
from scipy.stats import binomtest
from starlette.testclient import TestClient

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.app.client import answer_lines, nominate_at_url
from shiftbench.leaderboard.app.server import ServerSettings, create_app, serve
from shiftbench.leaderboard.release import close_round, feedback, nominate
from shiftbench.leaderboard.store import LOCAL_SUBMITTER, Store, open_store
from shiftbench.leaderboard.store.log import Draft
from shiftbench.validation.report import InvalidInput
from tests.command_line import run
from tests.hub.server import WRITE, running_hub
from tests.leaderboard import attacks
from tests.leaderboard.app.test_server import free_port
from tests.leaderboard.release.gold import (
    DOMAINS,
    TASK,
    build_gold,
    file_of,
    send,
    with_errors,
    with_permuted_half,
)

SETTINGS = ServerSettings(daily_quota=100)
PAGES = (
    "/", "/?board=own/tickets&view=full", "/?board=own/tickets&x=score", "/domains?board=own/tickets",
    "/rows", "/board.csv", "/overall.csv", "/data", "/about", "/compare", "/healthz", "/static/page.css",
    "/static/page.js", "/forecast", "/forecast.csv", "/forecast.json", "/forecast?board=own/tickets",
    "/gradio_api/info", "/gradio_api/openapi.json", "/gradio_api/mcp/schema",
)  # fmt: skip
"""All that is served without naming an entry."""
OF_ENTRY = ("/entry?id={0}", "/scores.json?id={0}", "/predictions.parquet?id={0}", "/compare?id={0}&id={1}")
BOARD = f"own/{TASK}"
_COUNTED = re.compile(r"value_\d+")
"""Gradio numbers the components of a process, whatever they are."""


@pytest.fixture(scope="module")
def gold(tmp_path_factory: pytest.TempPathFactory) -> DatasetFolder:
    """Some 575 texts a half: enough for feedback."""
    return build_gold(tmp_path_factory.mktemp("gold"), 1_150, classes=3, domains=DOMAINS[:2])


@pytest.fixture(scope="module")
def store(gold: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store with a closed round, looks, and nominations since."""
    root = tmp_path_factory.mktemp("withheld")
    found = Store(root / "store")
    for seed, account in enumerate((LOCAL_SUBMITTER, "ada", "bob")):
        entry = send(found, gold, with_errors(gold, 0.2 + 0.2 * seed, seed), root / "sent.parquet", account, account)
        feedback(found, entry, gold)
        nominate(found, entry.id, account, [gold])
    close_round(found, [gold], date(2026, 1, 5))
    late = send(found, gold, with_errors(gold, 0.05, 9), root / "sent.parquet", "ada", "late")
    nominate(found, late.id, "ada", [gold])
    return found


def every_answer(folder: DatasetFolder, store: Store, port: int, files: Sequence[Path]) -> dict[str, str]:
    """Serve a folder, ask everything that can be asked, send files, and ask again."""
    server = serve([folder], store, port=port, settings=SETTINGS, block=False)
    found: dict[str, str] = {}
    try:
        client = Client(server.url, verbose=False)

        def ask(name: str, *arguments: Any) -> None:
            try:
                answer = json.dumps(client.predict(*arguments, api_name=name))
            except AppError as error:
                answer = f"refused: {error}"
            found[f"{name} {len(found)}"] = answer

        def read(moment: str) -> None:
            pair = store.ids()[:2]
            for page in (*PAGES, *(form.format(*pair) for form in OF_ENTRY)):
                answer = httpx.get(server.url + page)
                found[f"{moment} {page}"] = f"{answer.status_code} {_COUNTED.sub('', answer.text)}"
            ask("/boards")
            ask("/board", BOARD)
            ask("/scores", pair[0])
            ask("/compare", pair, TASK)
            ask("/claim", pair, TASK)
            for tool, arguments in (("board", {"name": BOARD}), ("scores", {"entry": pair[0]})):
                found[f"{moment} mcp {tool}"] = call_tool(server.url, tool, **arguments)

        read("before")
        for number, path in enumerate(files):
            card = json.dumps({"name": f"m{number}", "paradigm": "other", "data": folder.content_hash})
            ask("/check", handle_file(str(path)), card)
            ask("/submit", handle_file(str(path)), card)
        ask("/nominate", store.ids()[0], "")
        ask("/submit", handle_file(str(files[0])), card)  # another card: the same file
        read("after")
    finally:
        server.close()
    return found


def call_tool(url: str, tool: str, **arguments: Any) -> str:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    headers = {"accept": "application/json, text/event-stream"}
    return httpx.post(f"{url}/gradio_api/mcp/", json=body, headers=headers, timeout=60).text


def differing(first: dict[str, str], second: dict[str, str]) -> list[str]:
    return [name for name in first.keys() | second.keys() if first.get(name) != second.get(name)]


def test_no_answer_hangs_on_the_ranking_half_between_rounds(gold: DatasetFolder, store: Store, tmp_path: Path) -> None:
    """The same files against gold whose ranking half is dealt anew, earlier releases as they are."""
    shares = (0.9, 0.0)
    files = [file_of(gold, with_errors(gold, share, 20), tmp_path / f"{share}.parquet") for share in shares]
    port, answers = free_port(), []
    others = [gold] + [
        with_permuted_half(gold, tmp_path / f"feedback {feedback}", feedback=feedback) for feedback in (False, True)
    ]
    for number, folder in enumerate(others):
        root = tmp_path / f"store {number}"
        shutil.copytree(store.root, root)
        answers.append(every_answer(folder, Store(root), port, files))
    assert len(answers[0]) >= 35
    assert differing(answers[0], answers[1]) == []
    # The comparison would see a difference: on the feedback half other numbers are told, and nothing else differs.
    told = differing(answers[0], answers[2])
    assert told
    assert all(name.startswith("/submit") for name in told)


N_PAIRS, LEAST_CHANCE, LEAST_RATIO = 41, 1e-6, 1.25


def slower(first: Callable[[], Any], second: Callable[[], Any]) -> bool:
    """Test whether one of two requests takes longer, by pairs of which each comes first in turn.

    Equal ones pass but once in a million times, whatever the noise: it is the same for both of a pair.
    """
    for _ in range(3):
        first(), second()
    ratios = []
    for number in range(N_PAIRS):
        seconds = {}
        for request in (first, second) if number % 2 else (second, first):
            begun = time.perf_counter()
            request()
            seconds[request] = time.perf_counter() - begun
        ratios.append(seconds[second] / seconds[first])
    n_longer = sum(ratio > 1 for ratio in ratios)
    ratio = sorted(ratios)[N_PAIRS // 2]
    far = not 1 / LEAST_RATIO < ratio < LEAST_RATIO
    return far and float(binomtest(n_longer, N_PAIRS).pvalue) < LEAST_CHANCE


@pytest.mark.long
def test_no_answer_takes_longer_for_other_labels_of_the_ranking_half(
    gold: DatasetFolder, store: Store, tmp_path: Path
) -> None:
    servers = []
    for folder in (gold, with_permuted_half(gold, tmp_path / "permuted", feedback=False)):
        root = tmp_path / f"store {len(servers)}"
        shutil.copytree(store.root, root)
        servers.append(serve([folder], Store(root), port=free_port(), settings=SETTINGS, block=False))
    file = file_of(gold, with_errors(gold, 0.3, 20), tmp_path / "sent.parquet")
    card = json.dumps({"name": "timed", "paradigm": "other", "data": gold.content_hash})
    uploads = [attacks.upload(server.url, file.read_bytes(), "sent.parquet").json()[0] for server in servers]
    sent = [[{"path": path, "meta": {"_type": "gradio.FileData"}}, card] for path in uploads]
    pair = store.ids()[:2]
    try:
        with attacks.client() as session:

            def requests(path: str) -> list[Callable[[], Any]]:
                return [partial(session.get, server.url + path) for server in servers]

            def calls(name: str, *data: Sequence[Any]) -> list[Callable[[], Any]]:
                return [
                    partial(attacks.call, session, server.url, name, each)
                    for server, each in zip(servers, data, strict=True)
                ]

            asked = {path: requests(path) for path in (form.format(*pair) for form in (*PAGES[:5], *OF_ENTRY))}
            asked |= {"board": calls("board", [BOARD], [BOARD]), "scores": calls("scores", pair[:1], pair[:1])}
            asked |= {"check": calls("check", *sent), "submit": calls("submit", *sent)}
            assert '"ok": true' in asked["check"][0]()
            assert '"ok": true' in asked["submit"][1]()
            assert [name for name, both in asked.items() if slower(*both)] == []
            # It would see a difference: of two pages, of which one is more work.
            assert slower(requests("/healthz")[0], asked["/"][1])
    finally:
        for server in servers:
            server.close()


def test_what_a_sender_is_told(gold: DatasetFolder, store: Store, tmp_path: Path) -> None:
    root = tmp_path / "store"
    shutil.copytree(store.root, root)
    server = serve([gold], Store(root), port=free_port(), settings=SETTINGS, block=False)
    try:
        client = Client(server.url, verbose=False)
        path = file_of(gold, with_errors(gold, 0.0), tmp_path / "perfect.parquet")
        card = json.dumps({"name": "perfect", "paradigm": "other", "data": gold.content_hash})
        checked = client.predict(handle_file(str(path)), card, api_name="/check")
        assert (checked["ok"], checked["summary"]) == (True, {})
        sent = client.predict(handle_file(str(path)), card, api_name="/submit")
        told = sent["summary"]["feedback"]
        assert {(each["target"], each["best"], each["looks_left"]) for each in told} == {
            (target, 1.0, 10) for target in DOMAINS[:2]
        }
        said = nominate_at_url(server.url, sent["entry"], TASK)["note"]
        assert BOARD in said
        lines = list(answer_lines(sent, server.url, over_http=True))
        for target in DOMAINS[:2]:
            assert f"{BOARD} on {target}: best score so far 100 (this file); 10 more scores this year" in lines
        page = httpx.get(f"{server.url}/entry?id={sent['entry']}").text
        assert f"url = {{{server.url}/entry?id={sent['entry']}}}" in html.unescape(page)
        assert "The last round released no results" in page
        assert f"next round of {BOARD}" in page
        board = httpx.get(f"{server.url}/?board={BOARD}").text
        assert "Compare selected" not in board
        assert "2026-Q1" in board
    finally:
        server.close()


def test_before_the_first_round_no_page_speaks_of_a_last_one(gold: DatasetFolder, tmp_path: Path) -> None:
    found = Store(tmp_path / "store")
    entry = send(found, gold, with_errors(gold, 0.2), tmp_path / "sent.parquet", "ada", "first")
    with TestClient(create_app([gold], found, SETTINGS), "http://127.0.0.1") as client:
        page = client.get(f"/entry?id={entry.id}").text
    assert "No round has taken place yet." in page
    assert "last round" not in page


def test_a_quota_is_needed(gold: DatasetFolder, synthetic: DatasetFolder, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="quota"):
        create_app([synthetic, gold], Store(tmp_path / "store"), ServerSettings(sign_in=True))
    create_app([synthetic, gold], Store(tmp_path / "store"), SETTINGS)


def test_a_store_that_everybody_may_read_is_refused(
    gold: DatasetFolder, synthetic: DatasetFolder, tmp_path: Path
) -> None:
    """Before: a server started on it, and wrote predictions and feedback there."""
    with running_hub(tmp_path / "hub") as hub:
        repository = hub.stored.create("org/entries", private=False)

        def opened() -> Store:
            api = HfApi(endpoint=hub.url, token=WRITE)
            return open_store("hf://datasets/org/entries", cache=tmp_path / "cache", api=api)

        create_app([synthetic], opened(), SETTINGS)
        with pytest.raises(InvalidInput, match=r"public.* private"):
            create_app([synthetic, gold], opened(), SETTINGS)
        repository.private = True
        store = opened()
        create_app([gold], store, SETTINGS)
        repository.private = False  # while the server runs
        for use in (store.refresh, lambda: store.add_records(lambda: {"look-a.json": b"{}"}, Draft("answered"))):
            with pytest.raises(InvalidInput, match="public"):
                use()
        assert "public" in str(store.behind)
        assert not [path for path in hub.stored.files("org/entries") if path.startswith("records")]


def test_nobody_else_reads_a_store_of_withheld_labels(gold: DatasetFolder, store: Store, tmp_path: Path) -> None:
    """Before: its entries, looks and labels' keys were readable by every user of the machine."""
    modes = {path: path.stat().st_mode & 0o777 for path in (store.root, *store.root.rglob("*")) if path.name != ".lock"}
    assert [path for path, mode in modes.items() if mode != (0o700 if path.is_dir() else 0o600)] == []
    assert any(path.name == "predictions.parquet" for path in modes)
    # One that was there already, as an earlier version made it.
    root = tmp_path / "store"
    shutil.copytree(store.root, root)
    root.chmod(0o755)
    create_app([gold], Store(root), SETTINGS)
    assert root.stat().st_mode & 0o777 == 0o700


def test_nominating_and_closing_from_the_terminal(gold: DatasetFolder, store: Store, tmp_path: Path) -> None:
    root = tmp_path / "store"
    shutil.copytree(store.root, root)
    entry = next(entry for entry in store.entries() if entry.submitter == LOCAL_SUBMITTER)
    done = run("nominate", entry.id, "--to", root, "--data", gold.path)
    assert entry.id in done.stderr
    young = run("release-round", "--store", root, "--data", gold.path)
    assert "30 days" in young.stderr
    (root.parent / "board.toml").write_text("[rounds]\naccount_days = 0\n")
    config = ("--config", root.parent / "board.toml")
    close = ("release-round", "--store", root, "--data", gold.path, *config, "--json", "-")
    done = run(*close)
    (board,) = json.loads(done.stdout)["boards"]
    assert [each["account"] for each in board["entries"]] == ["ada", LOCAL_SUBMITTER, "bob"]
    with pytest.raises(InvalidInput, match="quarter"):
        close_round(Store(root), [gold])
    # As after the process was killed between the commit and the answer.
    records = sorted((path, path.read_bytes()) for path in (root / "records").iterdir())
    again = run(*close)
    assert json.loads(again.stdout) == json.loads(done.stdout)
    assert "closed" in again.stderr
    assert sorted((path, path.read_bytes()) for path in (root / "records").iterdir()) == records
