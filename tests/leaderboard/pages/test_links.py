"""A card's links: with their names on an entry's page, as icons on boards; never to anything but https."""

from pathlib import Path
from typing import Any

import pytest

from shiftbench.leaderboard.board import Index
from shiftbench.leaderboard.pages.board_page import overall_fragment, rows_fragment
from shiftbench.leaderboard.pages.board_query import OverallQuery
from shiftbench.leaderboard.pages.shell import card_links, macro
from shiftbench.leaderboard.store import Store
from shiftbench.validation.cards import Card
from tests.leaderboard.conftest import Filled, Visible
from tests.leaderboard.pages.board_table import query

FACTS: dict[str, Any] = {
    "paper_url": "https://example.org/paper",
    "code_url": "https://example.org/code",
    "base_model": "microsoft/deberta-v3-large",
    "url": None,
}


def test_every_link_has_a_name(filled: Filled) -> None:
    icons = macro("links.html", "icons", card_links(FACTS), 'Mine "1"')
    for words in ("Paper of", "Code of", "Base model of"):
        assert f'aria-label="{words} Mine &#34;1&#34;"' in icons
    assert Visible(icons).text == ""
    assert Visible(icons).links == [*list(FACTS.values())[:2], "https://huggingface.co/microsoft/deberta-v3-large"]
    named = Visible(macro("links.html", "named", card_links(FACTS)))
    assert named.text.startswith("PaperCode")
    assert named.links == Visible(icons).links


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"base_model": "a base model"},
        {"base_model": "../x/y"},
        {"url": "javascript:alert(1)"},
        {"url": "http://x.org"},
    ],
)
def test_what_is_no_safe_address_is_no_link(facts: dict[str, str]) -> None:
    assert card_links(facts) == {}


def test_boards_have_the_links_of_their_entries(filled: Filled, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    card = Card(name="Linked", paradigm="fine-tuned", data=filled.folder.content_hash, **FACTS)
    store.submit(filled.files["good"], card, [filled.folder])
    store.submit(filled.files["poor"], filled.card("poor"), [filled.folder])
    index = Index([filled.folder], store)
    assert index.settle()
    overall = overall_fragment(index, OverallQuery.parse([], index))
    for shown in (rows_fragment(index, query(index)), overall):
        assert shown.count(' of Linked"') == 3
        assert shown.count('class="sb-icons"') == 1
    # Also from what the index keeps.
    again = Index([filled.folder], store)
    assert ' of Linked"' in rows_fragment(again, query(again))
