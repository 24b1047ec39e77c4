"""The READMEs of the leaderboard: their commands can be typed, and the JSON fields and figures that they list exist."""

import re
from pathlib import Path

import pytest

from leaderboard.analysis.figures import FIGURES
from leaderboard.scoring.shape import Scores, Shift, TaskScores
from tests.test_readme import test_every_command_is_one as check_command

ROOM = Path(__file__).parents[2] / "leaderboard"
README = (ROOM / "README.md").read_text(encoding="utf-8")
TEXTS = [README, *((ROOM / room / "README.md").read_text(encoding="utf-8") for room in ("bench", "release"))]
BLOCKS = re.findall(r"^```\n(.*?)^```", "".join(TEXTS), flags=re.M | re.S)
COMMANDS = [line for block in BLOCKS for line in block.splitlines() if line.startswith("shiftbench ")]


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_can_be_typed(line: str) -> None:
    check_command(line)


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
    assert len(README.splitlines()) <= 300
