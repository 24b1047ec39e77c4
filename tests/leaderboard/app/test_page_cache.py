"""Pages of boards are rendered again when, and only when, something on a board has changed."""

from pathlib import Path

from fastapi.responses import HTMLResponse, Response

from shiftbench.leaderboard.app.page_cache import MOST_PAGES, PageCache
from shiftbench.leaderboard.board import Index
from shiftbench.leaderboard.store import Store
from tests.leaderboard.conftest import Filled
from tests.leaderboard.pages.board_table import fresh_copy
from tests.leaderboard.release.gold import build_gold


class Pages:
    """Counts how often each address is rendered."""

    def __init__(self, index: Index) -> None:
        self.index, self.cache, self.rendered = index, PageCache(), list[str]()

    def get(self, address: str, status: int = 200) -> bytes:
        def write() -> Response:
            self.rendered.append(address)
            return HTMLResponse(f"{address} {len(self.rendered)}", status)

        return bytes(self.cache.answer(self.index, address, write).body)


def test_a_page_is_rendered_once_for_each_address_until_the_store_changes(filled: Filled, tmp_path: Path) -> None:
    store = Store(fresh_copy(filled, tmp_path))
    pages = Pages(Index([filled.folder], store))
    assert pages.index.settle()
    assert pages.get("/") == pages.get("/") == b"/ 1"
    assert pages.get("/?q=a") == b"/?q=a 2"
    pages.index.refresh()
    assert pages.get("/") == b"/ 1", "nothing has changed"
    store.withdraw(filled.entries["good"].id, filled.entries["good"].submitter)
    pages.index.refresh()
    assert pages.get("/") == b"/ 3"
    store.behind = "the Hub does not answer"
    assert pages.get("/") == b"/ 4", "the page says so"


def test_missing_pages_are_not_kept_and_few_others(index: Index) -> None:
    pages = Pages(index)
    assert pages.get("/nothing", 404) != pages.get("/nothing", 404)
    for number in range(MOST_PAGES + 1):
        pages.get(f"/?q={number}")
    n = len(pages.rendered)
    pages.get(f"/?q={MOST_PAGES}")
    assert len(pages.rendered) == n
    pages.get("/?q=0")
    assert len(pages.rendered) == n + 1, "the oldest one gave way"


def test_pages_of_withheld_labels_are_never_kept(tmp_path: Path) -> None:
    pages = Pages(Index([build_gold(tmp_path / "gold", 40)], Store(tmp_path / "store")))
    assert pages.get("/") != pages.get("/")
