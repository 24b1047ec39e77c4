"""Backups of a store: what is restored is the store, whatever was killed, and no damage passes."""

import os
import re
import resource
import shutil
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner

from shiftbench.cli.command import app
from shiftbench.leaderboard.board import Index
from shiftbench.leaderboard.pages.board_data import board_rows
from shiftbench.leaderboard.release import close_round, nominate
from shiftbench.leaderboard.store import Store, backup
from shiftbench.leaderboard.store.audit import verify
from shiftbench.leaderboard.store.backup import back_up, check_backup, read_lists, restore
from shiftbench.leaderboard.store.hosting import Act, Order, perform
from shiftbench.leaderboard.store.log import Draft
from shiftbench.validation.report import InvalidInput
from tests.hub.server import LoopbackHub
from tests.leaderboard.release import gold as gold_files
from tests.leaderboard.sending import Sender
from tests.leaderboard.store.repository import opened


def contents(root: Path) -> dict[str, bytes]:
    """Read what a backup holds of a store, by path."""
    files = [path for path in root.rglob("*") if path.is_file() and not path.name.startswith(".")]
    found = {path.relative_to(root).as_posix(): path.read_bytes() for path in files}
    return {path: content for path, content in found.items() if "/index/" not in path and "comparisons/" not in path}


@pytest.fixture
def store(sender: Sender, tmp_path: Path) -> Store:
    """Three entries, one of them withdrawn."""
    store = Store(tmp_path / "store")
    for name in ("first", "second", "third"):
        entry, _ = sender.send(store, name, "ada")
    store.withdraw(entry.id, "ada")
    return store


def restored(file: Path, out: Path) -> dict[str, bytes]:
    restore(file, out)
    return contents(out)


def test_a_restored_store_is_the_same_byte_for_byte(store: Store, sender: Sender, tmp_path: Path) -> None:
    file = tmp_path / "store.tar"
    done = back_up(store, file)
    assert restored(file, tmp_path / "new") == contents(store.root)
    assert done.read == done.size == sum(map(len, contents(store.root).values()))
    assert file.stat().st_mode & 0o777 == 0o600
    again = Store(tmp_path / "new")
    assert again.entries() == store.entries()
    with pytest.raises(InvalidInput, match="withdrawn"):
        sender.send(again, "third", "ada")
    with pytest.raises(InvalidInput, match="3 of 3"):
        sender.send(again, "fourth", "ada", daily_quota=3)
    rows = [board_rows(index, index.boards()[0]) for index in (settled(store, sender), settled(again, sender))]
    assert rows[0] == rows[1] != []
    with tarfile.open(file) as tar:  # as any other tool reads it
        names = [name for name in tar.getnames() if not name.startswith("backup/")]
        read = {name: tar.extractfile(name).read() for name in names}  # type: ignore[union-attr]
    assert read == contents(store.root)


def settled(store: Store, sender: Sender) -> Index:
    index = Index([sender.folder], store)
    assert index.settle()
    return index


def test_rounds_and_budgets_of_withheld_labels_are_restored(tmp_path: Path) -> None:
    gold = gold_files.build_gold(tmp_path / "gold", 1_150, domains=gold_files.DOMAINS[:2])
    store = Store(tmp_path / "secret")
    entry = gold_files.send(store, gold, gold_files.with_errors(gold, 0.2), tmp_path / "p.parquet", "ada")
    nominate(store, entry.id, "ada", [gold])
    close_round(store, [gold])
    back_up(store, tmp_path / "secret.tar")
    assert restored(tmp_path / "secret.tar", tmp_path / "new") == contents(store.root)
    again = Store(tmp_path / "new")
    assert {path.stat().st_mode & 0o077 for path in (again.root, *again.root.rglob("*"))} == {0}
    assert again.records("") == store.records("") != {}


def test_a_second_backup_reads_and_writes_only_what_is_new(store: Store, sender: Sender, tmp_path: Path) -> None:
    file = tmp_path / "store.tar"
    whole = back_up(store, file)
    nothing = back_up(store, file)
    assert (nothing.new_files, nothing.read, nothing.is_rewritten) == (0, 0, False)
    assert nothing.written < 3_000 < whole.written / 10
    before = contents(store.root)
    sender.send(store, "fourth", "ada")
    new = {path: content for path, content in contents(store.root).items() if before.get(path) != content}
    size = file.stat().st_size
    one = back_up(store, file)
    assert (one.new_files, one.read) == (len(new), sum(map(len, new.values())))
    assert file.stat().st_size - size + 1_024 == one.written < one.read + 1_024 * len(new) + 4_096
    assert restored(file, tmp_path / "new") == contents(store.root)
    # The restored store goes on in the same file.
    assert back_up(Store(tmp_path / "new"), file).new_files == 0


