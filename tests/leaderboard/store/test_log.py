"""The log of a store: what it holds, how each way of changing it by hand is found, and what a kill leaves."""

import json
import multiprocessing
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner

from shiftbench.cli.command import app
from shiftbench.leaderboard.board import Index
from shiftbench.leaderboard.board.submission import submit
from shiftbench.leaderboard.store import Store
from shiftbench.leaderboard.store.audit import event_line, verify
from shiftbench.leaderboard.store.hosting import Act, Order, perform
from shiftbench.leaderboard.store.log import RESCORED, SEGMENT, Draft
from shiftbench.leaderboard.store.store import Change
from shiftbench.validation.report import InvalidInput
from tests.leaderboard.sending import Sender


def lived(sender: Sender, root: Path) -> Store:
    """A store with an event of each kind that needs no round."""
    store = Store(root)
    first, _ = sender.send(store, "first", "ada")
    second, _ = sender.send(store, "second", "bob")
    third, _ = sender.send(store, "third", "ada")
    store.withdraw(second.id, "bob")
    for act, target, text in (
        (Act.HIDE, first.id, ""),
        (Act.UNHIDE, first.id, ""),
        (Act.RENAME, third.id, "a copy"),
        (Act.ANNOTATE, third.id, "seen before"),
        (Act.BAN, "eve", ""),
        (Act.UNBAN, "eve", ""),
    ):
        perform(store, Order(act, target, f"reason to {act}", text), "hal")
    return store


def lines_of(store: Store) -> list[bytes]:
    return (store.root / "log" / "000001.jsonl").read_bytes().splitlines(keepends=True)


