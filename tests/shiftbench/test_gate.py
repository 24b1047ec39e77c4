"""The gate on a CSV of one's own: what it decides, writes and refuses."""

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner

from shiftbench.checking.gate import read_gate_settings
from shiftbench.cli.command import app
from shiftbench.validation.notices import FormerName
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal
from tests.shiftbench.checked import stable

Run = Callable[..., tuple[int, dict[str, object], str]]
HOME, FAR, NEAR, TINY = "Home & Co", "far <b>", "near", "tiny"
SHARES = {HOME: 0.92, FAR: 0.65, NEAR: 0.91, TINY: 0.5}
COLUMNS = ("--columns", "domain=site,label=mark,id=key")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CSV of four domains, one of them tiny, predictions of a model trained on one, and those of the model before."""
    folder = tmp_path_factory.mktemp("gate")
    rng = np.random.default_rng(1)
    rows, new, old = [], [], []
    for domain, share in SHARES.items():
        for number in range(12 if domain == TINY else 400):
            key, label = f"{domain[:2]}{number}", ("good", "bad")[int(rng.integers(2))]
            wrong = "bad" if label == "good" else "good"
            rows.append((key, domain, label, f"seen {number} times, {domain}"))
            luck = rng.random()
            new.append((HOME, key, label if luck < share else wrong))
            old.append((HOME, key, label if luck < share + (0.15 if domain == FAR else 0.0) else wrong))
    pl.DataFrame(rows, schema=["key", "site", "mark", "text"], orient="row").write_csv(folder / "mine.csv")
    for name, predicted in (("preds.csv", new), ("main.csv", old)):
        pl.DataFrame(predicted, schema=["source", "id", "prediction"], orient="row").write_csv(folder / name)
    return folder


@pytest.fixture
def run(place: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    def invoke(*options: str, columns: tuple[str, ...] = COLUMNS) -> tuple[int, dict[str, object], str]:
        monkeypatch.chdir(place)
        data = () if "--project" in options else ("--data", "mine.csv", *columns)
        result = CliRunner().invoke(app, ["gate", "preds.csv", *data, *options, "--json", "-"], catch_exceptions=False)
        return result.exit_code, json.loads(result.stdout), result.output

    return invoke


def outcomes(report: dict[str, object]) -> dict[tuple[str, str], str]:
    verdicts = report["verdicts"]
    assert isinstance(verdicts, list)
    return {(each["limit"], each["domain"]): each["outcome"] for each in verdicts}


def test_a_broken_limit_fails_with_code_three_and_is_written(run: Run, place: Path, wording: SnapshotAssertion) -> None:
    page = place / "summary.md"
    page.write_text("before\n", encoding="utf-8")
    options = ("--max-drop", "5", "--min-score", "50", "--baseline", "main.csv", "--max-regression", "5")
    code, report, _ = run(*options, "--junit", "gate.xml", "--summary", "summary.md")
    assert code == 3
    decided = outcomes(report)
    assert {key for key, outcome in decided.items() if outcome == "broken"} == {
        ("max_drop", FAR),
        ("max_regression", FAR),
    }
    assert decided["max_regression", NEAR] == "kept"
    assert decided["min_score", HOME] == "kept"
    assert ("max_drop", HOME) not in decided
    assert report["left_out"] == {TINY: 12}
    suite = ElementTree.parse(place / "gate.xml").getroot()[0]
    failed = {case.get("name") for case in suite.iter("testcase") if case.find("failure") is not None}
    assert failed == {FAR}
    assert (suite.get("tests"), suite.get("failures")) == ("8", "2")
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert stable(text) == wording


def test_what_cannot_be_told_passes_unless_strict(run: Run) -> None:
    options = ("--max-drop", "29")
    code, report, _ = run(*options)
    assert (code, outcomes(report)["max_drop", FAR]) == (0, "cannot tell")
    assert run(*options, "--strict")[0] == 3


def test_a_project_has_its_limits_and_the_command_line_wins(run: Run, place: Path, wording: SnapshotAssertion) -> None:
    project = place / "project" / "pyproject.toml"
    project.parent.mkdir()
    columns = 'domain-column = "site"\nlabel-column = "mark"\nid-column = "key"\n'
    project.write_text(f'[tool.shiftbench.gate]\ndata = "../mine.csv"\nmax-drop = 5\n{columns}', encoding="utf-8")
    assert run("--project", str(project))[0] == 3
    assert run("--project", str(project), "--max-drop", "60")[0] == 0
    with pytest.warns(FormerName, match="id-column"):
        assert read_gate_settings(project)["columns"] == ["domain=site", "label=mark", "id=key"]
    project.write_text('[tool.shiftbench.gate]\nmax-drp = 5\nmin-score = "70"\n', encoding="utf-8")
    assert refusal(InvalidInput, run, "--project", str(project)) == wording


def test_the_nearest_project_with_settings_is_found(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = place / "outer" / "middle" / "inner"
    inner.mkdir(parents=True)
    settings = 'data = "../mine.csv"\nmin-score = 60\ncolumns = "domain=site,label=mark,id=key"\n'
    (place / "outer" / "pyproject.toml").write_text(f"[tool.shiftbench.gate]\n{settings}", encoding="utf-8")
    (inner.parent / "pyproject.toml").write_text('[project]\nname = "other"\n', encoding="utf-8")
    monkeypatch.chdir(inner)
    command = ["gate", str(place / "preds.csv"), "--json", "-"]
    result = CliRunner().invoke(app, command, catch_exceptions=False)
    assert (result.exit_code, json.loads(result.stdout)["task"]) == (0, "own")
    monkeypatch.chdir(place)
    assert "--data" in CliRunner().invoke(app, command, catch_exceptions=False).stderr


@pytest.mark.parametrize(
    ("former", "today"),
    [
        ("kind = 'tags'", ["tags="]),
        ("kind = 'tags'\nlabel-column = 'bio'", ["tags=bio"]),
        ("text-column = ['a', 'b']\ncolumns = 'id=key'", ["id=key", "text=a", "text=b"]),
    ],
)
def test_former_settings_are_columns(tmp_path: Path, former: str, today: list[str]) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text(f"[tool.shiftbench.gate]\n{former}\n", encoding="utf-8")
    with pytest.warns(FormerName):
        assert read_gate_settings(file) == {"columns": today}


def test_a_drop_needs_a_home(run: Run, place: Path, wording: SnapshotAssertion) -> None:
    frame = pl.read_csv(place / "preds.csv")
    frame.with_columns(source=pl.lit("none")).write_csv(place / "zero.csv")
    pl.concat([frame, frame.with_columns(source=pl.lit(NEAR))]).write_csv(place / "two.csv")
    runner, data = CliRunner(), ("--data", "mine.csv", *COLUMNS)

    def refused(*command: str) -> str:
        return refusal(InvalidInput, runner.invoke, app, ["gate", *command], catch_exceptions=False)

    run("--min-score", "50")  # in the folder
    assert {
        "no source": refused("zero.csv", *data, "--max-drop", "5"),
        "two sources": refused("two.csv", *data, "--max-drop", "5"),
        "a small source": refused("zero.csv", *data, "--max-drop", "5", "--trained-on", TINY),
        "no baseline": refused("preds.csv", *data, "--max-regression", "1"),
        "no limit": refused("preds.csv", *data),
    } == wording
    assert runner.invoke(app, ["gate", "zero.csv", *data, "--min-score", "50"]).exit_code == 0
    assert runner.invoke(app, ["gate", "zero.csv", *data, "--max-drop", "5", "--trained-on", HOME]).exit_code == 3
