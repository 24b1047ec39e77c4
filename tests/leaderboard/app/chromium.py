"""Headless Chromium, how tests open pages in it, and what they do there."""

import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

CHROMIUM = "/usr/bin/chromium"
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
TASK = "/?board=synthetic/nli"
"""The board that the entries are on; the front page has one line a model."""
Open = Callable[..., Any]


def leaves(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme not in ("data", "blob") and parts.hostname != "127.0.0.1"


def entries(page: Any) -> list[str]:
    found: list[str] = page.locator("#board-rows tbody th[scope=row] a:not(.sb-icon)").all_inner_texts()
    return found


def until(page: Any, met: Callable[[], bool]) -> None:
    """Wait for a condition; pages let no text be evaluated as script, which playwright's own wait would do."""
    deadline = time.monotonic() + 15
    while not met():
        assert time.monotonic() < deadline
        page.wait_for_timeout(30)


def follow(page: Any, element: Any) -> None:
    """Click what leads to another page, and wait for that page: a click alone may return before it is there."""
    with page.expect_navigation():
        element.click()


def ready_to_submit(page: Any) -> None:
    page.get_by_role("button", name="Check", exact=True).wait_for()


def violations(page: Any) -> list[str]:
    """List what axe-core finds wrong with a page, of any impact; contrast must have been checked."""
    from axe_playwright_python.sync_playwright import Axe

    options = {"resultTypes": ["violations", "passes"]}
    found = Axe().run(page, options=options).response
    checked = [rule["nodes"] for rule in found["passes"] if rule["id"] == "color-contrast"]
    assert checked
    assert len(checked[0]) > 10
    return [
        f"{rule['id']} ({rule['impact']}): {node['target']} {node['html'][:120]} {node.get('failureSummary', '')[:200]}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]
