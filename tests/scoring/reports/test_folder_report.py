"""The report of predictions on a dataset folder."""

from pathlib import Path

from typer.testing import CliRunner

from shiftbench.cli.command import app
from tests.leaderboard.conftest import Filled, Visible


def test_a_dataset_folder_has_a_report_too(tmp_path: Path, filled: Filled) -> None:
    report = tmp_path / "report.html"
    command = ["score", str(filled.files["good"]), "--data", str(filled.folder.path), "--report", str(report)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    shown = Visible(report.read_text(encoding="utf-8"))
    assert "Synthetic data." in shown.text
    assert "that it got wrong" in shown.text
