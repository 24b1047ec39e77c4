"""User-supplied forecasts, from their CSV to their comparison with all methods."""

from pathlib import Path

import pytest

from shiftbench.scoring.forecasting.comparison import Forecasted, compare_methods
from shiftbench.scoring.forecasting.own_forecasts import add_own_forecasts, read_own_forecasts
from shiftbench.scoring.forecasting.shape import TaskForecast
from shiftbench.validation.report import InvalidInput
from tests import wording

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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("task,source,target,value\nt,a,b,0.5\n", "a column is missing; found columns task, source, target, value"),
        (f"{HEAD},note\nt,a,b,0,0.5,,,x\n", "unknown column"),
        (f"{HEAD}\nt,a,b,0,71,,\n", "column 'value', row 1: a forecast is not between 0 and 1; found '71'"),
        (f"{HEAD}\nt,a,b,0,high,,\n", "this is not a number"),
        (f"{HEAD}\nt,a,b,0,,,\n", wording.VALUE_MISSING),
        (f"{HEAD}\nt,a,b,0,0.5,0.4,\n", "an interval has only one end"),
        (f"{HEAD}\nt,a,b,0,0.5,0.6,0.7\n", "the forecast is outside its interval"),
        (f"{HEAD}\nt,a,b,0,0.5,,\nt,a,b,0,0.5,,\n", "column 'task', row 2: a run and target occur twice"),
    ],
)
def test_faults_are_named_with_row_and_column(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput) as refused:
        read_own_forecasts(path)
    assert words in str(refused.value)


def test_nothing_is_scored_around(tmp_path: Path) -> None:
    made = task(3, 0)
    found = [Forecasted("b/t", "model", made)]
    path = write(tmp_path, made)
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join(lines[:-1]) + "\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match="missing or too many; found d1 to d2"):
        add_own_forecasts(found, path)
    path.write_text("\n".join([*lines, "t,d0,dd1,0,0.5,,"]) + "\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"no such shift among the predictions.*did you mean"):
        add_own_forecasts(found, path)
    path.write_text("\n".join([*lines, "u,d0,d1,0,0.5,,"]) + "\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match="no such task"):
        add_own_forecasts(found, path)
    with pytest.raises(InvalidInput, match="name of a method"):
        add_own_forecasts(found, write(tmp_path, made, name="doc.csv"))
