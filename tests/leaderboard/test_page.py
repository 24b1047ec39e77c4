"""The page as a visitor sees it, in headless Chromium: no error may be logged, and no request leave this machine."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import polars as pl
import pytest

from builders.folder import DatasetFolder
from leaderboard.app import serve
from leaderboard.store import Store
from validation.cards import write_card

from .conftest import SCRIPT, Filled, fill
from .test_app import free_port
from .test_reported import fill_id_store

pytestmark = pytest.mark.browser

CHROMIUM = "/usr/bin/chromium"
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
TABS = ("Leaderboard", "Entry", "Submit", "About")
FIGURES = ("ST", "SD", "TD", "scenarios", "depth")
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
  for (const element of document.querySelectorAll('gradio-app *')) {
    if (!element.checkVisibility({ visibilityProperty: true }) || element.closest('footer, .visually-hidden')) continue;
    const style = getComputedStyle(element);
    if (element.placeholder && !element.value)
      judge(element, getComputedStyle(element, '::placeholder').color, element.placeholder);
    const text = [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data).join('').trim();
    if (!text) continue;
    if (!element.closest('svg')) judge(element, style.color, text);
    else if (element.closest('.xtick, .ytick, .xtitle, .ytitle, .legendtext'))
      judge(element.closest('.gradio-container'), style.fill, text);
  }
  return { found, seen };
}"""


# Elements that reach beyond the window, but for those that can be scrolled to in a box of their own.
BEYOND = """() => {
  const scrolls = (e) => e && (['auto', 'scroll'].includes(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
  return [...document.querySelectorAll('gradio-app *')]
    .filter((e) => e.checkVisibility({ visibilityProperty: true }) && !e.closest('.visually-hidden, .sb-hidden, svg'))
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
    app = serve([own.folder], own.store, port=free_port(), block=False)
    try:
        yield str(app.local_url), own
    finally:
        app.close(verbose=False)


@pytest.fixture(scope="module")
def id_served(id_folder: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of a benchmark with one training domain a task."""
    store = fill_id_store(id_folder, tmp_path_factory.mktemp("id-shown"))
    app = serve([id_folder], store, port=free_port(), block=False)
    try:
        yield str(app.local_url)
    finally:
        app.close(verbose=False)


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
        page.wait_for_selector("#board .sb-page, #board .sb-about, #board .sb-empty", state="attached")
        return page

    yield opened
    for page in pages:
        page.close()
    assert wrong == []


def leaves(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme not in ("data", "blob") and parts.hostname != "127.0.0.1"


def show(page: Any, tab: str) -> None:
    page.get_by_role("tab", name=tab).click()
    page.wait_for_function(
        "name => document.querySelector('button[role=tab][aria-selected=true]').textContent.trim() === name", arg=tab
    )


def drawn(page: Any) -> None:
    """Wait until the entry's figures are there."""
    for key in FIGURES:
        page.wait_for_selector(f"#plot-{key} .main-svg")


def column(page: Any, number: int) -> list[str]:
    found: list[str] = page.locator(f"#board tbody tr > :nth-child({number})").all_inner_texts()
    return found


def test_the_board_ranks_and_sorts(served: tuple[str, Filled], open_page: Open) -> None:
    page = open_page(served[0])
    page.wait_for_selector("#board tbody tr")
    assert column(page, 1) == ["1", "1", "3", "–", "–"]
    names = [text.split("\n")[0] for text in column(page, 2)]
    assert sorted(names[:2]) == sorted(["Good model", SCRIPT])
    assert names[2:] == ["Poor model", "Partial model", "Zero-shot model"]
    head = page.locator("#board thead th").filter(has_text="Mean SS")
    for order, first in (("ascending", "Poor model"), ("descending", "Partial model")):
        head.locator("button").click()
        assert head.get_attribute("aria-sort") == order
        names = [text.split("\n")[0] for text in column(page, 2)]
        # What is missing stays last in either direction.
        assert (names[0], names[-1]) == (first, "Zero-shot model")
    # Digits stand under each other.
    cells = page.locator("#board tbody .sb-num")
    looks = cells.evaluate_all(
        "cells => cells.map(c => [getComputedStyle(c).textAlign, getComputedStyle(c).fontVariantNumeric])"
    )
    assert len(looks) == 5 * 9
    assert all(look == ["right", "tabular-nums"] for look in looks)


def test_a_link_opens_an_entry_with_its_figures(served: tuple[str, Filled], open_page: Open) -> None:
    url, filled = served
    page = open_page(f"{url}?entry={filled.entries['poor'].id}")
    drawn(page)
    assert page.locator("#entry-about h2").inner_text() == "Poor model"
    assert page.locator("#plot-ST .heatmaplayer image").count() == 1
    assert page.locator("#plot-scenarios .scatterlayer .point").count() == 12
    assert page.locator("#plot-depth .scatterlayer .js-line").count() == 13
    # A hover tells the scores of a cell.
    box = page.locator("#plot-TD .heatmaplayer image").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + box["height"] * 0.1)
    page.wait_for_selector("#plot-TD .hoverlayer .hovertext")
    first, second = list(filled.folder.task("nli").domains)[:2]
    assert f"{first} → {second}" in page.locator("#plot-TD .hoverlayer .hovertext").text_content()
    # From the board an entry opens by its name.
    show(page, "Leaderboard")
    page.get_by_role("link", name="Good model").click()
    drawn(page)
    assert page.locator("#entry-about h2").inner_text() == "Good model"


