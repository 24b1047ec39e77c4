"""Time of comparing entries: two on one task with five runs each, and four on all tasks with one or five runs each."""

import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from shiftbench.builders.building.synthetic_grid import noisy_predictions
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.comparing.files import Entrant, compare_first
from shiftbench.validation.timing import Timing

_TASK, _RUNS = "nli", 5
_TWO, _FOUR = 3.0, 15.0
"""Time limits in seconds: comparing two entries on a task, and four on all tasks."""


def compare_timings(folder: DatasetFolder, place: Path) -> Iterator[Timing]:
    """Measure comparisons, including reading and validating the prediction files.

    Args:
        folder: the dataset.
        place: a folder for prediction files.
    Returns: an iterator of timings. That of four entries with five runs each has no limit, as reading the files alone
        takes longer.
    """
    yield _timing(
        folder, _files(folder, place, 2, _RUNS, _TASK), f"two entries of {_TASK} with {_RUNS} runs each", _TWO
    )
    yield _timing(folder, _files(folder, place, 4, 1), "four entries of all tasks with one run each", _FOUR)
    yield _timing(folder, _files(folder, place, 4, _RUNS), f"four entries of all tasks with {_RUNS} runs each", None)


def _files(folder: DatasetFolder, place: Path, n: int, n_runs: int, task: str | None = None) -> list[Path]:
    paths = []
    for seed in range(n):
        frame = noisy_predictions(folder, seed=seed + 1, n_runs=n_runs)
        if task is not None:
            frame = frame.filter(pl.col("id").str.starts_with(f"{folder.manifest.benchmark}/{task}/"))
        paths.append(place / f"compared-{task}-{n_runs}-{seed}.parquet")
        frame.write_parquet(paths[-1])
    return paths


def _timing(folder: DatasetFolder, paths: list[Path], name: str, limit: float | None) -> Timing:
    start, processor = time.perf_counter(), time.process_time()
    compare_first([Entrant(path, folder, name=path.stem) for path in paths])
    seconds, cpu = time.perf_counter() - start, time.process_time() - processor
    wanted = None if limit is None else f"under {limit:g} s"
    met = None if limit is None else seconds < limit
    return Timing(name=f"comparing {name}", seconds=seconds, cpu_seconds=cpu, wanted=wanted, met=met)
