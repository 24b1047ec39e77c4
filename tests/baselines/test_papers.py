"""Every table and figure of the papers is a row; its steps can be planned, and what is compared exists."""

import json
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.baselines.results import papers
from shiftbench.baselines.results.papers import State, find_row, paper_file, state_counts
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.checking.reproduce import run_row, stored_comparison
from shiftbench.cli.help import imported_command
from shiftbench.scoring.papers.analysis.figures import figures_of
from shiftbench.scoring.scores.score import score_file
from shiftbench.validation.report import InvalidInput
from tests.command_line import run
from tests.refusals import refusal

ROWS = {row.id: row for row in paper_file().rows}
NUMBERS = {"dr": (12, 11), "boss": (4, 22), "df1": (4, 3)}
"""Figures and tables of each paper."""


def reproduce(name: str, *options: object) -> Any:
    done = run("study", "reproduce", name, *options, "--json", "-")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_table_and_figure_is_a_row() -> None:
    expected = {
        f"{paper}/{kind}{number}"
        for paper, (figures, tables) in NUMBERS.items()
        for kind, n in (("figure", figures), ("table", tables))
        for number in range(1, n + 1)
    }
    assert ROWS.keys() == expected
    assert len(paper_file().rows) == len(expected) == sum(state_counts().values()) == 56


@pytest.mark.parametrize("name", ROWS)
def test_the_dry_run_of_every_row_passes(name: str, tmp_path: Path) -> None:
    """Without any data: programs and options of its grid are checked, the steps and the paper's sizes are there."""
    row = ROWS[name]
    folder = str(tmp_path / "none")
    content = reproduce(name, "--dry-run", "--gpu", "H100", "--data", folder, "--out", tmp_path)
    assert content["state"] == row.state
    is_computed = row.state not in (State.NEVER, State.NOTHING)
    assert bool(content["steps"]) == (is_computed and row.check not in ("toy", "protocol"))
    assert (content.get("trials", 0) > 0) == (row.grid is not None)
    assert [each["result"] for each in content["beside"]] == [each.result for each in stored_comparison(row)]


@pytest.mark.parametrize("name", [row.id for row in ROWS.values() if row.grid])
def test_a_row_names_models_of_its_grid_and_figures_that_are_drawn(name: str) -> None:
    row = ROWS[name]
    grid = (papers.RESULTS / "grids" / (row.grid or "")).read_text(encoding="utf-8")
    assert all(f'name = "{model}"' in grid for model in row.models)
    figures_of(row.analysis)
    if row.reported:
        printed = {
            name
            for each in papers.reported_figures(row.reported)
            for name in (each["model"], f"{each['model']}|{each['setting']}")
        }
        named = {name for name in row.models.values() if name not in ("T5-L", "BART-L")}  # not printed in Table 4's row
        assert named <= printed


def test_what_can_be_computed_without_data_is_what_the_papers_print() -> None:
    for name, n in (("dr/table7", 24), ("boss/table4", 10)):
        beside = reproduce(name)["beside"]
        assert len(beside) == n
        assert all(each["paper"] == each["ours"] for each in beside)


def test_what_cannot_be_computed_is_refused_with_the_reason(wording: SnapshotAssertion) -> None:
    wrong = (
        ["df1/figure3"],
        ["dr/table12"],
        ["dr/table4", "--dry-run", "--gpu", "H10"],
        ["dr/table4", "--gpu", "H100"],
    )
    done = [run("study", "reproduce", *words) for words in wrong]
    assert [each.returncode for each in done] == [1, 1, 1, 2]
    assert [each.stderr for each in done] == wording


def test_all_rows_are_listed_with_their_states() -> None:
    done = run("study", "reproduce")
    assert (
        "6 works here, 13 needs data, 27 needs a GPU or a server, 1 not reproducible, 9 nothing to compute"
        in done.stdout
    )
    assert all(name in done.stdout for name in ROWS)


def test_a_grid_that_is_run_is_set_beside_the_paper(
    synthetic: DatasetFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    """The way of a row of a GPU, on a grid of a quick model."""
    grid = tmp_path / "grid.toml"
    models = '[[models]]\nname = "quick"\nprogram = "majority"\n'
    grid.write_text(f"data = 'elsewhere'\ntasks = ['nli']\n{models}", encoding="utf-8")
    monkeypatch.setattr("shiftbench.checking.reproduce.grid_file", lambda _: grid)
    programs: Any = imported_command("train", "shiftbench.cli.train")
    row = ROWS["dr/table4"].model_copy(update={"models": {"quick": "RoBERTa-L"}})
    found = list(run_row(row, programs, synthetic.path, tmp_path / "out"))
    assert [each.paper for each in found] == ["89.29", "87.81", "1.48", "4.83", "2.89"]
    (scores,) = score_file(tmp_path / "out/nli/quick.parquet", synthetic).tasks
    assert found[0].ours == papers.points(scores.summary.mean_ss.model_dump())
    assert {each.result for each in found} == {"nli/quick"}
    log = (tmp_path / "out").rglob("log.txt")
    before = {file: file.stat().st_mtime_ns for file in log}
    assert list(run_row(row, programs, synthetic.path, tmp_path / "out")) == found
    assert {file: file.stat().st_mtime_ns for file in before} == before  # nothing was run again
    assert [
        refusal(InvalidInput, list, run_row(ROWS["df1/table2"], programs, synthetic.path, tmp_path / "out")),
        refusal(InvalidInput, list, run_row(ROWS["df1/figure2"], programs, synthetic.path, tmp_path / "out")),
    ] == wording


@pytest.mark.long
@pytest.mark.real
def test_the_rows_that_work_run_on_real_rows(real_raw: Path, tmp_path: Path) -> None:
    """SiS-3 and MuS-3 of Depth F1 with the encoder: Q, depths, and the simple model beside the paper's figures."""
    for pairing, names in {
        "sis-3": ("df1/table1", "df1/table3", "df1/figure4"), "mus-3": ("df1/table1", "df1/figure2", "df1/table3"),
    }.items():  # fmt: skip
        data = tmp_path / pairing
        run("build", "df1", pairing, "--raw", real_raw, "--partial", "--out", data)
        for name in names:
            beside = reproduce(name, "--data", data, "--out", tmp_path / "out" / pairing)["beside"]
            assert any(each["result"] in (name, f"{pairing}/sbert-lr") for each in beside)
            if (pairing, name) == ("sis-3", "df1/table1"):
                assert (beside[0]["paper"], beside[0]["ours"]) == ("0.34", "0.34")


def test_a_wheel_says_what_it_leaves_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(papers, "_REPORTED", (tmp_path,))
    monkeypatch.setattr("shiftbench.checking.reproduce.RESULTS", tmp_path)
    papers.reported_figures.cache_clear()
    for words in (["dr/table7"], ["dr/figure12", "--dry-run"]):
        done = run("study", "reproduce", *words)
        assert done.returncode == 1
        assert "clone" in done.stderr


def test_a_row_is_found_by_its_id() -> None:
    assert find_row("boss/table5") is ROWS["boss/table5"]