def test_everything_that_changes_a_store_is_in_the_log(
    sender: Sender, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    store = lived(sender, tmp_path / "store")
    acts = [event.act for event in store.log.events]
    assert acts == [
        *("begun", "accepted", "accepted", "accepted", "withdrawn"),
        *("hidden", "unhidden", "renamed", "annotated", "banned", "unbanned"),
    ]
    assert verify(store).problems == ()
    assert (verify(store).events, verify(store).hash) == (11, store.log.head.hash)
    text = b"".join(lines_of(store)).decode()
    assert not any(f'"{name}"' in text for name in ("ada", "bob", "hal", "eve"))
    assert sorted(store.log.people.values()) == ["ada", "bob", "eve", "hal"]
    line = event_line(store.log.events[7], dict(store.log.people))
    assert re.sub(r"\d{4}-\S+", "TIME", line) == wording


def test_a_refused_submission_is_in_the_log_without_what_was_found(sender: Sender, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    sender.send(store, "first", "ada")
    index = Index([sender.folder], store)
    file = tmp_path / "typed.csv"
    file.write_text("source,id,prediction\nhome,no-such-\x1b[2Jid,secret-label\n")
    card = json.dumps(sender.card.model_copy(update={"name": "x"}).as_dict())
    for _ in range(30):
        assert not submit(index, file, card, sender=lambda: "bob", daily_quota=None)["ok"]
    assert [event.act for event in store.log.events] == ["begun", "accepted"]
    store.flush_notes()
    refused = [event for event in store.log.events if event.act == "refused"]
    assert len(refused) == 20
    assert refused[0].words is not None
    assert refused[0].words["reason"]
    written = b"".join(lines_of(store))
    assert b"secret-label" not in written
    assert b"no-such" not in written
    store.flush_notes()
    assert len(store.log.events) == 22


def rewritten(store: Store, lines: list[bytes]) -> tuple[str, ...]:
    (store.root / "log" / "000001.jsonl").write_bytes(b"".join(lines))
    return verify(Store(store.root)).problems


def test_each_line_altered_removed_doubled_or_swapped_is_found(sender: Sender, tmp_path: Path) -> None:
    """Check every line: each eleventh byte and each value altered, with the line's hash as it was and computed anew."""
    store = lived(sender, tmp_path / "store")
    lines = lines_of(store)
    assert rewritten(store, lines) == ()
    n_tried = 0
    for place, line in enumerate(lines):
        changed = [line[:at] + bytes([line[at] ^ 1]) + line[at + 1 :] for at in range(place % 11, len(line), 11)]
        event = store.log.events[place]
        for name in ("at", "act", "entry", "by", "whom", "before", "salt", "digest"):
            if isinstance(value := getattr(event, name), str):
                changed.append(line.replace(value.encode(), value[:-1].encode() + b"x"))
        for name, text in (event.words or {}).items():
            changed.append(line.replace(json.dumps(text).encode(), json.dumps(f"{name} of mine").encode()))
        for one in changed:
            problems = rewritten(store, [*lines[:place], one, *lines[place + 1 :]])
            assert any(f"line {place + 1}" in problem for problem in problems), (place, one)
        swapped = [*lines[:place], *lines[place : place + 2][::-1], *lines[place + 2 :]]
        for other in (
            [*lines[:place], *lines[place + 1 :]],
            [*lines[:place], line, *lines[place:]],
            *([swapped] if place + 1 < len(lines) else []),
        ):
            assert rewritten(store, other), place
        n_tried += len(changed) + 2
    print(f"{len(lines)} lines, {n_tried} changes, each found")
    assert rewritten(store, lines) == ()


def test_a_forged_line_with_a_hash_of_its_own_is_found(sender: Sender, tmp_path: Path) -> None:
    import msgspec

    store = lived(sender, tmp_path / "store")
    lines, events = lines_of(store), store.log.events
    for place, event in enumerate(events):
        forged = msgspec.structs.replace(event, at="2020-01-01T00:00:00+00:00")
        forged = msgspec.structs.replace(forged, hash=forged.computed_hash())
        line = msgspec.json.encode(forged, order="sorted") + b"\n"
        assert rewritten(store, [*lines[:place], line, *lines[place + 1 :]]), place


def test_what_the_store_holds_otherwise_than_its_log_is_found(sender: Sender, tmp_path: Path) -> None:
    store = lived(sender, tmp_path / "store")
    kept = next(event.entry for event in store.log.events if event.act == "accepted")
    withdrawn = next(event.entry for event in store.log.events if event.act == "withdrawn")
    for what, expected in (
        (lambda root: shutil.rmtree(root / "entries" / str(kept)), f"entry {kept}: accepted"),
        (lambda root: (root / "withdrawn" / f"{withdrawn}.json").unlink(), f"entry {withdrawn}: withdrawn"),
        (
            lambda root: shutil.copytree(root / "entries" / str(kept), root / "entries" / ("0" * 16)),
            "entries: 1 have no event in the log, but 0",
        ),
    ):
        copy = tmp_path / f"copy-{len(list(tmp_path.iterdir()))}"
        shutil.copytree(store.root, copy)
        what(copy)
        assert any(problem.startswith(expected) for problem in verify(Store(copy)).problems), expected


def test_the_command_prints_and_fails_where_a_line_was_altered(sender: Sender, tmp_path: Path) -> None:
    store = lived(sender, tmp_path / "store")
    printed = CliRunner().invoke(app, ["board", "log", "--store", str(store.root)])
    assert printed.exit_code == 0
    assert len(printed.output.splitlines()) == 11
    verified = CliRunner().invoke(app, ["board", "log", "--store", str(store.root), "--verify"])
    assert verified.exit_code == 0
    assert {"11", store.log.head.hash} <= set(verified.output.split())
    lines = lines_of(store)
    rewritten(store, [*lines[:5], lines[5].replace(b"reason to", b"a better "), *lines[6:]])
    verified = CliRunner().invoke(app, ["board", "log", "--store", str(store.root), "--verify"])
    assert verified.exit_code == 3
    assert "log/000001.jsonl, line 6: " in verified.output


def test_a_store_of_a_former_version_gets_a_log_at_its_first_change(
    sender: Sender, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    store = Store(tmp_path / "store")
    old, _ = sender.send(store, "old", "ada")
    gone, _ = sender.send(store, "gone", "bob")
    store.withdraw(gone.id, "bob")
    shutil.rmtree(store.root / "log")
    before = sorted(path for path in store.root.rglob("*") if path.is_file())
    opened = Store(store.root)
    assert opened.ids() == [old.id]
    assert verify(opened) == verify(Store(store.root))
    assert verify(opened).problems == ()
    assert sorted(path for path in store.root.rglob("*") if path.is_file()) == before  # reading writes nothing
    sender.send(opened, "new", "ada")
    assert [event.act for event in opened.log.events] == ["begun", "accepted"]
    assert opened.log.events[0].facts["entries"]["n"] == 2
    perform(opened, Order(Act.ERASE, "bob", "asked for it"), "hal")  # nobody that an event names
    assert verify(opened).problems == ()
    shutil.rmtree(store.root / "entries" / old.id)
    assert verify(opened).problems == wording


class KilledError(BaseException):
    """Stands for a signal that ends a process at once."""


@pytest.fixture
def killed_at(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int | None], list[int]]]:
    """Return a function that ends the process, as it were, when a file is put in place for the nth time."""
    whole = Path.replace

    def set_kill(number: int | None) -> list[int]:
        count = [0]

        def replace(self: Path, target: Path) -> Path:
            count[0] += 1
            if count[0] == number:
                raise KilledError
            return whole(self, target)

        monkeypatch.setattr(Path, "replace", replace)
        return count

    yield set_kill
    monkeypatch.setattr(Path, "replace", whole)


def test_a_change_and_its_event_are_both_there_or_neither_whenever_it_is_killed(
    sender: Sender, tmp_path: Path, killed_at: Callable[[int | None], list[int]]
) -> None:
    count = killed_at(None)
    lived(sender, tmp_path / "whole")
    n_places = count[0]
    assert n_places > 40
    for number in range(1, n_places + 1, 4):
        root = tmp_path / f"store-{number}"
        killed_at(number)
        with pytest.raises(KilledError):
            lived(sender, root)
        killed_at(None)
        store = Store(root)
        before = set(store.every_id())
        found = verify(store)
        assert found.problems == (), number
        assert before <= store.every_id()
        assert {event.entry for event in store.log.events if event.act == "accepted"} == store.every_id()
        sender.send(store, "after", "ada")
        assert verify(store).problems == ()
        assert not (root / ".new").exists()


def _append(root: Path, name: str, n: int) -> None:
    store = Store(root)
    for number in range(n):
        store.note_event(Draft(RESCORED, by=name, facts={"number": number}))


def test_processes_that_add_at_once_make_one_chain(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_append, args=(tmp_path / "store", name, 25)) for name in ("a", "b")]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    store = Store(tmp_path / "store")
    assert verify(store).problems == ()
    assert len(store.log.events) == 51
    assert sorted(store.log.people.values()) == ["a", "b"]
    assert len({(event.by, event.facts.get("number")) for event in store.log.events}) == 51


