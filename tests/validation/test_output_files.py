"""Files put in place whole or not at all, and refusals before the work."""

import os
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.validation import output_files
from shiftbench.validation.output_files import check_file, check_folder, check_output_path, replace_file
from shiftbench.validation.report import InvalidInput


def contents(folder: Path) -> dict[str, bytes]:
    """Read every file below a folder; folders that hold none count, too."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else b"" for path in
            folder.rglob("*")}  # fmt: skip


def test_readers_see_the_old_file_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.json"
    with replace_file(path) as new:
        new.write_text("old")
    assert contents(tmp_path) == {"deep": b"", "deep/a.json": b"old"}
    with replace_file(path) as new:
        assert (new.name, new.parent.parent) == ("a.json", path.parent)
        new.write_text("new")
        assert path.read_text() == "old"
    assert contents(tmp_path) == {"deep": b"", "deep/a.json": b"new"}


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failed_block_leaves_the_old_file_and_nothing_else(error: type[BaseException], tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")

    def fail(new: Path) -> None:
        new.write_text("half")
        raise error

    with pytest.raises(error), replace_file(path) as new:
        fail(new)
    assert contents(tmp_path) == {"a.json": b"old"}


def test_a_block_that_writes_nothing_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("old")
    with pytest.raises(FileNotFoundError), replace_file(tmp_path / "a.json"):
        pass
    assert contents(tmp_path) == {"a.json": b"old"}


def test_of_two_files_neither_is_replaced_when_one_fails(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text("old")
    with pytest.raises(FileNotFoundError), replace_file(tmp_path / "b") as second, replace_file(tmp_path / "a"):
        second.write_text("new")
    assert contents(tmp_path) == {"a": b"old", "b": b"old"}


def test_permissions_are_those_of_a_file_written_in_place(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with replace_file(tmp_path / "a") as new:
            new.write_text("")
        (tmp_path / "b").write_text("")
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode


def test_a_durable_file_is_synced_before_it_is_there_and_its_folder_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, synced = tmp_path / "a", []
    monkeypatch.setattr(output_files, "sync", lambda found: synced.append((found.name, path.exists())))
    with replace_file(path) as new:
        new.write_text("")
    path.unlink()
    assert synced == []
    with replace_file(path, durable=True) as new:
        new.write_text("")
    assert synced == [("a", False), (tmp_path.name, True)]


def test_the_new_file_can_wait_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    with replace_file(tmp_path / "a", scratch=tmp_path / "scratch") as new:
        assert new.is_relative_to(tmp_path / "scratch")
        new.write_text("new")
    assert contents(tmp_path) == {"a": b"new", "scratch": b""}


def refusal(path: Path) -> str:
    with pytest.raises(InvalidInput) as refused:
        check_file(path, "--out")
    return str(refused.value)


def test_a_file_is_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    said = [refusal(tmp_path), refusal(tmp_path / "no/a")]
    check_file(tmp_path / "a", "--out")
    check_file(Path(os.devnull), "--out")
    assert contents(tmp_path) == {}
    (tmp_path / "kept").write_text("kept")
    check_file(tmp_path / "kept", "--out")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everything
    said.append(refusal(tmp_path / "kept"))
    monkeypatch.setattr(output_files.tempfile, "TemporaryFile", deny)
    assert [*said, refusal(tmp_path / "a")] == wording


def deny(**_: object) -> None:
    raise PermissionError(13, "Permission denied")


def test_a_place_is_refused_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "thesis.txt").write_text("years")
    with pytest.raises(InvalidInput, match="thesis"):
        check_output_path(tmp_path / "thesis.txt/deeper/out")
    check_output_path(tmp_path / "new/out")
    assert contents(tmp_path) == {"thesis.txt": b"years"}
    monkeypatch.setattr(output_files.tempfile, "TemporaryFile", deny)
    with pytest.raises(InvalidInput, match="denied"):
        check_output_path(tmp_path / "new/out")


def test_a_folder_is_made_or_refused(tmp_path: Path) -> None:
    check_folder(tmp_path / "a/b", "the cache cannot be written", "cache", "name another")
    assert (tmp_path / "a/b").is_dir()
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match=r"^cache: .*directory.*another$"):
        check_folder(tmp_path / "file/b", "the cache cannot be written", "cache", "name another")
