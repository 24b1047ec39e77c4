"""The board's table as tests read it."""

import shutil
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import parse_qsl

from shiftbench.leaderboard.board import Index
from shiftbench.leaderboard.pages.board_page import rows_fragment
from shiftbench.leaderboard.pages.board_query import BoardQuery
from tests.leaderboard.conftest import Filled


class Table(HTMLParser):
    """The cells of the board's body as texts, a list a row; headings of groups are one cell."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.heads: dict[str, str | None] = {}
        self.addresses: dict[str, str] = {}
        self.titles: list[str] = []
        self.images: list[str] = []
        self._in_title = False
        self._in_head = False
        self._is_over = False
        self.feed(str(markup))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        assert not any(name.startswith("on") for name in found)
        assert tag != "script"
        if tag in ("thead", "tbody"):
            self._in_head = tag == "thead"
        elif tag == "tr" and not self._in_head:
            self.rows.append([])
        elif tag in ("td", "th") and not self._in_head:
            self.rows[-1].append("")
        elif tag in ("th", "td"):
            self.heads[str(len(self.heads))] = found.get("aria-sort")
        elif tag == "a" and found.get("id"):
            self.addresses[str(found["id"])] = str(found["href"])
        elif tag == "title":
            self._in_title = True
        elif tag == "svg" and not self._in_head:
            self.images.append(str(found.get("class")))

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        elif tag == "table":
            self._is_over = True

    def handle_data(self, data: str) -> None:
        if self._in_title:
            if not self._in_head:
                self.titles.append(data)
        elif self.rows and not self._in_head and self.rows[-1] and not self._is_over:
            self.rows[-1][-1] += data


def query(index: Index, asked: str = "") -> BoardQuery:
    return BoardQuery.parse(parse_qsl(asked, keep_blank_values=True), index)


def rows(index: Index, asked: str = "") -> Table:
    return Table(rows_fragment(index, query(index, asked)))


def fresh_copy(filled: Filled, tmp_path: Path) -> Path:
    """Copy the store without what an index kept of it: cards are changed here, as they never are."""
    root = tmp_path / "store"
    shutil.copytree(filled.store.root, root, ignore=shutil.ignore_patterns("index"))
    return root
