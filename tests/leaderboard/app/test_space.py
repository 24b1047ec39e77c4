"""The Space: its files, its publication to a loopback Hub, and what runs in it, sign-in included."""

import base64
import hashlib
import importlib
import json
import os
import re
import signal
import socket
import subprocess
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import itsdangerous
import polars as pl
import pytest
import yaml
from gradio_client import Client, handle_file

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.app.signing_in import own_path
from shiftbench.leaderboard.app.space import (
    ROOMS,
    SpaceConfig,
    check_names,
    new_board,
    requirements,
    run_space,
    space_files,
)
from shiftbench.validation.cards import Card
from shiftbench.validation.report import InvalidInput
from tests.hub.clients import finish, start, start_publish
from tests.hub.server import READ, LoopbackHub, running_hub
from tests.hub.sign_in import CLIENT_ID, CLIENT_SECRET
from tests.hub.spaces import stored_name
from tests.leaderboard.app.waiting import gradio_of
from tests.leaderboard.conftest import predict
from tests.shiftbench.elsewhere import make_environment

SPACE, DATA, ENTRIES = "acme/board", "acme/data", "acme/entries"
BOARD = f"""
title = "Ours"
text = "For the group."
data = ["{DATA}"]
store = "hf://datasets/{ENTRIES}"
hosts = ["tester"]

[submissions]
sign_in = true
quota = 2

[limits]
upload_mib = 1
"""
CONFIG = SpaceConfig(BOARD)


FILES_OF_0_2_0 = Path(__file__).parents[2] / "compatibility" / "written_by_0_2_0" / "files.tar.xz"


def test_its_files_are_the_rooms_and_what_starts_them() -> None:
    files = space_files(CONFIG)
    head = yaml.safe_load(files["README.md"].decode().split("---")[1])
    assert (head["sdk"], head["app_file"], head["hf_oauth"]) == ("gradio", "app.py", True)
    assert head["datasets"] == [DATA, ENTRIES]
    compile(files["app.py"], "app.py", "exec")
    homes = [Path(str(importlib.import_module(f"shiftbench.{room}").__file__)).parent for room in ROOMS]
    # What no program reads.
    unread = {".md", ".png", ".pyc", ".typed"}
    read = {file for home in homes for file in home.rglob("*.*") if file.is_file() and file.suffix not in unread}
    assert {"tokens.css", "parts.html", "page.html", "sources.toml", "citations.bib"} <= {file.name for file in read}
    inside = {f"shiftbench/{home.name}/{file.relative_to(home).as_posix()}" for home in homes for file in read
              if file.is_relative_to(home)}  # fmt: skip
    assert inside | {"shiftbench/__init__.py"} <= set(files)
    assert {path for path in files if "/" not in path} == {"README.md", "app.py", "board.toml", "requirements.txt"}
    assert {tuple(path.split("/")[:2]) for path in files if "/" in path} == {
        ("shiftbench", name) for name in (*ROOMS, "__init__.py", "__init__.pyi", "version.py")
    }


def test_its_requirements_are_pinned_and_leave_out_what_it_does_not_need() -> None:
    plain = requirements(bert_score=False)
    assert all("==" in line for line in plain)
    assert any(line.startswith("gradio[mcp,oauth]==") for line in plain)
    assert not any(line.startswith(("torch", "pytest")) for line in plain)
    assert any(line.startswith("torch==") for line in requirements(bert_score=True))


def test_names_that_are_none_are_refused() -> None:
    with pytest.raises(InvalidInput) as refused:
        check_names("board", SpaceConfig(new_board(["../data"], "acme/entries")))
    assert [problem.found for problem in refused.value.problems] == ["'board'", "'../data'"]


