"""Own code of a grid is checked in the process of the tests, which has loaded what a process of its own loads anew."""

import json
from subprocess import CompletedProcess
from types import SimpleNamespace
from typing import Any

import pytest

from shiftbench.baselines.grid import own, own_check


@pytest.fixture
def checked_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check each model of a grid without a process, which takes one to five seconds to start."""

    def run(command: list[str], **options: Any) -> "CompletedProcess[str]":
        return CompletedProcess(command, 0, f"\n{json.dumps(own_check.check(json.loads(options['input'])))}", "")

    monkeypatch.setattr(own, "subprocess", SimpleNamespace(run=run))
