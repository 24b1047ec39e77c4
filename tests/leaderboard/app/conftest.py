"""A browser and a served store, one for each file of tests of pages."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shiftbench.leaderboard.app.server import serve
from tests.leaderboard.app.chromium import CHROMIUM, FLAGS, Open, leaves
from tests.leaderboard.app.test_server import free_port
from tests.leaderboard.app.waiting import gradio_of
from tests.leaderboard.conftest import Filled, fill


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
def pages_served(filled: Filled, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Filled]]:
    own = fill(filled.folder, tmp_path_factory.mktemp("shown"))
    server = serve([own.folder], own.store, port=free_port(), block=False)
    try:
        gradio_of(server.url)
        yield server.url, own
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