def test_what_a_store_lost_is_not_kept_in_the_file(store: Store, sender: Sender, tmp_path: Path) -> None:
    file = tmp_path / "store.tar"
    back_up(store, file)
    lost = store.entries()[0]
    card = store.entry_files(lost.id).card.read_bytes()
    assert card in file.read_bytes()
    shutil.rmtree(store.root / "entries" / lost.id)
    done = back_up(store, file)
    assert done.is_rewritten
    assert done.read == 0  # the rest is copied from the file
    assert card not in file.read_bytes()
    assert restored(file, tmp_path / "new") == contents(store.root)


def test_an_erased_person_is_in_no_later_backup_and_stays_erased_after_an_older_one(
    store: Store, sender: Sender, tmp_path: Path
) -> None:
    sender.send(store, "of another one", "grace hopper")
    perform(store, Order(Act.BAN, "no entries", "a reason"), "host")
    older, file = tmp_path / "older.tar", tmp_path / "store.tar"
    back_up(store, file)
    shutil.copy(file, older)
    for person in ("grace hopper", "no entries"):
        perform(store, Order(Act.ERASE, person, "asked for it"), "host")
        assert back_up(store, file).is_rewritten
        assert person.encode() not in file.read_bytes()
        assert person.encode() in older.read_bytes()
    assert not back_up(store, file).is_rewritten
    words = ("board", "restore", older, "--store", tmp_path / "new", "--newer", store.root)
    done = CliRunner().invoke(app, list(map(str, words)))
    assert done.exit_code == 0, done.output
    assert "'grace hopper'" in done.output
    again = Store(tmp_path / "new")
    assert again.ids() == store.ids()
    assert not [path for path, content in contents(again.root).items() if b"grace hopper" in content]
    assert verify(again).problems == ()


def test_scores_made_again_are_those_restored(store: Store, sender: Sender, tmp_path: Path) -> None:
    file = tmp_path / "store.tar"
    back_up(store, file)
    rewritten = []
    for number in range(12):
        path = store.entry_files(store.ids()[0]).scores
        path.write_bytes(path.read_bytes() + b" " * (200_000 + number))
        rewritten.append(back_up(store, file).is_rewritten)
    assert any(rewritten)
    assert not all(rewritten)
    assert file.stat().st_size < 2 * sum(map(len, contents(store.root).values())) + 3_000_000
    assert restored(file, tmp_path / "new") == contents(store.root)


def flipped(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 1 << at % 8]) + content[at + 1 :]


