"""The README of scoring: the JSON fields and figures that it lists exist."""

import re
from pathlib import Path

from shiftbench.scoring.papers.analysis.figures import FIGURES
from shiftbench.scoring.scores.shape import Scores, Shift, TaskScores

ROOM = Path(__file__).parents[2] / "scoring"
README = (ROOM / "README.md").read_text(encoding="utf-8")


def test_fields_of_the_json_exist() -> None:
    table = README.partition("## The JSON of scores\n")[2].partition("\n## ")[0]
    parts = {"": Scores, "tasks": TaskScores, "tasks.shifts": Shift}
    for cell in re.findall(r"^\| (.*?) \|", table, flags=re.M)[2:]:
        for place in re.findall(r"`([\w\[\].]+)`", cell):
            where, _, field = ("tasks.shifts." * cell.startswith("…") + place.replace("[]", "")).rpartition(".")
            assert field in parts[where].model_fields, place
    listed = re.search(r"`tasks\[\].shifts\[\]` \| (.*?) \|", table)
    assert listed is not None
    assert set(re.findall(r"`(\w+)`", listed[1])) <= set(Shift.model_fields)


def test_every_figure_is_listed() -> None:
    table = README.partition("## Draw the papers' figures\n")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `([\w-]+)`", table, flags=re.M) == [figure.name for figure in FIGURES]


def test_the_front_readme_is_short() -> None:
    assert len(README.splitlines()) <= 310
