"""Figures as files: what is drawn, what is refused, the bytes, the command."""

import csv
import json
import struct
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.cli import study as commands
from shiftbench.cli.command import app
from shiftbench.leaderboard.board.analysed import find_results
from shiftbench.scoring.papers.analysis.canvas import Margins, Panel, _moved_apart, picture, value_range
from shiftbench.scoring.papers.analysis.entries import Result
from shiftbench.scoring.papers.analysis.figures import FIGURES, analyse, figures_of, write
from shiftbench.scoring.scores.shape import Estimate, Scores
from shiftbench.validation.predictions import check_predictions
from shiftbench.validation.report import InvalidInput
from tests.command_line import run

from .conftest import State, both_tasks, entry, write_entry


def size(picture: bytes) -> tuple[int, int]:
    assert picture.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", picture[16:24])
    return width, height


@pytest.fixture
def results(
    state: State, zero_shot: Scores, boss: DatasetFolder, id_scores: Scores, dealt: DatasetFolder, good: Scores
) -> list[Result]:
    """Entries that allow every figure, one of them with a name that spreadsheets and TeX would interpret."""
    found = [
        state(f"T5 {n}, {steps}", family="=t5 $x$ {", parameters=n, step=steps,
              summary={"mean_ss": Estimate(value=0.1 * steps + n / 10_000)})
        for n, steps in ((60, 1), (60, 2), (60, 3), (60, 4), (60, 5), (770, 1))
    ]  # fmt: skip
    found += [state(f"Cut {n}", base_model="bert", training_size=n) for n in (16, 256)]
    found += [
        state(f"LLM {n}, {shots}", family="llm", base_model=f"llm-{n}", parameters=n, shots=shots, paradigm="few-shot")
        for n in (7, 70) for shots in (1, 4)
    ]  # fmt: skip
    found.append(
        state("LLM 7, 0", scores=zero_shot, family="llm", base_model="llm-7", parameters=7, paradigm="zero-shot")
    )
    frame = check_predictions(
        both_tasks(dealt, 0.15), [dealt.prediction_task(task) for task in dealt.manifest.tasks], "p"
    )
    found += find_results([replace(entry(dealt, good, "At hand"), rows=lambda: frame)], [dealt])
    return found + find_results([entry(boss, id_scores, f"B {n}", family="b", step=n) for n in (1, 2)], [boss])


