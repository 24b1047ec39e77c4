"""Archives that state false lengths, checksums, names or unpacked sizes."""

import json
import struct
import zipfile
import zlib
from pathlib import Path

import pyarrow
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.scoring.interchange import inspect_ai as archives
from shiftbench.scoring.interchange.inspect_ai import BoundedArchive
from shiftbench.scoring.interchange.reader import read_log
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal
from tests.scoring.interchange.logs import inspect_header, inspect_sample, write_eval

CONTENT = b"content " * 1000
_ZSTD = 93


def write_zip(path: Path, content: bytes, *, says: int | None = None, crc: int | None = None, method: int = 8) -> Path:
    """Write an archive with one entry and arbitrary metadata about it in the directory."""
    raw = zlib.compressobj(wbits=-15)
    if method == _ZSTD:
        packed = pyarrow.Codec("zstd").compress(content, asbytes=True)
    else:
        packed = raw.compress(content) + raw.flush() if method == 8 else content
    says, crc = len(content) if says is None else says, zlib.crc32(content) if crc is None else crc
    facts = struct.pack("<HHHHHIIIHH", 20, 0, method, 0, 0, crc, len(packed), says, 1, 0)
    local = b"PK\x03\x04" + facts + b"a" + packed
    entry = b"PK\x01\x02" + struct.pack("<H", 20) + facts + struct.pack("<HHHII", 0, 0, 0, 0, 0) + b"a"
    path.write_bytes(local + entry + b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(entry), len(local), 0))
    return path


@pytest.mark.parametrize("method", [0, 8, _ZSTD])
def test_entries_are_read_whatever_packed_them(tmp_path: Path, method: int) -> None:
    with BoundedArchive(write_zip(tmp_path / "a.zip", CONTENT, method=method)) as archive:
        assert archive.read("a") == CONTENT


@pytest.mark.parametrize("method", [8, _ZSTD])
@pytest.mark.parametrize("says", [10, len(CONTENT) + 1])
def test_lengths_that_are_not_so_are_refused(tmp_path: Path, method: int, says: int) -> None:
    path = write_zip(tmp_path / "a.zip", CONTENT, says=says, method=method)
    message = r"entry 'a' (does not match its size or checksum in the archive|cannot be unpacked)"
    with BoundedArchive(path) as archive, pytest.raises(InvalidInput, match=message):
        archive.read("a")


@pytest.mark.parametrize("method", [0, 8, _ZSTD])
def test_another_checksum_is_refused(tmp_path: Path, method: int) -> None:
    path = write_zip(tmp_path / "a.zip", CONTENT, crc=1, method=method)
    with BoundedArchive(path) as archive, pytest.raises(InvalidInput, match="truncated"):
        archive.read("a")


def test_no_more_is_unpacked_than_the_archive_says(tmp_path: Path) -> None:
    """Check an entry of a megabyte that unpacks to a gigabyte, but states ten bytes."""
    path = write_zip(tmp_path / "a.zip", bytes(2**27), says=10, method=_ZSTD)
    before = pyarrow.total_allocated_bytes()
    with BoundedArchive(path) as archive, pytest.raises(InvalidInput, match=r"10 bytes\b.* 10"):
        archive.read("a")
    assert pyarrow.total_allocated_bytes() - before < 2**20


def test_what_is_too_much_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    path = write_eval(tmp_path / "log.eval", [inspect_sample(1)])
    monkeypatch.setattr(archives, "MAX_ENTRY_BYTES", 100)
    messages = [refusal(InvalidInput, read_log, path)]
    monkeypatch.setattr(archives, "MAX_TOTAL_BYTES", 100)
    assert [*messages, refusal(InvalidInput, read_log, path)] == wording


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_entries_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        for _ in range(2):
            archive.writestr("header.json", json.dumps(inspect_header()))
    with pytest.raises(InvalidInput, match=r"two\b"):
        read_log(path)
