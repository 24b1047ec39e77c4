"""``shiftbench check`` on a file in which a domain has no labels: it is forecast from the others."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner

from shiftbench.cli.command import app
from shiftbench.validation.notices import notes_on_stderr
from shiftbench.validation.report import InvalidInput
from tests.shiftbench.checked import stable

SITES = ("books", "films", "games", "music", "tools", "north")
OPTIONS = ["--columns", "domain=site,label=verdict,text=body", "--data", "mine.csv"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rng, found = np.random.default_rng(3), []
    for site in SITES:
        for number in range(80):
            chance = float(rng.uniform(0.55, 0.95))
            is_good = bool(rng.random() < 0.5)
            says_good = is_good == (rng.random() < chance)
            body = f"{site} {number} {'good' if says_good else 'bad'} {chance:.4f}"
            verdict = None if site == "north" else ("pos" if is_good else "neg")
            found.append((site, body, verdict))
    pl.DataFrame(found, schema=["site", "body", "verdict"], orient="row").write_csv(tmp_path / "mine.csv")
    (tmp_path / "calibrated_model.py").write_text(
        "def classify(texts):\n"
        "    found = []\n"
        "    for text in texts:\n"
        "        *_, word, chance = text.split()\n"
        "        p = float(chance) if word == 'good' else 1 - float(chance)\n"
        "        found.append({'pos': p, 'neg': 1 - p})\n"
        "    return found\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def check(*arguments: str) -> Any:
    with notes_on_stderr():
        return CliRunner().invoke(app, ["check", "calibrated_model:classify", *OPTIONS, *arguments])


def test_a_domain_without_labels_is_forecast_in_one_sentence(place: Path, wording: SnapshotAssertion) -> None:
    result = check("--trained-on", "books", "--json", "out.json")
    assert result.exit_code == 0, result.exception
    assert stable(result.output) == wording
    content = json.loads((place / "out.json").read_text())
    assert [each["domain"] for each in content["domains"]] == sorted(SITES[:-1])
    (shift,) = content["forecasts"]["tasks"][0]["shifts"]
    assert shift["target"] == "north"
    assert {each["method"]: each["value"] for each in shift["forecasts"]}["doc"] == pytest.approx(0.75, abs=0.08)
    again = check("--trained-on", "books", "--json", "again.json")
    assert "reused" in again.output
    assert json.loads((place / "again.json").read_text())["forecasts"] == content["forecasts"]


def test_with_labels_at_home_alone_there_are_forecasts_without_intervals(
    place: Path, wording: SnapshotAssertion
) -> None:
    rows = pl.read_csv("mine.csv")
    rows.with_columns(verdict=pl.when(pl.col("site") == "books").then("verdict")).write_csv("mine.csv")
    result = check("--trained-on", "books", "--json", "out.json")
    assert result.exit_code == 0, result.exception
    assert stable(result.output) == wording
    shifts = json.loads((place / "out.json").read_text())["forecasts"]["tasks"][0]["shifts"]
    assert [each["target"] for each in shifts] == sorted(SITES[1:])
    for shift in shifts:
        by_name = {each["method"]: each for each in shift["forecasts"]}
        assert by_name["doc"]["value"] == pytest.approx(0.75, abs=0.08)
        assert by_name["doc"]["low"] is None
        assert by_name["mean-drop"]["reason"] is not None


def test_without_a_labelled_home_domain_there_is_no_forecast(place: Path, wording: SnapshotAssertion) -> None:
    said = {}
    for arguments in ((), ("--trained-on", "north")):
        result = check(*arguments)
        assert isinstance(result.exception, InvalidInput)
        said[" ".join(arguments)] = str(result.exception)
    assert said == wording
    assert not (place / "report.html").exists()
