"""Display of confidence metrics: tables and plots in a report, rows in a terminal."""

import io
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from rich.console import Console

from shiftbench.builders.building.synthetic import build_synthetic
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.reports.numbers import drop_points, points
from shiftbench.scoring.reports.pictures.charts import reliability
from shiftbench.scoring.reports.report_page import report_html, task_report
from shiftbench.scoring.reports.task_page import TaskPage
from shiftbench.scoring.reports.terminal import score_lines
from shiftbench.scoring.scores.shape import METRIC_VERSION, Confidence, Scores, TaskScores
from shiftbench.validation.plain_console import print_parts
from tests.leaderboard.confident import confident, score
from tests.leaderboard.conftest import Visible
from tests.scoring.reports.test_pictures import marks, svg, words


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> DatasetFolder:
    out = tmp_path_factory.mktemp("confident") / "data"
    build_synthetic(out, n_train=90, n_test=150)
    return DatasetFolder.open(out)


@pytest.fixture(scope="module")
def scores(folder: DatasetFolder) -> Scores:
    return score(confident(folder, seeds=1), folder)


@pytest.fixture(scope="module")
def found(scores: Scores) -> Confidence:
    confidence = scores.tasks[0].confidence
    assert confidence is not None
    return confidence


def shown(task: TaskScores) -> str:
    scores = Scores.model_construct(tasks=(task,), missing=(), metric_version=METRIC_VERSION)
    return task_report(TaskPage(scores, task))


def heights(picture: ET.Element, colour: str) -> list[float]:
    return [float(words(each).split()[-1]) for each in marks(picture) if colour in each.get("class", "")]


def test_reliability_shows_every_bin_of_both(found: Confidence) -> None:
    drawn = svg(reliability(found))
    assert found.curves_in_domain is not None
    assert found.curves_out is not None
    for colour, curves in (("sb-c0", found.curves_in_domain), ("sb-c1", found.curves_out)):
        assert heights(drawn, colour) == [round(100 * each, 1) for each in curves.accuracy]
    assert [part for part in drawn.iter() if part.get("class") == "sb-identity"]
    assert drawn.findtext("desc")


def test_one_side_alone_is_drawn(found: Confidence) -> None:
    alone = found.model_copy(update={"curves_in_domain": None})
    assert heights(svg(reliability(alone)), "sb-c0") == []
    assert heights(svg(reliability(alone)), "sb-c1")


def test_a_report_has_tables_of_means_and_shifts(
    scores: Scores, found: Confidence, folder: DatasetFolder, tmp_path: Path
) -> None:
    confident(folder, seeds=1).write_parquet(tmp_path / "p.parquet")
    page = Visible(str(report_html("p", scores, folder, tmp_path / "p.parquet")))
    assert found.mean_difference is not None
    assert drop_points(found.mean_difference.overconfidence.value) in page.text
    for shift in found.shifts:
        assert shift.label_shift is not None
        assert drop_points(shift.label_shift.rest.value) in page.text
        assert points(shift.figures.calibration_error.value, 2) in page.text


def test_without_probabilities_there_is_no_label_shift(folder: DatasetFolder) -> None:
    alone = score(confident(folder, seeds=1).drop("probabilities"), folder).tasks[0]
    text = Visible(shown(alone)).text
    assert "Label shift" in Visible(shown(score(confident(folder, seeds=1), folder).tasks[0])).text
    assert "Label shift" not in text
    bare = score(confident(folder, seeds=1).drop("probabilities", "confidence"), folder).tasks[0]
    assert "Brier" not in shown(bare)


def test_a_terminal_shows_the_means(scores: Scores, found: Confidence) -> None:
    stream = io.StringIO()
    print_parts(score_lines(scores), Console(file=stream, width=120))
    printed = stream.getvalue()
    assert found.mean_out is not None
    line = next(line for line in printed.splitlines() if "Overconfidence" in line)
    assert f"{100 * (found.mean_out.overconfidence.value or 0):.1f}" in line
    assert "TD = " in printed
