"""``make release``: a dry run builds and checks, and changes nothing; a real one commits and tags."""

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.pages import ROOT

FILES = ("pyproject.toml", "CITATION.cff", "CHANGELOG.md")
VERSION = "99.1.0"


def release(clone: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(clone / ".ci/release.py"), *words]
    return subprocess.run(command, cwd=clone, capture_output=True, text=True, check=False)


def git(clone: Path, *words: str) -> str:
    author = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    return subprocess.run(["git", *author, *words], cwd=clone, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository as small as a release can be: the package's door, and the files that a release changes."""
    place = tmp_path / "clone"
    (place / "shiftbench").mkdir(parents=True)
    (place / ".ci").mkdir()
    (place / "shiftbench/__init__.py").touch()
    for name in (*FILES, ".ci/release.py", "LICENSE", "README.md"):
        shutil.copy2(ROOT / name, place / name)
    (place / "setup.py").write_text("from setuptools import setup\nsetup(packages=['shiftbench'])\n", encoding="utf-8")
    log = "# Changelog\n\n## Unreleased\n\n### Added\n\n- Something.\n\n## 0.1.0 (2026-01-01)\n\n- First.\n"
    (place / "CHANGELOG.md").write_text(log, encoding="utf-8")
    git(place, "init", "--quiet")
    git(place, "add", "--all")
    git(place, "commit", "--quiet", "--message", "All")
    for key, value in (("user.name", "A"), ("user.email", "a@example.org")):
        git(place, "config", key, value)
    return place


def test_a_dry_run_builds_and_checks_and_changes_nothing(tmp_path: Path) -> None:
    """Of the whole project as committed, with a note, which it lacks just after a release."""
    project, out = tmp_path / "project", tmp_path / "out"
    git(ROOT, "clone", "--quiet", "--no-tags", str(ROOT), str(project))
    log = (project / "CHANGELOG.md").read_text(encoding="utf-8")
    log = log.replace("## Unreleased\n", "## Unreleased\n\n- Something.\n", 1)
    (project / "CHANGELOG.md").write_text(log, encoding="utf-8")
    before = {name: (project / name).read_bytes() for name in FILES}
    done = release(project, VERSION, "--dry-run", "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert {name: (project / name).read_bytes() for name in FILES} == before
    assert git(project, "tag", "--list", f"v{VERSION}") == ""
    built = {f"shiftbench-{VERSION}-py3-none-any.whl", f"shiftbench-{VERSION}.tar.gz"}
    assert {path.name for path in out.iterdir()} == built | {f"notes-{VERSION}.md"}
    assert set(re.findall(r"^[0-9a-f]{64}  (\S+)$", done.stdout, flags=re.M)) == built
    notes = (out / f"notes-{VERSION}.md").read_text(encoding="utf-8")
    assert notes.strip() == log.partition("## Unreleased\n")[2].partition("\n## ")[0].strip()
    with zipfile.ZipFile(out / f"shiftbench-{VERSION}-py3-none-any.whl") as wheel:
        names = wheel.namelist()
        assert f"Version: {VERSION}\n" in wheel.read(f"shiftbench-{VERSION}.dist-info/METADATA").decode()
    assert {"shiftbench/metrics/depth.py", "shiftbench/leaderboard/pages/page.js"} <= set(names)
    assert not [name for name in names if "/docs/" in name or name.endswith(".png")]


def test_a_release_commits_and_tags(clone: Path) -> None:
    done = release(clone, VERSION)
    assert done.returncode == 0, done.stderr
    assert git(clone, "status", "--porcelain", "--untracked-files=no") == ""
    assert git(clone, "log", "-1", "--format=%s", f"v{VERSION}") == f"Version {VERSION}\n"
    assert "### Added\n\n- Something." in git(clone, "tag", "--list", "--format=%(contents)", f"v{VERSION}")
    assert f'version = "{VERSION}"' in (clone / "pyproject.toml").read_text(encoding="utf-8")
    log = (clone / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## Unreleased\n\n## {VERSION} \(\d{{4}}-\d\d-\d\d\)\n\n### Added$", log, flags=re.M)
    assert (clone / "dist" / f"shiftbench-{VERSION}.tar.gz").is_file()
    assert "not later than" in release(clone, VERSION).stderr


@pytest.mark.parametrize(
    ("version", "spoil", "words"),
    [
        ("new", lambda _: None, "is no version"),
        ("0.0.1", lambda _: None, "is not later than"),
        (VERSION, lambda place: (place / "README.md").write_text("x", encoding="utf-8"), "commit or stash"),
        (VERSION, lambda place: git(place, "tag", f"v{VERSION}"), "is there already"),
    ],
)
def test_what_cannot_be_released_changes_nothing(version: str, spoil: object, words: str, clone: Path) -> None:
    assert callable(spoil)
    spoil(clone)
    head = git(clone, "rev-parse", "HEAD")
    done = release(clone, version)
    assert done.returncode == 1
    assert words in done.stderr
    assert git(clone, "rev-parse", "HEAD") == head
    assert not (clone / "dist").exists()
