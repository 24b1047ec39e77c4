"""The process of a trial ends with whoever started it."""

import signal
import subprocess
import sys
from pathlib import Path

import filelock
import pytest

WAITS = """
import sys, time
from pathlib import Path
from shiftbench.baselines.grid import child
child.runpy.run_module = lambda *_, **__: (print(*sys.argv[1:], flush=True), time.sleep(60))
child.main(Path(sys.argv[1]), ["train", "majority"])
"""


def test_it_ends_when_its_starter_is_gone_and_is_alone_in_its_folder_until_then(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", WAITS, str(tmp_path)],
        cwd=Path(__file__).parents[3],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == "train majority\n"
    lock = filelock.FileLock(tmp_path / ".lock", blocking=False)
    with pytest.raises(filelock.Timeout):
        lock.acquire()
    process.stdin.close()  # as when the starter is killed
    assert process.wait(20) == -signal.SIGKILL
    with lock:
        pass
