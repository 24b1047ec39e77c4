"""The page as a visitor sees it, in headless Chromium: no error may be logged, and no request leave this machine."""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import polars as pl
import pytest
import yaml

from builders.folder.reader import DatasetFolder
from leaderboard.app.server import serve
from leaderboard.store import Store
from tests.leaderboard.app.test_server import free_port
from tests.leaderboard.conftest import SCRIPT, Filled, fill
from tests.leaderboard.id_folder import fill_id_store
from validation.cards import write_card

pytestmark = pytest.mark.browser

CHROMIUM = "/usr/bin/chromium"
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
TASK = "/?board=synthetic/nli"
"""The board that the entries are on; the front page has one line a model."""
PAGES = ("/", TASK, "/entry?id={partial}", "/compare?id={good}&id={poor}", "/data", "/about", "/submit")
Open = Callable[..., Any]

# Elements whose own text has too little contrast with what is painted behind it.
FAINT = """() => {
  const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = parse(getComputedStyle(e).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const found = [];
  let seen = 0;
  const judge = (element, colour, text) => {
    const [a, b] = [light(parse(colour)), light(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    seen += 1;
    if (ratio < 4.5) found.push(`${text.trim().slice(0, 40)} ${colour} ${ratio.toFixed(2)}`);
  };
  for (const element of document.querySelectorAll('body *')) {
    if (!element.checkVisibility({ visibilityProperty: true })) continue;
    if (element.closest('footer, .visually-hidden, .sb-hidden, .sb-skip')) continue;
    const style = getComputedStyle(element);
    if (element.placeholder && !element.value)
      judge(element, getComputedStyle(element, '::placeholder').color, element.placeholder);
    const text = [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data).join('').trim();
    if (!text) continue;
    if (!element.closest('svg')) judge(element, style.color, text);
    else if (element.tagName === 'text') judge(element.closest('svg').parentElement, style.fill, text);
  }
  return { found, seen };
}"""


