"""Clients of the loopback Hub: the real ones, each in a process of its own, as they read the address at import."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.hub.server import WRITE, LoopbackHub

ROOT = Path(__file__).parents[2]
SECONDS = 120.0
LOAD = """
import json, sys
from datasets import load_dataset

repo, config, streaming, revision = sys.argv[1:]
loaded = load_dataset(repo, config, streaming=streaming == "stream", revision=revision)
print(json.dumps({split: [row for row in rows] for split, rows in loaded.items()}))
"""


def start(hub: LoopbackHub, home: Path, *words: str, token: str | None = WRITE) -> "subprocess.Popen[str]":
    """Start a Python process whose Hub this is; its standard error comes with its output."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    environment = outside | hub.environment(home, token) | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, cwd=home, env=environment)


def start_publish(
    hub: LoopbackHub, home: Path, folder: Path, *options: str, token: str | None = WRITE
) -> "subprocess.Popen[str]":
    """Start ``shiftbench data publish``."""
    return start(hub, home, "-m", "shiftbench", "data", "publish", str(folder), *options, token=token)


def finish(process: "subprocess.Popen[str]") -> tuple[int, str, str]:
    """Wait for a process; returns its exit code, output and errors."""
    try:
        out, err = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return process.returncode, out, err


def load(hub: LoopbackHub, home: Path, repo: str, config: str, how: str, revision: str = "main") -> dict[str, Any]:
    """Return what ``load_dataset`` reads in a fresh process with an empty cache, by split."""
    code, out, err = finish(start(hub, home, "-c", LOAD, repo, config, how, revision, token=None))
    assert code == 0, err
    loaded: dict[str, Any] = json.loads(out.splitlines()[-1])
    return loaded
