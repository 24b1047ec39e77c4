"""User-supplied forecasts, from their CSV to their comparison with all methods."""

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.scoring.forecasting.comparison import Forecasted, compare_methods
from shiftbench.scoring.forecasting.own_forecasts import add_own_forecasts, read_own_forecasts
from shiftbench.scoring.forecasting.shape import TaskForecast
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal

from .test_comparison import task

HEAD = "task,source,target,seed,value,low,high"


def write(folder: Path, made: TaskForecast, *, off: float = 0.01, name: str = "mine.csv") -> Path:
    rows = [
        f"t,{each.source},{each.target},0,{each.truth + off},{each.truth - 0.02},{each.truth + 0.02}"
        for each in made.shifts
        if each.truth is not None
    ]
    path = folder / name
    path.write_text("\n".join([HEAD, *rows]) + "\n", encoding="utf-8")
    return path


def test_they_stand_beside_all_methods(tmp_path: Path) -> None:
    made = task(4, 0)
    found = add_own_forecasts([Forecasted("b/t", "model", made)], write(tmp_path, made))
    standings = {each.method: each for each in compare_methods(found, levels={"mine": 0.9}).boards[0].standings}
    mine = standings["mine"]
    assert mine.error == pytest.approx(0.01)
    assert mine.interval_score == pytest.approx(0.04)
    assert mine.held is not None
    assert (mine.held.held, mine.held.level) == (4, 0.9)
    assert mine.skill["source-accuracy"] == pytest.approx(1 - 0.01 / standings["source-accuracy"].error)


def test_ends_may_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("task,source,target,seed,value\nt,a,b,0,0.5\n", encoding="utf-8")
    assert read_own_forecasts(path).row(0) == ("t", "a", "b", 0, 0.5, None, None)


def test_faults_are_named_with_row_and_column(tmp_path: Path, wording: SnapshotAssertion) -> None:
    path = tmp_path / "mine.csv"
    messages = {}
    for name, text in {
        "a column missing": "task,source,target,value\nt,a,b,0.5\n",
        "an unknown column": f"{HEAD},note\nt,a,b,0,0.5,,,x\n",
        "points": f"{HEAD}\nt,a,b,0,71,,\n",
        "a word": f"{HEAD}\nt,a,b,0,high,,\n",
        "no value": f"{HEAD}\nt,a,b,0,,,\n",
        "one end": f"{HEAD}\nt,a,b,0,0.5,0.4,\n",
        "outside its interval": f"{HEAD}\nt,a,b,0,0.5,0.6,0.7\n",
        "a run twice": f"{HEAD}\nt,a,b,0,0.5,,\nt,a,b,0,0.5,,\n",
    }.items():
        path.write_text(text, encoding="utf-8")
        messages[name] = refusal(InvalidInput, read_own_forecasts, path)
    assert messages == wording


def test_nothing_is_scored_around(tmp_path: Path, wording: SnapshotAssertion) -> None:
    made = task(3, 0)
    path = write(tmp_path, made)
    lines = path.read_text(encoding="utf-8").splitlines()
    messages = {"a method's name": refusal(InvalidInput, add_own_forecasts, [], write(tmp_path, made, name="doc.csv"))}
    for name, changed in {
        "a shift missing": lines[:-1],
        "an unknown domain": [*lines, "t,d0,dd1,0,0.5,,"],
        "an unknown task": [*lines, "u,d0,d1,0,0.5,,"],
    }.items():
        path.write_text("\n".join(changed) + "\n", encoding="utf-8")
        messages[name] = refusal(InvalidInput, add_own_forecasts, [Forecasted("b/t", "model", made)], path)
    assert messages == wording
