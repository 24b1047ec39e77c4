"""Submitting as a visitor does, in headless Chromium: by the page, with and without script, and by Gradio's."""

import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shiftbench.leaderboard.app.server import serve
from shiftbench.leaderboard.store import Store
from shiftbench.validation.cards import write_card
from tests.leaderboard.app.chromium import TASK, Open, entries, follow, ready_to_submit
from tests.leaderboard.app.test_server import free_port
from tests.leaderboard.conftest import SCRIPT, Filled, predict

pytestmark = pytest.mark.browser


def bad_file(filled: Filled, folder: Path) -> Path:
    path = folder / "bad.parquet"
    pl.read_parquet(filled.files["good"]).rename({"prediction": "predicton"}).write_parquet(path)
    return path


def test_problems_appear_as_soon_as_a_file_is_chosen(
    pages_served: tuple[str, Filled], open_page: Open, tmp_path: Path
) -> None:
    url, filled = pages_served
    page = open_page(f"{url}/submit")
    page.select_option("#board", "synthetic/nli")
    page.set_input_files("#file", bad_file(filled, tmp_path))
    page.locator("#submit-answer li").filter(has_text="did you mean 'prediction'?").wait_for()
    assert page.locator("#card-name").input_value() == "bad"
    assert page.locator("#submit-kept").inner_text().startswith("bad.parquet")
    page.set_input_files("#file", filled.files["good"])
    page.locator("#submit-answer li").filter(has_text="'paradigm'").wait_for()
    page.select_option("#card-paradigm", "fine-tuned")
    page.get_by_text("nothing is stored yet").wait_for()
    assert page.url == f"{url}/submit"  # nothing was loaded again
    page.locator("#card-licence").fill(SCRIPT)
    page.locator("#card-licence").blur()
    page.get_by_role("button", name="Check", exact=True).click()
    page.get_by_text("nothing is stored yet").wait_for()
    assert page.locator("#card-licence").input_value() == SCRIPT
    assert page.title() != "owned"


def without_script(browser: Any, url: str) -> Any:
    page = browser.browser.new_context(java_script_enabled=False).new_page()
    page.set_default_timeout(15_000)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(url)
    assert len(requests) <= 5, requests
    return page


def test_without_script_a_submission_lands_on_the_board_and_leaves_it(
    filled: Filled, browser: Any, open_page: Open, tmp_path: Path
) -> None:
    shutil.copytree(filled.store.root, tmp_path / "store")
    name = "From the page"
    card = filled.card("poor").model_copy(update={"name": name})
    write_card(card, tmp_path / "new.card.yaml")
    predict(filled.folder, filled.folder.task("nli").domains, 0.3).write_parquet(tmp_path / "middling.parquet")
    server = serve([filled.folder], Store(tmp_path / "store"), port=free_port(), block=False)
    try:
        page = without_script(browser, f"{server.url}/submit")
        page.select_option("#board", "synthetic/nli")
        page.set_input_files("#file", tmp_path / "middling.parquet")
        page.set_input_files("#card_file", tmp_path / "new.card.yaml")
        page.get_by_role("button", name="Check", exact=True).click()
        page.get_by_text("nothing is stored yet").wait_for()
        assert page.locator("#card-name").input_value() == name
        page.get_by_role("button", name="Submit", exact=True).click()
        page.get_by_text("Accepted as").wait_for()
        page.get_by_role("button", name="Submit", exact=True).click()
        page.get_by_text("This file and card were already submitted").wait_for()
        entry = page.locator("#submit-answer a").first.inner_text()
        follow(page, page.locator("#submit-answer a").first)
        assert page.locator("h1").inner_text() == name
        board = open_page(server.url + TASK)
        assert name in entries(board)[:4]
        page = without_script(browser, f"{server.url}/submit")
        page.get_by_text("Withdraw an entry of yours").click()
        page.locator("#entry").fill(entry)
        page.get_by_role("button", name="Withdraw", exact=True).click()
        page.get_by_text(f"Entry {entry} is withdrawn").wait_for()
        assert name not in entries(open_page(server.url + TASK))
    finally:
        server.close()


def test_gradios_page_has_the_same_head_width_and_foot_and_lists_problems(
    pages_served: tuple[str, Filled], open_page: Open, tmp_path: Path
) -> None:
    url, filled = pages_served
    own = open_page(f"{url}/submit")
    page = open_page(f"{url}/gradio")
    ready_to_submit(page)
    for part in (".sb-head", ".sb-foot"):
        boxes = [each.locator(part).bounding_box() for each in (own, page)]
        assert abs(boxes[0]["x"] - boxes[1]["x"]) <= 1
        assert abs(boxes[0]["width"] - boxes[1]["width"]) <= 1
        assert own.locator(part).inner_text() == page.locator(part).inner_text()
    page.set_input_files("#prediction-file input[type=file]", bad_file(filled, tmp_path))
    page.locator("#prediction-file").get_by_text("bad").first.wait_for()
    page.locator("#card-text textarea").fill(f"name: x\nparadigm: {SCRIPT}\n")
    page.get_by_role("button", name="Check", exact=True).click()
    page.locator("#answer li").filter(has_text="did you mean 'prediction'?").wait_for()
    told = page.locator("#answer li").all_inner_texts()
    assert any("key 'paradigm'" in line and SCRIPT in line for line in told)
    assert f" {len(told)} problems." in page.locator("#answer strong").inner_text()