# Elements that reach beyond the window, but for those that can be scrolled to in a box of their own.
BEYOND = """() => {
  const scrolls = (e) => e && (['auto', 'scroll'].includes(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
  return [...document.querySelectorAll('body *')]
    .filter((e) => e.checkVisibility({ visibilityProperty: true }))
    .filter((e) => !e.closest('.visually-hidden, .sb-hidden, .sb-skip, svg'))
    .filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !scrolls(e.parentElement))
    .map((e) => `${e.tagName}#${e.id}.${e.className}`);
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    required = os.environ.get("SHIFTBENCH_REQUIRE_BROWSER") == "1"
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        if required:
            raise
        pytest.skip("playwright is not installed")
    if not required and not Path(CHROMIUM).exists():
        pytest.skip(f"there is no {CHROMIUM}")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS.split())
        yield chromium.new_context()
        chromium.close()


@pytest.fixture(scope="module")
def served(filled: Filled, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Filled]]:
    own = fill(filled.folder, tmp_path_factory.mktemp("shown"))
    server = serve([own.folder], own.store, port=free_port(), block=False)
    try:
        yield server.url, own
    finally:
        server.close()


@pytest.fixture(scope="module")
def id_served(id_folder: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of a benchmark with one training domain a task."""
    store = fill_id_store(id_folder, tmp_path_factory.mktemp("id-shown"))
    server = serve([id_folder], store, port=free_port(), block=False)
    try:
        yield server.url
    finally:
        server.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Open]:
    """Open addresses; at the end, nothing may have gone wrong or left this machine."""
    pages, wrong = [], []

    def note(kind: str, text: str) -> None:
        wrong.append(f"{kind}: {text[:300]}")

    def opened(url: str, width: int = 1280, scheme: str = "light") -> Any:
        page = browser.new_page()
        pages.append(page)
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.set_default_timeout(15_000)
        page.on("console", lambda message: note("console", message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: note("error", str(error)))
        page.on("request", lambda request: note("left", request.url) if leaves(request.url) else None)
        page.goto(url)
        page.wait_for_selector(".sb-title")
        return page

    yield opened
    for page in pages:
        page.close()
    assert wrong == []


def leaves(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme not in ("data", "blob") and parts.hostname != "127.0.0.1"


def entries(page: Any) -> list[str]:
    found: list[str] = page.locator("#board-rows tbody th[scope=row] a").all_inner_texts()
    return found


def until(page: Any, met: Callable[[], bool]) -> None:
    """Wait for a condition; pages let no text be evaluated as script, which playwright's own wait would do."""
    deadline = time.monotonic() + 15
    while not met():
        assert time.monotonic() < deadline
        page.wait_for_timeout(30)


def ready_to_submit(page: Any) -> None:
    page.get_by_role("button", name="Check", exact=True).wait_for()


def test_the_board_ranks_sorts_filters_and_is_exported(served: tuple[str, Filled], open_page: Open) -> None:
    url, _ = served
    page = open_page(url + TASK)
    names = entries(page)
    assert sorted(names[:2]) == sorted(["Good model", SCRIPT])
    assert names[2:] == ["Poor model", "Partial model", "Zero-shot model"]
    head = page.locator("#board-rows thead th").filter(has_text="In domain (SS)")
    for order, best in (("descending", "Good model"), ("ascending", "Poor model")):
        head.locator("a").click()
        page.locator(f"#board-rows thead th[aria-sort={order}]").filter(has_text="In domain (SS)").wait_for()
        ranked = [name for name in entries(page) if name in ("Good model", "Poor model")]
        assert ranked[0] == best
        # What is missing stays last in either direction.
        assert entries(page)[-1] == "Zero-shot model"
    assert "sort=mean_ss" in page.url
    page.locator("summary").filter(has_text="Filters").click()
    page.locator("select[name=paradigm]").select_option("zero-shot")
    until(page, lambda: len(entries(page)) == 1)
    assert "paradigm=zero-shot" in page.url
    # The address alone gives the same rows, and so does the browser's way back.
    assert entries(open_page(page.url)) == ["Zero-shot model"]
    page.go_back()
    until(page, lambda: len(entries(page)) == 5)
    page.locator("input[name=q]").fill("poor")
    until(page, lambda: len(entries(page)) == 1)
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    table = pl.read_csv(download.value.path())
    assert table["name"].to_list() == ["Poor model"]
    assert 0 < table["mean_st"][0] < 1


def test_the_board_works_without_script(browser: Any, served: tuple[str, Filled]) -> None:
    context = browser.browser.new_context(java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto(served[0] + TASK)
        page.locator("input[name=q]").fill("poor")
        page.get_by_role("button", name="Apply").click()
        assert entries(page) == ["Poor model"]
        page.get_by_role("rowheader").get_by_role("link", name="Poor model").click()
        assert page.locator("h1").inner_text() == "Poor model"
    finally:
        context.close()


def test_heads_explain_themselves_and_intervals_unfold_without_script(browser: Any, served: tuple[str, Filled]) -> None:
    context = browser.browser.new_context(java_script_enabled=False, viewport={"width": 390, "height": 844})
    try:
        page = context.new_page()
        page.goto(served[0] + TASK)
        # The first row is on a phone's first screen, and can be picked there.
        first = page.locator("#board-rows tbody tr").first
        box = first.bounding_box()
        assert box["y"] + box["height"] < 844
        assert first.locator("input[type=checkbox]").is_visible()
        button = page.get_by_role("button", name="What is Score under shift (ST)?")
        button.focus()
        page.keyboard.press("Enter")
        note = page.locator("#about-mean-st")
        assert "trained on domain s, tested on domain t" in note.inner_text()
        assert note.bounding_box()["x"] >= 0
        page.keyboard.press("Escape")
        assert not note.is_visible()
        assert "[" not in first.locator("td.sb-fig").first.inner_text()
        page.get_by_role("link", name="Intervals in full").click()
        assert "[" in first.locator("td.sb-fig").first.inner_text()
        # The picture is folded there; its marks lead to entries.
        mark = page.locator(".sb-map svg a").first
        assert not mark.is_visible()
        page.get_by_text("Picture", exact=True).click()
        assert mark.is_visible()
        page.goto(served[0] + mark.get_attribute("href"))
        assert page.locator("h1").inner_text() in ("Good model", "Poor model", SCRIPT)
    finally:
        context.close()


def test_the_front_page_leads_to_the_boards(served: tuple[str, Filled], open_page: Open) -> None:
    page = open_page(served[0])
    assert set(entries(page)) == {"Good model", "Poor model", SCRIPT}
    assert "1 of 2" in page.locator("#board-rows").inner_text()
    page.locator("input[name=q]").fill("poor")
    until(page, lambda: entries(page) == ["Poor model"])
    page.locator("#board-rows thead").get_by_role("link", name="Inference", exact=True).click()
    page.get_by_role("heading", name="Inference").wait_for()
    # Rows pass below the head, which stays.
    page.locator("#board-rows .sb-scroll").evaluate("box => { box.style.maxHeight = '120px'; box.scrollTop = 60; }")
    head, box = (page.locator(where).first.bounding_box() for where in ("#board-rows thead th >> nth=2", ".sb-scroll"))
    assert abs(head["y"] - box["y"]) < 3


def test_an_entrys_page(served: tuple[str, Filled], open_page: Open) -> None:
    url, filled = served
    page = open_page(url + TASK)
    page.get_by_role("rowheader").get_by_role("link", name="Poor model").click()
    page.wait_for_selector("svg[role=img]")
    assert page.locator("h1").inner_text() == "Poor model"
    assert f"id={filled.entries['poor'].id}" in page.url
    assert page.locator(".sb-matrix").count() == 3
    assert page.locator("svg[role=img]").count() >= 5
    assert {"ST", "SD", "TD"} <= set(
        " ".join(page.locator("h3").all_inner_texts()).replace("(", " ").replace(")", " ").split()
    )
    zero = open_page(f"{url}/entry?id={filled.entries['zero-shot'].id}")
    assert zero.locator(".sb-matrix").count() == 1
    # An entry that is not there is the one thing that the browser may call an error.
    assert "there is no such entry" in httpx.get(f"{url}/entry?id=nonsense").text


def test_entries_are_picked_and_compared(served: tuple[str, Filled], open_page: Open) -> None:
    page = open_page(served[0] + TASK)
    for name in ("Good model", "Poor model"):
        row = page.locator("#board-rows tr").filter(has=page.get_by_role("link", name=name, exact=True))
        row.locator("input[type=checkbox]").check()
    page.get_by_role("button", name="Compare picked").click()
    page.wait_for_selector("table")
    text = page.locator("main").inner_text()
    assert "Good model" in text
    assert "Poor model" in text
    assert "these trained models" in text  # one run each: nothing is said of the recipes
    for words in ("\\toprule", "@misc", "| "):
        assert words in page.locator("main").text_content()


def test_a_script_in_a_card_is_shown_and_not_run(served: tuple[str, Filled], open_page: Open) -> None:
    url, filled = served
    bad, good = filled.entries["script"].id, filled.entries["good"].id
    for path in ("/", TASK, f"/entry?id={bad}", f"/compare?id={bad}&id={good}", f"/compare?id={SCRIPT}&id={good}"):
        page = open_page(url + path)
        assert SCRIPT in page.locator("main").text_content()
        assert "shiftbench" in page.title()
        assert "owned" not in page.title()
    page = open_page(f"{url}/?q={SCRIPT}")
    assert page.locator("input[name=q]").input_value() == SCRIPT
    for field in ("board", "task", "sort", "columns", "page"):
        assert "owned" not in open_page(f"{url}/?{field}={SCRIPT}").title()
        assert "owned" not in open_page(f"{url}/data?{field}={SCRIPT}").title()
    page = open_page(f"{url}/entry?id={bad}")
    for summary in page.locator("summary").all():
        summary.click()
    assert page.locator("main").inner_text().count(SCRIPT) >= 4


@pytest.mark.parametrize(("scheme", "width"), [("light", 390), ("dark", 360), ("dark", 1280)])
@pytest.mark.parametrize("path", PAGES)
def test_every_page_is_readable_and_no_wider_than_the_window(
    served: tuple[str, Filled], open_page: Open, path: str, scheme: str, width: int
) -> None:
    url, filled = served
    page = open_page(url + path.format(**{name: entry.id for name, entry in filled.entries.items()}), width, scheme)
    if path == "/submit":
        ready_to_submit(page)
        page.get_by_role("button", name="Check").click()
        page.wait_for_selector("#answer .sb-bad")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(BEYOND) == []
    faint = page.evaluate(FAINT)
    assert faint["seen"] > 10
    assert faint["found"] == []


def test_the_keyboard_reaches_the_board(served: tuple[str, Filled], open_page: Open) -> None:
    page = open_page(served[0] + TASK)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    reached = []
    page.locator("summary").filter(has_text="Filters").evaluate("element => element.click()")
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.name || document.activeElement.textContent.trim()"))
    assert {"q", "paradigm", "Good model"} <= set(reached)


def test_an_empty_store_says_what_fills_it(filled: Filled, open_page: Open, tmp_path: Path) -> None:
    server = serve([filled.folder], Store(tmp_path / "store"), port=free_port(), block=False)
    try:
        open_page(server.url).get_by_text("No entries yet on this benchmark").wait_for()
        page = open_page(server.url + TASK)
        page.get_by_text("No entries yet on this board").wait_for()
        assert entries(page) == []
        open_page(f"{server.url}/compare").locator(".sb-empty").wait_for()
    finally:
        server.close()


def test_a_bad_submission_lists_its_problems(served: tuple[str, Filled], open_page: Open, tmp_path: Path) -> None:
    url, filled = served
    bad = tmp_path / "bad.parquet"
    pl.read_parquet(filled.files["good"]).rename({"prediction": "predicton"}).write_parquet(bad)
    page = open_page(f"{url}/submit")
    ready_to_submit(page)
    page.get_by_role("button", name="Submit", exact=True).click()
    page.locator("#answer li").nth(1).wait_for()
    assert "there is no prediction file" in page.locator("#answer li").first.inner_text()
    page.set_input_files("#prediction-file input[type=file]", bad)
    page.locator("#prediction-file").get_by_text("bad").first.wait_for()
    page.locator("#card-text textarea").fill(f"name: x\nparadigm: {SCRIPT}\n")
    page.get_by_role("button", name="Check", exact=True).click()
    page.locator("#answer li").filter(has_text="did you mean 'prediction'?").wait_for()
    told = page.locator("#answer li").all_inner_texts()
    assert any("key 'paradigm'" in line and SCRIPT in line for line in told)
    assert any("key 'data'" in line for line in told)
    assert page.locator("#answer strong").inner_text() == f"Not accepted: {len(told)} problems. Nothing was stored."


def test_the_form_writes_the_card(served: tuple[str, Filled], open_page: Open) -> None:
    url, filled = served
    page = open_page(f"{url}/submit")
    ready_to_submit(page)
    page.get_by_role("tab", name="Card as a form").click()
    page.locator("#card-name input, #card-name textarea").fill("From the form")
    page.locator("#card-pretraining_domains input, #card-pretraining_domains textarea").fill("forest, city")
    page.get_by_role("tab", name="Card as text").click()
    page.wait_for_function("document.querySelector('#card-text textarea').value.includes('city')")
    text = page.locator("#card-text textarea").input_value()
    assert yaml.safe_load(text) == {
        "data": filled.folder.content_hash,
        "name": "From the form",
        "pretraining_domains": ["forest", "city"],
    }
    # What somebody pasted stays, but for the key that the form is used for.
    page.locator("#card-text textarea").fill("name: Pasted\nparadigm: zero-shot\ncommand: python predict.py\n")
    page.get_by_role("tab", name="Card as a form").click()
    page.locator("#card-parameters input, #card-parameters textarea").fill("1200")
    page.get_by_role("tab", name="Card as text").click()
    page.wait_for_function("document.querySelector('#card-text textarea').value.includes('1200')")
    pasted = yaml.safe_load(page.locator("#card-text textarea").input_value())
    assert (pasted["paradigm"], pasted["command"]) == ("zero-shot", "python predict.py")
    assert (pasted["name"], pasted["parameters"]) == ("From the form", 1200)
    assert not {"shots", "training_size", "tunable_parameters"} & set(pasted)


def test_a_good_submission_lands_on_the_board_and_leaves_it(filled: Filled, open_page: Open, tmp_path: Path) -> None:
    shutil.copytree(filled.store.root, tmp_path / "store")
    card = filled.card("poor").model_copy(update={"name": "From the page"})
    write_card(card, tmp_path / "new.card.yaml")
    server = serve([filled.folder], Store(tmp_path / "store"), port=free_port(), block=False)
    try:
        page = open_page(f"{server.url}/submit")
        ready_to_submit(page)
        page.set_input_files("#prediction-file input[type=file]", filled.files["poor"])
        page.locator("#prediction-file").get_by_text("poor").first.wait_for()
        with page.expect_file_chooser() as chooser:
            page.locator("#card-file").click()
        chooser.value.set_files(tmp_path / "new.card.yaml")
        page.wait_for_function("document.querySelector('#card-text textarea').value.includes('From the page')")
        page.get_by_role("button", name="Check", exact=True).click()
        page.get_by_text("nothing is stored yet").wait_for()
        page.get_by_role("button", name="Submit", exact=True).click()
        page.get_by_text("Accepted as").wait_for()
        page.get_by_role("button", name="Submit", exact=True).click()
        page.get_by_text("The same file and card were sent before").wait_for()
        entry = page.locator("#answer a").first.inner_text()
        page.locator("#answer a").first.click()
        page.wait_for_selector("svg[role=img]")
        assert page.locator("h1").inner_text() == "From the page"
        board = open_page(server.url + TASK)
        # The same predictions as 'Poor model': the same rank, by name before it.
        assert entries(board)[2:4] == ["From the page", "Poor model"]
        page = open_page(f"{server.url}/submit")
        ready_to_submit(page)
        page.get_by_text("Withdraw an entry of yours").click()
        page.locator("#withdraw-id input, #withdraw-id textarea").fill(entry)
        page.get_by_role("button", name="Withdraw", exact=True).click()
        page.get_by_text(f"Entry {entry} is withdrawn").wait_for()
        assert "From the page" not in entries(open_page(server.url + TASK))
    finally:
        server.close()


def test_a_board_of_one_training_domain_has_id_and_ood_columns(id_served: str, open_page: Open) -> None:
    page = open_page(f"{id_served}/?board=boss/sa")
    heads = " ".join(page.locator("#board-rows thead th").all_inner_texts())
    for name in ("(mean OOD)", "Amazon (ID)", "Dynasent", "SemEval", "SST", "ID \N{MINUS SIGN} OOD"):
        assert name in heads
    page.get_by_role("link", name="Show 24 rows that papers report").click()
    page.locator("#board-rows").get_by_text("BOSS Table 5").first.wait_for()
    text = page.locator("#board-rows").inner_text()
    assert "BOSS Table 5" in text
    assert {"Vanilla", "EDA", "FreeLB"} <= set(page.locator("#board-rows tbody th[scope=row]").all_inner_texts()) | set(
        text.split()
    )
    page.get_by_role("link", name="Named entities", exact=True).click()
    page.locator("#board-rows thead").get_by_text("Few-NERD").first.wait_for()
    page = open_page(f"{id_served}/?board=boss/sa")
    page.get_by_role("rowheader").get_by_role("link", name="Good model").click()
    page.wait_for_selector("svg[role=img]")
    tiles = page.locator(".sb-tiles dt").all_inner_texts()
    assert any("OOD" in tile for tile in tiles)
