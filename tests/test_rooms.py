"""The rooms' contracts hold the architecture: a wrong import in any room is refused."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("validation", "builders", "baselines", "leaderboard", "shiftbench")
WRONG = {
    "validation": "builders.cache",
    "builders.specs": "builders.readers.squad",
    "builders.folder": "builders.writing.writer",
    "builders.reading": "builders.building.build",
    "builders.statistics": "builders.writing.writer",
    "builders.readers": "builders.assembling.cut",
    "builders.assembling": "builders.writing.writer",
    "builders.writing": "builders.boss",
    "builders.dr": "builders.boss",
    "builders.boss": "builders.building.build",
    "builders.df1": "baselines.majority",
    "builders.publishing": "leaderboard.store",
    "builders.building": "leaderboard.scoring.score",
    "builders.tables": "builders.folder.reader",
    "baselines": "leaderboard.scoring.score",
    "baselines.grid": "builders.writing.writer",
    "baselines.prompting": "builders.building.build",
    "baselines.training": "builders.specs.spec",
    "baselines.robust": "shiftbench.command",
    "baselines.attack": "builders.readers.squad",
    "baselines.models": "leaderboard.views.site",
    "leaderboard.metrics": "validation.report",
    "leaderboard.scoring": "leaderboard.store",
    "leaderboard.forecasting": "leaderboard.store",
    "leaderboard.store": "leaderboard.board",
    "leaderboard.comparing": "leaderboard.store",
    "leaderboard.release": "leaderboard.board",
    "leaderboard.board": "leaderboard.views.site",
    "leaderboard.views": "leaderboard.app.pages",
    "leaderboard.interchange": "leaderboard.app.pages",
    "leaderboard.app": "leaderboard.protocol.run",
    "leaderboard.protocol": "leaderboard.analysis.figures",
    "leaderboard.analysis": "builders.writing.writer",
    "leaderboard.bench": "leaderboard.commands.server",
    "leaderboard.commands": "builders.building.build",
}
"""Room -> a module that it may not import."""


def lint(folder: Path) -> str:
    program = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [program, "--no-cache"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(folder)},
    )
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def refusals(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the contracts say of a copy of the project with one wrong import a room."""
    copy = tmp_path_factory.mktemp("rooms")
    for room in ROOMS:
        shutil.copytree(ROOT / room, copy / room, ignore=lambda _, names: [n for n in names if n == "__pycache__"])
    shutil.copy(ROOT / "pyproject.toml", copy)
    for place, wrong in WRONG.items():
        file = copy / place.replace(".", "/") / "wrong_import.py"
        file.write_text(f'"""A wrong import."""\n\nimport {wrong}\n', encoding="utf-8")
    return lint(copy)


@pytest.mark.parametrize("place", WRONG)
def test_a_wrong_import_is_refused(place: str, refusals: str) -> None:
    assert f"{place}.wrong_import -> {WRONG[place]} (l.3)" in " ".join(refusals.split())


def test_every_room_has_a_wrong_import_here() -> None:
    packages = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for room in ROOMS[:-1]
        for path in ROOT.glob(f"{room}/*/__init__.py")
    }
    inner = {"leaderboard.views.reported", "leaderboard.views.pictures", "leaderboard.metrics.forecasts"}
    assert packages - inner <= set(WRONG), packages - set(WRONG)
