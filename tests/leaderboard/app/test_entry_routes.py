"""What can be fetched of entries: pages, tombstones, predictions that the card allows, everything at once."""

import io
import json
import zipfile
from collections.abc import Iterator

import httpx
import polars as pl
import pytest

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.app.server import serve
from shiftbench.leaderboard.board.rows import SCHEMA
from shiftbench.leaderboard.store import Entry, Store
from shiftbench.validation.cards import Card
from tests.leaderboard.shapes import build_dealt_folder, labels_with_errors

DOMAINS = ("books", "films", "games")
BROWSER = {"accept": "text/html,application/xhtml+xml"}


class Served:
    """A page with an entry for each answer to 'may everybody download the predictions?', and a withdrawn one."""

    def __init__(self, url: str, folder: DatasetFolder, store: Store, entries: dict[str, Entry]) -> None:
        self.url, self.folder, self.store, self.entries = url, folder, store, entries

    def get(self, address: str, name: str = "", **headers: str) -> httpx.Response:
        query = {"id": self.entries[name].id} if name else {}
        return httpx.get(self.url + address, params=query, headers=headers)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    root = tmp_path_factory.mktemp("routes")
    folder = build_dealt_folder(root / "data", DOMAINS)
    store, entries = Store(root / "store"), {}
    for name, share in {"old": None, "yes": True, "no": False, "gone": True}.items():
        errors = 0.1 + 0.1 * len(entries)
        labels_with_errors(folder, "moods", DOMAINS, errors).write_parquet(root / "p.parquet")
        card = Card(
            name=name, paradigm="fine-tuned", data=folder.content_hash, share_predictions=share,
            contact="ada@example.org", paper_url="https://example.org/paper", base_model="some/model",
        )  # fmt: skip
        entries[name], _ = store.submit(root / "p.parquet", card, [folder], submitter="ada-account")
    store.withdraw(entries["gone"].id, "ada-account")
    server = serve([folder], store, port=0, block=False)
    try:
        yield Served(server.url, folder, store, entries)
    finally:
        server.close()


def test_predictions_are_given_out_as_their_card_says(served: Served) -> None:
    for name in ("old", "yes"):
        answer = served.get("/predictions.parquet", name)
        assert answer.content == served.store.predictions(served.entries[name]).read_bytes()
        assert "/predictions.parquet" in httpx.get(f"{served.url}/entry?id={served.entries[name].id}&tab=card").text
    answer = served.get("/predictions.parquet", "no")
    assert answer.status_code == 404
    assert "card" in answer.text
    assert "/predictions.parquet" not in httpx.get(f"{served.url}/entry?id={served.entries['no'].id}&tab=card").text


def test_an_entry_has_links_a_place_and_a_citation(served: Served) -> None:
    page = served.get("/entry", "old").text
    assert "Rank 1 of 3" in page
    assert 'href="https://example.org/paper"' in page
    assert 'href="https://huggingface.co/some/model"' in page
    assert f"@misc{{shiftbench-{served.entries['old'].id}-" in page
    assert f"url = {{{served.url}/entry?id={served.entries['old'].id}&amp;task=" in page


def test_a_withdrawn_entry_leaves_a_tombstone_and_nothing_else(served: Served) -> None:
    answer = served.get("/entry", "gone")
    assert answer.status_code == 410
    assert "ada-account" not in answer.text
    for address in ("/predictions.parquet", "/scores.json"):
        assert served.get(address, "gone").status_code == 404
    assert served.entries["gone"].id not in served.get("/scores.parquet").text


def test_all_scores_are_one_table_without_accounts(served: Served) -> None:
    table = pl.read_parquet(io.BytesIO(served.get("/scores.parquet").content))
    assert set(table["id"]) == {served.entries[name].id for name in ("old", "yes", "no")}
    assert set(table["board"]) == {"dealt/moods"}
    assert set(SCHEMA) - set(table.columns) == {"submitter", "stamp", "submitted_at"}
    assert "ada-account" not in str(table.to_dicts())


def test_the_archive_holds_what_cards_allow_and_no_contact(served: Served) -> None:
    with zipfile.ZipFile(io.BytesIO(served.get("/predictions.zip").content)) as archive:
        assert archive.testzip() is None
        entry = served.entries["yes"]
        assert set(archive.namelist()) == {"cards.jsonl", f"{entry.id}.parquet"}
        assert archive.read(f"{entry.id}.parquet") == served.store.predictions(entry).read_bytes()
        card = json.loads(archive.read("cards.jsonl"))
    assert card["entry"] == entry.id
    assert "contact" not in card
    assert "ada" not in json.dumps(card)


def test_a_person_gets_a_page_for_an_address_that_is_not_there(served: Served) -> None:
    answer = served.get("/no-such-page", **BROWSER)
    assert answer.status_code == 404

    assert "content-security-policy" in answer.headers
    assert served.get("/no-such-page", accept="application/json").headers["content-type"] == "application/json"


def test_pages_are_sent_compressed(served: Served) -> None:
    assert served.get("/").headers["content-encoding"] == "gzip"
    assert "content-encoding" not in served.get("/", **{"accept-encoding": "identity"}).headers


def test_about_says_what_to_cite_and_when_it_was_updated(served: Served) -> None:
    page = served.get("/about").text
    assert "@" in page
    assert "Entries here: 3" in page
    assert 'name="description"' in page


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("/?board=dr/none", "there is no such board"),
        ("/?benchmark=none", "no such benchmark"),
        ("/rows?board=dr/none", "there is no such board"),
        ("/rows?benchmark=none", "no such benchmark"),
        ("/board.csv?board=dr/none", "there is no such board"),
        ("/overall.csv?benchmark=none", "no such benchmark"),
        ("/data?task=none", "there is no such task"),
        ("/compare?id=nope", "there is no such entry"),
        ("/compare?id={yes}&id=nope", "there is no such entry"),
        ("/compare?id={yes}&id={old}&task=none", "there is no such task"),
        ("/entry?id={yes}&task=none", "the entry has no such task"),
        ("/entry?id=nope", "there is no such entry"),
        ("/scores.json?id=nope", "there is no such entry"),
        ("/predictions.parquet?id=nope", "there is no such entry"),
        ("/forecast?board=none", "there is no such board"),
        ("/forecast.csv?board=none", "there is no such board"),
        ("/forecast.json?board=none", "there is no such board"),
    ],
)
@pytest.mark.parametrize("headers", [BROWSER, {}], ids=["browser", "program"])
def test_what_is_not_there_is_404_with_words(served: Served, address: str, words: str, headers: dict[str, str]) -> None:
    """Before: status 200 and the first board, task or method in place of the one that was asked for."""
    ids = {name: entry.id for name, entry in served.entries.items()}
    answer = httpx.get(served.url + address.format(**ids), headers=headers)
    assert (answer.status_code, words in answer.text) == (404, True), answer.text[-900:]
