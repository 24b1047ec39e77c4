"""The engine of a cluster: Ray starts each trial on a free GPU or CPU slot, and again elsewhere when a worker is lost.

No disk is shared: the dataset's files go to the machines once, and prediction files, cards and logs come back.
Leaves out: installing anything; each machine has the versions of this one, which is checked.
"""

import hashlib
import io
import logging
import os
import platform
import shutil
import signal
import socket
import tarfile
import tempfile
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock

from shiftbench.baselines.grid.trial import (
    LOG,
    PREDICTIONS,
    EndedTrial,
    Trial,
    failure_reason,
    installed_versions,
    start_trial,
    stop_trials,
)
from shiftbench.builders.cache import cache_folder
from shiftbench.builders.folder.manifest import MANIFEST
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.validation.cards import card_path
from shiftbench.validation.output_files import replace_file
from shiftbench.validation.report import InvalidInput, Problem, counted

log = logging.getLogger(__name__)
_TRIES_MORE = 3
_ANSWER_WITHIN = 10.0


@dataclass(frozen=True)
class _Dataset:
    """The files of a dataset folder that the trials read, as a tar, with its hash."""

    tar: bytes
    sha256: str


@dataclass(frozen=True)
class _Returned:
    """A worker's result: why the trial failed if it did, its files, and versions that differ from those asked for."""

    error: str | None = None
    files: dict[str, bytes] = field(default_factory=dict)
    refused: str = ""


def run_on_ray(
    trials: Sequence[Trial], data: Path, runs: Path, *, threads: int, address: str, code: Path | None = None
) -> Generator[EndedTrial, None, None]:
    """Run trials on a Ray cluster and yield each as it ends; closing the iterator ends those that run.

    Args:
        trials: what to run; each takes a GPU where the cluster has one, else ``threads`` CPUs.
        data: the dataset folder.
        runs: folder in which each trial gets its own.
        threads: of each trial.
        code: the folder that files of the user's own code are named from; modules are installed on every machine.
        address: of the cluster; 'auto' finds it, 'local' starts one on this machine, for as long as this runs.
    Raises: InvalidInput when there is no such cluster, or its machines are too small or have other versions.
    """
    if not trials:
        return
    with _connect(address) as ray:
        needs = _resources_of_trial(ray, threads)
        names = {line.rpartition(" ")[0] for trial in trials for line in trial.files}
        own = ray.put({name: ((code or Path()) / name).read_bytes() for name in names if name.endswith(".py")})
        dataset = ray.put(_pack_dataset(data, {trial.task for trial in trials}))
        work = ray.remote(_run_on_worker).options(max_retries=_TRIES_MORE, retry_exceptions=False, **needs)
        log.info("running: %s on the cluster", counted(len(trials), "trial"))
        waiting = {work.remote(trial, dataset, threads, own): trial for trial in trials}
        while waiting:
            (ready,), _ = ray.wait(list(waiting), num_returns=1)
            trial = waiting.pop(ready)
            try:
                returned = ray.get(ready)
            except ray.exceptions.RayError as error:
                yield EndedTrial(trial, f"the cluster gave up on it: {' '.join(str(error).split())[:300]}")
                continue
            if returned.refused:
                cure = "install the same versions on all machines"
                raise InvalidInput(Problem("machines have different versions", "--ray", returned.refused, cure))
            _write_files(returned.files, runs / trial.folder)
            yield EndedTrial(trial, returned.error)


