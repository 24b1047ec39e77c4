"""The process of a skops model: what it may not do, and when it ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from skops import io
from syrupy.assertion import SnapshotAssertion

from shiftbench.baselines.models.isolated import IsolatedClassifier
from shiftbench.validation.report import InvalidInput
from tests.baselines.models.honest import LABELS, TEXTS
from tests.baselines.models.hostile import node, save, value
from tests.refusals import refusal

_ATTEMPTS = """
import os, socket, sys, ctypes
from pathlib import Path
from shiftbench.baselines.models.confinement import leave_network, refuse_in_python, refuse_writing
has_left = leave_network()
canary, has_python = Path(sys.argv[1]), sys.argv[2] == "python"
system = ctypes.CDLL(None, use_errno=True)
print(refuse_writing(has_left_network=has_left))
if has_python:
    refuse_in_python()
def attempt(what):
    try:
        what()
    except (OSError, PermissionError) as error:
        return
    print("DONE", what.__name__)
def write(): canary.write_bytes(b"gone")
def make(): Path(str(canary) + ".new").write_bytes(b"x")
def folder(): Path(str(canary) + ".folder").mkdir()
def remove(): canary.unlink()
def connect(): socket.create_connection(("127.0.0.1", int(sys.argv[3])), timeout=2)
def run():
    os.execv("/bin/sh", ["/bin/sh", "-c", f"touch {canary}.run"])
def read():
    if has_python: canary.read_bytes()
    else: raise OSError
for each in (write, make, folder, remove, connect, run, read):
    attempt(each)
"""


def save_model(path: Path) -> None:
    io.dump(make_pipeline(CountVectorizer(), LogisticRegression()).fit(TEXTS, LABELS), path)


@pytest.mark.parametrize("layer", ["python", "system"])
def test_a_confined_process_computes_only(tmp_path: Path, layer: str) -> None:
    import socket

    canary = tmp_path / "canary"
    canary.write_bytes(b"here")
    with socket.create_server(("127.0.0.1", 0)) as server:
        command = [sys.executable, "-c", _ATTEMPTS, str(canary), layer, str(server.getsockname()[1])]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    if layer == "system" and done.stdout.splitlines()[0] != "[]":
        pytest.skip(f"not on this system: {done.stdout.splitlines()[0]}")
    assert "DONE" not in done.stdout
    assert canary.read_bytes() == b"here"
    assert [path.name for path in tmp_path.iterdir()] == ["canary"]


def test_one_process_serves_a_model_and_ends_with_it(tmp_path: Path) -> None:
    save_model(tmp_path / "m.skops")
    model = IsolatedClassifier(tmp_path / "m.skops")
    pipeline = make_pipeline(CountVectorizer(), LogisticRegression()).fit(TEXTS, LABELS)
    assert np.array_equal(model.predict_proba(TEXTS), pipeline.predict_proba(TEXTS))
    assert model.predict(TEXTS) == pipeline.predict(TEXTS).tolist()
    process = model._process
    assert process.poll() is None
    del model
    assert process.poll() is not None


def test_the_process_ends_when_its_starter_is_killed(tmp_path: Path) -> None:
    save_model(tmp_path / "m.skops")
    program = (
        "import sys, time; from pathlib import Path\n"
        "from shiftbench.baselines.models.isolated import IsolatedClassifier\n"
        "model = IsolatedClassifier(Path(sys.argv[1])); print(model._process.pid, flush=True); time.sleep(300)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "m.skops")], stdout=subprocess.PIPE
    ) as starter:
        assert starter.stdout is not None
        child = int(starter.stdout.readline())
        os.kill(child, signal.SIGSTOP)  # it does not come to read that its input has ended
        starter.kill()
        os.kill(child, signal.SIGCONT)
    until = time.monotonic() + 20
    while _is_running(child) and time.monotonic() < until:
        time.sleep(0.05)
    assert not _is_running(child)


def _is_running(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_hostile_file_is_refused_by_name_with_the_cure(tmp_path: Path, wording: SnapshotAssertion) -> None:
    command = node("ConstructorFromReduceNode", "numpy.memmap", content=value(str(tmp_path / "gone")))
    (tmp_path / "m.skops").write_bytes(save(command))
    assert refusal(InvalidInput, IsolatedClassifier, tmp_path / "m.skops") == wording
    assert [path.name for path in tmp_path.iterdir()] == ["m.skops"]