def test_ten_thousand_events_open_fast_and_are_read_once(
    sender: Sender, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path / "store")
    entry, _ = sender.send(store, "first", "ada")
    drafts = [Draft(RESCORED, by=f"person {n % 500}", words={"reason": "as before"}) for n in range(9_996)]
    store.change(lambda: Change(drafts))
    perform(store, Order(Act.ANNOTATE, entry.id, "why", "a note"), "hal")
    n_events = len(store.log.events)
    assert n_events == 9_999
    start = time.process_time()
    opened = Store(store.root)
    assert opened.moderation.notes == {entry.id: "a note"}
    seconds = time.process_time() - start
    start = time.process_time()
    assert verify(opened).problems == ()
    to_verify = time.process_time() - start
    reads: list[Path] = []
    whole = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda self: reads.append(self) or whole(self))
    start = time.process_time()
    for _ in range(100):
        assert opened.ids() == [entry.id]
    a_question = (time.process_time() - start) / 100
    assert reads == []
    perform(store, Order(Act.ANNOTATE, entry.id, "why", "another"), "hal")
    del reads[:]
    opened.ids()
    assert opened.moderation.notes == {entry.id: "another"}
    assert [path.name for path in reads] == ["head.json", f"{n_events // SEGMENT + 1:06d}.jsonl", "people.json"]
    print(f"open {seconds:.3f} s, verify {to_verify:.2f} s, a look {1e3 * a_question:.3f} ms")
    assert seconds < 1
    assert to_verify < 3


def test_a_damaged_log_is_refused_by_name(sender: Sender, tmp_path: Path) -> None:
    store = lived(sender, tmp_path / "store")
    (store.root / "log" / "head.json").unlink()
    with pytest.raises(InvalidInput, match="damaged"):
        Store(store.root).ids()
    (store.root / "log" / "head.json").write_text('{"n":1}')
    with pytest.raises(InvalidInput, match="damaged"):
        sender.send(Store(store.root), "new", "ada")


def test_the_folder_of_a_log_is_private_with_withheld_labels(sender: Sender, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    store.require_private()
    sender.send(store, "first", "ada")
    for path in (store.root / "log").iterdir():
        assert path.stat().st_mode & 0o077 == 0
