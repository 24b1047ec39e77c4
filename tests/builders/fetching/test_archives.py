"""Members of archives: those asked for, whole, and nothing outside their folder."""

import io
import tarfile
import zipfile
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.fetching.archives import unpack_members
from shiftbench.builders.fetching.transfer import RefusedError
from tests.builders.fetching.invented import as_tar, as_zip, lines, whole_files
from tests.refusals import refusal

MEMBERS = {
    "release-1.0/data/train.csv": lines(200_000, seed=1),
    "release-1.0/data/test.csv": lines(5_000, seed=2),
    "release-1.0/posts/1.txt": b"the clerk sealed it\n",
    "release-1.0/posts/more/2.txt": b"the clerk sent it\n",
    "release-1.0/README": b"invented\n",
}
WANTED = {"a/train.csv": "release-1.0/data/train.csv", "a/posts": "release-1.0/posts/"}
KEPT = {
    "a/train.csv": MEMBERS["release-1.0/data/train.csv"],
    "a/posts/1.txt": b"the clerk sealed it\n",
    "a/posts/more/2.txt": b"the clerk sent it\n",
}
ZIP, TAR, TAR_GZ = as_zip(MEMBERS), as_tar(MEMBERS, compressed=False), as_tar(MEMBERS)


def unpacked(tmp_path: Path, content: bytes, members: dict[str, str]) -> dict[str, bytes]:
    (tmp_path / "archive").write_bytes(content)
    (tmp_path / "out").mkdir(exist_ok=True)
    unpack_members(tmp_path / "archive", members, tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["archive", "out"]
    return whole_files(tmp_path / "out")


@pytest.mark.parametrize("content", [ZIP, TAR, TAR_GZ], ids=["zip", "tar", "tar.gz"])
def test_members_and_folders_are_kept_and_no_more(tmp_path: Path, content: bytes) -> None:
    assert unpacked(tmp_path, content, WANTED) == KEPT


@pytest.mark.parametrize("content", [ZIP, TAR_GZ], ids=["zip", "tar.gz"])
def test_files_that_a_star_finds_are_joined(tmp_path: Path, content: bytes) -> None:
    joined = MEMBERS["release-1.0/data/train.csv"] + MEMBERS["release-1.0/data/test.csv"]
    assert unpacked(tmp_path, content, {"a/all.csv": "release-1.0/*/t*.csv"}) == {"a/all.csv": joined}
    with pytest.raises(RefusedError, match=r"without 'release-1.0/\*.txt'"):
        unpacked(tmp_path, content, {"a/posts.txt": "release-1.0/*.txt"})


def test_names_that_begin_with_a_dot_are_the_same(tmp_path: Path) -> None:
    dotted = as_tar({f"./{name}": content for name, content in MEMBERS.items()})
    assert unpacked(tmp_path, dotted, WANTED) == KEPT


def test_a_missing_member_is_named_beside_what_is_there(tmp_path: Path, wording: SnapshotAssertion) -> None:
    members = {**WANTED, "a/dev.csv": "release-1.0/dev.csv", "a/other": "other/"}
    (said,) = {refusal(RefusedError, unpacked, tmp_path, content, members) for content in (ZIP, TAR_GZ)}
    many = as_zip({f"{number}.txt": b"" for number in range(20)})
    assert [said, refusal(RefusedError, unpacked, tmp_path, many, {"a/b": "none"})] == wording


@pytest.mark.parametrize(
    "content",
    [ZIP[:-200], ZIP[:9_000] + b"\0" * 50 + ZIP[9_050:], TAR_GZ[:-4], TAR_GZ[:-4_000], TAR[:150_000], b"GIF89a", b""],
    ids=["zip cut", "zip damaged", "tar.gz without its end", "tar.gz cut", "tar cut", "no archive", "nothing"],
)
def test_a_damaged_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(RefusedError, match=r"damaged|neither"):
        unpacked(tmp_path, content, WANTED)


@pytest.mark.parametrize("name", ["release/../../outside.txt", "release//etc/outside.txt", "release/a/../../../x.txt"])
def test_names_do_not_lead_out_of_the_folder(tmp_path: Path, name: str) -> None:
    for content in (as_zip({name: b"no", "release/1.txt": b"yes"}), as_tar({name: b"no", "release/1.txt": b"yes"})):
        assert unpacked(tmp_path, content, {"a/posts": "release/"}) == {"a/posts/1.txt": b"yes"}


def test_links_are_not_followed(tmp_path: Path) -> None:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        link = tarfile.TarInfo("release/link.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    with pytest.raises(RefusedError, match=r"'release/link.txt'.*nothing"):
        unpacked(tmp_path, stream.getvalue(), {"a/link.txt": "release/link.txt"})
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        info = zipfile.ZipInfo("release/link.txt")
        info.external_attr = 0o120777 << 16
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(RefusedError, match=r"'release/link.txt'.*nothing"):
        unpacked(tmp_path, stream.getvalue(), {"a/link.txt": "release/link.txt"})


def test_an_encrypted_zip_is_refused(tmp_path: Path) -> None:
    locked = bytearray(as_zip({"a.txt": b"locked"}))
    locked[6] |= 1
    locked[locked.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(RefusedError, match="encrypted"):
        unpacked(tmp_path, bytes(locked), {"a/a.txt": "a.txt"})