@contextmanager
def running_space(hub: LoopbackHub, home: Path) -> Iterator[str]:
    """Fetch the Space's files into an empty folder, and run it there as the Hub would, signed-in visitors and all.

    What the project installs is not there, so the files must be all that it needs.
    """
    source = home / "space"
    for path, content in hub.stored.files(stored_name(SPACE)).items():
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_bytes(content)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    environment |= hub.environment(home / "hf") | {
        "SYSTEM": "spaces",
        "SPACE_ID": SPACE,
        "OAUTH_CLIENT_ID": CLIENT_ID,
        "OAUTH_CLIENT_SECRET": CLIENT_SECRET,
        "OAUTH_SCOPES": "openid profile",
        "OPENID_PROVIDER_URL": hub.url,
        "GRADIO_SERVER_NAME": "127.0.0.1",
        "GRADIO_SERVER_PORT": str(port),
        "GRADIO_ANALYTICS_ENABLED": "False",
    }
    log = (home / "space.log").open("w")
    python = make_environment(home / "environment")
    process = subprocess.Popen([python, "app.py"], cwd=source, env=environment, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + 90
        while True:
            try:
                httpx.get(f"{url}/healthz").raise_for_status()
                break
            except httpx.TransportError:  # it does not listen yet, or not yet answer
                said = (home / "space.log").read_text()
                assert process.poll() is None, said
                assert time.monotonic() < deadline, said
                time.sleep(0.1)
        yield url
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=30)
        log.close()


def keep_old_space(hub: LoopbackHub) -> None:
    """Put a Space of version 0.2.0 on the Hub: its paths are that version's, and whatever imports one of them fails."""
    with tarfile.open(FILES_OF_0_2_0) as archive:
        listed = archive.extractfile("space.json")
        assert listed is not None
        paths: list[str] = json.load(listed)["files"]
    assert {"app.py", "validation/__init__.py", "builders/__init__.py", "leaderboard/app/space.py"} <= set(paths)
    content = b"raise ImportError('this is of version 0.2.0')\n"
    repository = hub.stored.create(stored_name(SPACE), private=False)
    old = {path: hub.stored.store(content, lfs=False) for path in (*paths, "notes/of_ours.md")}
    repository.add("main", "version 0.2.0", repository.commit("main").files | old)


@pytest.fixture(scope="module")
def space(synthetic: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, LoopbackHub]]:
    home = tmp_path_factory.mktemp("space")
    with running_hub(home / "hub") as hub:
        assert finish(start_publish(hub, home, synthetic.path, "--repo-id", DATA))[0] == 0
        keep_old_space(hub)
        (home / "board.toml").write_text(BOARD)
        words = ["-m", "shiftbench", "board", "publish-space", SPACE]
        assert "has no board.toml yet" in finish(start(hub, home, *words))[2]
        code, _, said = finish(start(hub, home, *words, "--config", str(home / "board.toml")))
        assert code == 0, said
        assert finish(start(hub, home, *words))[0] == 0, "a second time it is brought up to date, with its own file"
        other = finish(start(hub, home, *words, "--data", DATA, "--store", ENTRIES))
        assert (other[0] != 0, "this Space already has a different board.toml" in other[2]) == (True, True)
        hub.stored.create(ENTRIES, private=False)
        with running_space(hub, home) as url:
            gradio_of(url)
            yield url, hub


def sign_in(url: str, target: str = "/submit") -> tuple[str, str]:
    """Sign in as a browser would; the session's cookie is for https and so is carried by hand.

    Returns: the cookie, and the address that the sign-in led to.
    """
    address, cookie = f"{url}/login/huggingface?_target_url={target}", ""
    for _ in range(6):
        answer = httpx.get(address, headers={"cookie": cookie} if address.startswith(url) else {})
        cookie = answer.headers.get("set-cookie", cookie).split(";")[0]
        location = answer.headers["location"]
        if "/login/callback" in address:
            return cookie, location
        address = str(httpx.URL(address).join(location))
    raise AssertionError(address)


def send(url: str, folder: DatasetFolder, path: Path, name: str, **client: Any) -> dict[str, Any]:
    card = Card(name=name, paradigm="other", data=folder.content_hash)
    answer: dict[str, Any] = Client(url, verbose=False, **client).predict(
        handle_file(str(path)), yaml.safe_dump(card.as_dict()), api_name="/submit"
    )
    return answer


