"""The program that checks uploads for the server, in a process of its own with bounds on memory and time.

It reads requests as lines of JSON from its standard input and answers each with a line on its standard output, until
the input ends (``leaderboard.app.checking`` is what asks). An upload that needs more than the bounds ends this
process, not the server.
"""

import json
import os
import resource
import signal
import sys
from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pyarrow as pa

from builders.folder.reader import DatasetFolder
from leaderboard.scoring.score import FileChecks, checked_parts
from validation.prediction_files import read_predictions
from validation.report import InvalidInput

MIB = 2**20
WORN_MIB = 256
"""A process that holds as much after a file is followed by a fresh one."""
_STATM = Path("/proc/self/statm")


def main() -> None:
    """Answer requests until there are no more, or this process has grown."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which closes the input
    # Whatever prints must not print among the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    _warm_up()
    for line in sys.stdin:
        request = json.loads(line)
        _bound(request["memory_mib"], request["seconds"])
        answer = _answer(request)
        _unbind()
        answer["last"] = _memory_mib()[1] > WORN_MIB
        print(json.dumps(answer), file=answers, flush=True)
        if answer["last"]:
            return


def _answer(request: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return {"result": _TASKS[request["task"]](**request["arguments"])}
    except InvalidInput as error:
        return {"problems": [asdict(problem) for problem in error.problems]}
    except MemoryError:
        return {"out_of_memory": True}


def _check(file: str, folder: str, subset: str, out: str) -> None:
    """Check a file, and write its rows, with tasks and targets, to an Arrow file."""
    writer = None
    for part in checked_parts(Path(file), _folder(folder), subset):
        table = part.to_arrow(compat_level=pl.CompatLevel.oldest())
        writer = writer or pa.ipc.new_file(out, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4"))
        writer.write_table(table)
    if writer is not None:
        writer.close()


def _benchmark(file: str) -> str:
    return FileChecks().benchmark(Path(file))


_TASKS = {"check": _check, "benchmark": _benchmark}


@lru_cache(maxsize=8)
def _folder(path: str) -> DatasetFolder:
    return DatasetFolder.open(path)


def _warm_up() -> None:
    """Read a small file, so that the memory and time that the readers take once is not an upload's."""
    with TemporaryDirectory() as place:
        path = Path(place) / "p.parquet"
        pl.DataFrame({"source": ["a"], "id": ["b"], "prediction": ["c"]}).write_parquet(path)
        read_predictions(path)


def _bound(memory_mib: int, seconds: int) -> None:
    """Bound what this process may hold in all, and the processor time of the next request."""
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    _limit(resource.RLIMIT_CPU, int(used) + 1 + seconds)
    if _STATM.exists():  # elsewhere than on Linux time alone is bounded
        # Only addresses can be bounded, most of which libraries reserve and do not use.
        reserved, held = _memory_mib()
        _limit(resource.RLIMIT_AS, (reserved + max(memory_mib - held, 0)) * MIB)


def _unbind() -> None:
    _limit(resource.RLIMIT_CPU, resource.RLIM_INFINITY)
    _limit(resource.RLIMIT_AS, resource.RLIM_INFINITY)


def _limit(what: int, most: int) -> None:
    hard = resource.getrlimit(what)[1]
    resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY or 0 <= most < hard else hard, hard))


def _memory_mib() -> tuple[int, int]:
    """Return how many MiB of addresses this process has reserved, and how many it holds."""
    if not _STATM.exists():
        return 0, 0
    pages = _STATM.read_text().split()
    return int(pages[0]) * resource.getpagesize() // MIB, int(pages[1]) * resource.getpagesize() // MIB


if __name__ == "__main__":
    main()
