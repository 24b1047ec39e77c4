"""Tables for a terminal: nothing is truncated at any width."""

import io
import re
from pathlib import Path

import pytest
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from shiftbench.baselines import majority
from shiftbench.scoring.comparing.files import Entrant, compare_entrants
from shiftbench.scoring.reports.paper_table import paper_lines, paper_table
from shiftbench.scoring.reports.terminal import FLOOR_MARK, comparison_lines, score_lines
from shiftbench.scoring.scores.score import score_file
from shiftbench.scoring.scores.shape import Estimate, Missing, Scores
from shiftbench.scoring.scores.summary import NO_DEPTHS
from shiftbench.validation.plain_console import print_parts
from tests.leaderboard.conftest import Filled


@pytest.fixture(scope="module")
def preds(filled: Filled, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("tables") / "preds.parquet"
    majority.main("nli", filled.folder.path, out)
    return out


@pytest.fixture(scope="module")
def scores(filled: Filled, preds: Path) -> Scores:
    return score_file(preds, filled.folder)


def console(width: int) -> Console:
    return Console(width=width, file=io.StringIO())


def printed(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_name_and_no_number_is_cut(scores: Scores, filled: Filled, preds: Path, width: int) -> None:
    out = console(width)
    print_parts(score_lines(scores), out)
    print_parts(paper_lines(paper_table([("Majority, of the source's train split", scores)], {})), out)
    same = Entrant(preds, filled.folder)
    print_parts(comparison_lines([compare_entrants(same, same)]), out)
    text = printed(out)
    assert "…" not in text
    assert "Majority, of the source's " in text
    for shift in scores.tasks[0].shifts:
        assert f"{shift.source} -> {shift.target}" in text
        assert f"{100 * (shift.st.value or 0):.1f}" in text


def test_a_reference_td_is_shown_apart(scores: Scores) -> None:
    title = "TD relative to the reference's TT"
    out = console(120)
    print_parts(score_lines(scores), out)
    assert title not in printed(out)
    task = scores.tasks[0]
    flagged = task.shifts[0].model_copy(update={"reference_td": Estimate(value=0.123)})
    task = task.model_copy(update={"shifts": (flagged, *task.shifts[1:])})
    out = console(120)
    print_parts(score_lines(scores.model_copy(update={"tasks": (task,)})), out)
    assert "12.3" in printed(out).split(title)[1]


def test_what_does_not_apply_is_not_printed(scores: Scores, wording: SnapshotAssertion) -> None:
    none = Estimate(value=None)
    task = scores.tasks[0]
    away = tuple(shift.model_copy(update=dict.fromkeys(("ss", "tt", "sd", "td"), none)) for shift in task.shifts)
    names = ("mean_ss", "average_drop", "mean_sd", "mean_td", "worst_sd", "worst_td", "average_worst_sd")
    names = (*names, "average_worst_td")
    nothing = dict.fromkeys(names, none) | {"scenario_shares": {}, "next_domain": None}
    summary = task.summary.model_copy(update=nothing)
    task = task.model_copy(update={"shifts": away, "summary": summary, "in_domain": (), "near_duplicates": None})
    gap = Missing(task="nli", source=None, target=None, what=NO_DEPTHS)
    out = console(120)
    print_parts(score_lines(scores.model_copy(update={"tasks": (task,), "missing": (gap,)})), out)
    assert printed(out) == wording


def test_a_drop_to_or_from_chance_is_marked_where_it_stands(scores: Scores) -> None:
    """Regression: a warning said that such shifts have no drops, but the tables below showed them."""
    task = scores.tasks[0]
    shifts = [shift.model_copy(update={"at_floor": ()}) for shift in task.shifts]
    shifts[0] = shifts[0].model_copy(update={"at_floor": ("ss",)})  # SD rests on SS, TD does not
    summary = task.summary.model_copy(update={"at_floor": False})
    task = task.model_copy(update={"shifts": tuple(shifts), "summary": summary})
    out = console(120)
    print_parts(score_lines(scores.model_copy(update={"tasks": (task,)})), out)
    before, of_sd, of_td = re.split(r"[ST]D in points", printed(out))
    assert f"1 of {len(shifts)} shifts" in before
    assert of_sd.count(FLOOR_MARK) == 1
    assert FLOOR_MARK not in of_td.split("summary")[0]


def test_the_verdict_comes_first_and_what_training_variance_needs_is_said(
    scores: Scores, wording: SnapshotAssertion
) -> None:
    out = console(120)
    print_parts(score_lines(scores), out)
    lines = printed(out).splitlines()
    messages = [lines[0], *(line for line in lines if "raining variance" in line)]
    assert messages == wording