def test_a_space_of_version_0_2_0_is_brought_up_to_date(space: tuple[str, LoopbackHub]) -> None:
    """The other tests here use what came of it; what is not ours is left."""
    held = space[1].stored.files(stored_name(SPACE))
    assert set(held) == {*space_files(CONFIG), "notes/of_ours.md"}
    assert [path for path, content in held.items() if b"of version 0.2.0" in content] == ["notes/of_ours.md"]
    assert b"from shiftbench.leaderboard.app.space import run_space" in held["app.py"]


def test_its_configuration_is_the_file_in_its_repository(space: tuple[str, LoopbackHub]) -> None:
    url, hub = space
    held = hub.stored.files(stored_name(SPACE))
    assert held["board.toml"].decode() == BOARD
    assert yaml.safe_load(held["README.md"].decode().split("---")[1])["title"] == "Ours"
    front = httpx.get(url).text
    assert ("<h1>Ours</h1>" in front, "the group." in front) == (True, True)
    assert "2 entries " in httpx.get(f"{url}/submit").text
    big = {"files": ("a.csv", b"x" * (3 * 2**20))}
    assert httpx.post(f"{url}/gradio_api/upload", files=big).status_code == 413
    form = {"act": "annotate", "target": "0" * 16, "reason": "r", "text": "n", "confirm": "yes"}
    for token, status in ((READ, 422), ("hf_ada", 403)):
        headers = {"authorization": f"Bearer {token}", "accept": "application/json"}
        assert httpx.post(f"{url}/host", data=form, headers=headers).status_code == status  # hosts alone moderate


def test_a_space_with_a_faulty_configuration_says_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "board.toml").write_text("titel = 'x'\nquota = 3\n")
    with pytest.raises(InvalidInput) as refused:
        run_space(tmp_path / "board.toml")
    assert [problem.key for problem in refused.value.problems] == ["titel", "quota"]


def test_who_says_no_is_told_so_on_a_page(space: tuple[str, LoopbackHub]) -> None:
    """Before: status 500 and a traceback in the log."""
    url, _ = space
    answer = httpx.get(f"{url}/login/callback?error=access_denied&error_description=%3Cb%3Eby%20phone&state=x")
    assert answer.status_code == 400
    assert "sign-in" in answer.text
    assert "phone" not in answer.text
    assert 'href="/login/huggingface"' in answer.text


@pytest.mark.parametrize(
    "query",
    ["_nb_redirects=x", "_nb_redirects=9", "state=x", "code=x", "code=x&state=x&_target_url=%00", "", "state=%ff%fe"],
)
def test_any_query_of_the_way_back_is_answered(space: tuple[str, LoopbackHub], query: str) -> None:
    """Before: status 500 where ``_nb_redirects`` was no number."""
    url, _ = space
    answer = httpx.get(f"{url}/login/callback?{query}")
    assert (answer.status_code, "sign-in" in answer.text) == (400, True)


@pytest.mark.parametrize(
    ("target", "led_to"),
    [
        ("/gradio", "/gradio"),
        ("/?board=dr/nli", "/?board=dr/nli"),
        ("", "/submit"),
        *[(evil, "/submit") for evil in ("https://evil.example", "http://[", "//evil.example")],
        ("////evil.example", "/evil.example"),
        ("/\\\\evil.example", "/evil.example"),
    ],
)
def test_signing_in_leads_to_pages_of_this_server_alone(target: str, led_to: str) -> None:
    assert own_path(target) == led_to


