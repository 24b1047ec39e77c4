"""Who sends a request: the machine itself, somebody who signed in, or nobody."""

from collections.abc import Iterator
from pathlib import Path

import huggingface_hub.constants
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.leaderboard.app.client import token_for
from shiftbench.leaderboard.app.identity import local_submitter, signed_in_submitter
from shiftbench.validation.report import InvalidInput
from tests.hub.server import ORGANISATION, READ, WRITE, LoopbackHub, running_hub
from tests.refusals import refusal

HERE = {"host": "127.0.0.1:7860"}


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackHub]:
    """A Hub that this process asks whose tokens are whose."""
    with running_hub(tmp_path / "hub") as running:
        monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", running.url)
        yield running


@pytest.mark.parametrize(
    ("host", "headers", "known"),
    [
        ("127.0.0.1", HERE, True),
        ("::1", {"host": "localhost:7860"}, True),
        ("::ffff:127.0.0.1", HERE, True),
        ("127.0.0.1", {**HERE, "origin": "http://127.0.0.1:7860"}, True),
        ("127.0.0.1", {**HERE, "origin": "http://127.0.0.1:8888"}, False),
        ("127.0.0.1", {**HERE, "origin": "http://127.0.0.1"}, False),
        ("127.0.0.1", {**HERE, "origin": "https://127.0.0.1:7860"}, False),
        ("127.0.0.1", {**HERE, "origin": "http://localhost:7860"}, False),
        ("192.0.2.7", HERE, False),
        (None, HERE, False),
        ("127.0.0.1", {"host": "board.example.org"}, False),
        ("127.0.0.1", {**HERE, "origin": "https://example.org"}, False),
        ("127.0.0.1", {**HERE, "origin": "null"}, False),
        ("127.0.0.1", {**HERE, "origin": "http://[nowhere"}, False),
        ("127.0.0.1", {"host": "[nowhere"}, False),
        ("127.0.0.1", {**HERE, "x-forwarded-for": "192.0.2.7"}, False),
        ("127.0.0.1", {**HERE, "x-gradio-user": "mcp"}, False),
    ],
)
def test_without_sign_in_only_the_machine_itself_submits(
    host: str | None, headers: dict[str, str], known: bool
) -> None:
    if known:
        assert local_submitter(host, headers) == "local"
        return
    with pytest.raises(InvalidInput, match="machine"):
        local_submitter(host, headers)


@pytest.mark.parametrize(
    ("headers", "counts"),
    [
        ({"host": "org-board.hf.space", "origin": "https://org-board.hf.space"}, True),
        ({"host": "10.0.0.1:7860", "origin": "https://board.example.org"}, True),
        ({"host": "127.0.0.1:7860", "origin": "http://127.0.0.1:7860"}, True),
        ({"host": "org-board.hf.space", "sec-fetch-site": "same-origin"}, True),
        ({"host": "org-board.hf.space"}, False),
        ({"host": "127.0.0.1:7860", "origin": "http://127.0.0.1:8888"}, False),
        ({"host": "org-board.hf.space", "origin": "https://org-board.hf.space:8443"}, False),
        ({"host": "org-board.hf.space", "origin": "http://org-board.hf.space"}, False),
        ({"host": "org-board.hf.space", "origin": "https://elsewhere.example"}, False),
        ({"host": "org-board.hf.space", "origin": "null"}, False),
        ({"host": "org-board.hf.space", "origin": "https://[org-board.hf.space"}, False),
        ({"host": "org-board.hf.space", "sec-fetch-site": "cross-site"}, False),
    ],
)
def test_a_session_counts_for_the_servers_own_pages_only(
    headers: dict[str, str], counts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPACE_HOST", "org-board.hf.space,board.example.org")
    if counts:
        assert signed_in_submitter("ada", headers) == "ada"
        return
    with pytest.raises(InvalidInput, match="signed"):
        signed_in_submitter("ada", headers)


def test_a_token_is_checked_by_asking_whose_it_is(hub: LoopbackHub, wording: SnapshotAssertion) -> None:
    token = "Bearer hf_ada"
    assert signed_in_submitter(None, {"x-hf-authorization": token}) == "ada"
    assert signed_in_submitter(None, {"authorization": f"Bearer {READ}"}) == "tester"
    wrong = "Bearer hf_made_up", f"Bearer {ORGANISATION}", "Basic YWRhOg==", "Bearer hf_\xe9"
    assert [refusal(InvalidInput, signed_in_submitter, None, {"authorization": token}) for token in wrong] == wording


def test_a_hub_that_does_not_answer_is_nobodys_word(hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(InvalidInput, match="token"):
        signed_in_submitter(None, {"authorization": "Bearer hf_ada"})


def test_tokens_are_sent_where_nobody_listens_in(hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", READ)
    assert token_for("https://org-board.hf.space", any_token=False) == READ
    assert token_for("http://127.0.0.1:7860", any_token=False) == READ
    assert token_for("http://board.example.org", any_token=False) is None
    monkeypatch.setenv("HF_TOKEN", WRITE)
    with pytest.raises(InvalidInput, match="write"):
        token_for("https://org-board.hf.space", any_token=False)
    assert token_for("https://org-board.hf.space", any_token=True) == WRITE
