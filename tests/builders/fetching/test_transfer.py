"""One file from a server that fails in every way that servers do."""

import errno
import io
import os
import time
from collections.abc import Iterator
from hashlib import md5, sha256
from pathlib import Path
from typing import Any

import httpx2
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.fetching import transfer
from shiftbench.builders.fetching.transfer import Gauge, RefusedError, StoppedError, fetch_file, open_client
from tests.builders.fetching.invented import lines
from tests.builders.fetching.server import FORM, Answer, Release, Served
from tests.refusals import refusal

BODY = lines(300_000, seed=1)
SUM = sha256(BODY).hexdigest()
PATH = "/pub/post.csv"


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[httpx2.Client]:
    monkeypatch.setattr(transfer, "TIMEOUT", 0.5)
    with open_client() as client:
        yield client


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "post.csv"


def fetched(client: httpx2.Client, release: Release, out: Path, **facts: Any) -> bytes:
    assert fetch_file(client, release.url + PATH, out, **facts) == sha256(out.read_bytes()).hexdigest()
    assert [path.name for path in out.parent.iterdir()] == ["post.csv"]
    return out.read_bytes()


def test_a_file_comes_once(client: httpx2.Client, release: Release, out: Path) -> None:
    release.files[PATH] = Served(BODY)
    assert fetched(client, release, out, size=len(BODY), sha256=SUM) == BODY
    assert fetched(client, release, out) == BODY
    assert release.asked(PATH) == [(None, 200)], "one that is there is whole"


def test_a_transfer_that_is_cut_off_goes_on(client: httpx2.Client, release: Release, out: Path) -> None:
    release.files[PATH] = Served(BODY, [Answer(cut=100_000), Answer(cut=50_000)])
    assert fetched(client, release, out) == BODY
    assert release.sent == len(BODY), "no byte comes twice"
    assert [part for part, _ in release.asked(PATH)] == [None, "bytes=100000-", "bytes=150000-"]


@pytest.mark.parametrize(
    ("served", "facts"),
    [
        (Served(BODY, [Answer(cut=100_000)], ranges=False), {}),
        (Served(BODY, [Answer(cut=100_000)], validators={}), {}),
        (Served(BODY, [Answer(cut=100_000)], validators={"ETag": 'W/"1"'}), {}),
        (Served(BODY, [Answer(cut=100_000)], length=False, chunked=True), {}),
        (Served(BODY, [Answer(cut=100_000)], length=False), {"sha256": SUM, "size": len(BODY)}),
    ],
    ids=["no ranges", "nothing tells it", "a weak tag", "chunked", "no length"],
)
def test_without_what_it_takes_to_go_on_it_begins_anew(
    client: httpx2.Client, release: Release, out: Path, served: Served, facts: dict[str, Any]
) -> None:
    release.files[PATH] = served
    assert fetched(client, release, out, **facts) == BODY
    (_, _), (part, status) = release.asked(PATH)
    assert status == 200 or facts
    assert (part is None) == (served.ranges and not facts), "the rest is asked for where it can be put to use"


@pytest.mark.parametrize("validators", [{"Last-Modified": "Mon, 23 Nov 2020 10:00:00 GMT"}, {}])
def test_a_date_or_a_checksum_let_it_go_on(
    client: httpx2.Client, release: Release, out: Path, validators: dict[str, str]
) -> None:
    release.files[PATH] = Served(BODY, [Answer(cut=100_000)], validators=validators)
    assert fetched(client, release, out, sha256=None if validators else SUM) == BODY
    assert release.sent == len(BODY)


@pytest.mark.parametrize("conditions", [True, False])
def test_the_rest_of_another_file_is_not_put_to_it(
    client: httpx2.Client, release: Release, out: Path, *, conditions: bool
) -> None:
    release.files[PATH] = Served(BODY, [Answer(cut=100_000)] + [Answer(503)] * 9)
    with pytest.raises(RefusedError, match="HTTP 503"):
        fetch_file(client, release.url + PATH, out)
    assert out.with_name("post.csv.part").stat().st_size == 100_000
    other = lines(300_000, seed=2)
    former = f'"{md5(BODY, usedforsecurity=False).hexdigest()}"'  # a server that heeds no If-Range takes it for its own
    release.files[PATH] = Served(other, validators={"ETag": '"2"', **({} if conditions else {"X-Former": former})})
    release.log.clear()
    assert fetched(client, release, out) == other
    statuses = [status for _, status in release.asked(PATH)]
    assert statuses == ([200] if conditions else [206, 200])


