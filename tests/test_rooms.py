"""The rooms' contracts hold the architecture: a wrong import in any room is refused."""

import ast
import shutil
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OWN_FOLDERS = ("cli", "notebook", "checking")
ROOMS = ("validation", "metrics", "builders", "scoring", "baselines", "leaderboard", "shiftbench", "benchmarks")
WRONG = {
    "shiftbench.validation": "shiftbench.builders.cache",
    "shiftbench.metrics": "shiftbench.validation.report",
    "shiftbench.builders.specs": "shiftbench.builders.readers.squad",
    "shiftbench.builders.fetching": "shiftbench.builders.building.build",
    "shiftbench.builders.specs.benchmarks": "shiftbench.builders.readers.squad",
    "shiftbench.builders.folder": "shiftbench.builders.writing.writer",
    "shiftbench.builders.reading": "shiftbench.builders.building.build",
    "shiftbench.builders.statistics": "shiftbench.builders.writing.writer",
    "shiftbench.builders.readers": "shiftbench.builders.assembling.cut",
    "shiftbench.builders.assembling": "shiftbench.builders.writing.writer",
    "shiftbench.builders.writing": "shiftbench.builders.boss",
    "shiftbench.builders.dr": "shiftbench.builders.boss",
    "shiftbench.builders.boss": "shiftbench.builders.building.build",
    "shiftbench.builders.publishing": "shiftbench.leaderboard.store",
    "shiftbench.builders.building": "shiftbench.scoring.scores.score",
    "shiftbench.builders.tables": "shiftbench.builders.folder.reader",
    "shiftbench.scoring.scores": "shiftbench.scoring.comparing.shape",
    "shiftbench.scoring.forecasting": "shiftbench.scoring.comparing.shape",
    "shiftbench.scoring.comparing": "shiftbench.scoring.reports.numbers",
    "shiftbench.scoring.reports": "shiftbench.scoring.interchange.log",
    "shiftbench.scoring.interchange": "shiftbench.leaderboard.store",
    "shiftbench.scoring.papers": "shiftbench.baselines.runs",
    "shiftbench.baselines": "shiftbench.scoring.scores.score",
    "shiftbench.baselines.grid": "shiftbench.builders.writing.writer",
    "shiftbench.baselines.prompting": "shiftbench.builders.building.build",
    "shiftbench.baselines.training": "shiftbench.builders.specs.spec",
    "shiftbench.baselines.robust": "shiftbench.cli.command",
    "shiftbench.baselines.models": "shiftbench.leaderboard.pages.shell",
    "shiftbench.baselines.results": "shiftbench.scoring.scores.score",
    "shiftbench.leaderboard.store": "shiftbench.leaderboard.board",
    "shiftbench.leaderboard.release": "shiftbench.leaderboard.board",
    "shiftbench.leaderboard.board": "shiftbench.leaderboard.pages.shell",
    "shiftbench.leaderboard.archive": "shiftbench.leaderboard.board",
    "shiftbench.leaderboard.pages": "shiftbench.leaderboard.app.pages",
    "shiftbench.leaderboard.app": "shiftbench.cli.command",
    "shiftbench.checking": "shiftbench.notebook.api",
    "shiftbench.notebook": "shiftbench.cli.command",
    "shiftbench.adapters": "shiftbench.cli.command",
    "shiftbench.cli": "benchmarks.scores",
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
        shutil.copytree(ROOT / room, copy / room, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    for place, wrong in WRONG.items():
        file = copy.joinpath("shiftbench", *place.split(".")[1:], "wrong_import.py")
        file.write_text(f'"""A wrong import."""\n\nimport {wrong}\n', encoding="utf-8")
    return lint(copy)


@pytest.mark.parametrize("place", WRONG)
def test_a_wrong_import_is_refused(place: str, refusals: str) -> None:
    assert f"{place}.wrong_import -> {WRONG[place]} (l.3)" in " ".join(refusals.split())


def test_every_room_has_a_wrong_import_here() -> None:
    packages = {
        ".".join(path.parent.parts[len(ROOT.parts) :])
        for room in ROOMS
        for path in ROOT.glob(f"{room}/*/__init__.py" if room == "shiftbench" else f"{room}/**/__init__.py")
    }
    inside = {name if name.startswith("shiftbench") else f"shiftbench.{name}" for name in packages}
    own_floor = {
        "shiftbench.builders", "shiftbench.scoring", "shiftbench.leaderboard", "shiftbench.benchmarks",
        "shiftbench.scoring.papers.analysis", "shiftbench.scoring.papers.protocol",
        "shiftbench.scoring.papers.protocol.reported", "shiftbench.scoring.reports.frame",
        "shiftbench.scoring.reports.pictures", "shiftbench.leaderboard.pages.reported",
        "shiftbench.benchmarks.adversarial",
    }  # fmt: skip
    """Packages whose imports are those of the package around them, or of the packages inside."""
    assert inside - own_floor == set(WRONG)


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Imports inside functions and for types alone count, too."""
    folders = [ROOT / room for room in ROOMS[:-2]] + [ROOT / "shiftbench" / name for name in OWN_FOLDERS]
    files = {_module(file): file for folder in folders for file in folder.rglob("*.py")}
    TopologicalSorter({name: _imports(name, file, files) for name, file in files.items()}).prepare()


def _module(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts if parts[0] == "shiftbench" else ("shiftbench", *parts)).removesuffix(".__init__")


def _imports(name: str, file: Path, modules: dict[str, Path]) -> set[str]:
    """Return the modules of ours that a module imports; of a package, where a name comes from itself."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= inner & modules.keys() or {str(node.module)}
    return found & modules.keys() - {name}
