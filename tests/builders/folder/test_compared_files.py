"""Folders whose files are not those that the manifest was written for: whoever opens them is told, by file."""

import os
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import shiftbench as sb
from shiftbench.builders.folder import compared_files
from shiftbench.builders.folder.dataset_builder import dataset_builder
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.cli.command import app
from shiftbench.validation.report import InvalidInput

TEST = "data/own/shop/test-00000-of-00001.parquet"
CHANGED = f"{TEST}: a file of the dataset folder was changed; found checksum "


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = {
        "domain": ["pub", "shop"] * 40,
        "label": ["good", "good", "bad", "bad"] * 20,
        "text": [f"visit {n}" for n in range(80)],
    }
    return sb.build_own(rows, out=tmp_path_factory.mktemp("built") / "data").path


@pytest.fixture
def copy(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "copy"))


def rewrite(folder: Path, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    change(pl.read_parquet(folder / TEST)).write_parquet(folder / TEST)


def stream(folder: Path) -> Any:
    return list(dataset_builder(folder, "own.shop").as_streaming_dataset(split="test"))


def prepared(folder: Path) -> Any:
    return dataset_builder(folder, "own.shop").as_dataset(split="test")


CHANGES: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "label": lambda frame: frame.with_columns(label=1 - pl.col("label")),
    "text": lambda frame: frame.with_columns(text=pl.col("text") + "!"),
    "group": lambda frame: frame.with_columns(group=pl.lit("one")),
    "row less": lambda frame: frame.head(-1),
    "same rows, other bytes": lambda frame: frame,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("open_", [sb.open_dataset, stream, prepared], ids=["open_dataset", "streaming", "builder"])
def test_a_changed_file_is_refused_and_named(
    open_: Callable[[Path], Any], change: Callable[[pl.DataFrame], pl.DataFrame], copy: Path
) -> None:
    open_(copy)
    change(pl.read_parquet(copy / TEST)).write_parquet(copy / TEST, compression="gzip")
    with pytest.raises(InvalidInput) as refused:
        open_(copy)
    assert str(refused.value).startswith(f"{copy}/{CHANGED}")


def test_a_file_of_the_same_size_and_date_is_no_other_folder(copy: Path) -> None:
    DatasetFolder.open(copy)
    before = (copy / TEST).stat()
    content = bytearray((copy / TEST).read_bytes())
    content[len(content) // 2] ^= 1
    (copy / TEST).write_bytes(bytes(content))
    os.utime(copy / TEST, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(InvalidInput, match="changed"):
        DatasetFolder.open(copy)


def test_files_are_read_when_a_folder_is_first_opened_and_when_they_change(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def counted(path: Path) -> str:
        read.append(path.relative_to(copy).as_posix())
        return checksum(path)

    checksum = compared_files.file_sha256
    monkeypatch.setattr(compared_files, "file_sha256", counted)
    files = DatasetFolder.open(copy).manifest.files
    assert sorted(read) == sorted(files)
    DatasetFolder.open(copy)
    assert len(read) == len(files)
    os.utime(copy / TEST)
    DatasetFolder.open(copy)
    assert read[len(files) :] == [TEST]


def test_a_cache_that_cannot_be_written_costs_time_and_no_answer(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SHIFTBENCH_CACHE", str(tmp_path / "file"))
    DatasetFolder.open(copy)
    rewrite(copy, CHANGES["label"])
    with pytest.raises(InvalidInput, match="changed"):
        DatasetFolder.open(copy)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"data/x": 3}', '{"data/x": [1]}', "null"])
def test_a_damaged_note_is_not_believed(text: str, copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHIFTBENCH_CACHE", str(tmp_path / "cache"))
    DatasetFolder.open(copy)
    (note,) = (tmp_path / "cache" / "files").iterdir()
    note.write_text(text)
    assert DatasetFolder.open(copy).test("own").height > 0


def test_validate_names_the_file_and_what_is_wrong_with_its_rows(copy: Path) -> None:
    rewrite(copy, CHANGES["label"])
    result = CliRunner().invoke(app, ["validate", str(copy)])
    assert isinstance(result.exception, InvalidInput)
    first, second = str(result.exception).splitlines()
    assert first.startswith(f"{copy}/{CHANGED}")
    assert "labels" in second


def test_a_shard_more_or_less_is_named(copy: Path) -> None:
    folder = DatasetFolder.open(copy)
    more = copy / "data/own/shop/test-00001-of-00002.parquet"
    shutil.copyfile(copy / TEST, more)
    with pytest.raises(InvalidInput, match="manifest"):
        folder.test("own")
    more.unlink()
    (copy / TEST).unlink()
    with pytest.raises(InvalidInput, match=f"{TEST}: "):
        folder.test("own")


@pytest.mark.parametrize("config", ["own", "own.shop"])
def test_a_stream_that_ends_with_other_rows_is_an_error(config: str, copy: Path) -> None:
    """As of a repository on the Hub, whose files nobody compares with the manifest."""
    rows = dataset_builder(copy, config).as_streaming_dataset(split="test")
    n_rows = len(pl.read_parquet(copy / TEST))
    assert len(list(rows)) >= n_rows
    rewrite(copy, CHANGES["row less"])
    with pytest.raises(InvalidInput) as refused:
        list(rows)
    expected = f"{TEST}: rows differ from the manifest; found {n_rows - 1} rows, {n_rows} in the manifest"
    assert expected in str(refused.value)


def test_a_stream_of_several_shards(copy: Path) -> None:
    frame = pl.read_parquet(copy / TEST)
    third = [len(frame) * part // 3 for part in range(4)]
    (copy / TEST).unlink()
    for number, (start, end) in enumerate(pairwise(third)):
        frame[start:end].write_parquet(copy / f"data/own/shop/test-{number:05}-of-00003.parquet")
    rows = dataset_builder(copy, "own.shop").as_streaming_dataset(split="test")
    assert len(list(rows)) == len(frame)
    frame[third[1] : third[2] - 1].write_parquet(copy / "data/own/shop/test-00001-of-00003.parquet")
    with pytest.raises(InvalidInput, match=r"test-00001-of-00003\.parquet: "):
        list(rows)