@contextmanager
def _connect(address: str) -> Iterator[Any]:
    """Connect to a cluster, or start one on this machine that nothing outside it can reach."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_task_oom_retries", str(_TRIES_MORE))
    import ray

    own: dict[str, Any] = {"include_dashboard": False, "_node_ip_address": "127.0.0.1"} if address == "local" else {}
    try:
        _check_reachable(address)
        on_sigterm = signal.getsignal(signal.SIGTERM)
        ray.init(address, log_to_driver=False, logging_level=logging.ERROR, **own)
    except (OSError, ValueError) as error:
        cure = "start one with 'ray start --head', or write --ray local"
        raise InvalidInput(Problem("there is no such Ray cluster", "--ray", f"'{address}'", cure)) from error
    signal.signal(signal.SIGTERM, on_sigterm)  # Ray's own handler ends the process without a message
    try:
        yield ray
    finally:
        ray.shutdown()


def _check_reachable(address: str) -> None:
    """Raise OSError if nothing answers at HOST:PORT, which Ray would try for minutes."""
    host, colon, port = address.rpartition(":")
    if colon and port.isdecimal() and "/" not in host:
        socket.create_connection((host, int(port)), timeout=_ANSWER_WITHIN).close()


def _resources_of_trial(ray: Any, threads: int) -> dict[str, int]:
    """Return the GPUs and CPUs that Ray must reserve for a trial; raises InvalidInput if no machine has that many."""
    if ray.cluster_resources().get("GPU", 0) >= 1:
        return {"num_gpus": 1, "num_cpus": 0}
    largest = max(int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"])
    if largest < threads:
        cure = f"write 'threads = {max(1, largest)}' into the grid file"
        found = f"{threads} threads, {largest} CPUs on the largest"
        raise InvalidInput(Problem("no machine of the cluster has enough CPUs for a trial", "threads", found, cure))
    return {"num_cpus": threads}


def _pack_dataset(data: Path, tasks: set[str]) -> _Dataset:
    """Pack the files that trials read into a tar: manifest, rows and ids of their tasks and of candidates for these."""
    info = DatasetFolder.open(data).manifest.tasks
    needed = sorted(name for name, facts in info.items() if name in tasks or facts.candidates_for in tasks)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for part in (MANIFEST, *(f"{kind}/{task}" for kind in ("data", "subsets") for task in needed)):
            if (data / part).exists():
                tar.add(data / part, arcname=part)
    return _Dataset(packed.getvalue(), hashlib.sha256(packed.getvalue()).hexdigest())


def _unpack_dataset(dataset: _Dataset) -> Path:
    """Unpack the dataset into this machine's cache, whole or not at all, once for all trials."""
    folder = cache_folder() / "grid" / "data" / dataset.sha256
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        if not folder.is_dir():
            with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
                with tarfile.open(fileobj=io.BytesIO(dataset.tar)) as tar:
                    tar.extractall(Path(temporary) / "data", filter="data")
                (Path(temporary) / "data").rename(folder)
    return folder


def _run_on_worker(trial: Trial, dataset: _Dataset, threads: int, own: Mapping[str, bytes]) -> _Returned:
    """Run a trial on a worker; unfinished work stays on the worker's machine for its next try."""
    if others := sorted(set(installed_versions(trial.program, trial.options)) ^ set(trial.versions)):
        return _Returned(refused=f"{', '.join(others)}: here or on {platform.node()} alone")
    folder = cache_folder() / "grid" / "runs" / trial.key
    (folder / LOG).unlink(missing_ok=True)
    code = _write_own_code(trial, own)
    child = start_trial(trial, folder, _unpack_dataset(dataset), threads, code=code)
    try:
        error = failure_reason(folder, child.wait())
    finally:
        stop_trials([child])
    files = {path.name: path.read_bytes() for path in folder.glob(f"{Path(PREDICTIONS).stem}*") if path.is_file()}
    returned = _Returned(error, files | {LOG: (folder / LOG).read_bytes()})
    if error is None:
        shutil.rmtree(folder)
    return returned


def _write_own_code(trial: Trial, own: Mapping[str, bytes]) -> Path:
    """Write the user's own code into this machine's cache, in a folder of its own for each state of its files."""
    digest = hashlib.sha256("\n".join(trial.files).encode()).hexdigest()[:16]
    folder = cache_folder() / "grid" / "code" / digest
    for line in trial.files:
        name = line.rpartition(" ")[0]
        if name in own:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            with replace_file(folder / name) as new:
                new.write_bytes(own[name])
    return folder


def _write_files(files: dict[str, bytes], folder: Path) -> None:
    """Write a trial's files into its folder; the card comes last, because a trial with a card counts as done."""
    for name in sorted(files, key=lambda name: name == card_path(folder / PREDICTIONS).name):
        with replace_file(folder / name) as new:
            new.write_bytes(files[name])
