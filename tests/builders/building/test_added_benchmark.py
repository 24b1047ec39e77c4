"""A benchmark is added to ours by four files, and no other file changes: done in a copy of the project."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders.building.test_spec import BIB

ROOT = Path(__file__).parents[3]
ROOMS = ("validation", "metrics", "builders", "scoring", "baselines", "leaderboard", "shiftbench")
SPEC = """
name = "support"
title = "Support tickets"

[sources.tickets]
title = "Tickets, invented"
url = "https://example.org/tickets"
licence = "CC0 1.0"
open_licence = true
harm = "none"
personal_data = "none"
cite = ["doe-2026-tickets"]

[tasks.urgency]
title = "Urgency of tickets"
kind = "labels"
labels = ["urgent", "routine"]
train = "tickets/{domain}.csv"
domains = ["hardware", "software"]
"""
TEST = """
from pathlib import Path

from shiftbench.builders.building.build import build


def test_invented_tickets(tmp_path: Path) -> None:
    for team in ("hardware", "software"):
        rows = "".join(f"ticket {n} of {team},{('urgent', 'routine')[n % 2]}\\n" for n in range(40))
        (tmp_path / "RAW/tickets").mkdir(parents=True, exist_ok=True)
        (tmp_path / f"RAW/tickets/{team}.csv").write_text("text,label\\n" + rows)
    manifest = build("support", None, tmp_path / "RAW", tmp_path / "out", partial=True, other_revisions=True).manifest
    assert set(manifest.tasks["urgency"].domains) == {"hardware", "software"}
"""
FILES = {
    "builders/specs/benchmarks/support.toml": SPEC,
    "builders/specs/benchmarks/support.bib": BIB,
    "builders/specs/benchmarks/support.lock.json": "",  # which the build writes
    "tests/builders/specs/test_support.py": TEST,
}
"""All that a new data set touches."""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    copy = tmp_path / "copy"
    unread = shutil.ignore_patterns("__pycache__")
    for room in ROOMS:
        shutil.copytree(ROOT / room, copy / room, symlinks=True, ignore=unread)
    (copy / "tests/builders/specs").mkdir(parents=True)
    for name, text in FILES.items():
        if text:
            (copy / name).write_text(text, encoding="utf-8")
    for team in ("hardware", "software"):
        file = tmp_path / f"RAW/tickets/{team}.csv"
        file.parent.mkdir(parents=True, exist_ok=True)
        rows = (f"ticket {n} of {team},{('urgent', 'routine')[n // 2 % 2]}\n" for n in range(200))
        file.write_text("text,label\n" + "".join(rows), encoding="utf-8")
    return copy


def run(copy: Path, *words: str) -> str:
    """Run a program on the copy; returns what it printed."""
    environment = os.environ | {"PYTHONPATH": str(copy), "SHIFTBENCH_CACHE": str(copy.parent / "cache")}
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=copy.parent, capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_four_files_add_a_benchmark(copy: Path) -> None:
    assert len(FILES) == 4
    lock = "copy/builders/specs/benchmarks/support.lock.json"
    options = ("--raw", "RAW", "--encoder", "none", "--out")
    assert "support --raw raw" in run(copy, "shiftbench", "build", "support", "--help")
    assert run(copy, "shiftbench", "build", "list", "support").splitlines() == [
        "support/urgency.hardware",
        "support/urgency.software",
    ]
    run(copy, "shiftbench", "build", "support", *options, "first", "--record", lock)
    run(copy, "shiftbench", "build", "support", *options, "second")
    unverified = [
        json.loads((copy.parent / out / "shiftbench.json").read_text())["unverified"] for out in ("first", "second")
    ]
    assert unverified == [True, False]
    run(copy, "shiftbench", "build", "support", "--check", "--raw", "RAW")
    run(copy, "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(copy), str(copy / [*FILES][3]))
    added = {str(path.relative_to(copy)) for path in copy.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    ours = {
        str(path.relative_to(ROOT))
        for room in ROOMS
        for path in (ROOT / room).rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert added - ours == set(FILES)
    assert all((copy / name).read_bytes() == (ROOT / name).read_bytes() for name in ours)
