"""The summary sentence of scores: based on the interval, never on the value alone."""

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.reports.score_words import verdict, verdict_lines
from shiftbench.scoring.scores.score import checked_predictions, score_predictions
from shiftbench.scoring.scores.shape import Estimate, Interval, Missing, Scores, TaskScores
from shiftbench.scoring.scores.summary import LEFT_OUT
from tests.leaderboard.conftest import predict

NONE = Estimate(value=None)
LOSS = Estimate(value=0.034, low=0.025, high=0.043)


@pytest.fixture(scope="module")
def scores(synthetic: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> Scores:
    path = tmp_path_factory.mktemp("verdict") / "preds.parquet"
    predict(synthetic, list(synthetic.task("nli").domains), 0.2).write_parquet(path)
    return score_predictions(checked_predictions(path, synthetic), synthetic).scores


@pytest.fixture
def of(scores: Scores) -> Any:
    def changed(drop: Estimate, name: str = "nli", **summary: Any) -> TaskScores:
        task = scores.tasks[0]
        update = {"average_drop": drop, "mean_sd": NONE, "at_floor": False, "total": {}, **summary}
        return task.model_copy(update={"summary": task.summary.model_copy(update=update), "task": name})

    return changed


def test_what_is_shown_is_said(of: Any, wording: SnapshotAssertion) -> None:
    messages = {
        "loss": verdict(of(LOSS)),
        "no significant loss": verdict(of(Estimate(value=0.034, low=-0.001, high=0.07))),
        "gain": verdict(of(Estimate(value=-0.034, low=-0.043, high=-0.025))),
        "placebo": verdict(of(LOSS, "nli.placebo")),
        "no interval": verdict(of(Estimate(value=0.034, no_interval="fewer than 5 effective groups"))),
        "training runs": verdict(of(LOSS, total={"average_drop": Interval(low=-0.01, high=0.08)})),
        "partial grid": verdict(of(NONE, mean_sd=LOSS)),
        "chance": verdict(of(LOSS, at_floor=True)),
        "no drop": verdict(of(NONE)),
        "no score": verdict(of(LOSS, mean_st=NONE)),
    }
    assert messages == wording


def test_a_drop_to_chance_is_not_named_as_the_worst(of: Any) -> None:
    task = of(LOSS)
    worst = max(task.shifts, key=lambda shift: shift.sd.value)
    low = worst.model_copy(update={"at_floor": ("st",)})
    others = tuple(shift for shift in task.shifts if shift is not worst)
    said = verdict(task.model_copy(update={"shifts": (low, *others)}))
    assert "worst" in said
    assert f"{worst.source} -> {worst.target}" not in said
    lows = tuple(shift.model_copy(update={"at_floor": ("st",)}) for shift in task.shifts)
    assert "worst" not in verdict(task.model_copy(update={"shifts": lows}))


def test_a_domain_that_is_left_out_is_not_the_worst(scores: Scores, of: Any) -> None:
    task = of(LOSS)
    worst = max(task.shifts, key=lambda shift: shift.sd.value)
    assert f"worst: {worst.source} -> {worst.target}" in verdict(task)
    gap = Missing(task="nli", source=None, target=worst.target, what=f"{LEFT_OUT}: 8 test texts, fewer than 30")
    (line,) = verdict_lines(scores.model_copy(update={"tasks": (task,), "missing": (gap,)}))
    assert worst.target not in line
    several = scores.model_copy(update={"tasks": (task, of(LOSS, "other"))})
    assert [line.split(":")[0] for line in verdict_lines(several)] == ["nli", "other"]
