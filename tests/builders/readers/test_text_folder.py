"""Texts that lie in a file each, in a folder or an archive. Every text here is invented."""

import gzip
import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.checksums import file_sha256
from shiftbench.builders.readers import text_folder
from shiftbench.builders.readers.text_folder import TAR_SCHEMA, listed_texts, tar_texts
from shiftbench.builders.specs.spec import Reader
from shiftbench.builders.specs.upstream_file import UpstreamFile
from shiftbench.validation.report import InvalidInput

LISTED = listed_texts("file_id", "label", folder="all_files")
TRAIN = tar_texts("aclImdb/train", "pos", "neg")


def read(path: Path, reader: Reader) -> pl.DataFrame:
    with UpstreamFile(path) as file:
        return pl.concat(reader(file))


def refusal(path: Path, reader: Reader) -> str:
    with pytest.raises(InvalidInput) as refused:
        read(path, reader)
    return str(refused.value).replace(f"{path.parent}/", "")


def table(folder: Path, *keys: str) -> Path:
    rows = "".join(f"{key},u{number},noHate\r\n" for number, key in enumerate(keys))
    (folder / "a.csv").write_bytes(("file_id,user_id,label\r\n" + rows).encode())
    return folder / "a.csv"


def test_each_row_of_a_table_gets_its_text(tmp_path: Path) -> None:
    texts = {"7_1": "null", "7_2": "", "8": "\ufeffa\r\nb \n"}
    (tmp_path / "all_files").mkdir()
    for name, text in (*texts.items(), ("9", "not listed")):
        (tmp_path / "all_files" / f"{name}.txt").write_bytes(text.encode())
    frame = read(table(tmp_path, *texts), LISTED)
    assert frame.schema == dict.fromkeys(("file_id", "label", "text"), pl.String)
    assert frame.rows() == [("7_1", "noHate", "null"), ("7_2", "noHate", ""), ("8", "noHate", "a\r\nb \n")]
    assert read(table(tmp_path), LISTED).schema == frame.schema


def test_a_text_that_is_missing_or_damaged_is_named(tmp_path: Path, wording: SnapshotAssertion) -> None:
    said = {"no folder": refusal(table(tmp_path, "1"), LISTED)}
    (tmp_path / "all_files").mkdir()
    (tmp_path / "all_files" / "1.txt").write_text("a")
    said["no text"] = refusal(table(tmp_path, "1", "2"), LISTED)
    for key in ("../a", "", "all_files/1", "\0"):
        said[repr(key)] = refusal(table(tmp_path, "1", key, "3"), LISTED)
    (tmp_path / "all_files" / "1.txt").write_bytes(b"a\ncaf\xe9")
    said["Latin-1"] = refusal(table(tmp_path, "1"), LISTED)
    assert said == wording


MEMBERS = {
    "aclImdb/README": "x",
    "aclImdb/train/neg/0_3.txt": "null",
    "aclImdb/train/pos/0_9.txt": "Good.<br />",
    "aclImdb/train/pos/1_10.txt": "",
    "aclImdb/train/unsup/0_0.txt": "x",
    "aclImdb/train/pos/deeper/2_9.txt": "x",
    "aclImdb/train/pos/notes.feat": "x",
    "aclImdb/test/pos/0_10.txt": "x",
    "other/aclImdb/train/pos/0_10.txt": "x",
}


def archive(path: Path, members: Mapping[str, str | bytes]) -> Path:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for folder in ("aclImdb", "aclImdb/train", "aclImdb/train/pos"):
            member = tarfile.TarInfo(folder)
            member.type = tarfile.DIRTYPE
            tar.addfile(member)
        for name, text in members.items():
            member = tarfile.TarInfo(name)
            data = text.encode() if isinstance(text, str) else text
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
        link = tarfile.TarInfo("aclImdb/train/pos/9_9.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/hostname"
        tar.addfile(link)
    path.write_bytes(gzip.compress(content.getvalue()))
    return path


@pytest.mark.parametrize("size", [1, 2, 10_000])
def test_texts_are_read_out_of_the_archive_itself(size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_folder, "_PER_FRAME", size)
    path = archive(tmp_path / "a.tar.gz", MEMBERS)
    frame = read(path, TRAIN)
    assert frame.schema == TAR_SCHEMA
    assert frame.rows() == [("neg", "0_3", "null"), ("pos", "0_9", "Good.<br />"), ("pos", "1_10", "")]
    assert read(path, tar_texts("aclImdb/test", "pos")).rows() == [("pos", "0_10", "x")]
    assert list(tmp_path.iterdir()) == [path]
    with UpstreamFile(path) as file:
        list(TRAIN(file))
        assert file.sha256 == file_sha256(path)


def test_an_archive_that_is_refused_is_named(tmp_path: Path, wording: SnapshotAssertion) -> None:
    path = archive(tmp_path / "a.tar.gz", MEMBERS)
    said = {"no texts of a label": refusal(path, tar_texts("aclImdb/train", "pos", "great", "bad"))}
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])
    said["truncated"] = refusal(path, TRAIN)
    path.write_bytes(gzip.compress(b"no archive " * 100))
    said["no archive"] = refusal(path, TRAIN)
    path.write_bytes(gzip.compress(gzip.decompress(whole)[:3_074]))  # behind the header of a text
    said["cut behind a header"] = refusal(path, TRAIN)
    archive(path, {"aclImdb/train/pos/0_9.txt": b"caf\xe9"})
    assert {**said, "Latin-1": refusal(path, TRAIN)} == wording


def test_readers_of_the_same_texts_are_the_same_key() -> None:
    assert repr(LISTED) == "ListedTexts(key='file_id', columns=('label',), folder='all_files')"
    assert repr(TRAIN) == "TarTexts(folder='aclImdb/train', labels=('pos', 'neg'))"
