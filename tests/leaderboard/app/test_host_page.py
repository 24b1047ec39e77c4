"""The host's acts through a server: for hosts that the configuration names, from its own page or by a token."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.testclient import TestClient
from typer.testing import CliRunner

from shiftbench.cli.command import app as command
from shiftbench.leaderboard.app import identity
from shiftbench.leaderboard.app.faults import FaultLog
from shiftbench.leaderboard.app.host_page import HostPage
from shiftbench.leaderboard.app.identity import Callers
from shiftbench.leaderboard.app.live_index import LiveIndex
from shiftbench.leaderboard.app.server import ServerSettings, create_app, serve
from shiftbench.leaderboard.app.signing_in import SignIns
from shiftbench.leaderboard.board import Index
from shiftbench.leaderboard.store import Store
from shiftbench.validation.report import InvalidInput, Problem
from tests.leaderboard.conftest import Filled, fill

OWN = {"origin": "http://127.0.0.1", "accept": "text/html"}


@pytest.fixture
def signed_in(filled: Filled, tmp_path: Path) -> Iterator[tuple[TestClient, Filled]]:
    """The page behind a signed cookie; /as/NAME signs in. The host is 'hal'."""
    own = fill(filled.folder, tmp_path)
    live = LiveIndex(Index([own.folder], own.store), FaultLog())

    async def sign_in(request: Request) -> Response:
        request.session["oauth_info"] = {
            "expires_at": time.time() + 60,
            "userinfo": {"preferred_username": request.path_params["name"]},
        }
        return Response("ok")

    routes = [*HostPage(live, Callers(), ("hal",)).routes(SignIns()), Route("/as/{name}", sign_in)]
    app = Starlette(routes=routes, middleware=[Middleware(SessionMiddleware, secret_key="secret")])
    with TestClient(app, "http://127.0.0.1") as client:
        yield client, own


def test_a_host_hides_renames_annotates_and_erases_by_the_form(signed_in: tuple[TestClient, Filled]) -> None:
    client, own = signed_in
    client.get("/as/hal")
    assert "<b>hal</b>" in client.get("/host", headers=OWN).text
    ids = {name: entry.id for name, entry in own.entries.items()}
    for fields, words in (
        ({"act": "hide", "target": ids["good"], "reason": "an advertisement"}, "hidden"),
        ({"act": "rename", "target": ids["poor"], "reason": "a copy", "text": "Renamed"}, "Renamed"),
        ({"act": "annotate", "target": ids["poor"], "reason": "as asked", "text": "seen"}, "the note"),
    ):
        answer = client.post("/host", data=fields, headers=OWN)
        assert answer.status_code == 200
        assert words in answer.text
    store = Store(own.store.root)
    assert ids["good"] not in store.ids()
    assert store.entry(ids["poor"]).card.name == "Renamed"
    assert store.moderation.notes[ids["poor"]] == "seen"
    erase = {"act": "erase", "target": "local", "reason": "asked for it"}
    assert "undone" in client.post("/host", data=erase, headers=OWN).text
    assert Store(own.store.root).ids()
    assert "entries: 5" in client.post("/host", data={**erase, "confirm": "yes"}, headers=OWN).text
    assert Store(own.store.root).ids() == []
    hal = store.log.key_of("hal")
    assert {event.by for event in Store(own.store.root).log.events if event.act == "hidden"} == {hal}


@pytest.mark.parametrize(
    ("name", "headers", "status", "words"),
    [
        ("ada", OWN, 403, "host"),
        ("hal", {"accept": "text/html"}, 403, "signed"),
        ("hal", {"origin": "https://elsewhere.example", "accept": "text/html"}, 403, "leaderboard"),
        ("hal", {"sec-fetch-site": "cross-site", "accept": "text/html"}, 403, "leaderboard"),
    ],
)
def test_nobody_else_may_act(
    name: str, headers: dict[str, str], status: int, words: str, signed_in: tuple[TestClient, Filled]
) -> None:
    client, own = signed_in
    client.get(f"/as/{name}")
    order = {"act": "hide", "target": own.entries["good"].id, "reason": "mine"}
    answer = client.post("/host", data=order, headers=headers)
    assert answer.status_code == status
    assert words in answer.text
    assert own.entries["good"].id in Store(own.store.root).ids()


def test_what_cannot_be_done_is_said_and_shown_as_text(signed_in: tuple[TestClient, Filled]) -> None:
    client, own = signed_in
    client.get("/as/hal")
    script = "<script>alert(1)</script>"
    for fields, words in (
        ({"act": script, "target": script, "reason": script, "text": script}, "action"),
        ({"act": "hide", "target": script, "reason": "x"}, "entry"),
        ({"act": "hide", "target": own.entries["good"].id, "reason": ""}, "reason"),
    ):
        answer = client.post("/host", data=fields, headers=OWN)
        assert (answer.status_code, words in answer.text, script in answer.text) == (422, True, False)


def test_a_server_without_named_hosts_has_no_such_page(filled: Filled) -> None:
    for settings in (ServerSettings(sign_in=True), ServerSettings(hosts=("hal",))):
        with TestClient(create_app([filled.folder], filled.store, settings), "http://127.0.0.1") as client:
            assert client.post("/host", data={"act": "hide"}).status_code in (404, 405)


def test_a_host_acts_from_the_command_line_through_a_server(
    filled: Filled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = fill(filled.folder, tmp_path)
    names = {"hf_hal": "hal", "hf_ada": "ada"}

    def token_user(token: str) -> str:
        if token not in names:
            raise InvalidInput(Problem("Hugging Face rejects this token", "submit"))
        return names[token]

    monkeypatch.setattr(identity, "_token_user", token_user)
    settings = ServerSettings(sign_in=True, hosts=("hal",))
    server = serve([own.folder], own.store, port=0, settings=settings, block=False)
    try:
        order = ["board", "hide", own.entries["good"].id, "--to", server.url, "--reason", "an advertisement"]
        for token, code, words in (
            ("hf_ada", 1, "host"),
            ("hf_none", 1, "token"),
            ("hf_hal", 0, "hidden"),
        ):
            monkeypatch.setenv("HF_TOKEN", token)
            done = CliRunner().invoke(command, order)
            said = done.output + str(done.exception or "")
            assert (done.exit_code == 0, words in said) == (code == 0, True), said
    finally:
        server.close()
    assert own.entries["good"].id not in Store(own.store.root).ids()
