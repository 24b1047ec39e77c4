"""The store with many clients: accepted entries are there once, and complete. ``chaos`` kills some."""

from collections import Counter
from datetime import datetime
from pathlib import Path

import pytest

from shiftbench.leaderboard.store import Store
from tests.leaderboard.crowd import check_whole, crowd
from tests.leaderboard.sending import Sender

QUOTA = 5
LONG = pytest.mark.long

pytestmark = pytest.mark.xdist_group("store_crowd")


@pytest.mark.parametrize(
    ("n_processes", "n_threads", "n_each"), [(2, 6, 5), pytest.param(5, 10, 20, marks=LONG)], ids=["short", "long"]
)
def test_every_accepted_entry_of_a_crowd_is_there_once(
    n_processes: int, n_threads: int, n_each: int, sender: Sender, tmp_path: Path
) -> None:
    n_clients = n_processes * n_threads
    said = crowd(tmp_path / "store", sender, n_processes, n_threads, n_each, QUOTA)
    assert len(said["new"]) == len(set(said["new"])) == n_clients * n_each + QUOTA
    assert said["old"] == n_clients * n_each
    assert len(said["refused"]) == n_clients - QUOTA
    assert all("5 of 5" in reason for reason in said["refused"])
    store = Store(tmp_path / "store")
    assert store.ids() == sorted(said["new"]) == sorted(check_whole(store.root))
    sent = Counter(entry.submitter for entry in store.entries())
    assert set(sent.values()) == {n_each, QUOTA}
    day = datetime.fromisoformat(store.entries()[0].submitted_at).date()
    assert store.sent_on("shared", day) <= QUOTA
    assert all(store.stored_scores(entry, sender.folder) is not None for entry in store.entries())
    rate = len(said["new"]) / said["seconds"]
    print(
        f"\n{len(said['new']):,} accepted of {n_clients} clients in {n_processes} processes, all sent twice: "
        f"{said['seconds']:.0f} s, {rate:.1f} a second; {len(said['refused'])} refused by a quota of {QUOTA}"
    )
