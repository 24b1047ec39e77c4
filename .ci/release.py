"""Release a version: ``make release VERSION=0.3.0``; with ``ARGS=--dry-run`` nothing is changed.

Wheel and source distribution are built in a copy of the tracked files, with the version and the day in
``pyproject.toml``, ``CITATION.cff`` and ``CHANGELOG.md``, and checked: metadata (twine), version, and that the wheel
has no folder of its own beside ``shiftbench``. Then the three files are written, committed and tagged; the notes are
the changelog's section. Nothing is sent anywhere.
"""

import argparse
import datetime
import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).parents[1]


def run(*words: str, cwd: Path = ROOT) -> str:
    """Run a command and return what it prints; exits with its output where it fails."""
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"error: {' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


def replace_once(pattern: str, new: str, text: str, name: str) -> str:
    """Replace the only line that a pattern finds."""
    found, n = re.subn(pattern, new, text, flags=re.MULTILINE)
    if n != 1:
        sys.exit(f"error: {name} has {n} lines like {pattern!r}, not one")
    return found


def edits(version: str, day: str) -> dict[str, Callable[[str], str]]:
    """Return by file how its text changes for a version."""
    return {
        "pyproject.toml": lambda text: replace_once(
            r'^version = ".*"$', f'version = "{version}"', text, "pyproject.toml"
        ),
        "CITATION.cff": lambda text: _cite(text, version, day),
        "CHANGELOG.md": lambda text: replace_once(
            r"^## Unreleased$", f"## Unreleased\n\n## {version} ({day})", text, "CHANGELOG.md"
        ),
    }


def _cite(text: str, version: str, day: str) -> str:
    """Put version, day and year into the citation file."""
    for pattern, new in (
        (r"^version: .*$", f"version: {version}"),
        (r"^date-released: .*$", f"date-released: {day}"),
        (r"^  year: .*$", f"  year: {day[:4]}"),
    ):
        text = replace_once(pattern, new, text, "CITATION.cff")
    return text


def section(changelog: str, version: str) -> str:
    """Return what the changelog says of a version."""
    body = changelog.partition(f"\n## {version} (")[2].partition("\n")[2].partition("\n## ")[0].strip()
    if not body:
        sys.exit("error: CHANGELOG.md has nothing below '## Unreleased'; say what users will notice")
    return f"{body}\n"


def check_request(version: str, *, dry_run: bool) -> None:
    """Exit where the version is no later one, is tagged already, or the tree has changes that are not committed."""
    today = re.search(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    try:
        is_later = today is not None and Version(version) > Version(today[1])
    except InvalidVersion:
        sys.exit(f"error: {version!r} is no version; write, for example, 0.3.0")
    if not is_later:
        sys.exit(f"error: {version} is not later than {today[1] if today else 'today'}")
    if run("git", "tag", "--list", f"v{version}").strip():
        sys.exit(f"error: the tag v{version} is there already")
    if not dry_run and run("git", "status", "--porcelain").strip():
        sys.exit("error: commit or stash what has changed first (git status)")


def build(copy: Path, out: Path) -> list[Path]:
    """Build wheel and source distribution of a copy of the tree."""
    flags = ("--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--disable-pip-version-check")
    run(sys.executable, "-m", "pip", "wheel", *flags, "--wheel-dir", str(out), ".", cwd=copy)
    run(sys.executable, "-c", f"from setuptools import build_meta; build_meta.build_sdist({str(out)!r})", cwd=copy)
    return sorted(out.iterdir())


def check_files(files: list[Path], version: str) -> None:
    """Exit where a file is not what an index takes, or not of this version."""
    run(sys.executable, "-m", "twine", "check", "--strict", *map(str, files))
    names = {f"shiftbench-{version}-py3-none-any.whl", f"shiftbench-{version}.tar.gz"}
    if {file.name for file in files} != names:
        sys.exit(f"error: built {', '.join(file.name for file in files)}, not {', '.join(sorted(names))}")
    with zipfile.ZipFile(next(file for file in files if file.suffix == ".whl")) as wheel:
        roots = {name.partition("/")[0] for name in wheel.namelist()}
    if roots != {"shiftbench", f"shiftbench-{version}.dist-info"}:
        sys.exit(f"error: the wheel has {', '.join(sorted(roots))} at its top, not shiftbench alone")


def main() -> None:
    """Build and check in a copy, then write, commit and tag."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("version")
    parser.add_argument("--dry-run", action="store_true", help="build and check, and change nothing but --out")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder of what is built")
    asked = parser.parse_args()
    version = asked.version
    check_request(version, dry_run=asked.dry_run)
    changes = edits(version, datetime.datetime.now(tz=datetime.UTC).date().isoformat())
    with tempfile.TemporaryDirectory() as folder:
        copy, built = Path(folder) / "source", Path(folder) / "dist"
        for name in run("git", "ls-files", "--cached", "--others", "--exclude-standard").splitlines():
            source, target = ROOT / name, copy / name
            if source.is_file() and not source.is_symlink():  # rooms are there once: setup.py maps them
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)
        for name, change in changes.items():
            (copy / name).write_text(change((copy / name).read_text(encoding="utf-8")), encoding="utf-8")
        notes = section((copy / "CHANGELOG.md").read_text(encoding="utf-8"), version)
        files = build(copy, built)
        check_files(files, version)
        asked.out.mkdir(parents=True, exist_ok=True)
        for file in files:
            print(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {shutil.copy2(file, asked.out / file.name).name}")
    (asked.out / f"notes-{version}.md").write_text(notes, encoding="utf-8")
    print(f"checked; notes: notes-{version}.md, {len(notes.splitlines())} lines")
    if asked.dry_run:
        print(f"dry run: no file changed, no commit, no tag v{version}")
        return
    for name, change in changes.items():
        (ROOT / name).write_text(change((ROOT / name).read_text(encoding="utf-8")), encoding="utf-8")
    run("git", "commit", "--quiet", "--message", f"Version {version}", *changes)
    run(
        "git",
        "tag",
        "--annotate",
        f"v{version}",
        "--file",
        str(asked.out / f"notes-{version}.md"),
        "--cleanup=verbatim",
    )
    print(
        f"committed and tagged v{version}; next: git push --follow-tags; twine upload {asked.out}/shiftbench-{version}*"
    )


if __name__ == "__main__":
    main()
