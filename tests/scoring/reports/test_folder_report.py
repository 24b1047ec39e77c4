"""The report of predictions on a dataset folder."""

import re
from pathlib import Path

import polars as pl
from typer.testing import CliRunner

from shiftbench.cli.command import app
from tests.leaderboard.conftest import Filled, Visible, predict


def test_a_dataset_folder_has_a_report_too(tmp_path: Path, filled: Filled) -> None:
    report = tmp_path / "report.html"
    command = ["score", str(filled.files["good"]), "--data", str(filled.folder.path), "--report", str(report)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "Synthetic data." in Visible(report.read_text(encoding="utf-8")).text


def test_each_heading_of_a_report_of_several_tasks_has_an_address_of_its_own(tmp_path: Path, filled: Filled) -> None:
    domains = list(filled.folder.task("sa").domains)
    both = pl.concat([pl.read_parquet(filled.files["good"]), predict(filled.folder, domains, 0.2, "sa")])
    both.write_parquet(tmp_path / "both.parquet")
    report = tmp_path / "report.html"
    command = ["score", str(tmp_path / "both.parquet"), "--data", str(filled.folder.path), "--report", str(report)]
    assert CliRunner().invoke(app, command).exit_code == 0
    page = report.read_text(encoding="utf-8")
    addresses = re.findall(r' id="([^"]+)"', page)
    assert len(addresses) > 12
    assert len(set(addresses)) == len(addresses)
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(addresses)
