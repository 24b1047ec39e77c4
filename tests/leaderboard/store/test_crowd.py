"""The store with many clients and under kill -9: accepted entries are there once, and complete."""

import random
from collections import Counter
from datetime import datetime
from pathlib import Path

import pytest

from shiftbench.leaderboard.store import Store
from tests.hub.server import running_hub
from tests.leaderboard.crowd import NAMES, Where, check_whole, crowd, kills, send_again
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
    said = crowd(Where(str(tmp_path / "store")), sender, n_processes, n_threads, n_each, QUOTA)
    assert len(said["new"]) == len(set(said["new"])) == n_clients * n_each + QUOTA
    assert said["old"] == n_clients * n_each
    assert len(said["refused"]) == n_clients - QUOTA
    assert all("shared: today's quota is used up; found 5 of 5" in reason for reason in said["refused"])
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


KILLS = pytest.mark.parametrize("n", [4, pytest.param(200, marks=LONG)], ids=["short", "long"])
"""Of two servers on one store, at random moments, their clocks jumping."""


@KILLS
def test_killed_servers_of_one_store_leave_nothing_missing_doubled_or_half(
    n: int, sender: Sender, tmp_path: Path
) -> None:
    where, n_models = Where(str(tmp_path / "store")), n // 2 * len(NAMES)
    killed = kills([where, where], sender, n, 0.2, random.Random(7))
    store = where.open()
    there = check_whole(store.root)
    assert len(killed.accepted) == len(set(killed.accepted))
    assert set(killed.accepted) <= there
    gone = there - set(store.ids())
    assert killed.withdrawn <= gone
    # The same identity can send again what a killed client was working on.
    assert send_again(store, sender, n // 2) == n_models - len(there)
    assert len(check_whole(store.root)) == n_models
    assert set(store.ids()) == check_whole(store.root) - gone
    assert not (store.root / ".new").exists()
    print(
        f"\n{n} kills of two servers of one store, {killed.at_work} while at work: {len(there):,} entries, "
        f"{len(killed.accepted):,} of them told to be accepted; all whole, and sent again each is there once"
    )


@KILLS
def test_killed_servers_of_one_repository_leave_nothing_missing_doubled_or_half(
    n: int, sender: Sender, tmp_path: Path
) -> None:
    n_models = n // 2 * len(NAMES)
    with running_hub(tmp_path / "hub") as hub:
        repository = hub.stored.create("org/entries", private=True)
        wheres = [Where("hf://datasets/org/entries", tmp_path / copy, hub.url) for copy in ("first", "second")]
        killed = kills(wheres, sender, n, 0.5, random.Random(7))
        stores = [where.open() for where in wheres]
        there = check_whole(stores[0].root, copy=True)
        assert len(killed.accepted) == len(set(killed.accepted))
        assert set(killed.accepted) <= there
        gone = there - set(stores[0].ids())
        assert killed.withdrawn <= gone
        assert send_again(stores[1], sender, n // 2) == n_models - len(there)
        fresh = Where(wheres[0].place, tmp_path / "fresh", hub.url).open()
        stores[0].refresh()
        assert fresh.ids() == stores[0].ids() == stores[1].ids()
        ids = check_whole(fresh.root, copy=True)
        titles = [commit.title for commit in repository.history()]
        assert sorted(title for title in titles if title.startswith("Entry")) == [f"Entry {id_}" for id_ in sorted(ids)]
        assert sorted(title for title in titles if title.startswith("Withdraw")) == sorted(
            f"Withdraw {id_}" for id_ in gone
        )
        assert len(ids) == n_models
    print(
        f"\n{n} kills of two servers of one repository, {killed.at_work} while at work: {len(there):,} entries, "
        f"{len(killed.accepted):,} of them told to be accepted, each one commit"
    )
