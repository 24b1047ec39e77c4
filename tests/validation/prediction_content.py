"""Prediction files for tests of reading them, and what is said of a bad one."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shiftbench.validation.prediction_files import read_predictions
from shiftbench.validation.report import InvalidInput

HEAD = "source,id,prediction\n"
A = "dr/nli/fiction/test/00000000000a"
B = "dr/nli/fiction/test/00000000000b"
ROW = {"source": "fiction", "id": A, "prediction": "neutral"}


def frame_of(predictions: list[str], **more: Any) -> pl.DataFrame:
    n = len(predictions)
    ids = [f"dr/nli/fiction/test/{number:012x}" for number in range(n)]
    return pl.DataFrame({"source": ["fiction"] * n, "id": ids, "prediction": predictions, **more})


def write(frame: pl.DataFrame, path: Path) -> Path:
    {".parquet": frame.write_parquet, ".jsonl": frame.write_ndjson, ".csv": frame.write_csv}[path.suffix](path)
    return path


def refusal(path: Path, content: str | bytes | None = None) -> str:
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InvalidInput) as refused:
        read_predictions(path)
    # The reader of a message should find the file in each of its lines, and each problem on one line.
    assert all(line.startswith(str(path)) for line in str(refused.value).splitlines())
    return str(refused.value).replace(str(path), path.name)


def json_lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)
