"""The page as a visitor sees it, in headless Chromium: no error may be logged, and no request leave this machine."""

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import polars as pl
import pytest

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.app.server import serve
from shiftbench.leaderboard.store import Store
from tests.leaderboard.app.chromium import TASK, Open, entries, follow, ready_to_submit, until, violations
from tests.leaderboard.app.test_server import free_port
from tests.leaderboard.conftest import GOOD, PARTIAL, POOR, SCRIPT, ZERO_SHOT, Filled
from tests.leaderboard.id_folder import fill_id_store

pytestmark = pytest.mark.browser

PAGES = (
    "/",
    "/?benchmark=synthetic",
    TASK,
    TASK + "&view=full",
    TASK + "&x=score",
    "/domains?board=synthetic/nli",
    "/entry?id={partial}",
    "/entry?id={good}&tab=statistics",
    "/entry?id={good}&tab=errors",
    "/entry?id={good}&tab=card",
    "/compare?id={good}&id={poor}",
    "/compare?id={good}&id={poor}&id={script}&id={partial}&id={zero-shot}",
    "/data",
    "/about",
    "/submit",
    "/gradio",
)

# Elements whose own text has too little contrast with what is painted behind it.
FAINT = """() => {
  const parse = (text) => (text.match(/[\\d.]+/g) || []).map((v) => (text.startsWith('color(') ? 255 : 1) * v);
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
def id_served(id_folder: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of a benchmark with one training domain a task."""
    store = fill_id_store(id_folder, tmp_path_factory.mktemp("id-shown"))
    server = serve([id_folder], store, port=free_port(), block=False)
    try:
        yield server.url
    finally:
        server.close()


def test_the_board_ranks_sorts_filters_and_is_exported(pages_served: tuple[str, Filled], open_page: Open) -> None:
    url, _ = pages_served
    page = open_page(url + TASK)
    names = entries(page)
    assert sorted(names[:2]) == sorted([GOOD, SCRIPT])
    assert names[2:] == [ZERO_SHOT, POOR, PARTIAL]
    head = page.locator("#board-rows thead th").filter(has_text=re.compile("^In domain$"))
    for order, best in (("descending", GOOD), ("ascending", POOR)):
        head.locator("a").click()
        page.locator(f"#board-rows thead th[aria-sort={order}]").filter(has_text=re.compile("^In domain$")).wait_for()
        ranked = [name for name in entries(page) if name in (GOOD, POOR)]
        assert ranked[0] == best
        # What is missing stays last in either direction.
        assert entries(page)[-2:] == [ZERO_SHOT, PARTIAL]
    assert "sort=mean_ss" in page.url
    page.locator(".sb-chip-row[aria-label=Kind]").get_by_role("link", name="zero-shot").click()
    until(page, lambda: len(entries(page)) == 1)
    assert "paradigm=zero-shot" in page.url
    assert "board=synthetic/nli" in page.url
    # The address alone gives the same rows, and so does the browser's way back.
    assert entries(open_page(page.url)) == [ZERO_SHOT]
    page.go_back()
    until(page, lambda: len(entries(page)) == 5)
    page.locator("input[name=q]").fill("poor")
    until(page, lambda: len(entries(page)) == 1)
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    table = pl.read_csv(download.value.path())
    assert table["name"].to_list() == [POOR]
    assert 0 < table["mean_st"][0] < 1


