"""The front page: the gap of the fullest board, what its data say, and never a board where nothing is ranked."""

import re
from pathlib import Path

import pytest

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.board import Index
from shiftbench.leaderboard.pages.front_page import front_page
from shiftbench.leaderboard.store import Store
from tests.leaderboard.conftest import Filled, Visible


@pytest.fixture(scope="module")
def index(filled: Filled, id_folder: DatasetFolder) -> Index:
    found = Index([id_folder, filled.folder], filled.store)
    assert found.settle()
    return found


def test_the_figure_is_of_a_board_with_ranked_models(index: Index) -> None:
    page = str(front_page(index))
    shown = Visible(page)
    assert shown.text.startswith("How much accuracy do NLP models lose in a new domain?")
    frame = index.frame(next(board for board in index.boards() if board.name == "synthetic/nli"))
    ranked = frame.filter("complete")
    assert "/?board=synthetic/nli" in shown.links
    rows = re.findall(r'<th scope="row"><a href="([^"]*)">', page)
    assert rows == [f"/entry?id={identity}&amp;task=nli" for identity in ranked["id"]]
    assert page.count('class="sb-gap"') >= ranked.height
    for door in ("Check my model", "Submit", "Methodology"):
        assert door in shown.text
    assert {"/?benchmark=boss", "/?benchmark=synthetic"} <= set(shown.links)
    assert "No entries yet." in shown.text


def test_three_sentences_say_what_the_data_say(index: Index) -> None:
    text = Visible(front_page(index)).text
    assert re.search(r"Best under shift: .* with [\d.]+, 0\.0 points above the next: statistically tied with", text)
    assert re.search(r"Hardest domain: \w+, where models of other domains score [\d.]+; ", text)
    assert "Placebo: no placebo results yet (the same texts with domains assigned at random)" in text


def test_without_entries_it_leads_to_the_benchmarks(id_folder: DatasetFolder, tmp_path: Path) -> None:
    shown = Visible(front_page(Index([id_folder], Store(tmp_path))))
    assert "How much accuracy" in shown.text
    assert "table" not in shown.tags
    assert "No data" in front_page(Index([], Store(tmp_path / "other")))
