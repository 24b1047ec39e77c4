"""The README's examples, run in order in an empty folder: each line that is shown is printed.

``make test-long ARGS=tests/test_readme_walk.py``. The row of a paper is left out: its rows are upstream's.
"""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
NEEDS_UPSTREAM = ("build/df1", "sis3")
"""What is in the commands that need upstream rows."""


def steps() -> Iterator[tuple[str, list[str]]]:
    """Yield each command, or the text of a program, with the lines that are shown below it."""
    for kind, block in re.findall(r"^```(\w*)\n(.*?)^```", README, flags=re.M | re.S):
        if kind == "python":
            yield block, []
            continue
        for part in re.split(r"^(?=\$ shiftbench |shiftbench )", block, flags=re.M):
            line, *shown = part.removeprefix("$ ").split("\n")
            if line.startswith("shiftbench ") and not any(words in line for words in NEEDS_UPSTREAM):
                yield line, [each.rstrip() for each in shown if each not in ("", "...")]


def without_ids(text: str) -> str:
    """Replace ids of entries, which depend on the versions of the libraries."""
    return re.sub(r"\b[0-9a-f]{16}\b", "ID", text)


@pytest.mark.long
def test_the_examples_print_what_is_shown(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "COLUMNS": "120", "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}
    servers: list[subprocess.Popen[bytes]] = []
    log = tmp_path / "serve.log"
    try:
        for line, shown in steps():
            if "\n" in line:
                subprocess.run([sys.executable, "-c", line], cwd=tmp_path, env=env, check=True, capture_output=True)
                continue
            command = line.replace("7860", port)
            if " serve " in line:
                words = [*command.split("#")[0].split(), "--port", port]
                servers.append(subprocess.Popen(words, cwd=tmp_path, env=env, stderr=log.open("wb")))
                until = time.monotonic() + 120
                while "http://" not in log.read_text() and time.monotonic() < until:
                    time.sleep(0.2)
                printed = log.read_text()
            else:
                done = subprocess.run(
                    command, shell=True, cwd=tmp_path, env=env, capture_output=True, text=True, check=False
                )
                printed = done.stdout + done.stderr
                assert done.returncode == 0, printed
            lines = {each.rstrip() for each in without_ids(printed).splitlines()}
            assert [each for each in shown if without_ids(each).replace("7860", port) not in lines] == [], line
    finally:
        for server in servers:
            server.send_signal(signal.SIGINT)
            server.wait(timeout=60)
