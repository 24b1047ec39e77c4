"""``shiftbench check`` on a file in which a domain has no labels: it is forecast from the others."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from shiftbench.cli.command import app
from shiftbench.validation.notices import notes_on_stderr
from shiftbench.validation.report import InvalidInput
from tests import wording

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


def test_a_domain_without_labels_is_forecast_in_one_sentence(place: Path) -> None:
    result = check("--trained-on", "books", "--json", "out.json")
    assert result.exit_code == 0, result.exception
    text = " ".join(result.output.split())
    assert "Forecast of north, accuracy " in text
    assert "Intervals: 80%, if new domains are exchangeable with these 4; leave-one-out at 75%" in text
    assert "minus its mean error on the labelled domains" in text
    assert "Domains without labels: accuracy in points, worst first; model of books" in text
    assert "No method without labels can detect a change" in text
    content = json.loads((place / "out.json").read_text())
    assert [each["domain"] for each in content["domains"]] == sorted(SITES[:-1])
    (shift,) = content["forecasts"]["tasks"][0]["shifts"]
    assert shift["target"] == "north"
    assert {each["method"]: each["value"] for each in shift["forecasts"]}["doc"] == pytest.approx(0.75, abs=0.08)
    page = (place / "report.html").read_text(encoding="utf-8")
    assert "Domains without labels: forecasts of accuracy" in page
    again = check("--trained-on", "books", "--json", "again.json")
    assert "report.unlabelled.parquet: reused" in again.output
    assert json.loads((place / "again.json").read_text())["forecasts"] == content["forecasts"]


def test_with_labels_at_home_alone_there_are_forecasts_without_intervals(place: Path) -> None:
    rows = pl.read_csv("mine.csv")
    rows.with_columns(verdict=pl.when(pl.col("site") == "books").then("verdict")).write_csv("mine.csv")
    result = check("--trained-on", "books", "--json", "out.json")
    assert result.exit_code == 0, result.exception
    text = " ".join(result.output.split())
    assert "Do not rely on these numbers: there is no other domain with labels" in text
    assert "The order is by optimal transport; its quality is unknown: 0 labelled domains, too few" in text
    shifts = json.loads((place / "out.json").read_text())["forecasts"]["tasks"][0]["shifts"]
    assert [each["target"] for each in shifts] == sorted(SITES[1:])
    for shift in shifts:
        by_name = {each["method"]: each for each in shift["forecasts"]}
        assert by_name["doc"]["value"] == pytest.approx(0.75, abs=0.08)
        assert by_name["doc"]["low"] is None
        assert by_name["mean-drop"]["reason"] == wording.NO_LABELLED_SHIFT_BETWEEN


def test_without_a_home_domain_the_refusal_says_what_to_name(place: Path) -> None:
    result = check()
    assert isinstance(result.exception, InvalidInput)
    assert "domains without labels can only be forecast from a source domain" in str(result.exception)
    assert not (place / "report.html").exists()


def test_a_home_domain_without_labels_is_refused_for_that(place: Path) -> None:
    result = check("--trained-on", "north")
    assert isinstance(result.exception, InvalidInput)
    assert "--trained-on: the model's source domain has no labels" in str(result.exception)
    assert "choose a domain with labels: books, films, games, music, tools" in str(result.exception)