@pytest.mark.parametrize("n_backups", [1, 3])
def test_every_flipped_byte_is_found(n_backups: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every byte of a small file, of its heads, lists, padding and end, too."""
    root, file = tmp_path / "store", tmp_path / "store.tar"
    store = Store(root)
    for number in range(n_backups):
        store.add_records(lambda n=number: {f"look-a-{n}.json": b"{}" * (n + 1)}, Draft("answered"))  # type: ignore[misc]
        back_up(store, file)
    content, broken = file.read_bytes(), tmp_path / "broken.tar"
    check_backup(file)
    missed = []
    for at in range(0, len(content), 1 if n_backups == 1 else 7):
        broken.write_bytes(flipped(content, at))
        try:
            check_backup(broken)
        except InvalidInput:
            continue
        missed.append(at)
    assert missed == []
    for size in range(1, len(content), 97):  # nor is a shorter file taken for a whole one
        broken.write_bytes(content[:-size])
        try:
            found = check_backup(broken)
        except InvalidInput:
            continue
        assert not found.is_finished


def test_flips_anywhere_in_a_backup_of_entries_are_found_by_restore(store: Store, tmp_path: Path) -> None:
    file, broken = tmp_path / "store.tar", tmp_path / "broken.tar"
    back_up(store, file)
    content, rng = file.read_bytes(), np.random.default_rng(7)
    for at in rng.integers(len(content), size=300):
        broken.write_bytes(flipped(content, int(at)))
        with pytest.raises(InvalidInput, match="damaged"):
            restore(broken, tmp_path / "new")
        assert not (tmp_path / "new").exists()


def test_the_commands_say_what_they_did(
    store: Store, sender: Sender, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    file = tmp_path / "store.tar"

    def run(*words: object) -> str:
        done = CliRunner().invoke(app, ["board", *map(str, words)])
        assert done.exit_code == 0, done.output
        return done.output

    run("backup", file, "--store", store.root)
    sender.send(store, "fourth", "ada")
    assert "; 6 new files, " in run("backup", file, "--store", store.root)
    with file.open("r+b") as opened:  # as if a third one had been killed
        opened.seek(-1_024, os.SEEK_END)
        opened.truncate()
        opened.write(file.read_bytes()[:700])
    said = run("restore", file, "--store", tmp_path / "new", "--dry-run")
    assert re.sub(r"\d[\d,]* bytes, as of [^ ]+:", "BYTES, TIME:", said) == wording
    assert not (tmp_path / "new").exists()
    run("restore", file, "--store", tmp_path / "new")
    assert contents(tmp_path / "new") == contents(store.root)
    assert read_lists(file).is_finished is False
    run("backup", file, "--store", store.root)
    assert read_lists(file).is_finished is True


def test_a_store_on_the_hub_is_backed_up_at_one_commit(hub: LoopbackHub, sender: Sender, tmp_path: Path) -> None:
    file = tmp_path / "store.tar"
    store = opened(hub, tmp_path / "copy")
    sender.send(store, "first", "ada")
    first = back_up(store, file)
    hub.faults.plan()
    assert back_up(store, file).read == hub.faults.kinds()["resolve"] == 0
    second, _ = sender.send(store, "second", "ada")
    done = back_up(store, file)
    assert done.revision == hub.stored.by_name["org/entries"].branches["main"] != first.revision
    assert restored(file, tmp_path / "new") == {
        path: content for path, content in hub.stored.files("org/entries").items() if not path.startswith(".")
    }
    assert Store(tmp_path / "new").entry(second.id).card.name == "second"


def test_restore_refuses_a_folder_that_is_not_empty_and_a_later_format(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "store.tar"
    monkeypatch.setattr(backup, "FORMAT", 2)
    back_up(store, file)
    monkeypatch.undo()
    for attempt in (lambda: restore(file, tmp_path / "new"), lambda: back_up(store, file)):
        with pytest.raises(InvalidInput, match="format 2"):
            attempt()
    file.unlink()
    back_up(store, file)
    with pytest.raises(InvalidInput, match="empty"):
        restore(file, store.root)
    for content in (b"", b"no tar" * 400, file.read_bytes()[:5_000]):
        file.write_bytes(content)
        with pytest.raises(InvalidInput, match=r"damaged|complete"):
            restore(file, tmp_path / "new")
    with pytest.raises(InvalidInput, match="store"):
        back_up(Store(tmp_path / "nowhere"), tmp_path / "other.tar")
    assert not (tmp_path / "other.tar").exists()


def test_a_backup_while_others_write_is_a_store_as_it_was_at_one_moment(sender: Sender, tmp_path: Path) -> None:
    store, file = Store(tmp_path / "store"), tmp_path / "store.tar"
    sent: list[str] = []

    def write() -> None:
        for number in range(15):
            sent.append(sender.send(store, f"model {number}", "ada")[0].id)
            if number % 3 == 0:
                store.withdraw(sent[-1], "ada")

    sender.send(store, "the first", "ada")
    thread = threading.Thread(target=write)
    thread.start()
    seen = []
    while thread.is_alive():
        before = len(sent)
        back_up(Store(store.root), file)
        restore(file, tmp_path / f"at {len(seen)}")
        found = Store(tmp_path / f"at {len(seen)}")
        entries = found._place.ids()
        assert set(sent[:before]) <= entries
        assert found._place.withdrawn() <= entries
        assert all(found.checked_rows(each, sender.folder).height for each in entries)
        seen.append(len(entries))
    thread.join()
    back_up(store, file)
    assert len(seen) > 1
    assert restored(file, tmp_path / "new") == contents(store.root)


@contextmanager
def full_disk(limit: int) -> Iterator[None]:
    """Limit the size of each file that this process writes, in bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_leaves_the_former_backup(store: Store, sender: Sender, tmp_path: Path) -> None:
    file = tmp_path / "store.tar"
    back_up(store, file)
    before, size = contents(store.root), file.stat().st_size
    sender.send(store, "fourth", "ada")
    with full_disk(size + 700), pytest.raises(InvalidInput, match="written"):
        back_up(store, file)
    assert restored(file, tmp_path / "new") == before
    shutil.rmtree(store.root / "entries" / store.ids()[0])  # so that the file is written anew
    with full_disk(size - 700), pytest.raises(InvalidInput, match="written"):
        back_up(store, file)
    assert restored(file, tmp_path / "again") == before
    back_up(store, file)
    assert restored(file, tmp_path / "later") == contents(store.root)
