"""Python environments elsewhere: the installed third-party packages, with or without some, and the project's wheel."""

import subprocess
import sys
import venv
from collections.abc import Collection
from pathlib import Path
from shutil import copy2, copytree, ignore_patterns

ROOT = Path(__file__).parents[2]
PACKAGES = ("validation", "metrics", "builders", "scoring", "baselines", "leaderboard", "shiftbench")
_OURS = ("shiftbench", "__editable__")
"""Entries of a site-packages folder that would lead to the project itself."""


def run(*command: object, cwd: Path | None = None, **options: object) -> "subprocess.CompletedProcess[str]":
    """Run a command, which must succeed."""
    result = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False, cwd=cwd, timeout=300, **options
    )  # type: ignore[call-overload]
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    return result  # type: ignore[no-any-return]


def build_wheel(place: Path) -> Path:
    """Build the wheel from a copy of what it is made of, so that the source tree stays as it is."""
    source = place / "source"
    for name in PACKAGES:
        copytree(ROOT / name, source / name, symlinks=True, ignore=ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        copy2(ROOT / name, source / name)
    left = source / "build" / "lib" / "validation" / "__init__.py"  # by a build of an earlier version
    left.parent.mkdir(parents=True)
    left.touch()
    wheels = place / "wheels"
    flags = ("--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--disable-pip-version-check")
    run(sys.executable, "-m", "pip", "wheel", *flags, "--wheel-dir", wheels, source, cwd=place)
    (wheel,) = wheels.glob("shiftbench-*.whl")
    return wheel


def build_sdist(source: Path, place: Path) -> Path:
    """Build the source distribution of a copy that ``build_wheel`` made."""
    run(sys.executable, "-c", f"from setuptools import build_meta; build_meta.build_sdist({str(place)!r})", cwd=source)
    (sdist,) = place.glob("shiftbench-*.tar.gz")
    return sdist


def make_environment(place: Path, *, without: Collection[str] = ()) -> Path:
    """Make an environment with the third-party packages that are installed here; returns its Python.

    Args:
        place: its folder.
        without: import names that it shall not have.
    """
    venv.create(place, symlinks=True, with_pip=False)
    linked = place / "third-party"
    linked.mkdir()
    for folder in (Path(path) for path in sys.path if path.endswith("site-packages")):
        for entry in folder.iterdir():
            name = entry.name.partition("-")[0]
            if not entry.name.startswith(_OURS) and name not in without and not (linked / entry.name).exists():
                (linked / entry.name).symlink_to(entry)
    site = next(place.glob("lib/python*/site-packages"))
    (site / "third-party.pth").write_text(f"{linked}\n")
    return place / "bin" / "python"


def install(python: Path, wheel: Path) -> Path:
    """Install a wheel without what it depends on; returns the folder that it went to."""
    flags = ("--no-deps", "--no-index", "--quiet", "--disable-pip-version-check")
    run(sys.executable, "-m", "pip", "--python", python, "install", *flags, wheel, cwd=python.parent)
    return next(python.parents[1].glob("lib/python*/site-packages"))
