"""A package of ours that something else hides, or that is not there, is named when shiftbench is imported."""

import subprocess
import sys
from pathlib import Path

import pytest

import shiftbench as sb

HOME = Path(sb.__file__).parent


def failed_import(script: str, cwd: Path) -> str:
    """Return the last line of what a script that fails writes."""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=cwd)
    assert result.returncode == 1
    return result.stderr.splitlines()[-1]


EDITABLE = """
import sys
from importlib.machinery import PathFinder

class Editable:
    def find_spec(self, name, path=None, target=None):
        return PathFinder.find_spec(name, [{root!r}]) if path is None else None

sys.path = [path for path in sys.path if path != {root!r}]
sys.meta_path.append(Editable())
import shiftbench
"""
"""As pip installs a project with -e: found after everything else, so that a folder without __init__.py hides it."""


@pytest.mark.parametrize("file", ["validation/__init__.py", "validation.py", "validation/notes.txt"])
def test_a_package_that_something_hides_is_named(file: str, tmp_path: Path) -> None:
    place = tmp_path / file
    place.parent.mkdir(exist_ok=True)
    place.write_text("raise SystemExit('this must not run')")
    said = failed_import(EDITABLE.format(root=str(HOME.parent)), tmp_path)
    found = tmp_path / file.removesuffix("/__init__.py").removesuffix("/notes.txt")
    assert said.startswith(
        f"ImportError: shiftbench needs its own package 'validation' at {HOME.parent / 'validation'}"
    )
    assert f"at {found};" in said
    assert "uninstall" in said


ALONE = """
import sys
sys.path = ["", *(path for path in sys.path if path not in ("", {root!r}))]
sys.meta_path = [finder for finder in sys.meta_path if "editable" not in str(finder).lower()]
import shiftbench
"""


def test_a_package_that_is_not_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "shiftbench").symlink_to(HOME)
    said = failed_import(ALONE.format(root=str(HOME.parent)), tmp_path)
    assert f"its package 'builders', which is not at {tmp_path / 'builders'}; install shiftbench again" in said
