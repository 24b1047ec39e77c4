"""The front page: the gap of the fullest board, what its data say, and never a board where nothing is ranked."""

import re
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.board import Index
from shiftbench.leaderboard.pages.front_page import front_page
from shiftbench.leaderboard.store import Store
from tests.leaderboard.conftest import SCRIPT, Filled, Visible


@pytest.fixture(scope="module")
def index(filled: Filled, id_folder: DatasetFolder) -> Index:
    found = Index([id_folder, filled.folder], filled.store)
    assert found.settle()
    return found


def test_the_figure_is_of_a_board_with_ranked_models(index: Index, filled: Filled, wording: SnapshotAssertion) -> None:
    page = str(front_page(index))
    shown = Visible(page)
    # Which of two equal entries stands first is not told here.
    lines = shown.lines.replace(SCRIPT, filled.card("good").name)
    assert re.sub(" (leads|tied)$", "", lines, flags=re.MULTILINE) == wording
    frame = index.frame(next(board for board in index.boards() if board.name == "synthetic/nli"))
    ranked = frame.filter("complete")
    assert "/?board=synthetic/nli" in shown.links
    rows = re.findall(r'<th scope="row"><a href="([^"]*)">', page)
    assert rows == [f"/entry?id={identity}&amp;task=nli" for identity in ranked["id"]]
    assert page.count('class="sb-gap"') >= ranked.height
    assert {"/?benchmark=boss", "/?benchmark=synthetic"} <= set(shown.links)


def test_without_entries_it_leads_to_the_benchmarks(
    id_folder: DatasetFolder, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    shown = Visible(front_page(Index([id_folder], Store(tmp_path))))
    assert "table" not in shown.tags
    assert [shown.lines, Visible(front_page(Index([], Store(tmp_path / "other")))).lines] == wording
