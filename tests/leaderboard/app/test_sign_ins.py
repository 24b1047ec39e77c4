"""Sign-ins that were ended stay ended, also where there are more of them than a server remembers."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from shiftbench.leaderboard.app import signing_in
from shiftbench.leaderboard.app.signing_in import SignIns


def begun(server: SignIns, seconds: float = 60.0) -> dict[str, Any]:
    session: dict[str, Any] = {"left": "over"}
    server.begin(session, "ada", time.time() + seconds)
    return session


def test_a_sign_in_counts_until_it_ends_or_expires() -> None:
    server = SignIns()
    session = begun(server)
    assert server.is_current(session)
    assert "left" not in session
    copy = dict(session)
    server.end(session)
    assert session == {}
    assert not server.is_current(copy)
    assert not server.is_current(begun(server, -1))
    assert not SignIns().is_current(begun(server)), "another server began it"
    assert not server.is_current({})


def test_a_forgotten_one_does_not_count_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signing_in, "MAX_ENDED", 5)
    server = SignIns()
    copies = [begun(server) for _ in range(20)]
    newest = begun(server)
    for copy in copies:
        server.end(dict(copy))
    assert len(server._ended) == 5
    assert not any(server.is_current(copy) for copy in copies)
    assert server.is_current(newest)


def test_many_sign_out_at_once() -> None:
    server = SignIns()
    copies = [begun(server) for _ in range(200)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda copy: server.end(dict(copy)), copies[:150]))
    assert [server.is_current(copy) for copy in copies] == [False] * 150 + [True] * 50
