"""What addresses answer, asked of a server on the loopback interface and of a Hub there."""

import json
from datetime import date
from pathlib import Path

import pytest
from huggingface_hub import HfApi

from shiftbench.builders.fetching import status
from shiftbench.builders.fetching.status import Answer, Asked, ask, ask_addresses, main, table_lines
from shiftbench.builders.fetching.transfer import open_client
from shiftbench.builders.specs.sources import Download, find_source
from tests.builders.fetching.answers import BODY, running_upstream
from tests.hub.server import WRITE, LoopbackHub

DAY = date(2026, 11, 23)


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("whole/file.tsv", Answer("alive", len(BODY))),
        ("ranges/file.tsv", Answer("alive", len(BODY))),
        ("unsaid/file.tsv", Answer("alive", None)),
        ("302/file.tsv", Answer("alive", len(BODY))),
        ("301/file.tsv", Answer("moved", len(BODY), "to {url}/whole/file.tsv")),
        ("308/file.tsv", Answer("moved", len(BODY), "to {url}/whole/file.tsv")),
        ("404/file.tsv", Answer("gone", None, "HTTP 404")),
        ("410/file.tsv", Answer("gone", None, "HTTP 410")),
        ("403/file.tsv", Answer("form", None, "HTTP 403")),
        ("401/file.tsv", Answer("form", None, "HTTP 401")),
        ("page/file.tsv", Answer("form", None, "a web page")),
        ("page/index.html", Answer("alive", len(BODY))),
        ("503/file.tsv", Answer("no answer", None, "HTTP 503")),
    ],
)
def test_an_answer_is_told_by_headers_or_one_byte(path: str, answer: Answer) -> None:
    with running_upstream() as (url, asked), open_client() as client:
        assert ask(client, f"{url}/{path}") == answer._replace(found=answer.found.replace("{url}", url))
        assert len(asked) <= 4, "no address is asked again and again"
        if path.startswith("whole"):
            assert asked == [("HEAD", f"/{path}")], "no file is downloaded"


def test_an_address_without_a_server_is_gone() -> None:
    with running_upstream() as (url, _):
        pass
    with open_client() as client:
        assert ask(client, f"{url}/whole/file.tsv").state == "gone"
        assert ask(client, "ftp://127.0.0.1/file.tsv").state == "gone"


@pytest.mark.xdist_group("publish_http")
@pytest.mark.usefixtures("basic_uploads")
def test_files_of_the_hub(hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch) -> None:
    api = HfApi(endpoint=hub.url, token=WRITE)
    api.create_repo("acme/mail", repo_type="dataset", private=False)
    for name in ("train-0.jsonl", "train-1.jsonl"):
        api.upload_file(path_or_fileobj=BODY, path_in_repo=name, repo_id="acme/mail", repo_type="dataset")
    monkeypatch.setattr("huggingface_hub.HfApi", lambda: api)
    with open_client() as client:
        assert ask(client, "hub:acme/mail/train-*.jsonl") == Answer("alive", 2 * len(BODY))
        assert ask(client, "hub:acme/mail/test.jsonl").state == "gone"
        assert ask(client, "hub:acme/post/train.jsonl").state in ("gone", "form"), "the Hub answers 401 or 404"


def test_the_table_is_written_with_the_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running_upstream() as (url, _):
        ask_of(monkeypatch, {f"{url}/whole/a|b.tsv": len(BODY), f"{url}/whole/c.tsv": 7})
        assert main([str(tmp_path / "addresses")]) == 0
        ask_of(monkeypatch, {f"{url}/whole/c.tsv": None, f"{url}/404/d.tsv": 9})
        assert main([str(tmp_path / "later")]) == 1, "one is gone"
    text = (tmp_path / "addresses.md").read_text(encoding="utf-8").splitlines()
    assert text[0] == "2 addresses: 2 alive; 1 of another size than recorded"
    today = text[4].split(" | ")[0].removeprefix("| ")
    assert date.fromisoformat(today)
    assert text[4:] == [
        f"| {today} | sst | {url}/whole/c.tsv | alive | {len(BODY)} | 7 |  |",
        f"| {today} | sst | {url}/whole/a%7Cb.tsv | alive | {len(BODY)} | {len(BODY)} |  |",
    ], "what needs somebody comes first"
    rows = json.loads((tmp_path / "later.json").read_text(encoding="utf-8"))
    assert [(row["answer"]["state"], row["recorded_size"]) for row in rows] == [("alive", None), ("gone", 9)]


def test_without_a_network_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with running_upstream() as (url, _):
        pass
    ask_of(monkeypatch, {f"{url}/whole/a.tsv": 7})
    assert main([str(tmp_path / "addresses")]) == 1
    assert capsys.readouterr().err == "error: no address answers, so nothing is written: is there a network?\n"
    assert list(tmp_path.iterdir()) == []


def test_every_address_of_a_source_has_a_row_and_sources_without_any_have_none() -> None:
    with running_upstream() as (url, _), open_client() as client:
        download = Download(urls=(f"{url}/404/a.tsv", f"{url}/whole/a.tsv"), size=len(BODY), place="sst/a.tsv")
        some = find_source("sst").model_copy(update={"downloads": (download,)})
        rows = ask_addresses([find_source("yelp").model_copy(update={"downloads": ()}), some], client, DAY)
    assert [(row.source, row.answer.state, row.is_other_size) for row in rows] == [
        ("sst", "gone", False),
        ("sst", "alive", False),
    ]
    assert table_lines(rows)[0] == "2 addresses: 1 gone, 1 alive; 0 of another size than recorded"
    assert Asked(DAY, "sst", "a", 8, Answer("alive", 9)).is_other_size


def ask_of(monkeypatch: pytest.MonkeyPatch, sizes: dict[str, int | None]) -> None:
    """Replace the sources by one with these addresses."""
    downloads = tuple(Download(urls=(url,), size=size, place="sst/a.tsv") for url, size in sizes.items())
    one = {"sst": find_source("sst").model_copy(update={"downloads": downloads})}
    monkeypatch.setattr(status, "read_sources", lambda: one)