def test_a_transfer_may_be_cut_off_often_as_long_as_it_gets_on(
    client: httpx2.Client, release: Release, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cuts = [Answer(cut=30_000)] * (2 * transfer.TRIES - 1)
    release.files[PATH] = Served(BODY, list(cuts))
    with pytest.raises(RefusedError):
        fetch_file(client, release.url + PATH, out)
    out.with_name("post.csv.part").unlink()
    monkeypatch.setattr(transfer, "_WORTH", 20_000)
    release.files[PATH] = Served(BODY, list(cuts))
    assert fetched(client, release, out) == BODY


def test_a_checksum_shows_halves_of_two_files(client: httpx2.Client, release: Release, out: Path) -> None:
    """A server that tells its files by nothing: the halves do not fit, so all of it is asked for once more."""
    out.with_name("post.csv.part").write_bytes(lines(100_000, seed=2))
    release.files[PATH] = Served(BODY, validators={})
    assert fetched(client, release, out, sha256=SUM) == BODY
    assert [part for part, _ in release.asked(PATH)] == ["bytes=100000-", None]


def test_more_bytes_than_the_server_has_are_thrown_away(client: httpx2.Client, release: Release, out: Path) -> None:
    out.with_name("post.csv.part").write_bytes(BODY + b"more")
    release.files[PATH] = Served(BODY)
    assert fetched(client, release, out, sha256=SUM) == BODY


def test_all_bytes_came_before_a_kill(client: httpx2.Client, release: Release, out: Path) -> None:
    out.with_name("post.csv.part").write_bytes(BODY)
    release.files[PATH] = Served(BODY)
    assert fetched(client, release, out, sha256=SUM, size=len(BODY)) == BODY
    assert release.log == []


def test_a_busy_server_is_asked_again_when_it_says(client: httpx2.Client, release: Release, out: Path) -> None:
    release.files[PATH] = Served(BODY, [Answer(429, headers={"Retry-After": "0.3"}), Answer(500), Answer(503)])
    began = time.monotonic()
    assert fetched(client, release, out) == BODY
    assert time.monotonic() - began >= 0.3
    assert [status for _, status in release.asked(PATH)] == [429, 500, 503, 200]


def test_a_silent_server_is_asked_again(client: httpx2.Client, release: Release, out: Path) -> None:
    release.files[PATH] = Served(BODY, [Answer(cut=100_000, stall=2)])
    assert fetched(client, release, out) == BODY
    assert [part for part, _ in release.asked(PATH)] == [None, "bytes=100000-"]


def test_a_slow_server_is_waited_for_and_one_that_drips_is_not(
    client: httpx2.Client, release: Release, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release.files[PATH] = Served(BODY, rate=400_000)
    assert fetched(client, release, out) == BODY
    out.unlink()
    monkeypatch.setattr(transfer, "_LEAST_RATE", 10_000_000)
    monkeypatch.setattr(transfer, "TIMEOUT", 0.01)
    with pytest.raises(RefusedError, match="bytes"):
        fetch_file(client, release.url + PATH, out)
    assert len(release.asked(PATH)) == 1 + transfer.TRIES


REFUSED: dict[str, tuple[Served, dict[str, Any]]] = {
    "403 and a form": (Served(b"", [Answer(403, FORM, {"Content-Type": "text/html"})]), {}),
    "200 and a form": (Served(b"", [Answer(200, FORM, {"Content-Type": "text/html"})]), {}),
    "a form as a file": (Served(FORM), {}),
    "a page": (Served(b"\n <html><p>Sign in</p></html>"), {}),
    "gone": (Served(b"", [Answer(410)]), {}),
    "a long wait": (Served(b"", [Answer(503, headers={"Retry-After": "9999"})]), {}),
    "a circle": (Served(b"", [Answer(302, headers={"Location": PATH})] * 99), {}),
    "an empty file": (Served(b""), {}),
    "another size": (Served(BODY), {"size": 7}),
    "another size in chunks": (Served(BODY, length=False, chunked=True), {"size": 7}),
    "another checksum": (Served(BODY), {"sha256": "0" * 64}),
    "no length": (Served(BODY, length=False), {}),
}


def test_what_is_not_the_file_is_refused(
    client: httpx2.Client, release: Release, out: Path, wording: SnapshotAssertion
) -> None:
    said = {}
    for name, (served, facts) in REFUSED.items():
        release.files[PATH] = served
        message = refusal(RefusedError, fetch_file, client, release.url + PATH, out, **facts)
        said[name] = message.replace(release.url, "URL")
        assert not list(out.parent.iterdir())
    assert said == wording


def test_what_is_not_there_is_refused(client: httpx2.Client, release: Release, out: Path) -> None:
    for address in (release.url + PATH, "http://127.0.0.1:9/x", "ftp://127.0.0.1/x", "http://[x"):
        with pytest.raises(RefusedError):
            fetch_file(client, address, out)
    assert len(release.log) == 1, "HTTP 404 is not asked again"


def test_a_moved_file_is_followed_and_the_token_stays(client: httpx2.Client, release: Release, out: Path) -> None:
    release.files[PATH] = Served(b"", [Answer(301, headers={"Location": "/new/post.csv"})] * 2)
    release.files["/new/post.csv"] = Served(BODY, [Answer(cut=100_000)])
    assert fetched(client, release, out) == BODY
    assert release.asked("/new/post.csv") == [(None, 200), ("bytes=100000-", 206)]


def test_content_that_is_packed_for_the_way_is_unpacked(client: httpx2.Client, release: Release, out: Path) -> None:
    import gzip

    packed = gzip.compress(BODY)
    release.files[PATH] = Served(packed, headers={"Content-Encoding": "gzip"})
    assert fetched(client, release, out) == BODY
    release.files["/post.csv.gz"] = Served(packed, headers={"Content-Encoding": "gzip"})
    fetch_file(client, release.url + "/post.csv.gz", out.with_name("post.csv.gz"))
    assert out.with_name("post.csv.gz").read_bytes() == packed


def test_it_stops_when_it_is_told_and_keeps_what_came(client: httpx2.Client, release: Release, out: Path) -> None:
    release.files[PATH] = Served(BODY, rate=1_000_000)
    gauge = Gauge()
    gauge.came = lambda _: release.sent > 100_000 and gauge.stop.set()
    with pytest.raises(StoppedError):
        fetch_file(client, release.url + PATH, out, gauge=gauge)
    came = out.with_name("post.csv.part").stat().st_size
    assert 0 < came < len(BODY)
    assert fetched(client, release, out) == BODY
    assert release.asked(PATH)[1] == (f"bytes={came}-", 206)


def test_the_gauge_is_told_what_is_to_come_and_what_came(client: httpx2.Client, release: Release, out: Path) -> None:
    release.files[PATH] = Served(BODY, [Answer(cut=100_000)], ranges=False)
    came, expected = [0], [0]
    gauge = Gauge(came.append, expected.append)
    fetch_file(client, release.url + PATH, out, gauge=gauge)
    assert sum(came) == 100_000 + len(BODY) == sum(expected)


def test_a_full_disk_is_no_fault_of_the_server(
    client: httpx2.Client, release: Release, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release.files[PATH] = Served(BODY)

    class FullDisk(io.FileIO):
        def write(self, data: Any) -> int:
            room = 100_000 - os.fstat(self.fileno()).st_size
            if room <= 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return super().write(data[:room])

    usual: Any = Path.open

    def opened(path: Path, mode: str = "r", *more: Any, **named: Any) -> Any:
        return FullDisk(path, mode) if mode == "ab" else usual(path, mode, *more, **named)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", opened)
        with pytest.raises(OSError, match="space"):
            fetch_file(client, release.url + PATH, out)
    assert out.with_name("post.csv.part").read_bytes() == BODY[:100_000]
    assert fetched(client, release, out) == BODY
    assert release.asked(PATH)[1] == ("bytes=100000-", 206)


def test_a_checksum_decides_where_a_server_calls_every_file_a_page(
    client: httpx2.Client, release: Release, out: Path
) -> None:
    release.files[PATH] = Served(BODY, headers={"Content-Type": "text/html; charset=utf-8"})
    with pytest.raises(RefusedError, match="page"):
        fetch_file(client, release.url + PATH, out)
    assert fetched(client, release, out, sha256=SUM) == BODY
