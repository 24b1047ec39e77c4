"""Columns of Parquet as text, and what is refused. Every text here is invented."""

from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.checksums import file_sha256
from shiftbench.builders.readers import parquet_rows as module
from shiftbench.builders.readers.parquet_rows import parquet_rows
from shiftbench.builders.specs.upstream_file import UpstreamFile
from shiftbench.validation.report import InvalidInput

TEXTS = ["n/a", "", "null", "ö\r\n", "None"]


def write(path: Path, columns: dict[str, Any], row_group_size: int = 2) -> Path:
    pq.write_table(pa.table(columns), path, row_group_size=row_group_size)
    return path


def read(path: Path, *columns: str) -> pl.DataFrame:
    with UpstreamFile(path) as file:
        return pl.concat(parquet_rows(*columns)(file))


def refusal(path: Path, *columns: str) -> str:
    with pytest.raises(InvalidInput) as refused:
        read(path, *columns)
    return str(refused.value).replace(f"{path.parent}/", "")


def test_numbers_and_texts_come_as_text(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.parquet",
        {
            "left": [[1]] * 5,
            "toxicity": pa.array([0.5, 0.0, 1 / 3, 1.0, 1e-7], pa.float64()),
            "short": pa.array([0.5, 0.1, 0.2, 0.3, 1.0], pa.float32()),
            "text": TEXTS,
            "class": pa.array([0, -1, 2, 3, 4], pa.int8()),
            "named": pa.array(["x", "y", "x", "null", "y"]).dictionary_encode(),
            "said": [True, False, True, None, True],
        },
    )
    frame = read(path, "text", "toxicity", "short", "class", "named", "said")
    assert frame.schema == dict.fromkeys(("text", "toxicity", "short", "class", "named", "said"), pl.String)
    assert frame["text"].to_list() == TEXTS
    assert [float(x) for x in frame["toxicity"]] == [0.5, 0.0, 1 / 3, 1.0, 1e-7]
    assert frame["toxicity"][0] == "0.5"
    assert frame["short"].to_list() == ["0.5", "0.1", "0.2", "0.3", "1.0"]
    assert frame["class"].to_list() == ["0", "-1", "2", "3", "4"]
    assert frame["named"].to_list() == ["x", "y", "x", "null", "y"]
    assert frame["said"].to_list() == ["true", "false", "true", None, "true"]


def test_frames_are_small_and_the_checksum_is_that_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ROWS", 2)
    path = write(tmp_path / "a.parquet", {"text": TEXTS}, row_group_size=5)
    with UpstreamFile(path) as file:
        assert [frame.height for frame in parquet_rows("text")(file)] == [2, 2, 1]
        assert file.sha256 == file_sha256(path)
        assert not file.resumable


def test_a_file_without_rows_gives_its_columns(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", {"n": pa.array([], pa.int64()), "text": pa.array([], pa.string())})
    frame = read(path, "text", "n")
    assert (frame.height, frame.schema) == (0, {"text": pl.String, "n": pl.String})


def test_what_is_refused_is_named(tmp_path: Path, wording: SnapshotAssertion) -> None:
    path = write(tmp_path / "a.parquet", {"text": TEXTS, "spans": [[1]] * 5, "raw": [b"x"] * 5})
    said = [refusal(path, "Text", "text", "label"), refusal(path, "spans", "raw")]
    path.with_suffix(".parquet.gz").write_bytes(b"")
    assert [*said, refusal(path.with_suffix(".parquet.gz"), "text")] == wording
    whole = path.read_bytes()
    for damaged in (b"", b"text\n", whole[:-20], whole[:4] + b"\0" * 60 + whole[64:]):
        path.write_bytes(damaged)
        assert refusal(path, "text").startswith("a.parquet: ")


def test_readers_of_the_same_columns_are_the_same_key() -> None:
    assert repr(parquet_rows("a", "b")) == "ParquetRows(columns=('a', 'b'))"
