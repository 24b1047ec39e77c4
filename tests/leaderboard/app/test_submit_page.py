"""Submitting as a visitor does, in headless Chromium: problems, the card as a form, an entry that comes and goes."""

import shutil
from pathlib import Path

import polars as pl
import pytest
import yaml

from shiftbench.leaderboard.app.server import serve
from shiftbench.leaderboard.store import Store
from shiftbench.validation.cards import write_card
from tests.leaderboard.app.chromium import TASK, Open, entries, follow, ready_to_submit
from tests.leaderboard.app.test_server import free_port
from tests.leaderboard.conftest import SCRIPT, Filled, predict

pytestmark = pytest.mark.browser


def test_a_bad_submission_lists_its_problems(pages_served: tuple[str, Filled], open_page: Open, tmp_path: Path) -> None:
    url, filled = pages_served
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


def test_the_form_writes_the_card(pages_served: tuple[str, Filled], open_page: Open) -> None:
    url, filled = pages_served
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
    predict(filled.folder, filled.folder.task("nli").domains, 0.3).write_parquet(tmp_path / "middling.parquet")
    server = serve([filled.folder], Store(tmp_path / "store"), port=free_port(), block=False)
    try:
        page = open_page(f"{server.url}/submit")
        ready_to_submit(page)
        page.set_input_files("#prediction-file input[type=file]", tmp_path / "middling.parquet")
        page.locator("#prediction-file").get_by_text("middling").first.wait_for()
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
        follow(page, page.locator("#answer a").first)
        page.wait_for_selector("svg[role=img]")
        assert page.locator("h1").inner_text() == "From the page"
        board = open_page(server.url + TASK)
        assert "From the page" in entries(board)[:4]
        assert entries(board).index("From the page") < entries(board).index("Poor model")
        page = open_page(f"{server.url}/submit")
        ready_to_submit(page)
        page.get_by_text("Withdraw an entry of yours").click()
        page.locator("#withdraw-id input, #withdraw-id textarea").fill(entry)
        page.get_by_role("button", name="Withdraw", exact=True).click()
        page.get_by_text(f"Entry {entry} is withdrawn").wait_for()
        assert "From the page" not in entries(open_page(server.url + TASK))
    finally:
        server.close()
