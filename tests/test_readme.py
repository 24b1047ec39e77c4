"""What the README says can be typed can be typed, and the files it names are there."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from leaderboard.scoring.shape import Shift
from shiftbench.command import app

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BASELINES = "".join(
    (ROOT / "baselines" / room / "README.md").read_text(encoding="utf-8")
    for room in (".", "training", "prompting", "grid")
)
FRONT_DOOR = (ROOT / "shiftbench/README.md").read_text(encoding="utf-8")
INTERCHANGE = (ROOT / "leaderboard/interchange/README.md").read_text(encoding="utf-8")
BUILDERS = (ROOT / "builders/README.md").read_text(encoding="utf-8")
ROOMS = ("validation", "builders", "baselines", "leaderboard", "shiftbench")
READMES = [ROOT / "README.md", *sorted(path for room in ROOMS for path in (ROOT / room).rglob("README.md"))]
BLOCKS = re.findall(r"^```\w*\n(.*?)^```", README + BASELINES + FRONT_DOOR + INTERCHANGE + BUILDERS, flags=re.M | re.S)
COMMANDS = [line for block in BLOCKS for line in block.splitlines() if line.startswith("shiftbench ")]


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_is_one(line: str) -> None:
    _, *words = shlex.split(line, comments=True)
    command: Any = typer.main.get_command(app)
    while hasattr(command, "list_commands"):
        context = command.make_context("shiftbench", [words[0]], resilient_parsing=True)
        name, *words = words
        command = command.get_command(context, name)
        assert command is not None, f"there is no command {name}"
    # Parsing complains of unknown options, missing arguments and values of the wrong type.
    command.make_context(name, words)


def test_there_are_commands_to_test() -> None:
    assert {line.split()[1] for line in COMMANDS} >= {
        "build",
        "train",
        "score",
        "compare",
        "submit",
        "serve",
        "bench",
        "gate",
    }


def test_make_targets_are_there() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = {target for block in BLOCKS for target in re.findall(r"^make ([\w-]+)", block, flags=re.M)}
    assert named == {"demo", "test", "weights-llm"}
    assert all(re.search(rf"^{target}:", makefile, flags=re.M) for target in named)


@pytest.mark.parametrize("readme", READMES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_named_are_there(readme: Path) -> None:
    text = readme.read_text(encoding="utf-8")
    named = re.findall(rf"`((?:{'|'.join(ROOMS)}|tests)/[^`]*)`", text)
    assert [path for path in named if not (ROOT / path).exists()] == []
    links = re.findall(r"\]\((?!http)([^)#]+)\)", text)
    assert [path for path in links if not (readme.parent / path).exists()] == []


def test_the_table_of_rooms_has_every_room() -> None:
    _, house = README.split("## The house\n")
    named = re.findall(r"^\| `([a-z/]+)/` \|", house, flags=re.M)
    assert all((ROOT / room).is_dir() for room in named)
    assert {room for room in named if "/" not in room} == set(ROOMS)


def test_json_fields_named_are_there() -> None:
    named = re.search(r"`tasks\[\].shifts\[\]` \((.*?)\)", README, flags=re.S)
    assert named is not None
    fields = set(re.findall(r"`(\w+)`", named[1]))
    assert fields <= set(Shift.model_fields)
    assert fields >= {"total", "flips", "prior_fixed", "reference_td"}
