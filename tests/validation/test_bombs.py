"""Small files that stand for gigabytes are refused in little memory, for a reason that can be read."""

import subprocess
import sys
from pathlib import Path

import pytest

from .bombs import BOMBS
from .test_yaml_text import ATTACKS

MAX_MIB = 512
Said = dict[str, tuple[int, str]]


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Said:
    """Mebibytes that the process reading all bombs had taken after each, and what it printed."""
    folder = tmp_path_factory.mktemp("bombs")
    for name, (write, _) in BOMBS.items():
        write(folder / name)
    command = [sys.executable, "-m", "tests.validation.bombs", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False)
    for name in BOMBS:
        (folder / name).unlink()
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    return {name: (int(rise), words) for name, rise, words in lines}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_by_what_it_is(said: Said, name: str) -> None:
    assert BOMBS[name][1] in said[name][1]


@pytest.mark.parametrize("name", ATTACKS)
def test_a_card_that_unfolds_is_refused(said: Said, name: str) -> None:
    assert said[name][1] != "'read'"
    assert len(said[name][1]) < 300


def test_all_of_them_take_little_memory(said: Said) -> None:
    assert said["good"][1] == "'read'"
    assert max(rise for rise, _ in said.values()) < MAX_MIB