def test_the_board_works_without_script(browser: Any, pages_served: tuple[str, Filled]) -> None:
    context = browser.browser.new_context(java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto(pages_served[0] + TASK)
        page.locator("input[name=q]").fill("poor")
        follow(page, page.get_by_role("button", name="Search"))
        assert entries(page) == [POOR]
        follow(page, page.get_by_role("rowheader").get_by_role("link", name=POOR))
        assert page.locator("h1").inner_text() == POOR
    finally:
        context.close()


def test_a_phone_shows_cards_and_all_columns_without_script(browser: Any, pages_served: tuple[str, Filled]) -> None:
    context = browser.browser.new_context(java_script_enabled=False, viewport={"width": 390, "height": 844})
    try:
        page = context.new_page()
        page.goto(pages_served[0] + TASK)
        # The first card is on a phone's first screen, with its gap and its loss, and can be picked there.
        first = page.locator("#board-rows tbody tr").first
        box = first.bounding_box()
        assert box["y"] + box["height"] < 844
        for part in ("input[type=checkbox]", "svg.sb-gap", "th a", "td[data-head=Loss]"):
            assert first.locator(part).first.is_visible()
            inside = first.locator(part).first.bounding_box()
            assert inside["x"] >= 0
            assert inside["x"] + inside["width"] <= 390
        assert "[" not in first.locator("td.sb-fig").first.inner_text()
        follow(page, page.get_by_role("link", name="Full", exact=True))
        assert "[" in first.locator("td.sb-fig").first.inner_text()
        follow(page, page.get_by_role("link", name="Scatter plot"))
        page.goto(pages_served[0] + page.locator(".sb-scatter a").last.get_attribute("href"))
        assert page.locator("h1").inner_text() in (GOOD, POOR, SCRIPT)
    finally:
        context.close()


def test_the_front_page_leads_to_the_boards(pages_served: tuple[str, Filled], open_page: Open) -> None:
    page = open_page(pages_served[0])
    assert page.locator("svg.sb-gap[role=img]").count() == 4
    follow(page, page.get_by_role("heading", level=3).get_by_role("link", name="Synthetic"))
    assert set(entries(page)) == {GOOD, POOR, ZERO_SHOT, SCRIPT}
    page.locator("input[name=q]").fill("poor")
    until(page, lambda: entries(page) == [POOR])
    follow(page, page.locator(".sb-chip", has_text="Inference"))
    page.get_by_role("heading", name="Inference").wait_for()
    # Rows pass below the head, which stays at the window's top.
    page.set_viewport_size({"width": 1280, "height": 300})
    page.locator("#board-rows tbody tr").last.evaluate("row => row.scrollIntoView({block: 'start'})")
    head = page.locator("#board-rows thead th").first.bounding_box()
    assert abs(head["y"]) < 3


def test_few_stops_of_the_keyboard_come_before_the_first_row(pages_served: tuple[str, Filled], open_page: Open) -> None:
    page = open_page(pages_served[0] + TASK)
    stops, in_row = 0, "document.activeElement.closest('#board-rows tbody tr') !== null"
    while not page.evaluate(in_row):
        page.keyboard.press("Tab")
        stops += 1
        assert stops <= 40
    page.goto(pages_served[0] + TASK)
    fetched: list[str] = []
    page.on("request", lambda request: fetched.append(request.url))
    for words in ("Skip to content", "Skip to the table"):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == words
        before = page.url
        page.keyboard.press("Enter")
        until(page, lambda before=before: page.url != before)  # type: ignore[misc]
    for _ in range(8):
        page.keyboard.press("Tab")
        if page.evaluate(in_row):
            break
    else:
        raise AssertionError("the first row is further away")
    assert not fetched, "rows that are fetched again take the place in the page with them"


def test_an_entrys_page(pages_served: tuple[str, Filled], open_page: Open) -> None:
    url, filled = pages_served
    page = open_page(url + TASK)
    follow(page, page.get_by_role("rowheader").get_by_role("link", name=POOR))
    assert page.locator("h1").inner_text() == POOR
    assert f"id={filled.entries['poor'].id}" in page.url
    # At first sight: one sentence, one matrix, one shift; at most 400 words on two screens, one tab of each kind.
    assert page.locator("table.sb-cells").count() == 1
    assert len(page.locator("main").inner_text().split()) <= 400
    assert page.evaluate("document.documentElement.scrollHeight") <= 2 * 900
    assert page.locator(".sb-tabbar a").all_inner_texts() == ["Overview", "Errors", "Statistics", "Card"]
    # A cell opens its shift beside the matrix, with what tells whether it is real, and texts that it got wrong.
    cell = page.locator("table.sb-cells tbody tr").first.locator("td a").last
    lost, (source, target) = cell.inner_text(), (page.locator(f"table.sb-cells {at}").inner_text() for at in (
        "tbody tr:first-child th", "thead th:last-child"))  # fmt: skip
    follow(page, cell)
    assert page.locator("#shift").inner_text() == f"{source} \N{RIGHTWARDS ARROW} {target}"
    assert page.locator(".sb-detail .sb-v").first.inner_text() == lost
    assert page.locator(".sb-detail dt", has_text="Significance").is_visible()
    assert page.locator(".sb-examples li").first.is_visible()
    follow(page, page.locator(".sb-tabbar").get_by_role("link", name="Statistics"))
    assert page.locator("figure svg[role=img].sb-picture").count() == 2
    assert page.locator("main :is(h2, h3, figure):not([id])").count() == 0
    zero = open_page(f"{url}/entry?id={filled.entries['zero-shot'].id}")
    assert zero.locator("table.sb-cells").count() == 1
    # An entry that is not there is the one thing that the browser may call an error.
    assert "no such" in httpx.get(f"{url}/entry?id=nonsense").text


def test_entries_are_picked_and_compared(pages_served: tuple[str, Filled], open_page: Open) -> None:
    page = open_page(pages_served[0] + TASK)
    for name in (GOOD, POOR):
        row = page.locator("#board-rows tr").filter(has=page.get_by_role("link", name=name, exact=True))
        row.locator("input[type=checkbox]").check()
    follow(page, page.get_by_role("button", name="Compare selected"))
    page.wait_for_selector("table")
    text = page.locator("main").inner_text()
    assert GOOD in text
    assert POOR in text
    assert "trained" in text  # one run each: nothing is said of the recipes
    for words in ("\\toprule", "@misc", "| "):
        assert words in page.locator("main").text_content()


def test_a_script_in_a_card_is_shown_and_not_run(pages_served: tuple[str, Filled], open_page: Open) -> None:
    url, filled = pages_served
    bad, good = filled.entries["script"].id, filled.entries["good"].id
    for path in ("/", TASK, f"/entry?id={bad}", f"/compare?id={bad}&id={good}"):
        page = open_page(url + path)
        page.locator("main").get_by_text(SCRIPT).first.wait_for(state="attached", timeout=60_000)
        assert "shiftbench" in page.title()
        assert "owned" not in page.title()
    unknown = httpx.get(f"{url}/compare", params={"id": [SCRIPT, good]})  # a browser notes the status as an error
    assert (unknown.status_code, SCRIPT in unknown.text, html.escape(SCRIPT)[:20] in unknown.text) == (404, False, True)
    page = open_page(f"{url}/?q={SCRIPT}")
    assert page.locator("input[name=q]").input_value() == SCRIPT
    for field in ("sort", "view", "page", "paradigm"):
        assert "owned" not in open_page(f"{url}{TASK}&{field}={SCRIPT}").title()
    for path in ("/?board", "/?benchmark", "/data?task", f"/compare?id={good}&id", "/forecast?board"):
        answer = httpx.get(f"{url}{path}={quote(SCRIPT)}", headers={"accept": "text/html"})
        assert (answer.status_code, SCRIPT in answer.text, html.escape(SCRIPT)[:20] in answer.text) == (
            404,
            False,
            True,
        )
    page = open_page(f"{url}/entry?id={bad}&tab=card")
    for summary in page.locator("summary").all():
        summary.click()
    assert page.locator("main").inner_text().count(SCRIPT) >= 4


@pytest.mark.parametrize(("scheme", "widths"), [("light", (390,)), ("dark", (360, 1280))])
@pytest.mark.parametrize("path", PAGES)
def test_every_page_is_readable_and_no_wider_than_the_window(
    pages_served: tuple[str, Filled], open_page: Open, path: str, scheme: str, widths: tuple[int, ...]
) -> None:
    url, filled = pages_served
    page = open_page(url + path.format(**{name: entry.id for name, entry in filled.entries.items()}), widths[0], scheme)
    if path.startswith("/compare"):
        page.wait_for_selector("table", timeout=60_000)
    if path == "/gradio":
        ready_to_submit(page)
        page.get_by_role("button", name="Check").click()
        page.wait_for_selector("#answer .sb-bad")
    for width in widths:
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("innerWidth") == width
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(BEYOND) == []
        faint = page.evaluate(FAINT)
        assert faint["seen"] > 10
        assert faint["found"] == []
    assert violations(page) == []


def test_the_keyboard_reaches_the_board(pages_served: tuple[str, Filled], open_page: Open) -> None:
    page = open_page(pages_served[0] + TASK)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "sb-skip"
    reached = []
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.name || document.activeElement.textContent.trim()"))
    assert {"q", "fine-tuned", GOOD} <= set(reached)


def test_an_empty_store_says_what_fills_it(filled: Filled, open_page: Open, tmp_path: Path) -> None:
    server = serve([filled.folder], Store(tmp_path / "store"), port=free_port(), block=False)
    try:
        open_page(server.url).get_by_text("No entries yet.").wait_for()
        open_page(f"{server.url}/?benchmark=synthetic").get_by_text("No entries yet on this benchmark").wait_for()
        page = open_page(server.url + TASK)
        page.get_by_text("No entries yet on this board").wait_for()
        assert entries(page) == []
        open_page(f"{server.url}/compare").locator(".sb-empty").wait_for()
    finally:
        server.close()


def test_a_board_of_one_training_domain_has_id_and_ood_columns(id_served: str, open_page: Open) -> None:
    page = open_page(f"{id_served}/?board=boss/sa&view=full")
    heads = " ".join(page.locator("#board-rows thead th").all_inner_texts())
    for name in ("In domain", "Under shift", "Loss", "Dynasent", "SemEval", "SST"):
        assert name in heads
    page.get_by_role("link", name="Show 24 rows that papers report").click()
    page.locator("#board-rows").get_by_text("BOSS Table 5").first.wait_for()
    text = page.locator("#board-rows").inner_text()
    assert {"Vanilla", "EDA", "FreeLB"} <= set(page.locator("#board-rows tbody th[scope=row]").all_inner_texts()) | set(
        text.split()
    )
    page.get_by_role("link", name="Named entities", exact=True).click()
    page.get_by_role("heading", name="Named entities").wait_for()
    page = open_page(f"{id_served}/?board=boss/sa")
    page.get_by_role("rowheader").get_by_role("link", name=GOOD).click()
    follow(page, page.locator(".sb-tabbar").get_by_role("link", name="Statistics"))
    tiles = page.locator(".sb-tiles dt").all_inner_texts()
    assert any("OOD" in tile for tile in tiles)
