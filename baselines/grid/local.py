"""Runs trials on one machine: ``slots`` at once, each with its threads and, if there are GPUs, one GPU."""

import logging
import os
import shutil
import subprocess
import time
from collections import deque
from collections.abc import Generator, Sequence
from pathlib import Path

from shiftbench.baselines.grid.trial import EndedTrial, Trial, failure_reason, start_trial, stop_trials

log = logging.getLogger(__name__)
_LOOK_EVERY = 0.05


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
    """List the GPUs without torch: those in ``CUDA_VISIBLE_DEVICES`` or, if it is not set, of ``nvidia-smi``."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is not None:
        return [name.strip() for name in chosen.split(",") if name.strip() not in ("", "-1")]
    if shutil.which("nvidia-smi") is None:
        return []
    listed = subprocess.run(["nvidia-smi", "--list-gpus"], capture_output=True, text=True, check=False)
    return [str(number) for number, line in enumerate(listed.stdout.splitlines()) if line.startswith("GPU")]
