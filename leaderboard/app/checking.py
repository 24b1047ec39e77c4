"""Check uploads, and score them for previews, in worker processes, so that a crafted file cannot exhaust the server's
memory or crash it.

A worker takes a second to start, so one is always ready; it is reused until it has grown or a file has crashed it.
Workers are spawned, not forked: they share neither the server's memory nor locks held by its threads.
"""

import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.scores.score import FileChecks
from shiftbench.scoring.scores.shape import Scores
from shiftbench.validation.operating_system import ending_signal
from shiftbench.validation.prediction_files import PredictionInput
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.vocabulary import TaskKind

MEMORY_MIB = 512
"""Memory limit of a worker that checks a small file, including Python, its libraries and a dataset's test ids."""
OWN_MIB = 212
"""The part of ``MEMORY_MIB`` that a worker uses before it reads a file."""
MEMORY_PER_BYTE = 2
SECONDS = 10
"""Limit on processor time for a small file."""
SECONDS_PER_MIB = 1
PREVIEW_MIB, PREVIEW_SECONDS = 1_024, 60
"""Limits on the additional memory and time for scoring a checked file: enough for a hundred runs of a task."""
WAIT_FACTOR = 6
"""Wall-clock limit as a multiple of the processor time, for busy machines."""
_ENVIRONMENT = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",  # other pools reserve gigabytes of address space
    "MALLOC_ARENA_MAX": "1",
    "POLARS_MAX_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


class Checker(FileChecks):
    """Checks files in worker processes."""

    def __init__(self, at_once: int = 2) -> None:
        self._slots = threading.BoundedSemaphore(at_once)
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []

    def start(self) -> None:
        """Start an idle worker."""
        with self._lock:
            self._idle.append(_Worker())

    def predictions(self, path: Path | PredictionInput, folder: DatasetFolder, subset: str = "all") -> pl.DataFrame:
        """Read and check a prediction file as ``FileChecks`` does; InvalidInput also if it exceeds the limits."""
        return self._checked(path, {"folder": str(folder.path), "subset": subset})

    def validation(self, path: Path | PredictionInput, folder: DatasetFolder) -> pl.DataFrame:
        """Read predictions on validation rows as ``FileChecks`` does; InvalidInput also if they exceed the limits."""
        return self._checked(path, {"folder": str(folder.path), "subset": "all", "split": "validation"})

    def _checked(self, path: Path | PredictionInput, request: dict[str, Any]) -> pl.DataFrame:
        given = PredictionInput.of(path)
        request = {**request, "labels_by_index": given.labels_by_index, **_bounds_of(given.path)}
        with TemporaryDirectory(prefix="shiftbench-check-") as place:
            out = Path(place) / "checked.arrow"
            self._ask({**request, "out": str(out), "is_checked": False})
            return pl.read_ipc(out)

    def scores(self, predictions: pl.DataFrame, folder: DatasetFolder, subset: str = "all") -> Scores:
        """Score checked predictions as ``FileChecks`` does; InvalidInput if that exceeds the limits.

        Generated text is scored in this process, which has the required model loaded.
        """
        tasks = predictions["task"].unique()
        if any(folder.task(task).kind is TaskKind.GENERATION for task in tasks):
            return super().scores(predictions, folder, subset)
        with TemporaryDirectory(prefix="shiftbench-preview-") as place:
            file, out = Path(place) / "checked.arrow", Path(place) / "scores.json"
            predictions.write_ipc(file, compression="lz4", compat_level=pl.CompatLevel.oldest())
            request = {"folder": str(folder.path), "subset": subset, "out": str(out), "is_checked": True}
            self._ask({**request, "file": str(file), "memory_mib": PREVIEW_MIB, "seconds": PREVIEW_SECONDS})
            return Scores.model_validate_json(out.read_bytes())

    def benchmark(self, path: Path) -> str:
        """Return the benchmark of a file's first id, as ``FileChecks`` does."""
        return str(self._ask(_bounds_of(path)))

    def close(self) -> None:
        """Terminate idle workers."""
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.close()

    def _ask(self, request: dict[str, Any]) -> Any:
        with self._slots:
            with self._lock:
                worker = self._idle.pop() if self._idle else _Worker()
            answer = worker.ask(request, WAIT_FACTOR * request["seconds"])
            if answer.pop("last", True):
                worker.close()
                worker = _Worker()
            with self._lock:
                self._idle.append(worker)
        if "problems" in answer:
            raise InvalidInput(Problem(**problem) for problem in answer["problems"])
        if "result" not in answer:
            raise InvalidInput(_too_much(request, answer))
        return answer["result"]


class _Worker:
    """A worker process, which checks one file at a time."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "shiftbench.leaderboard.app.check_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **_ENVIRONMENT, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            process_group=0,  # Ctrl-C goes to the server only, which terminates the workers
        )

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Send a request and return the worker's response.

        If the worker crashed or timed out: its exit code (``ended``), and whether it timed out (``is_late``).
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        timer = threading.Timer(seconds, self._process.kill)
        timer.start()
        try:
            with suppress(BrokenPipeError):
                self._process.stdin.write(json.dumps(request).encode() + b"\n")
                self._process.stdin.flush()
            line = self._process.stdout.readline()
            is_late = not timer.is_alive()
        finally:
            timer.cancel()
        return json.loads(line) if line else {"ended": self._process.wait(), "is_late": is_late}

    def close(self) -> None:
        """Terminate the process."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with suppress(BrokenPipeError):
                stream.close()


def _bounds_of(path: Path) -> dict[str, Any]:
    """Return the part of a request with the file and its limits."""
    size = path.stat().st_size
    return {
        "file": str(path),
        "memory_mib": MEMORY_MIB - OWN_MIB + MEMORY_PER_BYTE * size // 2**20,
        "seconds": SECONDS + SECONDS_PER_MIB * size // 2**20,
    }


def _too_much(request: dict[str, Any], answer: dict[str, Any]) -> Problem:
    """Return the problem for a check or preview that exceeded a limit or crashed."""
    cure = "send fewer runs per file, as Parquet written by polars, pandas or pyarrow with default settings"
    file, doing = request["file"], "checking this file"
    if request.get("is_checked"):
        cure = "preview fewer runs at a time; the file was checked and can still be submitted"
        file, doing = "preview", "scoring this file"
    ended_by = ending_signal(answer.get("ended", 0))
    if answer.get("is_late") or ended_by in {"SIGXCPU", "SIGKILL"}:
        return Problem(f"{doing} takes too long", file, f"more than {request['seconds']} seconds", cure)
    if "out_of_memory" not in answer and ended_by is None:  # a bug of ours; the worker has printed the traceback
        cure = "try again; if it fails again, tell the leaderboard's host"
        return Problem(f"{doing} failed", file, "an internal error of the server", cure)
    return Problem(f"{doing} takes too much memory", file, f"more than {request['memory_mib']} MiB", cure)
