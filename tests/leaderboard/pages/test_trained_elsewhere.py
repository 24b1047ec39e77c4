"""A model that was trained outside the dataset: accepted, scored on every domain, and marked wherever it is shown."""

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.board import Index
from shiftbench.leaderboard.store import Store
from shiftbench.scoring.reports.report_page import folder_report
from shiftbench.scoring.reports.terminal import score_lines
from shiftbench.scoring.scores.score import score_file
from shiftbench.scoring.scores.shape import Scores
from shiftbench.validation.cards import Card
from shiftbench.validation.plain_console import print_parts
from tests.leaderboard.conftest import Visible, predict
from tests.leaderboard.id_folder import id_predictions
from tests.leaderboard.pages.board_table import rows


def test_the_board_marks_it_beside_zero_shot(
    id_folder: DatasetFolder, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    store = Store(tmp_path / "store")
    for name, source in (("Away", "elsewhere"), ("Zero", "none"), ("Home", "amazon")):
        id_predictions(id_folder, "sa", source).write_parquet(tmp_path / "p.parquet")
        card = Card(name=name, paradigm="fine-tuned", data=id_folder.content_hash)
        store.submit(tmp_path / "p.parquet", card, [id_folder])
    index = Index([id_folder], store)
    assert index.settle()
    scored = [row for row in rows(index, "board=boss/sa").rows if len(row) > 1]
    words = {row[2][:4]: row[2] for row in scored}
    assert {name: " ".join(cell.split()) for name, cell in words.items()} == wording


@pytest.fixture
def predictions(synthetic: DatasetFolder, tmp_path: Path) -> Path:
    path = tmp_path / "p.parquet"
    predict(synthetic, ["elsewhere"], 0.2).write_parquet(path)
    return path


def scored_elsewhere(folder: DatasetFolder, path: Path) -> Scores:
    return score_file(path, folder)


def test_report_and_terminal_mark_it(synthetic: DatasetFolder, predictions: Path) -> None:
    scores = scored_elsewhere(synthetic, predictions)
    assert all(shift.sd.value is None and shift.td.value is None for shift in scores.tasks[0].shifts)
    assert scores.tasks[0].summary.mean_st.value is not None
    lines = StringIO()
    print_parts(score_lines(scores), Console(file=lines, width=120))
    report = Visible(folder_report(predictions, scores, synthetic)).text
    assert all("elsewhere" in text for text in (report, lines.getvalue()))