def test_every_figure_is_drawn(results: list[Result], tmp_path: Path) -> None:
    for analysis in analyse(results, [figure.name for figure in FIGURES]):
        write(analysis, tmp_path, ["A note."])
        assert all(path.is_file() for path in analysis.files(tmp_path))
    assert {size(path.read_bytes())[0] for path in tmp_path.glob("*.png")} == {1000}
    assert {path.stem for path in tmp_path.glob("*.csv")} == {figure.name for figure in FIGURES}
    with (tmp_path / "model-size.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["series"] for row in rows} >= {"'=t5 $x$ {, step 1"}
    assert all(0 <= abs(float(row["value"])) <= 1 for row in rows)


def test_what_cannot_be_drawn_is_refused_when_asked_for_by_name(state: State, wording: SnapshotAssertion) -> None:
    analyses = {each.figure.name: each for each in analyse([state()])}
    assert analyses["scenarios"].drawn
    assert not analyses["shots"].drawn
    assert analyses["shots"].files(Path("out")) == []
    assert [path.name for path in analyses["theorem-one"].files(Path("out"))] == ["theorem-one.csv"]
    with pytest.raises(InvalidInput) as refused:
        analyse([state()], ["scenarios", "shots", "step"])
    assert [problem.found.partition(":")[0] for problem in refused.value.problems] == ["'shots'", "'step'"]
    assert str(refused.value) == wording


def test_unknown_figures() -> None:
    with pytest.raises(InvalidInput, match=r"'scenario'.*'scenarios'"):
        figures_of(["scenario"])
    assert len(figures_of([])) == len(FIGURES)


def test_the_commands_help_names_every_figure() -> None:
    words = " ".join((commands.analyse.__doc__ or "").partition("Figures: ")[2].split())
    assert words.rstrip(".").split(", ") == [figure.name for figure in FIGURES]


@pytest.mark.parametrize("name", ["scenarios", "drops-by-difficulty"])
def test_the_same_rows_give_the_same_bytes(state: State, name: str) -> None:
    (analysis,) = analyse([state()], [name])
    draw = analysis.figure.draw
    assert draw is not None
    first = draw(analysis.findings.rows, [])
    with matplotlib.rc_context({"font.size": 30, "savefig.dpi": 50}):
        assert draw(analysis.findings.rows, []) == first
    assert draw(analysis.findings.rows, ["A note."]) != first


@pytest.mark.parametrize("n", [1, 20])
def test_any_number_of_models(state: State, n: int) -> None:
    results = [
        state(f"{family} {size}", family=f"family {family}", parameters=size)
        for family in range(n) for size in (10, 100)
    ]  # fmt: skip
    (analysis,) = analyse(results, ["model-size"])
    assert analysis.figure.draw is not None
    assert size(analysis.figure.draw(analysis.findings.rows, []))[1] == pytest.approx(250 * n + 100, abs=40)


@pytest.mark.parametrize("places", [[0, 1, 2, 50], [10, 12, 23, 24, 40], [5], []])
def test_labels_are_moved_apart_and_keep_their_order(places: list[float]) -> None:
    moved = _moved_apart(np.array(places, dtype=float), 11)
    assert all(high - low >= 11 - 1e-9 for low, high in pairwise(moved))
    assert np.mean(moved) == pytest.approx(np.mean(places)) if places else moved.size == 0


def test_a_picture_that_would_be_too_high_is_cut_and_says_so() -> None:
    panels = [Panel(lambda axis: axis.set_axis_off()) for _ in range(3)]
    drawn = picture(panels, columns=1, heights=[1.0, 1.0, 600.0], margins=Margins(), title="t")
    assert size(drawn) == (1000, 240 + 28)


def test_ends_of_an_axis() -> None:
    low, high = value_range([0.5, None, 0.7])
    assert low < 50
    assert high > 70
    assert value_range([0.5, 0.7], zero=True)[0] < 0
    assert value_range([]) == (-0.5, 1.5)


def test_the_command(dealt: DatasetFolder, tmp_path: Path, wording: SnapshotAssertion) -> None:
    files = [
        write_entry(dealt, tmp_path / f"{errors}.parquet", both_tasks(dealt, errors), f"E {errors}")
        for errors in (0.1, 0.3)
    ]
    out, told = tmp_path / "new" / "out", tmp_path / "told.json"
    result = run("analyse", *files, "--data", dealt.path, "--out", out, "--json", told)
    assert result.returncode == 0, result.stderr
    assert result.stdout == wording
    content = json.loads(told.read_text(encoding="utf-8"))
    written = [path for figure in content["figures"] for path in figure["files"]]
    assert sorted(map(str, out.iterdir())) == sorted(written)
    assert content["entries"] == 2


def test_refusals(dealt: DatasetFolder, tmp_path: Path, wording: SnapshotAssertion) -> None:
    (tmp_path / "FILE").write_text("taken")
    messages = []
    for arguments in (["--figure", "shot"], ["--out", f"{tmp_path}/FILE/deep"], []):
        result = CliRunner().invoke(app, ["analyse", "p.parquet", *arguments, "--data", str(dealt.path)])
        assert isinstance(result.exception, InvalidInput)
        messages.append(str(result.exception))
    assert messages == wording


def test_nothing_given(dealt: DatasetFolder) -> None:
    result = CliRunner().invoke(app, ["analyse", "--data", str(dealt.path)])
    assert result.exit_code == 2
    assert "--store" in result.output
