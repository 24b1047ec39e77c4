"""The forecast page of a running server: from sending validation rows to what a browser shows of them."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import polars as pl
import pytest

from shiftbench.leaderboard.app.client import send
from shiftbench.leaderboard.app.server import serve
from shiftbench.leaderboard.store import Store
from shiftbench.validation.cards import Card
from shiftbench.validation.report import InvalidInput
from tests.leaderboard.app.chromium import Open, violations
from tests.leaderboard.app.test_pages import BEYOND, FAINT
from tests.leaderboard.app.test_server import free_port
from tests.leaderboard.app.waiting import last_answer
from tests.leaderboard.confident import write_confident
from tests.leaderboard.conftest import Filled

BOARD = "/forecast?board=synthetic/nli"


class Served(NamedTuple):
    """A server to which one entry with validation rows was sent, and its files."""

    url: str
    entry: str
    store: Store
    file: Path
    held_out: Path
    card: Card


@pytest.fixture(scope="module")
def served(filled: Filled, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    place = tmp_path_factory.mktemp("forecast-page")
    store = Store(place / "store")
    server = serve([filled.folder], store, port=free_port(), block=False)
    try:
        empty = httpx.get(server.url + BOARD).text
        assert "No forecasts yet" in empty
        file, held_out = write_confident(filled.folder, place, seeds=2)
        card = Card(name="Sure model", paradigm="fine-tuned", data=filled.folder.content_hash)
        entry = send(file, card, server.url, validation=held_out)["entry"]
        end = time.monotonic() + 60
        while "1 model with forecasts" not in httpx.get(server.url + BOARD).text:
            assert time.monotonic() < end
            time.sleep(0.2)
        yield Served(server.url, entry, store, file, held_out, card)
    finally:
        server.close()


def test_an_entry_sent_with_validation_rows_is_forecast(served: Served) -> None:
    assert served.store.entry(served.entry).has_validation
    page = httpx.get(served.url + BOARD).text
    assert "1 model with" in page
    found = httpx.get(f"{served.url}/forecast.json?board=synthetic/nli").json()
    methods = {each["method"]: each for each in found["boards"][0]["standings"]}
    rows = pl.read_csv(httpx.get(f"{served.url}/forecast.csv?board=synthetic/nli").content)
    mine = rows.filter(method="doc")
    error = mine.group_by("target").agg((pl.col("forecast") - pl.col("truth")).abs().mean()).mean()["forecast"].item()
    assert methods["doc"]["error"] == pytest.approx(error)
    entry = httpx.get(f"{served.url}/entry?id={served.entry}&tab=statistics").text
    assert "difference of confidences" in entry
    assert httpx.get(f"{served.url}/forecast?board=nothing").status_code == 404
    assert httpx.get(f"{served.url}/forecast.csv?board=nothing").status_code == 404
    for page in ("/?board=synthetic/nli", "/about"):
        assert "/forecast" in httpx.get(served.url + page).text


def test_the_plain_form_takes_validation_rows_and_refuses_others(served: Served) -> None:
    def post(held_out: bytes, do: str) -> str:
        files = {"file": ("p.parquet", served.file.read_bytes()), "validation": ("v.parquet", held_out)}
        fields = {"do": do, "name": "Sure model", "paradigm": "fine-tuned", "card": f"data: {served.card.data}"}
        headers = {"origin": served.url}
        with httpx.Client(timeout=60) as session:
            sent = session.post(f"{served.url}/submit", data=fields, files=files, headers=headers)
            return last_answer(session, sent).text

    before = served.store.ids()
    test_rows = post(served.file.read_bytes(), "submit")
    assert "v.parquet" in test_rows
    assert "stored" in post(served.held_out.read_bytes(), "check")
    assert served.store.ids() == before
    assert "already" in post(served.held_out.read_bytes(), "submit")


def test_what_is_sent_without_them_is_another_entry_and_works_as_before(served: Served) -> None:
    shifted = served.file.with_name("shifted.parquet")
    pl.read_parquet(served.held_out).with_columns(pl.col("seed") + 9).write_parquet(shifted)
    with pytest.raises(InvalidInput, match=r"shifted\.parquet"):
        send(served.file, served.card, served.url, validation=shifted)
    bare = pl.read_parquet(served.file).drop("probabilities")
    bare.write_parquet(served.file.with_name("bare.parquet"))
    answer = send(served.file.with_name("bare.parquet"), served.card, served.url)
    assert (answer["new"], served.store.entry(answer["entry"]).has_validation) == (True, False)
    served.store.withdraw(answer["entry"], "local")


@pytest.mark.browser
def test_a_browser_shows_it_wide_and_narrow_light_and_dark(served: Served, open_page: Open) -> None:
    for width, scheme in ((1440, "light"), (390, "dark")):
        page = open_page(served.url + BOARD, width, scheme)
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for script in (FAINT, BEYOND):
            wrong = page.evaluate(script)
            assert (wrong["found"] if isinstance(wrong, dict) else wrong) == []
        assert page.get_by_role("columnheader", name="Mean error").get_attribute("title")
        page.goto(f"{served.url}/entry?id={served.entry}&tab=statistics")
        page.get_by_role("heading", name="Forecasts and true scores").wait_for()
        page.get_by_text("All methods on all entries of this board").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.browser
def test_it_works_without_script(browser: Any, served: Served) -> None:
    context = browser.browser.new_context(java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto(served.url + BOARD)
        page.locator("summary").filter(has_text="How to read this page").click()
        page.get_by_text("A forecast uses neither labels").wait_for()
    finally:
        context.close()
