"""A store whose folder vanishes, is damaged, may not be written, or whose clock jumps: nothing is lost, nothing is made
anew, and each says what is wrong.
"""

import ctypes
import json
import os
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import httpx
import polars as pl
import pytest

from shiftbench.leaderboard.app.server import serve
from shiftbench.leaderboard.board import Index
from shiftbench.leaderboard.board.analysed import read_entries
from shiftbench.leaderboard.store import Store
from shiftbench.leaderboard.store import store as store_module
from shiftbench.leaderboard.store.rescore import rescore
from shiftbench.validation.report import InvalidInput
from tests.hub.server import LoopbackHub
from tests.leaderboard.crowd import check_whole
from tests.leaderboard.sending import Sender
from tests.leaderboard.store.repository import REPO, opened


@pytest.mark.parametrize("left", ["nothing", "an empty folder", "another store"])
def test_a_store_that_vanished_is_refused_and_not_made_anew(left: str, sender: Sender, tmp_path: Path) -> None:
    """Check that a vanished store is not replaced by a new, empty one, which would accept withdrawn entries again."""
    root, away = tmp_path / "store", tmp_path / "away"
    store = Store(root)
    entry, _ = sender.send(store, "first", "ada")
    withdrawn, _ = sender.send(store, "second", "ada")
    store.withdraw(withdrawn.id, "ada")
    root.rename(away)
    if left != "nothing":
        root.mkdir()
    if left == "another store":
        sender.send(Store(root), "of another store", "bob")
    before = sorted(root.rglob("*")) if root.exists() else None
    for attempt in (
        lambda: sender.send(store, "second", "ada"),
        lambda: store.withdraw(entry.id, "ada"),
        lambda: store.score_again(entry, sender.folder),
        lambda: store.cache_index({"rows": b""}),
        store.check_writable,
        store.entries,
        store.refresh,
    ):
        with pytest.raises(InvalidInput):
            attempt()
    with pytest.raises(InvalidInput, match="replaced"):
        store.ids()
    assert (sorted(root.rglob("*")) if root.exists() else None) == before
    if root.exists():
        shutil.rmtree(root)
    away.rename(root)
    assert store.ids() == [entry.id]
    store.refresh()
    assert store.behind is None
    with pytest.raises(InvalidInput, match="withdrawn"):
        sender.send(store, "second", "ada")


def test_a_server_whose_store_vanished_shows_what_it_had_and_takes_nothing(sender: Sender, tmp_path: Path) -> None:
    root = tmp_path / "store"
    sender.send(Store(root), "Known", "ada")
    store = Store(root)
    server = serve([sender.folder], store, port=0, block=False)
    try:
        assert "Known" in httpx.get(server.url).text
        root.rename(tmp_path / "away")
        time.sleep(1.1)  # the folder is looked at once a second
        answer = httpx.get(server.url)
        assert (answer.status_code, "Known" in answer.text, "Not up to date." in answer.text) == (200, True, True)
        assert str(root) not in answer.text
    finally:
        server.close()
    assert not root.exists()


def test_a_lost_copy_of_a_repository_is_fetched_again(hub: LoopbackHub, sender: Sender, tmp_path: Path) -> None:
    """Check that a lost copy is fetched again; otherwise quotas and withdrawn entries would be forgotten."""
    store = opened(hub, tmp_path / "copy")
    entry, _ = sender.send(store, "first", "ada")
    withdrawn, _ = sender.send(store, "second", "ada")
    store.withdraw(withdrawn.id, "ada")
    shutil.rmtree(store.root)
    with pytest.raises(InvalidInput, match="withdrawn"):
        sender.send(store, "second", "ada")
    with pytest.raises(InvalidInput, match="2 of 2"):
        sender.send(store, "third", "ada", daily_quota=2)
    shutil.rmtree(store.root)
    store.refresh()
    assert store.entries() == [entry]


@pytest.mark.parametrize("what", ["emptied", "removed"])
def test_a_repository_that_vanished_is_refused_and_the_copy_stays(
    what: str, hub: LoopbackHub, sender: Sender, tmp_path: Path, waits: list[float]
) -> None:
    store = opened(hub, tmp_path / "copy")
    entry, _ = sender.send(store, "first", "ada")
    kept = hub.stored.by_name.pop(REPO)
    if what == "emptied":
        hub.stored.create(REPO, private=True)
    for attempt in (lambda: sender.send(store, "second", "ada"), store.refresh):
        with pytest.raises(InvalidInput, match=r"disappeared|repository"):
            attempt()
    assert store.behind is not None
    assert store.ids() == [entry.id]
    hub.stored.by_name[REPO] = kept
    store.refresh()
    sender.send(store, "second", "ada")
    assert len(opened(hub, tmp_path / "fresh").ids()) == 2


def test_predictions_are_those_of_their_entry_when_it_is_scored_again(sender: Sender, tmp_path: Path) -> None:
    """Check that no other file's scores are shown under an entry's name."""
    store = Store(tmp_path / "store")
    entry, _ = sender.send(store, "first", "ada")
    other, _ = sender.send(store, "second", "bob")
    files = store.entry_files(entry.id)
    sound = files.predictions.read_bytes()
    frame = pl.read_parquet(files.predictions)
    labels = frame["prediction"].unique().sort()
    swapped = frame.with_columns(prediction=pl.lit(labels[0]) if labels.len() > 1 else pl.lit("entailment"))
    swapped.write_parquet(files.predictions)
    with pytest.raises(InvalidInput, match=f"{entry.id}: .* changed"):
        store.score_again(entry, sender.folder)
    files.predictions.write_bytes(sound)
    card = json.loads(files.card.read_text())
    files.card.write_text(json.dumps({**card, "submitter": "eve"}))
    found = rescore(Store(store.root), [sender.folder], every=True)
    assert list(found.failed) == [entry.id]
    assert found.scored == (other.id,)
    assert "changed" in found.failed[entry.id]


