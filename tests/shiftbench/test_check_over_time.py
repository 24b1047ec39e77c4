"""``shiftbench check`` on periods: a decline, jitter, an alarm and its history; the command and ``sb.check`` alike."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner

import shiftbench as sb
from shiftbench.cli.command import app
from shiftbench.validation.report import InvalidInput
from tests.leaderboard.conftest import Visible
from tests.shiftbench.checked import stable

DECLINE = {"2025-01": 0.86, "2025-02": 0.80, "2025-03": 0.74, "2025-04": 0.67, "2025-05": 0.58}
OPTIONS = ["--columns", "domain=when,id=id,group=doc", "--no-probes"]
N = 300


def write_periods(accuracies: dict[str, float], place: Path, seed: int = 0, n: int = N) -> None:
    """Write ``data.csv`` and ``preds.csv``: the same share of right answers in each period, groups of 10 texts."""
    rng, rows = np.random.default_rng(seed), []
    for period, accuracy in accuracies.items():
        right = rng.permutation(np.arange(n) < round(accuracy * n))
        for number, is_right in enumerate(right):
            label = ("pos", "neg")[number % 2]
            said = label if is_right else ("neg", "pos")[number % 2]
            name = f"{period}-{number}"
            rows.append((name, period, f"text {name}", label, said, f"{period} {number // 10}"))
    frame = pl.DataFrame(rows, ["id", "when", "text", "label", "said", "doc"], orient="row")
    frame.drop("said").write_csv(place / "data.csv")
    frame.select("id", source=pl.lit("elsewhere"), prediction="said").write_csv(place / "preds.csv")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["check", "preds.csv", "--data", "data.csv", *OPTIONS, *arguments])


def refusal(*arguments: str) -> str:
    result = run(*arguments)
    assert isinstance(result.exception, InvalidInput), result.output
    return str(result.exception)


JITTER = (0.88, 0.80, 0.86, 0.79, 0.85, 0.88, 0.80, 0.87, 0.81, 0.85)


def test_the_course_is_reported_first(place: Path, wording: SnapshotAssertion) -> None:
    said, courses = {}, {}
    for name, accuracies in {
        "jitter": {f"2025-{month:02}": each for month, each in enumerate(JITTER, 1)},
        "step": {f"2025-W{week:02}": 0.86 if week < 12 else 0.72 for week in range(1, 19)},
        "no dates": {"books": 0.8, "toys": 0.9},
        "decline": DECLINE,
    }.items():
        write_periods(accuracies, place)
        result = run("--json", "out.json")
        assert result.exit_code == 0
        said[name] = stable(result.output.splitlines()[0])
        courses[name] = json.loads((place / "out.json").read_text())["over_time"]
    assert said == wording
    assert {name: course and course["shown"] for name, course in courses.items()} == {
        "jitter": None, "step": "change", "no dates": None, "decline": "trend"
    }  # fmt: skip
    slope = courses["decline"]["trend"]["slope"]
    assert slope["value"] == pytest.approx(-0.069, abs=0.0005)
    assert slope["high"] < 0
    text = Visible((place / "report.html").read_text(encoding="utf-8")).text
    assert text.index("Accuracy falls") < text.index("Scores lowest") < text.index("Over time")


def test_ordered_domains_are_periods(place: Path) -> None:
    write_periods({"10": 0.6, "8": 0.86, "9": 0.73}, place)
    assert run("--ordered", "--json", "out.json").exit_code == 0
    periods = json.loads((place / "out.json").read_text())["over_time"]["periods"]
    assert [each["period"] for each in periods] == ["8", "9", "10"]


def test_an_alarm_ends_with_code_3_in_both_doors(place: Path, wording: SnapshotAssertion) -> None:
    write_periods({f"2025-{month:02}": 0.86 for month in range(1, 7)} | {"2025-07": 0.7, "2025-08": 0.68}, place)
    result = run("--reference", "2025-01..2025-06", "--json", "out.json")
    assert result.exit_code == 3
    said = {"alarm": stable(result.output.splitlines()[0])}
    own = {"domain": "when", "id": "id", "group": "doc"}
    found = sb.check("preds.csv", "data.csv", reference="2025-01..2025-06", **own)
    course = json.loads((place / "out.json").read_text())["over_time"]
    assert found.to_json()["over_time"] == course
    assert course["alarm"]["at"] == "2025-07"
    assert run("--reference", "2025-01..2025-06", "--json", "-").exit_code == 3
    write_periods(DECLINE, place)  # two months that differ by 6 points allow for as much jitter
    said["a decline and no alarm"] = stable("\n".join(run("--reference", "2025-01..2025-02").output.splitlines()[:2]))
    assert said == wording


def test_a_history_is_appended_and_sounds_the_alarm(place: Path) -> None:
    write_periods({f"2025-W{week:02}": 0.86 for week in range(1, 9)}, place)
    assert run("--history", "runs.jsonl").exit_code == 0
    assert len((place / "runs.jsonl").read_text().splitlines()) == 8
    codes = []
    for week, accuracy in ((9, 0.86), (10, 0.7), (11, 0.7)):
        write_periods({f"2025-W{week:02}": accuracy}, place, seed=week)
        codes.append(run("--history", "runs.jsonl").exit_code)
    assert codes[0] == 0
    assert codes[-1] == 3
    lines = [json.loads(line) for line in (place / "runs.jsonl").read_text().splitlines()]
    assert [line["is_reference"] for line in lines] == [True] * 8 + [False] * 3
    assert {line["settings"] for line in lines} == {lines[0]["settings"]}
    assert lines[-1]["n"] == N
    # One file with all of it is the same as one a week.
    weeks = {f"2025-W{week:02}": 0.86 for week in range(1, 10)} | {"2025-W10": 0.7, "2025-W11": 0.7}
    found = sb.check("preds.csv", "data.csv", domain="when", id="id", group="doc", history="runs.jsonl").found.over_time
    assert found is not None
    assert [each.period for each in found.periods] == list(weeks)


def test_a_period_is_taken_once(place: Path, wording: SnapshotAssertion) -> None:
    write_periods({"2025-01": 0.86, "2025-02": 0.85}, place)
    run("--history", "runs.jsonl")
    before = (place / "runs.jsonl").read_bytes()
    assert run("--history", "runs.jsonl").exit_code == 0
    assert (place / "runs.jsonl").read_bytes() == before
    write_periods({"2025-02": 0.5}, place)
    said = {"different scores": refusal("--history", "runs.jsonl")}
    write_periods({"2024-12": 0.8}, place)
    said["an earlier period"] = refusal("--history", "runs.jsonl")
    write_periods({"2025-03": 0.8}, place)
    said["another reference"] = refusal("--history", "runs.jsonl", "--reference", "2025-01")
    assert said == wording
    assert (place / "runs.jsonl").read_bytes() == before


def test_refusals(place: Path, wording: SnapshotAssertion) -> None:
    said = {}
    write_periods({"books": 0.8, "toys": 0.9}, place)
    said["no periods, reference"] = refusal("--reference", "books")
    said["no periods, history"] = refusal("--history", "runs.jsonl")
    write_periods({"2025-01": 0.8, "2025-02": 0.9}, place, n=20)
    said["few texts"] = refusal("--history", "runs.jsonl")
    assert not (place / "runs.jsonl").exists()
    write_periods({"2025-01": 0.86, "2025-02": 0.85}, place)
    run("--history", "runs.jsonl")
    lines = (place / "runs.jsonl").read_text().splitlines()
    other = [json.dumps(json.loads(line) | {"settings": "other"}) for line in lines]
    (place / "runs.jsonl").write_text("\n".join(other) + "\n")
    write_periods({"2025-03": 0.8}, place)
    said["a history of other scores"] = refusal("--history", "runs.jsonl")
    (place / "runs.jsonl").write_text(lines[0] + "\n" + lines[1][:40] + "\n")
    said["a damaged history"] = refusal("--history", "runs.jsonl")
    assert said == wording


def test_weeks_of_dates_are_periods(place: Path) -> None:
    write_periods({"2025-01-06": 0.86, "2025-01-14": 0.8, "2025-01-22": 0.74}, place)
    arguments = ["check", "preds.csv", "--data", "data.csv", "--columns", "week=when,id=id", "--json", "out.json"]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    course = json.loads((place / "out.json").read_text())["over_time"]
    assert [each["period"] for each in course["periods"]] == ["2025-W02", "2025-W03", "2025-W04"]
