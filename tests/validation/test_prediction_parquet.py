"""Parquet files that are none, damaged or of odd types, and files of any format that are too large or of many parts."""

import io
import re
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from syrupy.assertion import SnapshotAssertion

from shiftbench.validation import prediction_lines
from shiftbench.validation.limits import MAX_CHARACTERS
from shiftbench.validation.prediction_files import read_predictions
from shiftbench.validation.report import InvalidInput

from .prediction_content import HEAD, ROW, frame_of, json_lines, refusal, write


def zip_bytes() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("p.csv", HEAD)
    return content.getvalue()


def test_what_is_none_of_the_formats_says_what_it_seems_to_be(tmp_path: Path, wording: SnapshotAssertion) -> None:
    path = tmp_path / "p.parquet"
    said = {
        name: refusal(path, content)
        for name, content in {
            "zip": zip_bytes(),
            "pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n",
            "page": b"<!DOCTYPE html><html></html>",
            "page after a line": b"\n<html></html>",
            "pickle": b"\x80\x04\x95\x0b\x00\x00",
        }.items()
    }
    whole = write(frame_of(["neutral"] * 50), path).read_bytes()
    said["truncated"] = refusal(path, whole[:-10])
    (said["damaged"],) = {
        re.sub("found damaged content.*?;", "found damaged content;", refusal(path, content))
        for content in (b"PAR1", b"PAR1PAR1", b"PAR1" + b"\x00" * 40 + b"PAR1")
    }
    assert said == wording


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv"])
def test_too_many_rows_are_refused(tmp_path: Path, suffix: str) -> None:
    path = write(frame_of(["a", "b", "c"]), tmp_path / f"p{suffix}")
    assert len(read_predictions(path, max_rows=3)) == 3
    with pytest.raises(InvalidInput, match="2 rows"):
        read_predictions(path, max_rows=2)


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv"])
@pytest.mark.parametrize("column", ["source", "id", "prediction"])
def test_a_value_that_is_too_long_is_named(tmp_path: Path, suffix: str, column: str) -> None:
    most = MAX_CHARACTERS[column]
    texts = pl.Series(column, ["a", "ü" * most, "b", "ü" * (most + 1), "c" * (5 * most)])
    path = write(frame_of(["x"] * 5).with_columns(texts), tmp_path / f"p{suffix}")
    message = refusal(path)
    # So long a text in parquet is not even read.
    row, found = (5, f" {4 * most:,} ") if suffix == ".parquet" else (4, f" {most + 1:,} ")
    assert message.startswith(f"p{suffix}, column '{column}', row {row}: ")
    assert found in message
    assert f" {most:,} " in message
    assert read_predictions(write(frame_of(["x"] * 3).with_columns(texts.head(3)), path))[column][1] == "ü" * most


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv"])
def test_files_of_many_parts_read_as_one(tmp_path: Path, suffix: str) -> None:
    n = 250_000
    texts = ["neutral", 'say "so"', "two\nlines", "ü" * 40, ""] * (n // 5)
    frame = frame_of(texts, seed=list(range(n)), confidence=[0.5] * n)
    path = write(frame, tmp_path / f"p{suffix}")
    assert path.stat().st_size > 4 * 2**20 or suffix == ".parquet"
    assert_frame_equal(read_predictions(path), frame)
    holed = frame.with_columns(pl.when(pl.col("seed") != n - 3).then("seed").cast(pl.String).fill_null("x"))
    message = refusal(write(holed, path))
    assert message.startswith(f"p{suffix}, column 'seed', row {n - 2}: ")


def test_seeds_that_only_some_json_lines_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction_lines, "BATCH_LINES", 2)
    seeds = [{}, {}, {"seed": 1}, {"seed": 2}, {}]
    message = refusal(tmp_path / "p.jsonl", json_lines(*({**ROW, **seed} for seed in seeds)))
    assert message.startswith("p.jsonl, column 'seed', row 1: ")
    assert "(3 " in message


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=3))
def test_a_damaged_parquet_is_refused_or_read_but_never_a_crash(
    tmp_path: Path, damage: list[tuple[float, int]]
) -> None:
    path = write(frame_of(["a", "b", "c"] * 100, seed=list(range(300))), tmp_path / "p.parquet")
    content = bytearray(path.read_bytes())
    for place, byte in damage:
        content[4 + int(place * (len(content) - 8))] = byte
    path.write_bytes(content)
    try:
        read_predictions(path)
    except InvalidInput as refused:
        assert str(refused).startswith(str(path))  # noqa: PT017 - a lucky flip leaves the file readable


def test_pages_are_compared_with_their_checksums(tmp_path: Path) -> None:
    """Test a changed letter of an uncompressed page, which was once read as it was."""
    path, rows = tmp_path / "p.parquet", frame_of(["neutral"] * 9).to_arrow()
    options: dict[str, Any] = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    for checksum in (False, True):
        pq.write_table(rows, path, write_page_checksum=checksum, **options)
        assert read_predictions(path)["prediction"].to_list() == ["neutral"] * 9
        path.write_bytes(path.read_bytes().replace(b"neutral", b"neutrml", 1))
        if checksum:
            assert "damaged" in refusal(path)
        else:
            assert read_predictions(path)["prediction"][0] == "neutrml"


@pytest.mark.parametrize("kind", [pa.decimal128(38, 2), pa.decimal256(76, 2), pa.float64(), pa.float32()])
def test_decimals_are_what_floats_are(tmp_path: Path, kind: pa.DataType) -> None:
    """Test decimals: a seed of 1.5 was once read as 1, and decimals of 256 bits ended the process."""

    def written(**columns: list[float]) -> Path:
        rows = frame_of(["a", "b"]).to_arrow()
        for name, values in columns.items():
            rows = rows.drop_columns([name]) if name in rows.column_names else rows
            rows = rows.append_column(name, pa.array(values).cast(kind))
        pq.write_table(rows, tmp_path / "p.parquet")
        return tmp_path / "p.parquet"

    found = read_predictions(written(seed=[1.0, 2.0], confidence=[0.25, 1.0]))
    assert found["seed"].to_list() == [1, 2]
    assert found["confidence"].to_list() == [0.25, 1.0]
    assert "'seed', row 2: " in refusal(written(seed=[1.0, 1.5]))
    assert "'prediction', row 1: " in refusal(written(prediction=[1.0, 2.0]))


def test_metadata_of_a_schema_is_not_looked_at(tmp_path: Path) -> None:
    table = frame_of(["neutral"]).to_arrow().replace_schema_metadata({b"\xff\xfe": b"\xc2"})
    pq.write_table(table, tmp_path / "p.parquet")
    assert read_predictions(tmp_path / "p.parquet")["prediction"].to_list() == ["neutral"]