@pytest.mark.parametrize("damage", ["no card", "no file", "a card that is cut"])
def test_one_folder_without_a_card_stops_no_other(damage: str, sender: Sender, tmp_path: Path) -> None:
    """Check that the other entries can still be listed, and so analysed."""
    store = Store(tmp_path / "store")
    entry, _ = sender.send(store, "sound", "ada")
    hurt, _ = sender.send(store, "hurt", "ada")
    files = store.entry_files(hurt.id)
    if damage == "a card that is cut":
        files.card.write_bytes(files.card.read_bytes()[:50])
    else:
        files.card.unlink()
    if damage == "no file":
        files.predictions.unlink()
    again = Store(store.root)
    assert again.entries() == [entry]
    assert list(again.unreadable()) == [hurt.id]
    index = Index([sender.folder], again)
    assert [each.id for each in index.unscored()] == [hurt.id]
    found, left_out = read_entries([], again, [sender.folder])
    assert [each.id for each in found] == [entry.id]
    assert any(hurt.id in line for line in left_out)
    sent, new = sender.send(again, "one more", "ada")
    assert new
    assert rescore(again, [sender.folder]).kept == tuple(sorted([entry.id, sent.id]))


def test_a_card_that_is_restored_counts_again(sender: Sender, tmp_path: Path) -> None:
    """Check that a restored card counts without a restart, so that its submitter keeps to the day's quota."""
    store = Store(tmp_path / "store")
    entry, _ = sender.send(store, "hurt", "ada")
    card = store.entry_files(entry.id).card
    sound = card.read_bytes()
    again = Store(store.root)
    day = date.fromisoformat(entry.submitted_at[:10])
    card.write_bytes(sound[:50])
    assert again.sent_on("ada", day) == 0
    card.write_bytes(sound)
    assert again.sent_on("ada", day) == 1
    card.write_bytes(b"{")  # cards are cached after the first read
    assert again.sent_on("ada", day) == 1


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Make this thread see a folder as mounted read-only, also where it runs as root."""
    paths = [folder, *(path for path in folder.rglob("*") if path.is_dir())]
    for path in paths:
        path.chmod(0o555)
    try:
        with _without_override():
            yield
    finally:
        for path in paths:
            path.chmod(0o755)


@contextmanager
def _without_override() -> Iterator[None]:
    """Remove, for this thread and a while, the right of root to write anywhere."""
    if os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    before, during = (ctypes.c_uint32 * 6)(), (ctypes.c_uint32 * 6)()
    for each in (before, during):
        assert libc.capget(header, each) == 0
    during[0] &= ~(1 << 1)  # CAP_DAC_OVERRIDE among the effective ones
    assert libc.capset(header, during) == 0
    try:
        yield
    finally:
        assert libc.capset(header, before) == 0


def test_a_store_that_is_read_only_is_shown_and_refuses_what_is_sent(sender: Sender, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    entry, _ = sender.send(store, "first", "ada")
    before = {path: path.stat().st_mtime_ns for path in store.root.rglob("*")}
    with read_only(store.root):
        shown = Store(store.root)
        assert Index([sender.folder], shown).scores(entry.id) == store.scores(entry, sender.folder)
        assert sender.send(shown, "first", "ada") == (entry, False)
        for attempt in (
            lambda: sender.send(shown, "second", "ada"),
            lambda: shown.withdraw(entry.id, "ada"),
            shown.check_writable,
        ):
            with pytest.raises(InvalidInput, match="written"):
                attempt()
        found = rescore(shown, [sender.folder], every=True)
        assert "written" in found.failed[entry.id]
    assert {path: path.stat().st_mtime_ns for path in store.root.rglob("*")} == before
    assert sender.send(store, "second", "ada")[1]


@pytest.mark.parametrize("kind", ["local", "hub"])
def test_a_clock_that_jumps_loses_and_doubles_nothing(
    kind: str, sender: Sender, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Check that an entry's day is what the clock said; the submitter has the quota of each day, and no more."""
    if kind == "hub":
        hub = request.getfixturevalue("hub")
        stores = [opened(hub, tmp_path / copy) for copy in ("a", "b")]
    else:
        stores = [Store(tmp_path / "store"), Store(tmp_path / "store")]
    clock = ["2026-03-01T23:59:59+00:00"]
    monkeypatch.setattr(store_module, "now", lambda: clock[0])
    days = ("2026-03-02", "1970-01-01", "2026-03-02", "2099-12-31", "2026-03-01", "2026-03-02")
    sent: list[str] = []
    refused: list[str] = []
    for number, day in enumerate(days):
        clock[0] = f"{day}T00:00:0{number % 10}+00:00"
        try:
            entry, new = sender.send(stores[number % 2], f"model {number}", "ada", daily_quota=2)
        except InvalidInput as error:
            refused.append(str(error))
            continue
        assert new
        sent.append(entry.id)
        assert sender.send(stores[1 - number % 2], f"model {number}", "ada", daily_quota=2)[1] is False
    assert all("quota" in reason for reason in refused)
    assert len(set(sent)) == len(sent) == len(days) - len(refused)
    for store in stores:
        store.refresh()
        assert store.ids() == sorted(sent)
        by_day = Counter(entry.submitted_at[:10] for entry in store.entries())
        assert by_day == {day: min(count, 2) for day, count in Counter(days).items()}
        assert check_whole(store.root, copy=True) == set(sent)
