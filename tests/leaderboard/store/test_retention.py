"""What grows in a store without submissions: cached comparisons alone, and these are kept within a limit."""

import os
from pathlib import Path

from starlette.testclient import TestClient

from shiftbench.leaderboard.app.config import Retention
from shiftbench.leaderboard.app.live_index import LiveIndex
from shiftbench.leaderboard.app.server import ServerSettings, create_app
from shiftbench.leaderboard.board import Index
from shiftbench.leaderboard.pages.addresses import compare_address, entry_address
from shiftbench.leaderboard.store import Store
from shiftbench.leaderboard.store.store import MAX_REFUSALS
from tests.leaderboard.sending import Sender


def files_of(store: Store) -> dict[str, bytes]:
    return {
        path.relative_to(store.root).as_posix(): path.read_bytes() for path in store.root.rglob("*") if path.is_file()
    }


def test_the_oldest_comparisons_go_when_all_take_too_much(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    ids = [f"{number:016x}" for number in range(11)]
    for number, other in enumerate(ids[1:]):
        store.cache_comparison(ids[0], other, b"x" * 1_000)
        (path,) = (store.root / "comparisons").glob(f"*/*{other}.json")
        os.utime(path, (number, number))
    assert store.trim_comparisons(10_000) == 0
    assert store.trim_comparisons(9_999) == 2, "to nine tenths, so that it is not done for each new one"
    assert [other for other in ids[1:] if store.comparison(ids[0], other) is None] == ids[1:3]
    assert Store(tmp_path / "none").trim_comparisons(0) == 0


def test_a_server_trims_and_compares_again(sender: Sender, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    entries = [sender.send(store, name, "ada")[0].id for name in ("first", "second")]
    index = Index([sender.folder], store)
    store.cache_comparison(*entries, b"x" * 5_000)
    live = LiveIndex(index, comparison_bytes=1_000)
    live._look()
    assert store.comparison(*entries) is None
    store.cache_comparison(*entries, b"x" * 5_000)
    live._look()
    assert store.comparison(*entries) is not None, "once in ten minutes"


def test_nothing_else_grows_however_often_visitors_ask(sender: Sender, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    entries = [sender.send(store, name, "ada")[0].id for name in ("first", "second")]
    board = f"{sender.folder.manifest.benchmark}/nli"
    asked = ["/", f"/?board={board}", f"/rows?board={board}&q=first", f"/domains?board={board}", "/forecast", "/data"]
    asked += [entry_address(entries[0]), compare_address(entries), f"/scores?id={entries[1]}", "/no-such-page"]
    settings = ServerSettings(retention=Retention())
    with TestClient(
        create_app([sender.folder], store, settings), "http://127.0.0.1", client=("127.0.0.1", 1)
    ) as client:
        before: dict[str, bytes] = {}
        for number in range(3):
            for address in asked:
                client.get(address)
            for refused in range(2 * MAX_REFUSALS):
                form = {"do": "submit", "name": f"bad {number} {refused}", "board": board}
                client.post("/submit", data=form, files={"file": ("a.csv", b"no predictions")})
            store.flush_notes()
            if number == 1:
                before = files_of(store)
        after = files_of(store)
    assert before.keys() == after.keys()
    changed = [path for path in after if before[path] != after[path]]
    assert [path for path in changed if not path.startswith("log/")] == []
    assert sum(event.act == "refused" for event in Store(store.root).log.events) == MAX_REFUSALS
