"""What a host does to entries and accounts: boards, pages, archives and comparisons follow at once."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import HfApi
from syrupy.assertion import SnapshotAssertion

from shiftbench.leaderboard.archive.open_archive import write_archive
from shiftbench.leaderboard.board import Index
from shiftbench.leaderboard.pages.board_table import store_notes
from shiftbench.leaderboard.store import Store
from shiftbench.leaderboard.store.audit import verify
from shiftbench.leaderboard.store.hosting import Act, Order, perform
from shiftbench.validation.report import InvalidInput
from tests.hub.server import LoopbackHub
from tests.leaderboard.conftest import Filled, fill
from tests.leaderboard.sending import Sender
from tests.leaderboard.store.repository import REPO, opened
from tests.refusals import refusal


@pytest.fixture
def own(filled: Filled, tmp_path: Path) -> Filled:
    """A copy of the filled store."""
    root = tmp_path / "store"
    shutil.copytree(filled.store.root, root)
    return Filled(Store(root), filled.folder, filled.entries, filled.files)


def names_on(index: Index) -> list[tuple[str, int | None]]:
    frame = index.frame(index.boards()[0])
    return list(zip(frame["name"].to_list(), frame["rank"].to_list(), strict=True))


def test_a_hidden_entry_leaves_boards_ranks_claims_and_archives_at_once(
    own: Filled, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    index, good = Index([own.folder], own.store), own.entries["good"]
    before = names_on(index)
    assert store_notes(index) == []
    host = Store(own.store.root)  # another process
    said = perform(host, Order(Act.HIDE, good.id, "an advertisement"), "hal")
    index.refresh()
    assert good.card.name not in [name for name, _ in names_on(index)]
    poor = own.card("poor").name
    assert dict(names_on(index))[poor] == dict(before)[poor] - 1  # type: ignore[operator]
    assert [said, store_notes(index)[0][1]] == wording
    for ask in (
        lambda: index.entry(good.id),
        lambda: index.refuse_unknown([good.id], None),
        lambda: host.entry(good.id),
    ):
        with pytest.raises(InvalidInput, match="hidden"):
            ask()
    assert index.hidden_at(good.id)
    assert good.id not in index.scored_ids()
    assert good not in host.entries()
    with pytest.raises(InvalidInput, match="shared"):
        write_archive(host, [own.folder], tmp_path / "archive", lambda *_: {})
    n_events = len(host.log.events)
    perform(host, Order(Act.HIDE, good.id, "once more"), "hal")
    assert len(host.log.events) == n_events
    perform(host, Order(Act.UNHIDE, good.id, "it was none"), "hal")
    index.refresh()
    assert names_on(index) == before
    assert verify(host).problems == ()


def test_a_copycat_is_renamed_on_its_board_its_page_and_the_overall_board(
    own: Filled, wording: SnapshotAssertion
) -> None:
    index, poor = Index([own.folder], own.store), own.entries["poor"]
    name = "A copy of BERT"
    perform(Store(own.store.root), Order(Act.RENAME, poor.id, "posed as another", name), "hal")
    index.refresh()
    assert name in dict(names_on(index))
    assert poor.card.name not in dict(names_on(index))
    assert name in index.overall(index.benchmarks()[0])["model"].to_list()
    assert index.entry(poor.id).card.name == name
    assert index.host_notes(poor.id) == wording
    assert own.store.checked_rows(poor.id, own.folder).height  # the id is that of what was sent
    again = Index([own.folder], Store(own.store.root))  # from the tables that were kept under the former name
    assert name in dict(names_on(again))


def test_a_note_is_on_the_board_and_the_entrys_page_until_it_is_taken_away(own: Filled) -> None:
    from shiftbench.leaderboard.pages.board_page import board_page
    from shiftbench.leaderboard.pages.board_query import BoardQuery

    index, good, script = Index([own.folder], own.store), own.entries["good"], "<script>alert(1)</script>"
    for note, shown in ((script, True), ("", False)):
        perform(own.store, Order(Act.ANNOTATE, good.id, "as asked", note), "hal")
        index.refresh()
        page = str(board_page(index, BoardQuery.parse([("board", index.boards()[0].name)], index)))
        assert ("note of" in page) is shown
        assert script not in page
        assert index.host_notes(good.id) == ([script] if shown else [])


def test_a_banned_account_submits_nothing_more_until_that_is_lifted(sender: Sender, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    perform(store, Order(Act.BAN, "eve", "advertisements"), "hal")  # before anything was sent
    first, _ = sender.send(store, "first", "ada")
    perform(store, Order(Act.BAN, "ada", "advertisements"), "hal")
    for name in ("ada", "eve"):
        with pytest.raises(InvalidInput, match="banned"):
            sender.send(Store(store.root), "second", name)
    assert store.ids() == [first.id]
    perform(store, Order(Act.UNBAN, "ada", "a mistake"), "hal")
    assert sender.send(Store(store.root), "second", "ada")[1]


def files_with(root: Path, text: str) -> list[str]:
    return [path.name for path in root.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


def test_an_erased_account_is_in_no_file_and_its_entries_stay_as_tombstones(own: Filled, tmp_path: Path) -> None:
    store, folder = own.store, own.folder
    account = "cassandra-of-troy"
    mine, _ = store.submit(own.files["partial"], own.card("partial"), [folder], account)
    gone, _ = store.submit(own.files["poor"], own.card("poor"), [folder], account)
    index = Index([folder], store)
    assert index.settle()
    store.withdraw(gone.id, account)
    perform(store, Order(Act.ANNOTATE, mine.id, f"{account} wrote that", f"by {account}"), "hal")
    assert len(files_with(store.root, account)) >= 4
    events = [(event.n, event.hash) for event in store.log.events]
    perform(Store(store.root), Order(Act.ERASE, account, "asked for it"), "hal")
    index.refresh()
    assert files_with(store.root, account) == []
    for each in (mine.id, gone.id):
        assert files_with(store.root, each) == ["000001.jsonl", f"{each}.json"]
    assert not list(store.root.rglob(f"scores/**/{mine.id}*"))
    assert [(event.n, event.hash) for event in store.log.events][: len(events)] == events
    assert verify(store).problems == ()
    assert index.erased_at(mine.id)
    assert mine.id not in index.scored_ids()
    assert index.settle()
    assert files_with(store.root, account) == []
    with pytest.raises(InvalidInput, match="erased"):
        index.entry(mine.id)
    with pytest.raises(InvalidInput, match="withdrawn"):
        store.submit(own.files["partial"], own.card("partial"), [folder], account)
    assert store.submit(own.files["good"], own.card("good"), [folder], account)[1]  # may come back
    assert set(store.ids()) >= {each.id for each in own.entries.values()}


def test_words_that_go_without_an_erasure_are_found(sender: Sender, tmp_path: Path, wording: SnapshotAssertion) -> None:
    import msgspec

    store = Store(tmp_path / "store")
    entry, _ = sender.send(store, "first", "ada")
    perform(store, Order(Act.HIDE, entry.id, "an advertisement"), "hal")
    path = store.root / "log" / "000001.jsonl"
    stripped = [event.without_words() for event in store.log.events]
    path.write_bytes(b"".join(msgspec.json.encode(event, order="sorted") + b"\n" for event in stripped))
    assert verify(Store(store.root)).problems == wording


def test_what_cannot_be_done_is_refused_and_changes_nothing(
    sender: Sender, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    store = Store(tmp_path / "store")
    entry, _ = sender.send(store, "first", "ada")
    n_events = len(store.log.events)
    orders = (
        Order(Act.HIDE, "0123456789abcdef", "why"),
        Order(Act.HIDE, "../../etc", "why"),
        Order(Act.HIDE, entry.id, " "),
        Order(Act.HIDE, entry.id, "a\u202eb"),
        Order(Act.HIDE, entry.id, "x" * 501),
        Order(Act.RENAME, entry.id, "why", ""),
        Order(Act.RENAME, entry.id, "why", "a\x1b[2J"),
        Order(Act.ERASE, "nobody", "why"),
        Order(Act.BAN, "", "why"),
    )
    assert [refusal(InvalidInput, perform, store, order, "hal") for order in orders] == wording
    assert len(Store(store.root).log.events) == n_events


def test_hiding_and_erasing_reach_every_machine_of_a_repository(
    hub: LoopbackHub, sender: Sender, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    squashed: list[Any] = []
    monkeypatch.setattr(HfApi, "super_squash_history", lambda _, repo_id, **rest: squashed.append(repo_id))
    here, there = opened(hub, tmp_path / "a"), opened(hub, tmp_path / "b")
    first, _ = sender.send(here, "first", "cassandra")
    second, _ = sender.send(here, "second", "bob")
    there.refresh()
    perform(there, Order(Act.HIDE, second.id, "an advertisement"), "hal")
    here.refresh()
    assert here.ids() == [first.id]
    perform(there, Order(Act.ERASE, "cassandra", "asked for it"), "hal")
    assert squashed == [REPO]
    here.refresh()
    for store in (here, there, opened(hub, tmp_path / "c")):
        assert store.ids() == []
        assert verify(store).problems == ()
        assert files_with(store.root, "cassandra") == []
        assert not (store.root / "entries" / first.id).exists()
    listed = hub.stored.by_name[REPO].commit("main").files
    assert not [path for path in listed if first.id in path and not path.startswith("withdrawn/")]
    third, _ = sender.send(here, "third", "bob")
    assert here.ids() == [third.id]


def test_a_ban_holds_where_the_index_is_new(filled: Filled, tmp_path: Path) -> None:
    own = fill(filled.folder, tmp_path)
    perform(own.store, Order(Act.BAN, "local", "done"), "hal")
    assert set(Index([own.folder], Store(own.store.root)).store.ids()) == {each.id for each in own.entries.values()}
