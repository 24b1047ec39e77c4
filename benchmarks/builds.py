"""Memory and time of whole builds of large data sets, in upstream file formats.

Run by ``python -m benchmarks build`` after reading. Files are synthetic, at the published sizes (see
``benchmarks.invented_releases``), and built without depths, each format in a separate process, so that its peak memory
can be measured. Files and builds are in a temporary folder, and deleted after each format.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.invented_releases import SHAPES, write_release
from shiftbench.builders.building.build import build
from shiftbench.validation.operating_system import peak_memory
from shiftbench.validation.timing import Timing

WANTED = 2 << 30
"""Maximum peak memory of a build, in bytes."""


def run_build_bench(scale: float = 1.0) -> Iterator[Timing]:
    """Measure the build of each format, and of all of them together.

    Args:
        scale: number of rows, as a fraction of the published release.
    Returns: an iterator of timings, as they are measured.
    """
    for name, shape in SHAPES.items():
        with tempfile.TemporaryDirectory(prefix="shiftbench-bench-") as place:
            n_bytes = int(_in_own_process("write", name, str(scale), place))
            facts = json.loads(_in_own_process("build", shape.task or "", str(scale), place))
        is_met = facts["peak_memory"] <= WANTED
        yield Timing(
            name=f"boss {shape.task or '(all of these)'} built from {name}, {n_bytes / 1e6:,.0f} MB",
            seconds=facts["seconds"],
            peak_memory=facts["peak_memory"],
            wanted=f"at most {WANTED >> 20:,} MiB",
            met=is_met if scale == 1 else None,
        )


def _in_own_process(job: str, name: str, scale: str, place: str) -> str:
    command = [sys.executable, "-m", "benchmarks.builds", job, name, scale, place]
    env = os.environ | {"SHIFTBENCH_CACHE": str(Path(place, "cache"))}
    return subprocess.run(
        command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, text=True
    ).stdout


def _run(job: str, name: str, scale: float, place: Path) -> str:
    if job == "write":
        return str(write_release(name, place / "raw", scale))
    start = time.perf_counter()
    # Partial, because the small data sets are missing.
    build("boss", name or None, place / "raw", place / "out", partial=True)
    return json.dumps({"seconds": time.perf_counter() - start, "peak_memory": peak_memory()})


if __name__ == "__main__":
    given_job, given_name, given_scale, given_place = sys.argv[1:]
    print(_run(given_job, given_name, float(given_scale), Path(given_place)))
