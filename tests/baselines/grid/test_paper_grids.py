"""The papers' grids: every program takes the options that they give it."""

from pathlib import Path
from typing import Any

import pytest

from shiftbench import baselines
from shiftbench.baselines.grid.plan import read_plan
from shiftbench.baselines.results.papers import paper_file
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.cli.help import imported_command
from shiftbench.validation.report import InvalidInput

GRIDS = sorted((Path(baselines.__file__).parent / "results/grids").glob("*.toml"))
OWN = {"boss-ner", "boss-nli", "df1-nli", "dr-ab", "dr-nli", "dr-nli-lodo", "dr-qa"}
"""Grids of the reference results: all others are of the papers."""


@pytest.mark.parametrize("grid", GRIDS, ids=lambda path: path.stem)
def test_a_grid_of_results_lacks_nothing_but_its_data(grid: Path, synthetic: DatasetFolder, tmp_path: Path) -> None:
    text = grid.read_text(encoding="utf-8")
    (line,) = [each for each in text.splitlines() if each.startswith("data = ")]
    here = tmp_path / "grid.toml"
    here.write_text(text.replace(line, f"data = '{synthetic.path}'"), encoding="utf-8")
    programs: Any = imported_command("train", "shiftbench.cli.train")
    try:
        assert read_plan(here, programs).trials
    except InvalidInput as refused:
        assert {str(problem.key).split(".")[-1] for problem in refused.problems} <= {"tasks", "sources"}  # noqa: PT017


def test_the_papers_models_are_all_there() -> None:
    named = {(row.grid or "").removesuffix(".toml") for row in paper_file().rows} - {""}
    assert named == {path.stem for path in GRIDS} - OWN
