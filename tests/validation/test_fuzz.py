"""Fuzzed files and cards: refused with a reason, or read as they are; never a crash, never wrongly accepted."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KINDS = ("refused", "read", "accepted", "card refused", "card accepted")
EACH = 5_000


def fuzz(number: int, n: int) -> Counter[str]:
    """Fuzz in a process of its own, for a reader may end its process; the seed is in what fails."""
    command = [sys.executable, "-m", "tests.validation.fuzz", str(number), str(n)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, f"{' '.join(command)} ended with {done.returncode}\n{done.stderr[-4000:]}"
    return Counter(json.loads(done.stdout))


def test_a_few_hundred() -> None:
    found = fuzz(0, 800)
    assert found.total() >= 700  # hypothesis may run out of new ones
    assert min(found[name] for name in KINDS) > 5


@pytest.mark.long
def test_a_hundred_thousand(capsys: pytest.CaptureFixture[str]) -> None:
    found: Counter[str] = Counter()
    number = 1
    while found.total() < 100_000:
        found += fuzz(number, EACH)
        number += 1
    with capsys.disabled():
        print(f"\n{found.total():,} files and cards, seeds 1 to {number - 1}: {dict(found)}")
