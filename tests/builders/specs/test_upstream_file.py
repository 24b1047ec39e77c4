"""Upstream files: the same content, positions and checksum however they are packed; damage is named by line."""

import gzip
import hashlib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.specs import upstream_file
from shiftbench.builders.specs.upstream_file import Position, UpstreamFile, decode
from shiftbench.validation.report import InvalidInput

LINES = b"one\r\ntwo\n\nthree\nf\xc3\xb6ur"


def plain(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def gzipped(path: Path, content: bytes) -> Path:
    return plain(path.with_name(path.name + ".gz"), gzip.compress(content, mtime=0))


def members(path: Path, content: bytes) -> Path:
    half = len(content) // 2
    packed = gzip.compress(content[:half]) + b"\0" * 7 + gzip.compress(b"") + gzip.compress(content[half:]) + b"\0"
    return plain(path.with_name(path.name + ".gz"), packed)


def zipped(path: Path, content: bytes) -> Path:
    target = path.with_name(path.name + ".zip")
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.mkdir("folder")
        archive.writestr("folder/a.txt", content)
    return target


PACKINGS = pytest.mark.parametrize("pack", [plain, gzipped, members, zipped])
Pack = Callable[[Path, bytes], Path]


def on_disk(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def refusal(path: Path) -> str:
    with pytest.raises(InvalidInput) as refused, UpstreamFile(path) as file:
        for _ in file.blocks(8):
            pass
    return str(refused.value).removeprefix(f"{path.parent}/")


@PACKINGS
def test_blocks_are_whole_lines_numbered_from_one_and_keep_their_ends(pack: Pack, tmp_path: Path) -> None:
    path = pack(tmp_path / "a.txt", LINES)
    with UpstreamFile(path) as file:
        blocks = list(file.blocks(6))
        assert b"".join(block for _, block in blocks) == LINES
        assert blocks[0] == (1, b"one\r\n")
        assert blocks[-1] == (5, b"f\xc3\xb6ur")
        assert file.position == Position(len(LINES), 5)
        assert file.resumable
        assert file.sha256 == on_disk(path)


@PACKINGS
def test_the_checksum_is_of_the_whole_file_whatever_was_read(pack: Pack, tmp_path: Path) -> None:
    path = pack(tmp_path / "a.txt", LINES * 500)
    with UpstreamFile(path) as unread:
        assert unread.sha256 == on_disk(path)
    with UpstreamFile(path) as begun:
        next(begun.blocks(8))
        assert begun.sha256 == begun.sha256 == on_disk(path)


@PACKINGS
def test_text_is_the_whole_content_without_a_byte_order_mark(pack: Pack, tmp_path: Path) -> None:
    path = pack(tmp_path / "a.txt", b"\xef\xbb\xbf" + LINES)
    with UpstreamFile(path, start=Position(4, 1)) as file:
        assert file.text() == LINES.decode()
        assert not file.resumable
        assert file.sha256 == on_disk(path)


@PACKINGS
def test_a_stream_gives_the_content_from_its_start(pack: Pack, tmp_path: Path) -> None:
    path = pack(tmp_path / "a.txt", LINES)
    with UpstreamFile(path, start=Position(4, 1)) as file, file.stream() as stream:
        assert b"".join(iter(lambda: stream.read(4), b"")) == LINES
        assert not file.resumable
        assert file.sha256 == on_disk(path)


def test_damage_that_is_met_in_a_stream_is_named(tmp_path: Path) -> None:
    path = gzipped(tmp_path / "a.txt", LINES)
    path.write_bytes(path.read_bytes()[:-12])
    with (
        UpstreamFile(path) as file,
        pytest.raises(InvalidInput, match=r"a\.txt\.gz, row 1: "),
        file.stream() as stream,
    ):
        b"".join(iter(lambda: stream.read(4), b""))


@PACKINGS
@pytest.mark.parametrize("block", [1, 6, 1 << 24])
def test_lines_end_in_line_feeds_with_or_without_a_carriage_return_alone(
    pack: Pack, block: int, tmp_path: Path
) -> None:
    path = pack(tmp_path / "a.txt", "\ufeffone\r\n\ntw\ro\u2028\x0b\x85\r\n\nö".encode())
    with UpstreamFile(path, start=Position(4, 1), block=block) as file:
        assert list(file.lines()) == [(1, "one"), (2, ""), (3, "tw\ro\u2028\x0b\x85"), (4, ""), (5, "ö")]
        assert not file.resumable
        assert file.sha256 == on_disk(path)
    with UpstreamFile(pack(tmp_path / "b.txt", b"")) as file:
        assert list(file.lines()) == []


@PACKINGS
def test_the_first_line_is_read_beside_the_rest(pack: Pack, tmp_path: Path) -> None:
    path = pack(tmp_path / "a.txt", LINES)
    with UpstreamFile(path, start=Position(5, 1)) as file:
        assert file.first_line() == b"one"
        assert next(file.blocks(5))[1] == b"two\n\n"


@PACKINGS
def test_another_file_goes_on_from_each_position(pack: Pack, tmp_path: Path) -> None:
    path = pack(tmp_path / "a.txt", LINES)
    with UpstreamFile(path) as file:
        positions = [(file.position, block) for block in file.blocks(7)]
    for count, (position, _) in enumerate(positions):
        with UpstreamFile(path, start=position) as file:
            assert list(file.blocks(7)) == [block for _, block in positions[count + 1 :]]
            assert file.sha256 == on_disk(path)


@given(lines=st.lists(st.binary(max_size=9).map(lambda line: line.replace(b"\n", b""))), size=st.integers(1, 12))
def test_any_size_of_block_gives_the_same_lines(
    lines: list[bytes], size: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    content = b"\n".join(lines)
    path = gzipped(tmp_path_factory.mktemp("any") / "a", content)
    with UpstreamFile(path) as file:
        blocks = list(file.blocks(size))
    assert b"".join(block for _, block in blocks) == content
    assert all(block.endswith(b"\n") for _, block in blocks[:-1])
    assert [first for first, _ in blocks] == [
        1 + b"".join(block for _, block in blocks[:count]).count(b"\n") for count in range(len(blocks))
    ]


@PACKINGS
def test_an_empty_file_has_no_block(pack: Pack, tmp_path: Path) -> None:
    path = pack(tmp_path / "a", b"")
    with UpstreamFile(path) as file:
        assert (file.first_line(), list(file.blocks())) == (b"", [])
    with UpstreamFile(path) as file:
        assert file.text() == ""


def test_bytes_of_the_disk_are_reported(tmp_path: Path) -> None:
    path = gzipped(tmp_path / "a", LINES * 100)
    told: list[int] = []
    with UpstreamFile(path, progress=told.append) as file:
        list(file.blocks())
    assert sum(told) == path.stat().st_size


def test_a_file_cut_off_is_named_with_the_line_reached(tmp_path: Path) -> None:
    content = b"".join(b"line %d %s\n" % (n, hashlib.sha256(b"%d" % n).hexdigest().encode()) for n in range(200))
    path = gzipped(tmp_path / "a", content)
    whole = path.read_bytes()
    for cut in (0, 5, 20, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        message = refusal(path)
        assert "truncated" in message
    assert message.startswith("a.gz, row 201:")
    path.write_bytes(whole[: len(whole) // 2])
    assert 60 < int(refusal(path).split("row ")[1].split(":")[0]) < 140


def test_damaged_content_is_named(tmp_path: Path) -> None:
    path = gzipped(tmp_path / "a", LINES)
    whole = path.read_bytes()
    path.write_bytes(whole[:-8] + b"\0" + whole[-7:])
    assert "checksum" in refusal(path)
    path.write_bytes(whole + b"not gzip" * 4)
    assert refusal(path).startswith("a.gz, row 5: ")
    path.write_bytes(b"<html>no such file</html>")
    assert refusal(path).startswith("a.gz, row 1: ")


def test_a_damaged_zip_is_named(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a", LINES)
    whole = path.read_bytes()
    at = whole.index(b"folder/a.txt") + len(b"folder/a.txt") + 3
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 255]) + whole[at + 1 :])
    assert refusal(path).startswith("a.zip, row 1: ")
    path.write_bytes(whole[: len(whole) // 2])
    assert "zip file" in refusal(path)


def test_a_zip_of_several_files_or_none_is_refused(tmp_path: Path, wording: SnapshotAssertion) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a", "")
        archive.writestr("b", "")
    said = [refusal(path)]
    zipfile.ZipFile(path, "w").close()
    assert [*said, refusal(path)] == wording


def test_an_encrypted_zip_is_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a", LINES)
    whole = path.read_bytes()
    at = whole.rindex(b"PK\x01\x02") + 8  # the flags in the directory
    path.write_bytes(whole[:at] + b"\x01" + whole[at + 1 :])
    assert "encrypted" in refusal(path)


def test_a_line_that_never_ends_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream_file, "LONGEST_LINE", 100)
    path = plain(tmp_path / "a", b"short\n" + b"x" * 100 + b"\n" + b"y" * 200)
    assert refusal(path).startswith("a, row 3: ")
    with UpstreamFile(plain(tmp_path / "b", b"y" * 200)) as file, pytest.raises(InvalidInput, match="b, row 1: "):
        file.first_line()


def test_a_file_shorter_than_what_was_read_before_is_named(tmp_path: Path) -> None:
    with (
        UpstreamFile(plain(tmp_path / "a", b"one\n"), start=Position(9, 2)) as file,
        pytest.raises(InvalidInput, match="shorter"),
    ):
        list(file.blocks())


def test_bytes_that_are_not_utf8_are_named_by_line(tmp_path: Path) -> None:
    path = plain(tmp_path / "a", b"one\ncaf\xe9\n")
    with (
        UpstreamFile(path) as file,
        pytest.raises(InvalidInput, match="a, row 2: "),
    ):
        file.text()
    with pytest.raises(InvalidInput, match="row 8: "):
        decode(b"one\ncaf\xe9\n", path, first_line=7)
