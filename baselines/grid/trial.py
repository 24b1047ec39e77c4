"""A trial: one program trained on one source of one task with one seed, in a child process."""

import hashlib
import json
import logging
import os
import platform
import shlex
import shutil
import subprocess
import sys
import time
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from shiftbench.baselines.grid.own import CODE_FOLDER, placed, placed_options
from shiftbench.baselines.versions import code_versions
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.validation.cards import card_path, read_card
from shiftbench.validation.json_text import parse_json
from shiftbench.validation.operating_system import end_group, ending_signal
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.versions import DataVersion
from shiftbench.validation.vocabulary import NO_SOURCE

PREDICTIONS, LOG, RECORD = "predictions.parquet", "log.txt", "trial.json"

_COMPUTING = (
    *("numpy", "polars", "scikit-learn"),
    *("torch", "transformers", "accelerate", "peft", "sentence-transformers"),
)
# Threads change the order of floating-point sums, and so the results.
_THREADS = (
    *("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"),
    *("RAYON_NUM_THREADS", "POLARS_MAX_THREADS"),
)
_OUT_OF_MEMORY = (
    *("memoryerror", "cannot allocate memory", "std::bad_alloc", "defaultcpuallocator", "out of memory"),
    # Messages if an import or the start of a worker ran out of memory.
    *("failed to map segment", "unknown error: error return without exception set", "returned null without setting"),
)
"""Lower-case substrings of a log that indicate out of memory; libraries report it in many ways, including SIGABRT."""
_STARTED = "$ shiftbench "
"""Prefix of the log line that starts an attempt at the trial."""
_LESS_MEMORY = "run fewer trials at once (--slots), or use a smaller batch_size (accumulate keeps the effective one)"
_ROOT = Path(__file__).parents[2]
_GRACE = 5.0
"""Seconds between asking a process to stop and killing it."""


class Searched(NamedTuple):
    """The search that a trial is part of.

    Attributes:
        rule: selection rule: 'source-validation' or 'oracle'.
        trials: number of settings tried for each task and source.
        number: 1-based index of the trial; None for a trial that runs the selected settings on a new seed.
    """

    name: str
    rule: str
    trials: int
    number: int | None = None


@dataclass(frozen=True)
class Trial:
    """Everything that determines a trial's predictions, and its model's name in the grid.

    Attributes:
        source: training domains joined with '+', or 'none' for a program that does not train.
        data: hash of the rows of its task (see ``trial_data``); for trials from before 0.3, the content hash of the
            whole dataset folder.
        versions: versions of the libraries that computations depend on, such as 'torch 2.13.0'.
        search: the search that it is part of; in its record, but not in its key.
        files: files of user code, each with its sha256; part of the key if there are any.
        dataset: version of the local folder that contains these rows; does not affect the predictions.
    """

    model: str
    program: str
    options: tuple[str, ...]
    task: str
    source: str
    seed: int
    data: str
    versions: tuple[str, ...]
    files: tuple[str, ...] = ()
    dataset: DataVersion | None = field(default=None, compare=False)
    search: Searched | None = field(default=None, compare=False)

    def __str__(self) -> str:
        """Return the trial's name in messages."""
        return f"{self.model} on {self.task} ({self.source}, seed {self.seed})"

    @classmethod
    def read(cls, file: Path) -> "Trial":
        """Read a trial's record, ``trial.json`` in its folder."""
        return cls.from_facts(parse_json(file.read_text(encoding="utf-8")))

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> "Trial":
        """Build a trial from its record as JSON data."""
        lists = {name: tuple(facts[name]) for name in ("options", "versions", "files") if name in facts}
        searched = {"search": Searched(*facts["search"])} if facts.get("search") else {}
        return cls(**{**facts, **lists, **searched})

    @property
    def facts(self) -> dict[str, Any]:
        """Return the record as JSON data: what determines the predictions, the model's name, and the search."""
        facts = {each.name: getattr(self, each.name) for each in fields(self) if each.compare or each.name == "search"}
        return {name: value for name, value in facts.items() if name not in ("files", "search") or value}

    @cached_property
    def record(self) -> str:
        """Format the trial as JSON."""
        return json.dumps(self.facts, indent=2, sort_keys=True) + "\n"

    @cached_property
    def key(self) -> str:
        """Hash what determines the predictions: another option, dataset or version gives another key."""
        return hashlib.sha256(replace(self, search=None).record.encode()).hexdigest()[:12]

    @property
    def folder(self) -> Path:
        """Return the folder of the trial's files, relative to the grid's runs; long joined sources are truncated."""
        return Path(self.task, self.model, f"{self.source[:80]}-{self.seed}-{self.key}")

    def arguments(self, data: Path, out: Path, code: Path | None = None) -> list[str]:
        """Return the arguments of the ``shiftbench`` command of this trial.

        Args:
            data: the dataset folder.
            out: the prediction file to write.
            code: base folder of the paths of user code; None: the working directory.
        """
        source = [] if self.source == NO_SOURCE else [f"--source={self.source}"]
        fixed = [
            f"--data={_relative_if_inside(data)}",
            f"--out={_relative_if_inside(out)}",
            *source,
            f"--seed={self.seed}",
        ]
        place = _relative_if_inside(code or Path())
        return ["train", placed(self.program, place), self.task, *fixed, *placed_options(self.options, place)]