def test_an_entry_shows_what_it_has(served: tuple[str, Filled], open_page: Open) -> None:
    url, filled = served
    page = open_page(f"{url}?entry={filled.entries['zero-shot'].id}")
    page.wait_for_selector("#plot-ST .main-svg")
    assert [key for key in FIGURES if page.locator(f"#plot-{key}").is_visible()] == ["ST"]
    page = open_page(f"{url}?entry=nonsense")
    page.get_by_text("there is no such entry; found 'nonsense'").wait_for()
    assert not any(page.locator(f"#plot-{key}").is_visible() for key in FIGURES)
    page = open_page(f"{url}?board=nonsense")
    page.get_by_text("there is no such board; found 'nonsense'").wait_for()


def test_a_script_in_a_card_is_shown_and_not_run(served: tuple[str, Filled], open_page: Open) -> None:
    url, filled = served
    page = open_page(f"{url}?entry={filled.entries['script'].id}")
    drawn(page)
    page.locator("#entry-about summary").click()
    assert page.locator("#entry-about").inner_text().count(SCRIPT) >= 5
    assert SCRIPT in page.locator("#entry-choice input").input_value()
    show(page, "Leaderboard")
    assert SCRIPT in page.locator("#board tbody").inner_text()
    assert page.title().startswith("shiftbench")


@pytest.mark.parametrize(("scheme", "width"), [("light", 390), ("dark", 360)])
def test_a_phone_shows_every_tab_without_scrolling_sideways(
    served: tuple[str, Filled], open_page: Open, scheme: str, width: int
) -> None:
    url, filled = served
    page = open_page(f"{url}?entry={filled.entries['partial'].id}", width=width, scheme=scheme)
    drawn(page)
    for tab in TABS:
        show(page, tab)
        if tab == "Submit":
            page.get_by_role("button", name="Check").click()
            page.wait_for_selector("#answer .sb-bad")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, tab
        assert page.evaluate(BEYOND) == [], tab
        faint = page.evaluate(FAINT)
        assert faint["seen"] > 10, tab
        assert faint["found"] == [], tab


def test_an_empty_store_says_what_fills_it(filled: Filled, open_page: Open, tmp_path: Path) -> None:
    app = serve([filled.folder], Store(tmp_path / "store"), port=free_port(), block=False)
    try:
        page = open_page(str(app.local_url))
        page.get_by_text("No entries yet on this board").wait_for()
        assert page.locator("#board table").count() == 0
        show(page, "Entry")
        assert page.locator("#entry-about .sb-empty").is_visible()
        assert not page.locator("#entry-choice").is_visible()
        assert not any(page.locator(f"#plot-{key}").is_visible() for key in FIGURES)
    finally:
        app.close(verbose=False)
    assert not (tmp_path / "store").exists()


def test_a_bad_submission_lists_its_problems(served: tuple[str, Filled], open_page: Open, tmp_path: Path) -> None:
    url, filled = served
    bad = tmp_path / "bad.parquet"
    pl.read_parquet(filled.files["good"]).rename({"prediction": "predicton"}).write_parquet(bad)
    page = open_page(url)
    show(page, "Submit")
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


