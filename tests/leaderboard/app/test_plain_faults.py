"""Faults that pages once had and must not have again: each of them was seen by somebody who used them."""

import re
from typing import Any

import httpx
import pytest

from tests.leaderboard.app.chromium import TASK, Open
from tests.leaderboard.app.test_pages import PAGES
from tests.leaderboard.conftest import Filled

MOST_STOPS = 40
"""Tab stops from the first link of a board to its first row; there were 50."""


@pytest.mark.parametrize("path", [each for each in PAGES if each != "/gradio"])
def test_a_page_has_one_heading_of_its_own_and_no_empty_one(pages_served: tuple[str, Filled], path: str) -> None:
    url, filled = pages_served
    page = httpx.get(url + path.format(**{name: entry.id for name, entry in filled.entries.items()})).text
    assert len(re.findall(r"<h1[ >]", page)) == 1
    assert not re.search(r"<th[^>]*>\s*</th>", page)


def test_a_page_that_is_not_there_says_so_in_a_heading(pages_served: tuple[str, Filled]) -> None:
    for path in ("/nowhere", "/entry?id=0123456789abcdef", "/?board=none"):
        answer = httpx.get(pages_served[0] + path, headers={"accept": "text/html"})
        assert answer.status_code == 404
        assert len(re.findall(r"<h1[^>]*>([^<]+)", answer.text)) == 1


@pytest.mark.browser
def test_few_tab_stops_lie_before_the_first_row(pages_served: tuple[str, Filled], open_page: Open) -> None:
    page: Any = open_page(pages_served[0] + TASK)
    stops: list[str] = []
    while not page.evaluate("document.activeElement.closest('#board-rows tbody') !== null"):
        page.keyboard.press("Tab")
        stops.append(page.evaluate("document.activeElement.textContent.trim().slice(0, 40)"))
        assert len(stops) <= MOST_STOPS, stops
