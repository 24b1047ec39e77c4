"""The worker process that checks uploads and previews their scores, with limits on memory and time.

It reads requests as JSON lines from standard input and writes one line per response to standard output, until the input
ends (``shiftbench.leaderboard.app.checking`` is the client). An upload that exceeds the limits terminates this process,
not the server.
"""

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache, lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pyarrow as pa

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.scores.score import FileChecks, data_versions, prediction_tasks, score_predictions
from shiftbench.scoring.scores.validation_rows import validation_tasks
from shiftbench.validation import operating_system
from shiftbench.validation.prediction_files import PredictionInput, read_predictions
from shiftbench.validation.prediction_task import PredictionTask
from shiftbench.validation.predictions import checked_parts
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.schemas import check_rows, prediction_schema

MIB = 2**20
WORN_MIB = 100
"""A worker whose memory has grown by this many MiB is replaced by a fresh one."""


def main() -> None:
    """Handle requests until the input ends, or this process has grown too much."""
    # Redirect file descriptor 1, so that prints cannot mix with the responses.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    _warm_up()
    for line in sys.stdin:
        answer = _answer_request(json.loads(line))
        operating_system.limit_processor_time(None)
        operating_system.limit_memory(None)
        answer["last"] = _reserved_mib() > _size_at_start() + WORN_MIB
        print(json.dumps(answer), file=answers, flush=True)
        if answer["last"]:
            return


def _answer_request(request: Mapping[str, Any]) -> dict[str, Any]:
    try:
        if "folder" in request:
            # The dataset is not part of the upload, so loading it is not limited.
            _dataset(request["folder"], request["subset"], request.get("split", "test"))
        # Memory is in MiB beyond the current size; time is processor time.
        operating_system.limit_processor_time(request["seconds"])
        operating_system.limit_memory((_size_at_start() + request["memory_mib"]) * MIB)
        if "folder" not in request:
            return {"result": FileChecks().benchmark(Path(request["file"]))}
        where = request["folder"], request["subset"], request["out"]
        if request["is_checked"]:
            _preview(request["file"], *where)
        else:
            given = PredictionInput(Path(request["file"]), request["labels_by_index"])
            _check(given, *where, request.get("split", "test"))
        return {"result": None}
    except InvalidInput as error:
        return {"problems": [asdict(problem) for problem in error.problems]}
    except MemoryError:
        return {"out_of_memory": True}


def _check(file: PredictionInput, folder: str, subset: str, out: str, split: str) -> None:
    """Check predictions for a split, and write them, with tasks and targets, to an Arrow file."""
    opened, tasks = _dataset(folder, subset, split)
    writer = None
    versions = data_versions(file.path, opened)
    for part in checked_parts(file, tasks, versions):
        table = part.to_arrow(compat_level=pl.CompatLevel.oldest())
        writer = writer or pa.ipc.new_file(out, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4"))
        writer.write_table(table)
    if writer is not None:
        writer.close()


def _preview(file: str, folder: str, subset: str, out: str) -> None:
    """Score the previously checked rows of an Arrow file, and write the scores as JSON."""
    opened, _ = _dataset(folder, subset, "test")
    scored = score_predictions(pl.read_ipc(Path(file).read_bytes()), opened, subset)
    Path(out).write_text(scored.scores.model_dump_json())


@lru_cache(maxsize=4)
def _dataset(folder: str, subset: str, split: str) -> tuple[DatasetFolder, list[PredictionTask]]:
    opened = DatasetFolder.open(folder)
    tasks = validation_tasks(opened) if split == "validation" else prediction_tasks(opened, subset)
    _size_at_start.cache_clear()
    return opened, tasks


@cache
def _size_at_start() -> int:
    """Return the size of this process in MiB before it reads an upload."""
    return _reserved_mib()


def _warm_up() -> None:
    """Read and check a small file, so that one-time costs and imports do not count towards an upload's limits."""
    with TemporaryDirectory() as place:
        path = Path(place) / "p.parquet"
        pl.DataFrame({"source": ["a"], "id": ["b"], "prediction": ["c"]}).write_parquet(path)
        frame = read_predictions(path)
    check_rows(frame, prediction_schema(of=frame.columns), path.name)


def _reserved_mib() -> int:
    """Return the reserved address space of this process in MiB. It can be limited, and exceeds actual memory use."""
    return operating_system.reserved_memory() // MIB


if __name__ == "__main__":
    main()