class EndedTrial(NamedTuple):
    """A trial that has ended, with the reason if it failed."""

    trial: Trial
    error: str | None


def installed_versions(program: str = "", options: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the versions that a trial's predictions depend on: Python, program, methods, libraries."""
    python = ".".join(platform.python_version_tuple()[:2])
    versions = [f"python {python}", *code_versions(program, options)]
    for name in _COMPUTING:
        with suppress(PackageNotFoundError):
            versions.append(f"{name} {version(name)}")
    return tuple(versions)


def trial_data(folder: DatasetFolder, task: str, options: Sequence[str]) -> str:
    """Hash the rows that a trial reads: all rows of its task, because some programs read training texts of the targets.

    Args:
        folder: the dataset. With the option ``--candidates``, the rows of this task's candidates are hashed, too.
    """
    candidates = [name for name, info in folder.manifest.tasks.items() if info.candidates_for == task]
    return folder.tasks_hash([task, *(candidates if "--candidates" in options else [])])


def find_dataset(trial: Trial, folders: Sequence[DatasetFolder]) -> DatasetFolder | None:
    """Find the dataset folder with the rows of a trial's task, preferably with test labels; None if there is none."""
    having = [
        folder
        for folder in folders
        if trial.task in folder.manifest.tasks
        and trial.data in (folder.content_hash, trial_data(folder, trial.task, trial.options))
    ]
    return min(having, key=lambda folder: folder.manifest.withholds_labels, default=None)


def is_whole(predictions: Path) -> bool:
    """Check whether a prediction file and its card exist and can be read."""
    try:
        read_card(card_path(predictions))
        pl.read_parquet_schema(predictions)
    except (InvalidInput, OSError, pl.exceptions.PolarsError):
        return False
    return True


def start_trial(
    trial: Trial, folder: Path, data: Path, threads: int, gpu: str | None = None, code: Path | None = None
) -> "subprocess.Popen[bytes]":
    """Start a trial's process; its output is appended to the log in its folder.

    Args:
        folder: folder for its files; unfinished work of an earlier process is resumed.
        threads: threads of each library that computes.
        gpu: the only GPU visible to the process; None: the same GPUs as in this process.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / RECORD).write_text(trial.record, encoding="utf-8")
    arguments = trial.arguments(data, folder / PREDICTIONS, code)
    with (folder / LOG).open("ab") as log:
        log.write(f"{_STARTED}{shlex.join(arguments)}\n".encode())
        log.flush()
        return subprocess.Popen(
            [sys.executable, "-m", "shiftbench.baselines.grid.child", str(folder.absolute()), *arguments],
            stdin=subprocess.PIPE,  # closed when this process exits, even on a crash
            stdout=log,
            stderr=subprocess.STDOUT,
            env=_environment(threads, gpu) | ({CODE_FOLDER: str((code or Path()).absolute())} if trial.files else {}),
            start_new_session=True,  # Ctrl-C reaches only this process, which then stops the others
        )


def stop_trials(children: Sequence["subprocess.Popen[bytes]"]) -> None:
    """Stop trials' processes and their child processes."""
    for kill in (False, True):
        for child in children:
            if child.poll() is None:
                end_group(child, kill=kill)
        until = time.monotonic() + _GRACE
        for child in children:
            with suppress(subprocess.TimeoutExpired):
                child.wait(max(0.0, until - time.monotonic()))


def failure_reason(folder: Path, code: int) -> str | None:
    """Find why a trial's process failed; None if it did not."""
    if code == 0 and is_whole(folder / PREDICTIONS):
        return None
    ended_by = ending_signal(code)
    lines = (folder / LOG).read_text(encoding="utf-8", errors="replace").split("\n")
    last = next(line for line in reversed(lines) if line.strip())[:500]
    said = "\n".join(lines[max(place for place, line in enumerate(lines) if line.startswith(_STARTED)) :]).casefold()
    if ended_by == "SIGKILL" or any(sign in said for sign in _OUT_OF_MEMORY):
        found = f"killed by {ended_by}" if ended_by == "SIGKILL" else last
        return f"out of memory ({found}): {_LESS_MEMORY}"
    if ended_by is not None:
        return f"terminated by {ended_by}"
    return last if code else "the program exited without writing its predictions"


def _relative_if_inside(path: Path) -> Path:
    """Return a path relative to the working directory if it is inside, so that cards do not reveal where that is."""
    path, here = path.resolve(), Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _environment(threads: int, gpu: str | None) -> dict[str, str]:
    """Build an environment in which a seed gives the same predictions on the same type of processor."""
    return {
        **os.environ,
        **dict.fromkeys(_THREADS, str(threads)),
        "PYTHONHASHSEED": "0",
        "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
        "TOKENIZERS_PARALLELISM": "false",
        "PYTHONUNBUFFERED": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH")))),
        **({} if gpu is None else {"CUDA_VISIBLE_DEVICES": gpu}),
    }


log = logging.getLogger(__name__)
_LOOK_EVERY = 0.05
"""Seconds between checks for finished processes."""


def run_local(
    trials: Sequence[Trial], data: Path, runs: Path, *, slots: int, threads: int, code: Path | None = None
) -> Generator[EndedTrial, None, None]:
    """Run trials, ``slots`` at once, and yield each when it ends; closing the iterator terminates the running ones.

    Args:
        trials: trials to run, in this order.
        data: the dataset folder.
        runs: folder that contains the trials' folders.
        slots: number of concurrent trials.
        threads: threads per trial.
        code: base folder of the paths of user code.
    """
    gpus = visible_gpus()
    waiting, running, free = deque(trials), dict[int, tuple[Trial, "subprocess.Popen[bytes]"]](), list(range(slots))
    try:
        while waiting or running:
            while waiting and free:
                trial, slot = waiting.popleft(), free.pop(0)
                gpu = gpus[slot % len(gpus)] if gpus else None
                running[slot] = trial, start_trial(trial, runs / trial.folder, data, threads, gpu, code)
                log.info("running: %s", trial)
            for slot, (trial, child) in list(running.items()):
                if child.poll() is not None:
                    del running[slot]
                    free.append(slot)
                    yield EndedTrial(trial, failure_reason(runs / trial.folder, child.returncode))
            time.sleep(_LOOK_EVERY)
    finally:
        stop_trials([child for _, child in running.values()])


def visible_gpus() -> list[str]:
    """List the GPUs without importing torch: from ``CUDA_VISIBLE_DEVICES`` or, if it is not set, ``nvidia-smi``."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is not None:
        return [name.strip() for name in chosen.split(",") if name.strip() not in ("", "-1")]
    if shutil.which("nvidia-smi") is None:
        return []
    listed = subprocess.run(["nvidia-smi", "--list-gpus"], capture_output=True, text=True, check=False)
    return [str(number) for number, line in enumerate(listed.stdout.splitlines()) if line.startswith("GPU")]
