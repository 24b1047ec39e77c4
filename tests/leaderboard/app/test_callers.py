"""Who a request counts as: a user who has signed in, else an address; a forwarded one from named proxies alone."""

import asyncio
import time
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, Request
from starlette.requests import HTTPConnection
from starlette.types import Receive, Scope, Send

from shiftbench.leaderboard.app import identity as module
from shiftbench.leaderboard.app.identity import Caller, Callers, address_name
from shiftbench.leaderboard.app.middleware import OwnAddress
from shiftbench.leaderboard.app.server import Server
from tests.leaderboard.app.test_server import free_port

OWN_PAGE = {"host": "127.0.0.1", "origin": "http://127.0.0.1"}


def request(address: str = "203.0.113.9", user: str | None = None, **headers: str) -> HTTPConnection:
    info = {"oauth_info": {"expires_at": time.time() + 60, "userinfo": {"preferred_username": user}}} if user else {}
    sent = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope: dict[str, Any] = {"type": "http", "client": (address, 1), "session": info, "headers": sent}
    return HTTPConnection(scope)


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("2001:db8:1:2:aaaa::1", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:bbbb::2", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("testclient", "testclient"),
        (None, "unknown"),
    ],
)
def test_an_ipv6_client_is_a_network(host: str | None, name: str) -> None:
    assert address_name(host) == name


def test_calls_by_mcp_count_as_one_client_from_this_machine_alone() -> None:
    callers = Callers()
    assert callers.of(request("127.0.0.1", x_gradio_user="mcp")) == Caller("MCP", is_signed_in=False)
    assert callers.of(request("127.0.0.1")).name == "127.0.0.1"
    assert callers.of(request("203.0.113.9", x_gradio_user="mcp")).name == "203.0.113.9"


def test_a_call_by_mcp_names_who_sent_it() -> None:
    """Gradio repeats its headers from this machine, whose address may be a named proxy's."""
    passed: list[Scope] = []

    async def app(scope: Scope, _receive: Receive, _send: Send) -> None:
        passed.append(scope)

    sent = request("203.0.113.9", x_forwarded_for="198.51.100.7").scope
    asyncio.run(OwnAddress(app)({**sent, "path": "/gradio_api/mcp/"}, None, None))  # type: ignore[arg-type]
    assert [value for name, value in passed[0]["headers"] if name == b"x-forwarded-for"] == [b"203.0.113.9"]


def test_a_user_counts_as_one_from_any_address() -> None:
    callers = Callers()
    for host in ("203.0.113.9", "203.0.113.10"):
        assert callers.of(request(host, "ada", **OWN_PAGE)) == Caller("user ada", is_signed_in=True)
    other_site = {"host": "127.0.0.1", "origin": "https://elsewhere.example"}
    assert callers.of(request(user="ada", **other_site)) == Caller("203.0.113.9", is_signed_in=False)


def test_a_token_counts_once_hugging_face_has_named_its_user(monkeypatch: pytest.MonkeyPatch) -> None:
    callers, sent = Callers(), request(authorization="Bearer hf_ada")
    assert callers.of(sent).name == "203.0.113.9"
    callers.learn(sent.headers, "ada")
    assert callers.of(sent) == Caller("user ada", is_signed_in=True)
    assert callers.of(request(authorization="Bearer hf_invented")).name == "203.0.113.9"
    assert b"hf_ada" not in b"".join(callers._users)
    for number in range(module.MAX_KNOWN):
        callers.learn(request(authorization=f"Bearer {number}").headers, "bob")
    assert (callers.of(sent).name, len(callers._users)) == ("203.0.113.9", module.MAX_KNOWN)
    monkeypatch.setattr(module, "SECONDS_KNOWN", -1.0)
    callers.learn(sent.headers, "ada")
    assert callers.of(sent).name == "203.0.113.9"


@pytest.mark.parametrize(
    ("proxies", "forwarded", "name"),
    [
        ((), "198.51.100.7", "127.0.0.1"),
        (("127.0.0.1",), "198.51.100.7", "198.51.100.7"),
        (("127.0.0.0/8",), "10.9.9.9, 198.51.100.7, 127.0.0.3", "198.51.100.7"),  # what the client wrote comes first
        (("10.0.0.0/8",), "198.51.100.7", "127.0.0.1"),
    ],
)
def test_a_forwarded_address_counts_from_a_named_proxy_alone(
    proxies: tuple[str, ...], forwarded: str, name: str
) -> None:
    app, callers = FastAPI(), Callers()

    @app.get("/")
    def who(request: Request) -> str:
        return callers.of(request).name

    server = Server(app, "127.0.0.1", free_port(), proxies)
    try:
        assert httpx.get(server.url, headers={"x-forwarded-for": forwarded}).json() == name
    finally:
        server.close()
