"""What addresses answer, asked of a server on the loopback interface and of a Hub there."""

import json
import re
from datetime import date
from pathlib import Path

import pytest
from huggingface_hub import HfApi

from shiftbench.builders.fetching import status
from shiftbench.builders.fetching.status import AddressAnswer, Asked, check_addresses, find_answer, main, table_lines
from shiftbench.builders.fetching.transfer import open_client
from shiftbench.builders.specs.sources import Download, find_source
from tests.builders.fetching.server import FORM, Release, Served
from tests.builders.fetching.server import Answer as Sent
from tests.hub.server import WRITE, LoopbackHub

BODY = b"text\tlabel\nthe fan is broken\t1\n"
DAY = date(2026, 11, 23)


MOVED = {"Location": "/new/file.tsv"}


@pytest.mark.parametrize(
    ("served", "answer"),
    [
        (Served(BODY), AddressAnswer("alive", len(BODY))),
        (Served(BODY, faults=[Sent(405)]), AddressAnswer("alive", len(BODY))),
        (Served(BODY, length=False, ranges=False), AddressAnswer("alive")),
        (Served(BODY, faults=[Sent(302, headers=MOVED)]), AddressAnswer("alive", len(BODY))),
        (Served(BODY, faults=[Sent(301, headers=MOVED)]), AddressAnswer("moved", len(BODY), "to {url}/new/file.tsv")),
        (Served(BODY, faults=[Sent(308, headers=MOVED)]), AddressAnswer("moved", len(BODY), "to {url}/new/file.tsv")),
        (Served(BODY, faults=[Sent(404)] * 2), AddressAnswer("gone", None, "HTTP 404")),
        (Served(BODY, faults=[Sent(410)] * 2), AddressAnswer("gone", None, "HTTP 410")),
        (Served(BODY, faults=[Sent(403, FORM)] * 2), AddressAnswer("form", None, "HTTP 403")),
        (Served(BODY, faults=[Sent(401)] * 2), AddressAnswer("form", None, "HTTP 401")),
        (Served(FORM, headers={"Content-Type": "text/html; charset=utf-8"}), AddressAnswer("form", None, "a web page")),
        (Served(BODY, faults=[Sent(503)] * 2), AddressAnswer("no answer", None, "HTTP 503")),
    ],
)
def test_an_answer_is_told_by_headers_or_one_byte(release: Release, served: Served, answer: AddressAnswer) -> None:
    release.files = {"/file.tsv": served, "/new/file.tsv": Served(BODY)}
    with open_client() as client:
        assert find_answer(client, f"{release.url}/file.tsv") == answer._replace(
            found=answer.found.format(url=release.url)
        )
    assert [asked.method for asked in release.log if asked.path == "/file.tsv"] in (["HEAD"], ["HEAD", "GET"])
    assert release.sent <= (1 if served.ranges else len(BODY)), "no file is downloaded"


def test_an_address_without_a_server_is_gone() -> None:
    with open_client() as client:
        assert find_answer(client, "http://127.0.0.1:9/file.tsv").state == "gone"
        assert find_answer(client, "ftp://127.0.0.1/file.tsv").state == "gone"


@pytest.mark.xdist_group("publish_http")
@pytest.mark.usefixtures("basic_uploads")
def test_files_of_the_hub(hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch) -> None:
    api = HfApi(endpoint=hub.url, token=WRITE)
    api.create_repo("acme/mail", repo_type="dataset", private=False)
    for name in ("train-0.jsonl", "train-1.jsonl"):
        api.upload_file(path_or_fileobj=BODY, path_in_repo=name, repo_id="acme/mail", repo_type="dataset")
    monkeypatch.setattr("huggingface_hub.HfApi", lambda: api)
    with open_client() as client:
        assert find_answer(client, "hub:acme/mail/train-*.jsonl") == AddressAnswer("alive", 2 * len(BODY))
        assert find_answer(client, "hub:acme/mail/test.jsonl").state == "gone"
        assert find_answer(client, "hub:acme/post/train.jsonl").state in ("gone", "form"), "the Hub answers 401 or 404"


def test_the_table_is_written_with_the_day(release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release.files = {"/a|b.tsv": Served(BODY), "/c.tsv": Served(BODY)}
    ask_of(monkeypatch, {f"{release.url}/a|b.tsv": len(BODY), f"{release.url}/c.tsv": 7})
    assert main([str(tmp_path / "addresses")]) == 0
    ask_of(monkeypatch, {f"{release.url}/c.tsv": None, f"{release.url}/d.tsv": 9})
    assert main([str(tmp_path / "later")]) == 1  # one is gone
    text = (tmp_path / "addresses.md").read_text(encoding="utf-8").splitlines()
    assert re.findall(r"\d+", text[0]) == ["2", "2", "1"]
    today = text[4].split(" | ")[0].removeprefix("| ")
    assert date.fromisoformat(today)
    assert text[4:] == [
        f"| {today} | sst | {release.url}/c.tsv | alive | {len(BODY)} | 7 |  |",
        f"| {today} | sst | {release.url}/a%7Cb.tsv | alive | {len(BODY)} | {len(BODY)} |  |",
    ]
    rows = json.loads((tmp_path / "later.json").read_text(encoding="utf-8"))
    assert [(row["answer"]["state"], row["recorded_size"]) for row in rows] == [("alive", None), ("gone", 9)]


def test_without_a_network_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ask_of(monkeypatch, {"http://127.0.0.1:9/a.tsv": 7})
    assert main([str(tmp_path / "addresses")]) == 1
    assert "network" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_every_address_has_a_row(release: Release) -> None:
    release.files = {"/a.tsv": Served(BODY)}
    download = Download(urls=(f"{release.url}/b.tsv", f"{release.url}/a.tsv"), size=len(BODY), place="sst/a.tsv")
    some = find_source("sst").model_copy(update={"downloads": (download,)})
    with open_client() as client:
        rows = check_addresses([find_source("yelp").model_copy(update={"downloads": ()}), some], client, DAY)
    assert [(row.source, row.answer.state, row.is_other_size) for row in rows] == [
        ("sst", "gone", False),
        ("sst", "alive", False),
    ]
    assert re.findall(r"\d+", table_lines(rows)[0]) == ["2", "1", "1", "0"]
    assert Asked(DAY, "sst", "a", 8, AddressAnswer("alive", 9)).is_other_size


def ask_of(monkeypatch: pytest.MonkeyPatch, sizes: dict[str, int | None]) -> None:
    """Replace the sources by one with these addresses."""
    downloads = tuple(Download(urls=(url,), size=size, place="sst/a.tsv") for url, size in sizes.items())
    one = {"sst": find_source("sst").model_copy(update={"downloads": downloads})}
    monkeypatch.setattr(status, "read_sources", lambda: one)
