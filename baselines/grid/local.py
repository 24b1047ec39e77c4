"""The engine of one machine: so many trials at once, each with its threads and, where there are GPUs, one of them."""

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
    """Run trials, ``slots`` at once, and yield each as it ends; closing the iterator ends those that run.

    Args:
        trials: what to run, in this order.
        data: the dataset folder.
        runs: folder in which each trial has its own.
        slots: trials at once.
        threads: of each trial.
        code: the folder that files of the user's own code are named from.
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
    """List the GPUs that programs may use, as ``CUDA_VISIBLE_DEVICES`` names them; without torch, which takes seconds.

    Sources: that variable where it is set, else ``nvidia-smi``.
    """
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is not None:
        return [name.strip() for name in chosen.split(",") if name.strip() not in ("", "-1")]
    if shutil.which("nvidia-smi") is None:
        return []
    listed = subprocess.run(["nvidia-smi", "--list-gpus"], capture_output=True, text=True, check=False)
    return [str(number) for number, line in enumerate(listed.stdout.splitlines()) if line.startswith("GPU")]
