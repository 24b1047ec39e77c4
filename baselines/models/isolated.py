"""Classifiers in skops files, loaded and run in a separate process: no object of the file enters this process.

The process is limited in memory and time and, if the system allows it, has no access to files, programs or the network
(``confinement``). One process serves a model until it is closed or garbage-collected, or this process exits or is
killed.
"""

import json
import os
import subprocess
import sys
import threading
import warnings
import weakref
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from shiftbench.baselines.models.isolated_worker import read_message, write_message
from shiftbench.validation.notices import ModelWarning
from shiftbench.validation.operating_system import HAS_LIFELINES
from shiftbench.validation.report import InvalidInput, Problem, first_line

MAX_FILE = 2 * 2**30
MEMORY_MIB = 8_192
"""Memory of a process: this base, plus ``MEMORY_PER_BYTE`` times the size of the file, in addition to its libraries."""
MEMORY_PER_BYTE = 12
LOAD_SECONDS = 120
LOAD_SECONDS_PER_MIB = 1
PREDICT_SECONDS = 600
PREDICT_SECONDS_PER_ROW = 0.1
_GRACE = 30
"""Extra wall-clock seconds; the limits themselves are processor time, summed over all threads."""


class IsolatedClassifier:
    """A fitted classifier in a separate process; ``notes`` lists the protections that the system does not provide."""

    def __init__(self, path: Path) -> None:
        size = path.stat().st_size
        if size > MAX_FILE:
            cure = "save a smaller model, or use a callable, 'module:callable'"
            raise InvalidInput(Problem("the skops file is too large", str(path), f"{size:,} bytes", cure))
        content = path.read_bytes()
        self._path, self._memory_mib = path, MEMORY_MIB + MEMORY_PER_BYTE * len(content) // 2**20
        self._process, lifeline = _start_worker(path)
        self._end = weakref.finalize(self, _end_worker, self._process, lifeline)
        seconds = LOAD_SECONDS + LOAD_SECONDS_PER_MIB * len(content) / 2**20
        answer, _ = self._ask({}, content, seconds, "loading the model")
        self.type_name, self.notes = str(answer["type"]), tuple(map(str, answer["notes"]))
        names = answer["classes"]
        self.classes_ = None if names is None else np.array([str(name) for name in names], dtype=object)
        for text in answer["warnings"]:
            warnings.warn(f"{path}: {first_line(ValueError(str(text)))}", ModelWarning, stacklevel=2)
        self._has_probabilities = bool(answer["has_probabilities"])

    def __getattr__(self, name: str) -> Any:
        """Return ``predict_proba`` if the classifier has probabilities."""
        if name == "predict_proba" and self.__dict__.get("_has_probabilities"):
            return self._predict_proba
        raise AttributeError(name)

    def predict(self, rows: Any) -> list[str]:
        """Return the predicted class name of each row; rows are texts, or a frame of columns."""
        _, body = self._ask_rows(rows, is_probabilities=False)
        names = json.loads(body)
        if not isinstance(names, list) or len(names) != len(rows) or any(not isinstance(name, str) for name in names):
            raise InvalidInput(self._nonsense(f"{type(names).__name__} for {len(rows):,} rows"))
        return names

    def close(self) -> None:
        """Terminate the process."""
        self._end()

    def _predict_proba(self, rows: Any) -> NDArray[np.float64]:
        answer, body = self._ask_rows(rows, is_probabilities=True)
        shape = (len(rows), 0 if self.classes_ is None else len(self.classes_))
        if tuple(answer["shape"]) != shape or len(body) != 8 * shape[0] * shape[1]:
            raise InvalidInput(self._nonsense(f"an array of shape {answer['shape']} for {len(rows):,} rows"))
        return np.frombuffer(body, dtype=np.float64).reshape(shape)

    def _ask_rows(self, rows: Any, *, is_probabilities: bool) -> tuple[dict[str, Any], bytes]:
        form = "texts" if isinstance(rows, list) else "columns"
        content = json.dumps(rows if form == "texts" else rows.to_dict(orient="list")).encode()
        seconds = PREDICT_SECONDS + PREDICT_SECONDS_PER_ROW * len(rows)
        return self._ask({"form": form, "is_probabilities": is_probabilities}, content, seconds, "predicting")

    def _ask(
        self, request: Mapping[str, Any], content: bytes, seconds: float, doing: str
    ) -> tuple[dict[str, Any], bytes]:
        """Send a request and return the response; raise InvalidInput if there is none, or it is an error."""
        bounds = {"memory_mib": self._memory_mib, "seconds": seconds}
        timer = threading.Timer(seconds + _GRACE, self._process.kill)
        timer.start()
        try:
            with suppress(BrokenPipeError):
                write_message(_stream(self._process.stdin), {**request, **bounds}, content)
            answer, body = read_message(_stream(self._process.stdout))
        except EOFError:
            self.close()
            cure = "use a smaller model, or your own code as 'module:callable'"
            bounds_shown = f"{seconds:,.0f} seconds of CPU time or {self._memory_mib:,} MiB"
            found = f"more than {bounds_shown}, or the file is damaged"
            raise InvalidInput(Problem(f"{doing} stopped the model's process", str(self._path), found, cure)) from None
        except BaseException:  # after an interrupted message the process cannot be used again
            self.close()
            raise
        finally:
            timer.cancel()
        if "problem" in answer:
            what, file, found, cure = map(str, answer["problem"])
            raise InvalidInput(Problem(what, file, found, cure))
        if "error" in answer:
            cure = "save it again with skops.io.dump and the installed versions of its libraries"
            line = str(answer["line"])
            found = str(answer["error"]) if line == answer["error"] else f"{answer['error']}: {line}"
            raise InvalidInput(Problem(f"{doing} failed", str(self._path), found, cure))
        return answer, body

    def _nonsense(self, found: str) -> Problem:
        cure = "save a fitted pipeline that ends in a single-label classifier"
        return Problem("the model did not return one prediction per row", str(self._path), found, cure)


def _start_worker(path: Path) -> tuple["subprocess.Popen[bytes]", int]:
    """Start the process; it exits when the returned end of the pipe closes, even if this process crashes."""
    theirs, ours = os.pipe()
    try:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "shiftbench.baselines.models.isolated_worker", str(theirs), str(path)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=os.sep, env=_environment(),
            pass_fds=[theirs] if HAS_LIFELINES else (),
        )  # fmt: skip
    finally:
        os.close(theirs)
    return process, ours


def _environment() -> dict[str, str]:
    """Return the environment variables that the process needs, without keys, tokens and proxies."""
    kept = ("PATH", "LANG", "TZ", "SYSTEMROOT", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
    kept_by_start = ("LC_", "OMP_", "OPENBLAS_", "MKL_", "NPY_", "POLARS_", "BLIS_")
    chosen = {name: value for name, value in os.environ.items() if name in kept or name.startswith(kept_by_start)}
    paths = [str(Path(path).absolute()) for path in sys.path if path]
    # Each arena of malloc reserves memory, which counts towards the limit; joblib must not start processes.
    return {**chosen, "PYTHONPATH": os.pathsep.join(paths), "MALLOC_ARENA_MAX": "2", "JOBLIB_MULTIPROCESSING": "0"}


def _stream(stream: BinaryIO | Any) -> BinaryIO:
    assert stream is not None
    return stream


def _end_worker(process: "subprocess.Popen[bytes]", lifeline: int) -> None:
    process.kill()
    process.wait()
    os.close(lifeline)
    for stream in (process.stdin, process.stdout):
        with suppress(OSError):
            _stream(stream).close()