def test_a_good_submission_lands_on_the_board(filled: Filled, open_page: Open, tmp_path: Path) -> None:
    shutil.copytree(filled.store.root, tmp_path / "store")
    card = filled.card("poor").model_copy(update={"name": "From the page"})
    write_card(card, tmp_path / "new.card.yaml")
    app = serve([filled.folder], Store(tmp_path / "store"), port=free_port(), block=False)
    try:
        page = open_page(str(app.local_url))
        show(page, "Submit")
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
        page.locator("#answer a").click()
        drawn(page)
        assert page.locator("#entry-about h2").inner_text() == "From the page"
        show(page, "Leaderboard")
        # The same predictions as 'Poor model': the same rank, by name before it.
        assert [text.split("\n")[0] for text in column(page, 2)][2:4] == ["From the page", "Poor model"]
        assert column(page, 1)[2:4] == ["3", "3"]
    finally:
        app.close(verbose=False)


def test_a_board_of_one_training_domain_has_id_and_ood_columns(id_served: str, open_page: Open) -> None:
    page = open_page(f"{id_served}?board=boss/sa")
    page.wait_for_selector("#board tbody tr")
    heads = [text.replace("\n", " ").strip() for text in page.locator("#board thead th").all_inner_texts()]
    assert [head.split("\N{NO-BREAK SPACE}")[0] for head in heads[3:9]] == [
        "Mean OOD",
        "Amazon (ID)",
        "Dynasent",
        "SemEval",
        "SST",
        "ID \N{MINUS SIGN} OOD",
    ]
    # Everything is seen without scrolling sideways.
    width, inner = page.locator("#board .sb-scroll").evaluate("e => [e.clientWidth, e.scrollWidth]")
    assert inner <= width
    legend = page.locator(".sb-legend")
    assert "Mean OOD" in legend.inner_text()
    assert "Worst TD" not in legend.inner_text()
    # Sorting keeps what papers report below the entries.
    for title, column_ in (("Mean OOD", 4), ("Entry", 2)):
        page.locator("#board thead th").filter(has_text=title).locator("button").click()
        shown = page.locator("#board tbody").first.locator(f"tr > :nth-child({column_})").all_inner_texts()
        assert len(shown) == 5
        assert page.locator("#board tbody.sb-reported-head").all_inner_texts()[0].startswith("Reported in BOSS Table 5")
    models = page.locator("#board tbody.sb-reported").first.locator("th").all_inner_texts()
    assert sorted(models) == sorted(["Vanilla", "EDA", "FreeLB", "FL", "LS", "ES"])
    assert not page.locator("#board tbody.sb-reported a").count()
    # Another board of the benchmark has other columns.
    page.get_by_label("boss/ner").click()
    page.wait_for_function("document.querySelector('#board thead').innerText.includes('Few-NERD')")
    assert "4 types" in page.locator("#board tbody").first.inner_text()
    page.wait_for_function("document.querySelector('.sb-legend').innerText.includes('4 types')")


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_a_board_of_one_training_domain_is_readable(id_served: str, open_page: Open, scheme: str, width: int) -> None:
    page = open_page(f"{id_served}?board=boss/ner", width=width, scheme=scheme)
    page.wait_for_selector("#board tbody tr")
    # The choice of the board fades over to this one.
    page.locator("#board-choice label.selected").filter(has_text="boss/ner").wait_for()
    page.wait_for_function("!document.getAnimations().some((a) => a instanceof CSSTransition)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(BEYOND) == []
    faint = page.evaluate(FAINT)
    assert faint["seen"] > 100
    assert faint["found"] == []
    # What papers report stays in sight when the table is scrolled.
    page.locator("#board .sb-scroll").evaluate("e => { e.scrollLeft = e.scrollWidth; }")
    box = page.locator("#board .sb-source").first.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width


def test_an_entry_of_one_training_domain_opens(id_served: str, open_page: Open) -> None:
    board = open_page(f"{id_served}?board=boss/sa")
    # Following the link at once would cut off what the first page still loads, which the browser logs as an error.
    page = open_page(id_served + str(board.get_by_role("link", name="Good model").get_attribute("href")))
    page.wait_for_selector("#plot-ST .main-svg")
    tiles = page.locator("#entry-about .sb-tiles dt").all_inner_texts()
    assert tiles[:6] == ["Mean OOD", "amazon (ID)", "dynasent", "semeval", "sst", "ID \N{MINUS SIGN} OOD"]
    assert "no TT, so no TD" in page.locator("#entry-missing").inner_text()
