"""The store in a repository of the Hub: the real client against a Hub on the loopback interface, which fails in every
way it can. Nothing may be lost, and nothing doubled.
"""

import random
import shutil
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import HfApi
from syrupy.assertion import SnapshotAssertion

from shiftbench.leaderboard.store import hub as hub_module
from shiftbench.leaderboard.store import open_store
from shiftbench.leaderboard.store.log import Draft
from shiftbench.scoring.scores.shape import METRIC_VERSION
from shiftbench.validation.report import InvalidInput
from tests.hub.faults import Fault, random_faults
from tests.hub.server import READ, WRITE, LoopbackHub, running_hub
from tests.leaderboard.sending import Sender
from tests.leaderboard.store.repository import PLACE, REPO, opened
from tests.refusals import refusal

LONG = pytest.mark.long

pytestmark = [pytest.mark.xdist_group("store_hub"), pytest.mark.usefixtures("basic_uploads")]


@pytest.fixture(scope="module")
def _hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoopbackHub]:
    with running_hub(tmp_path_factory.mktemp("hub"), page=10) as hub:
        yield hub


@pytest.fixture
def hub(_hub: LoopbackHub) -> LoopbackHub:
    """The Hub with an empty repository, without faults."""
    _hub.stored.by_name.clear()
    for stored in _hub.stored.objects.iterdir():
        stored.unlink()
    _hub.stored.create(REPO, private=True)
    _hub.faults.plan()
    return _hub


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A timeout of a second for requests without an answer."""
    for name in ("PATIENCE", "COMMIT_PATIENCE"):
        monkeypatch.setattr(hub_module, name, 1.0)


def entry_ids(hub: LoopbackHub) -> list[str]:
    """List the entries of the repository; each must be there with all its files."""
    paths = hub.stored.files(REPO)
    ids = sorted({path.split("/")[1] for path in paths if path.startswith("entries/")})
    for identity in ids:
        assert {f"entries/{identity}/card.json", f"entries/{identity}/predictions.parquet"} <= paths.keys()
        assert {f"scores/{METRIC_VERSION}/{identity}{kind}" for kind in (".json", ".parquet")} <= paths.keys()
    return ids


def titles(hub: LoopbackHub) -> list[str]:
    return [commit.title for commit in hub.stored.by_name[REPO].history()][:-1]


def test_an_entry_is_one_commit_and_comes_back_after_a_lost_disk(
    hub: LoopbackHub, sender: Sender, tmp_path: Path
) -> None:
    store = opened(hub, tmp_path / "a")
    entry, new = sender.send(store, "first", "ada")
    assert new
    assert titles(hub) == [f"Entry {entry.id}"]
    assert entry_ids(hub) == [entry.id]
    assert sender.send(store, "first", "ada") == (entry, False)
    scores, table = store.scores(entry, sender.folder), store.table(entry, sender.folder)
    hub.faults.plan()
    fresh = opened(hub, tmp_path / "b")
    assert fresh.entries() == [entry]
    assert fresh.scores(entry, sender.folder) == scores
    assert fresh.table(entry, sender.folder).equals(table)
    read = {line.path.partition("/main/")[2] or line.path.split("/", 6)[-1] for line in hub.faults.log}
    assert not any("predictions" in path for path in read)
    # Predictions are fetched when scores must be made again.
    shutil.rmtree(fresh.root / "scores")
    assert fresh.scores(entry, sender.folder) == scores
    assert fresh.predictions(entry).read_bytes() == store.predictions(entry).read_bytes()
    assert len(titles(hub)) == 1


def test_what_others_sent_and_withdrew_is_seen_after_a_refresh(
    hub: LoopbackHub, sender: Sender, tmp_path: Path
) -> None:
    here, there = opened(hub, tmp_path / "a"), opened(hub, tmp_path / "b")
    first, _ = sender.send(there, "first", "ada")
    second, _ = sender.send(there, "second", "ada")
    assert here.ids() == []
    here.refresh()
    assert here.ids() == sorted([first.id, second.id])
    with pytest.raises(InvalidInput, match="submitter"):
        here.withdraw(first.id, "bob")
    here.withdraw(first.id, "ada")
    here.withdraw(first.id, "ada")
    assert titles(hub)[0] == f"Withdraw {first.id}"
    assert len(titles(hub)) == 3
    there.refresh()
    assert here.ids() == there.ids() == opened(hub, tmp_path / "c").ids() == [second.id]
    assert there.sent_on("ada", datetime.now(UTC).date()) == 2
    with pytest.raises(InvalidInput, match="withdrawn"):
        sender.send(opened(hub, tmp_path / "d"), "first", "ada")
    hub.faults.plan()
    here.refresh()
    assert [line.kind for line in hub.faults.log] == ["info"]


def test_records_reach_every_machine_once(hub: LoopbackHub, tmp_path: Path, waits: list[float]) -> None:
    here, there = opened(hub, tmp_path / "a"), opened(hub, tmp_path / "b")
    assert here.add_records(lambda: {"look-1-1.json": b"{}", "gold-1.bin": bytes(16)}, Draft("answered"))
    with pytest.raises(InvalidInput, match="record"):  # an old copy is brought up to date before
        there.add_records(lambda: {"look-1-1.json": b"[]"}, Draft("answered"))
    assert opened(hub, tmp_path / "c").records("") == {"gold-1.bin": bytes(16), "look-1-1.json": b"{}"}
    # The commit succeeds but its answer gets lost.
    hub.faults.plan(Fault("commit", status=503, landed=True, headers=RETRY_AFTER))
    assert there.add_records(lambda: None if there.records("look-1-2") else {"look-1-2.json": b"{}"}, Draft("answered"))
    assert [title.split()[-1] for title in titles(hub)[:2]] == ["look-1-2", "look-1-1"]


def test_who_is_overtaken_counts_again(hub: LoopbackHub, sender: Sender, tmp_path: Path, waits: list[float]) -> None:
    """Run six machines, each with a copy of its own, that submit for one identity whose quota is two."""
    stores = [opened(hub, tmp_path / str(number)) for number in range(6)]
    refused = sender.race(stores, "ada", daily_quota=2)
    assert len(entry_ids(hub)) == len(titles(hub)) == 2
    assert len(refused) == 4
    assert all("ada: " in said and "2 of 2" in said for said in refused)


def test_all_who_send_at_once_get_in(hub: LoopbackHub, sender: Sender, tmp_path: Path) -> None:
    stores = [opened(hub, tmp_path / str(number)) for number in range(3)] * 3
    assert sender.race(stores, "ada") == []
    assert len(entry_ids(hub)) == len(titles(hub)) == 9
    for store in stores[:3]:
        store.refresh()
        assert store.ids() == entry_ids(hub)


RETRY_AFTER = {"Retry-After": "3"}
OFTEN = [
    Fault("commit", status=500),
    Fault("commit", status=503, landed=True, headers=RETRY_AFTER),
    Fault("commit", status=412, times=3),
    Fault("commit", does="cut", landed=True),
    Fault("commit", does="hold", landed=True),
    Fault("lfs_put", does="cut"),
]
REQUESTS = ("info", "tree", "preupload", "lfs_batch", "lfs_put", "commit")
EVERY = [
    *(Fault(kind, status=status) for kind in REQUESTS for status in (408, 500, 502, 504)),
    *(Fault(kind, status=status, headers=RETRY_AFTER) for kind in REQUESTS for status in (429, 503)),
    *(Fault(kind, status=500, landed=True) for kind in REQUESTS),
    *(Fault(kind, status=429, headers=RETRY_AFTER, landed=True) for kind in REQUESTS),
    *(Fault(kind, does="cut", landed=landed) for kind in REQUESTS for landed in (False, True)),
    *(Fault(kind, does="hold", landed=landed) for kind in REQUESTS for landed in (False, True)),
    *(Fault("commit", status=status, times=times) for status in (409, 412) for times in (1, 12)),
    *(Fault("commit", status=500, times=3, landed=landed) for landed in (False, True)),
    *(Fault("lfs_put", does="cut", after=1, nth=nth) for nth in (1, 2)),
]
"""Every request that a submission makes, going wrong in every way; those of ``OFTEN`` are tried with each change."""


def named(value: Any) -> str:
    if not isinstance(value, Fault):
        return ""
    does = str(value.status) if value.does == "status" else value.does
    return f"{value.kind}-{does}-{value.times}" + ("-landed" if value.landed else "")


@pytest.mark.parametrize("fault", [*OFTEN, *(pytest.param(fault, marks=LONG) for fault in EVERY)], ids=named)
def test_what_fails_for_a_while_is_done_once(
    fault: Fault, hub: LoopbackHub, sender: Sender, tmp_path: Path, waits: list[float], impatient: None
) -> None:
    store = opened(hub, tmp_path / "a")
    # Somebody else's entry came meanwhile, so that there is something to look at.
    other, _ = sender.of_one_source(tmp_path).send(opened(hub, tmp_path / "b"), "other", "bob")
    hub.faults.plan(fault)
    entry, new = sender.send(store, "mine", "ada", daily_quota=1)
    assert new
    assert hub.faults.counts[fault.kind] > 0
    hub.faults.release()
    hub.faults.plan()
    assert titles(hub) == [f"Entry {entry.id}", f"Entry {other.id}"]
    assert entry_ids(hub) == store.ids() == opened(hub, tmp_path / "c").ids() == sorted([entry.id, other.id])
    assert sender.send(store, "mine", "ada", daily_quota=1) == (entry, False)
    assert not fault.headers or {3.0, 4.0} & set(waits)  # the Hub's client waits a second more


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (Fault("commit", status=500, times=99), "refused"),
        pytest.param(
            Fault("commit", status=412, times=99),
            "publisher",
            marks=LONG,
        ),
        (Fault("commit", status=401, times=99), "token"),
        (Fault("commit", status=403, times=99), "write"),
        (Fault("commit", does="cut", times=99), "refused"),
        (Fault("commit", status=429, headers={"Retry-After": "4000"}), "4,000"),
        (Fault("info", status=503, times=99), "503"),
        (Fault("lfs_put", status=403, times=99), "write"),
        pytest.param(Fault("commit", does="hold", times=99), "response", marks=LONG),
    ],
    ids=named,
)
def test_what_fails_for_good_is_not_accepted_and_can_be_sent_again(
    fault: Fault, says: str, hub: LoopbackHub, sender: Sender, tmp_path: Path, waits: list[float], impatient: None
) -> None:
    store = opened(hub, tmp_path / "a")
    hub.faults.plan(fault)
    with pytest.raises(InvalidInput) as refused:
        sender.send(store, "mine", "ada", daily_quota=1)
    assert str(refused.value).startswith(f"{REPO}: ")
    assert says in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1
    hub.faults.release()
    assert (entry_ids(hub), store.ids()) == ([], [])
    hub.faults.plan()
    entry, new = sender.send(store, "mine", "ada", daily_quota=1)
    assert new
    assert entry_ids(hub) == store.ids() == [entry.id]


@pytest.mark.parametrize("does", ["status", pytest.param("cut", marks=LONG), pytest.param("hold", marks=LONG)])
def test_what_landed_though_no_answer_ever_came_counts_once(
    does: Any, hub: LoopbackHub, sender: Sender, tmp_path: Path, waits: list[float], impatient: None
) -> None:
    """Check that the repository is read once more when the last attempt was accepted but its answer got lost."""
    store = opened(hub, tmp_path / "a")
    last = Fault("commit", nth=5, does=does, landed=True)
    hub.faults.plan(Fault("commit", status=500, times=4), last)
    entry, new = sender.send(store, "mine", "ada")
    assert new
    assert titles(hub) == [f"Entry {entry.id}"]
    # Down right after it landed: not accepted, but found when it is sent again.
    hub.faults.release()
    hub.faults.plan(Fault("commit", does=does, landed=True), Fault("info", nth=2, status=500, times=99))
    with pytest.raises(InvalidInput, match="again"):
        sender.send(store, "second", "ada")
    hub.faults.release()
    hub.faults.plan()
    _, new = sender.send(store, "second", "ada")
    assert not new
    assert len(titles(hub)) == len(entry_ids(hub)) == 2


def test_what_landed_though_the_copy_was_full_counts_once(hub: LoopbackHub, sender: Sender, tmp_path: Path) -> None:
    store = opened(hub, tmp_path / "a")
    blocked = store.root / ".new"
    blocked.write_text("where files are written before they are whole")
    with pytest.raises(InvalidInput, match="written"):
        sender.send(store, "mine", "ada", daily_quota=1)
    blocked.unlink()
    entry, new = sender.send(store, "mine", "ada", daily_quota=1)
    assert not new
    assert titles(hub) == [f"Entry {entry.id}"]


def test_without_the_hub_the_copy_is_shown_and_nothing_is_taken(
    hub: LoopbackHub, sender: Sender, tmp_path: Path
) -> None:
    entry, _ = sender.send(opened(hub, tmp_path / "a"), "mine", "ada")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    down = HfApi(endpoint=f"http://127.0.0.1:{port}", token=WRITE)
    store = open_store(PLACE, cache=tmp_path / "a", api=down)
    assert store.behind is not None
    assert store.behind.startswith(f"{REPO}: ")
    assert store.entries() == [entry]
    assert store.scores(entry, sender.folder).tasks
    with pytest.raises(InvalidInput, match="reached"):
        sender.send(store, "second", "ada")
    with pytest.raises(InvalidInput, match="reached"):
        open_store(PLACE, cache=tmp_path / "empty", api=down)
    assert store.ids() == [entry.id]


def test_repositories_that_are_no_store(
    hub: LoopbackHub, sender: Sender, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    places = ("hf://org/entries", "hf://datasets/org", "hf://datasets/../entries", "hf://datasets/a/b/c")
    messages = {place: refusal(InvalidInput, open_store, place, cache=tmp_path) for place in places}
    api = HfApi(endpoint=hub.url, token=WRITE)
    repository = hub.stored.create("org/data", private=False)
    foreign = hub.stored.store(b"x", lfs=False)
    repository.add("main", "by hand", {"data/a.csv": foreign, "README.md": foreign})
    for place in ("hf://datasets/org/none", "hf://datasets/org/data"):
        messages[place] = refusal(InvalidInput, open_store, place, cache=tmp_path, api=api)
    read_only = opened(hub, tmp_path / "a", token=READ)
    messages["read-only"] = refusal(InvalidInput, read_only.check_writable)
    assert messages == wording
    assert refusal(InvalidInput, sender.send, read_only, "mine", "ada") == messages["read-only"]
    opened(hub, tmp_path / "b").check_writable()
    assert entry_ids(hub) == []


def test_names_in_the_repository_are_not_trusted(hub: LoopbackHub, sender: Sender, tmp_path: Path) -> None:
    entry, _ = sender.send(opened(hub, tmp_path / "a"), "mine", "ada")
    repository = hub.stored.by_name[REPO]
    foreign = hub.stored.store(b"{}", lfs=False)
    names = (
        "entries/../../evil/card.json",
        "entries/UPPER/card.json",
        "entries/0123456789abcdef/notes.txt",
        "withdrawn/..%2f..%2fevil.json",
        f"withdrawn/{entry.id}.json.txt",
        "log/notes.txt",
        f"scores/{METRIC_VERSION}/evil.json",
        f"scores/{METRIC_VERSION}/0123456789abcdef.txt",
    )
    repository.add("main", "by hand", {**repository.commit("main").files, **dict.fromkeys(names, foreign)})
    before = set(tmp_path.rglob("*"))
    store = opened(hub, tmp_path / "b")
    assert store.ids() == [entry.id]
    made = {path for path in set(tmp_path.rglob("*")) - before if path.is_file() and not path.name.startswith(".")}
    assert {path.relative_to(store.root).as_posix() for path in made} == {
        f"entries/{entry.id}/card.json",
        f"scores/{METRIC_VERSION}/{entry.id}.json",
        f"scores/{METRIC_VERSION}/{entry.id}.parquet",
        "log/000001.jsonl",
        "log/head.json",
        "log/people.json",
    }


def test_what_left_the_repository_leaves_the_copy(hub: LoopbackHub, sender: Sender, tmp_path: Path) -> None:
    store = opened(hub, tmp_path / "a")
    first, _ = sender.send(store, "first", "ada")
    second, _ = sender.send(store, "second", "ada")
    store.withdraw(first.id, "ada")
    repository = hub.stored.by_name[REPO]
    kept = {path: file for path, file in repository.commit("main").files.items() if second.id not in path}
    repository.add("main", "by hand", {path: file for path, file in kept.items() if "withdrawn" not in path})
    store.refresh()
    assert store.ids() == [first.id]
    assert store.sent_on("ada", datetime.now(UTC).date()) == 1


@LONG
def test_in_a_storm_of_faults_nothing_is_lost_and_nothing_doubled(
    sender: Sender, tmp_path: Path, waits: list[float], impatient: None
) -> None:
    """Run four machines with five clients each, which submit until they are told of acceptance."""
    with running_hub(tmp_path / "hub") as hub:
        hub.stored.create(REPO, private=True)
        stores = [opened(hub, tmp_path / str(number)) for number in range(4)]
        faults = random_faults(20_000, random.Random(11))
        hub.faults.plan(*faults)
        accepted: dict[tuple[str, str], str] = {}
        failures: list[str] = []

        def client(number: int) -> None:
            submitter = f"client {number}"
            for name in map(str, range(5)):
                while (submitter, name) not in accepted:
                    try:
                        entry, _ = sender.send(stores[number % 4], name, submitter, daily_quota=5)
                        accepted[submitter, name] = entry.id
                    except InvalidInput as error:
                        failures.append(str(error))

        start = time.perf_counter()
        with ThreadPoolExecutor(20) as pool:
            list(pool.map(client, range(20)))
        seconds, n_requests = time.perf_counter() - start, hub.faults.counts["any"]
        hub.faults.release()
        hub.faults.plan()
        assert sorted(titles(hub)) == sorted(f"Entry {identity}" for identity in accepted.values())
        assert len(accepted) == len(set(accepted.values())) == 100
        assert opened(hub, tmp_path / "fresh").ids() == entry_ids(hub) == sorted(accepted.values())
    n_faults = sum(fault.nth <= n_requests for fault in faults)
    print(
        f"\n{len(accepted)} entries of 20 clients on 4 machines: {n_requests:,} requests, {n_faults:,} of them went "
        f"wrong, {len(failures)} times a client was told so and sent again; each entry is one commit; {seconds:.0f} s"
    )
