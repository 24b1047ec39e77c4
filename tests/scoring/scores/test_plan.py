"""Detectable drops of a folder: sizes, given or measured assumptions, and consistent needs."""

from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.reports.plan_tables import plan_lines
from shiftbench.scoring.scores.plan import Assumptions, TestSet, designs, needs, parse_assumptions, plan
from shiftbench.validation.plain_console import print_parts
from shiftbench.validation.report import InvalidInput, UnknownChoice
from tests.leaderboard.conftest import predict
from tests.leaderboard.id_folder import build_id_folder
from tests.refusals import refusal


def printed(found: object) -> str:
    text = StringIO()
    print_parts(plan_lines(found), Console(file=text, width=120))  # type: ignore[arg-type]
    return text.getvalue()


def test_each_shift_and_the_average_have_a_detectable_drop(synthetic: DatasetFolder) -> None:
    found = plan(synthetic, runs=5, typed={"icc": 0.0}, task="nli").tasks[0]
    by_figure = {figure: [item for item in found.detectable if item.figure == figure] for figure in ("SD", "TD")}
    assert [len(items) for items in by_figure.values()] == [12, 12]
    td = by_figure["TD"][0]
    assert td.models is not None
    assert td.models_corrected is not None
    assert td.recipe is not None
    assert td.models < td.recipe < td.models_corrected
    average = found.detectable[-1]
    assert (average.figure, average.models_corrected) == ("average drop", average.models)
    assert average.models is not None
    assert average.models < td.models


def test_the_needed_texts_just_find_the_drop() -> None:
    domains = {name: TestSet(name, np.ones((1, 400)), 0.0) for name in "AB"}
    design = designs([("A", "B")], domains, Assumptions(discordance=0.3))[1][2]
    need = next(each for each in needs([("TD", None, design)], [0.1], runs=0) if each.drop == 0.05)
    assert need.texts is not None
    assert need.runs is None  # 400 texts show no drop of 5 points, however many runs
    enough = design.of_size(need.texts).smallest_drop()
    assert enough == pytest.approx(0.05, rel=0.005)
    # McNemar's test needs about (1.96 + .84)^2 (.3 - .05^2) / .05^2 texts.
    assert need.texts == pytest.approx(2.8016**2 * (0.3 - 0.05**2) / 0.05**2, rel=0.02)


def test_a_metric_that_cannot_be_planned_is_refused_and_left_out_of_a_folder(grid: DatasetFolder) -> None:
    with pytest.raises(InvalidInput, match="bertscore_f1"):
        plan(grid, task="qg")
    # Of the other tasks one is enough, and quick: of tokens, where a text's score needs no classes.
    tasks = {name: grid.manifest.tasks[name] for name in ("qg", "qa")}
    found = plan(DatasetFolder(grid.path, grid.manifest.model_copy(update={"tasks": tasks})), runs=3)
    assert found.not_planned == {"qg": "bertscore_f1"}
    assert [task.task for task in found.tasks] == ["qa"]
    assert "bertscore_f1" in printed(found)


def test_below_five_runs_nothing_is_told_of_the_recipe(synthetic: DatasetFolder, wording: SnapshotAssertion) -> None:
    found = plan(synthetic, runs=3)
    assert all(item.recipe is None for task in found.tasks for item in task.detectable)
    assert printed(found) == wording


def test_assumptions_are_measured_on_a_file_and_typed_ones_go_before(synthetic: DatasetFolder, tmp_path: Path) -> None:
    file = tmp_path / "entry.parquet"
    predict(synthetic, list(synthetic.task("nli").domains), 0.1).write_parquet(file)
    found = {task.task: task.assumed for task in plan(synthetic, like=file, typed={"run_sd": 0.03}).tasks}
    assert found["nli"].measured_on == "entry.parquet"
    # In domain, labels are resampled in 10% of cases, and wrong in two thirds of them.
    assert found["nli"].accuracy == pytest.approx(1 - 0.1 * 2 / 3, abs=0.03)
    assert 0.1 < found["nli"].discordance < 0.35
    assert found["nli"].run_sd == 0.03
    assert found["sa"].measured_on is None
    assert "entry.parquet" in printed(plan(synthetic, like=file, task="nli"))


def test_with_an_id_domain_the_shifts_are_those_from_it(tmp_path: Path) -> None:
    folder = build_id_folder(tmp_path / "id", None)
    found = next(task for task in plan(folder).tasks)
    id_domain = folder.task(found.task).id_domain
    assert {item.source for item in found.detectable if item.source} == {id_domain}
    assert found.detectable[-1].models < max(item.models for item in found.detectable if item.figure == "SD")


def test_what_cannot_be_assumed_is_refused(synthetic: DatasetFolder, wording: SnapshotAssertion) -> None:
    typed = ("acc=0.5", "measured_on=0.5", "icc", "icc=1.1", "run_sd=1", "accuracy=nan")
    messages = {each: refusal(UnknownChoice, parse_assumptions, ["accuracy=1", each]) for each in typed}
    messages = messages | {"no such task": refusal(InvalidInput, plan, synthetic, task="nil")}
    assert messages == wording