def test_signing_out_ends_a_sign_in_on_the_server(space: tuple[str, LoopbackHub]) -> None:
    """Before: a copy of the cookie signed in for eight more hours, and had Hugging Face's tokens to be read."""
    url, _ = space
    (cookie, led_to), (other, _) = sign_in(url, "/gradio"), sign_in(url)
    assert led_to == "/gradio"
    content = base64.b64decode(cookie.removeprefix("session=").split(".")[0])
    assert "ada" in content.decode()
    assert not {"access_token", "id_token", "hf_oauth", "email"} & set(re.findall(r"\w+", content.decode()))
    log_out = httpx.post(f"{url}/logout", headers={"cookie": cookie, "origin": url})
    assert log_out.status_code == 303
    for each, is_signed_in in ((cookie, False), (other, True)):
        page = httpx.get(f"{url}/submit", headers={"cookie": each})
        assert ("<b>ada</b>" in page.text) == is_signed_in
    # A cookie that names no sign-in of this server, as those of an earlier version, signs nobody in.
    signer = itsdangerous.TimestampSigner(hashlib.sha256(f"{CLIENT_SECRET}-v4".encode()).hexdigest())
    info = {"expires_at": time.time() + 60, "userinfo": {"preferred_username": "ada"}}
    for session in ({"oauth_info": info}, {"oauth_info": info, "sign_in": ["x", 1]}):
        old = signer.sign(base64.b64encode(json.dumps(session).encode())).decode()
        assert "<b>ada</b>" not in httpx.get(f"{url}/submit", headers={"cookie": f"session={old}"}).text


def test_a_space_takes_entries_of_who_signs_in(
    space: tuple[str, LoopbackHub], synthetic: DatasetFolder, tmp_path: Path
) -> None:
    url, hub = space
    path = tmp_path / "predictions.parquet"
    rows: pl.DataFrame = predict(synthetic, synthetic.task("nli").domains, 0.1)
    rows.write_parquet(path)
    nobody = send(url, synthetic, path, "Nobody's", token=False)
    assert not nobody["ok"]
    assert "signed" in nobody["problems"][0]
    cookie = sign_in(url)[0]
    browser = {"cookie": cookie, "origin": url}
    mine = send(url, synthetic, path, "Ada's", token=False, headers=browser)
    assert mine["ok"], mine["problems"]
    elsewhere = send(
        url, synthetic, path, "From elsewhere", token=False, headers={**browser, "origin": "https://x.example"}
    )
    assert not elsewhere["ok"]
    predict(synthetic, synthetic.task("nli").domains, 0.3).write_parquet(tmp_path / "other.parquet")
    by_token = send(url, synthetic, tmp_path / "other.parquet", "By token", token=READ)
    assert by_token["ok"], by_token["problems"]
    board = {
        row["name"]: row["submitter"] for row in Client(url, verbose=False).predict("synthetic/nli", api_name="/board")
    }
    assert sorted(board.values()) == ["ada", "tester"]
    stored = hub.stored.files(ENTRIES)
    assert {path.split("/")[1] for path in stored if path.startswith("entries/")} == {mine["entry"], by_token["entry"]}

    assert send(url, synthetic, path, "Ada's second", token=False, headers=browser)["ok"]
    third = send(url, synthetic, path, "Ada's third", token=False, headers=browser)
    assert "quota" in third["problems"][0]
    assert "gradio" in httpx.get(f"{url}/gradio").text
    # The page without script knows who has signed in, too.
    assert "<b>ada</b>" in httpx.get(f"{url}/submit", headers=browser).text
    assert 'href="/login/huggingface?_target_url=%2Fsubmit"' in httpx.get(f"{url}/submit").text
    fields = {"do": "submit", "name": "Ada's third", "paradigm": "other", "board": "synthetic/nli"}
    plain = httpx.post(
        f"{url}/submit",
        data=fields,
        files={"file": ("p.parquet", path.read_bytes())},
        headers=browser,
        timeout=60,
    )
    assert "quota" in plain.text
    again = send(url, synthetic, path, "Ada's", token=False, headers=browser)
    assert (again["ok"], again["new"]) == (True, False)

    theirs = Client(url, verbose=False, token=READ).predict(mine["entry"], api_name="/withdraw")
    assert "submitter" in theirs["problems"][0]
    assert Client(url, verbose=False, token=False, headers=browser).predict(mine["entry"], api_name="/withdraw")["ok"]
    assert mine["entry"] not in httpx.get(f"{url}/rows", params={"board": "synthetic/nli"}).text
