"""Clients of a store in processes of their own, like servers: many at once, some of them killed."""

import contextlib
import json
import multiprocessing
import os
import random
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import polars as pl

from shiftbench.leaderboard.store import Store, open_store
from shiftbench.leaderboard.store.entries import entry_id
from shiftbench.validation.report import InvalidInput

from .sending import Sender

NAMES = [f"model {number}" for number in range(4)]


@dataclass(frozen=True)
class Where:
    """The place of a store, as processes open it; ``url`` and ``cache`` are of a repository on the loopback Hub."""

    place: str
    cache: Path | None = None
    url: str | None = None

    @property
    def folder(self) -> Path:
        """Return the local folder, or the copy of the repository."""
        return Path(self.place) if self.cache is None else next(self.cache.iterdir())

    def open(self) -> Store:
        """Open the store."""
        if self.url is None:
            return Store(self.place)
        from huggingface_hub import HfApi, constants

        from tests.hub.server import WRITE

        constants.HF_HUB_DISABLE_XET = True
        return open_store(self.place, cache=self.cache, api=HfApi(endpoint=self.url, token=WRITE))


@dataclass(frozen=True)
class Job:
    """The models that one client submits, in order; it withdraws every ``withdraws``-th at once.

    ``clock``: before each, the clock jumps to some day within so many days.
    """

    submitter: str
    names: Sequence[str]
    quota: int | None = None
    withdraws: int = 0
    clock: int = 0


class Client:
    """A process that works on jobs, each in a thread; it reports each accepted entry at once."""

    def __init__(self, where: Where, sender: Sender, jobs: Sequence[Job]) -> None:
        # A server that has imported everything forks the processes: they begin at once.
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([__name__, "scipy.special", "pandera.strategies.pandas_strategies"])
        self._early: list[Any] = []
        self._heard, told = context.Pipe(duplex=False)
        self._process = context.Process(target=_work, args=(told, where, sender, jobs), daemon=True)
        self._process.start()
        told.close()

    def kill_after(self, n_told: int, seconds: float) -> None:
        """Wait until the process has started and reported so many entries, then kill it so many seconds later."""
        with contextlib.suppress(EOFError, ConnectionResetError):
            for _ in range(1 + n_told):
                self._early.append(self._heard.recv())
        time.sleep(seconds)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._process.pid or 0, signal.SIGKILL)

    def told(self) -> Iterator[tuple[str, str, str]]:
        """Return its reports: 'new', 'old', 'withdrawn' or 'refused', the name, and the id or reason."""
        yield from (said for said in self._early if said != "begun")
        with contextlib.suppress(EOFError, ConnectionResetError):
            while True:
                said = self._heard.recv()
                if said != "begun":
                    yield said
        self._process.join()


def _work(told: Connection, where: Where, sender: Sender, jobs: Sequence[Job]) -> None:
    store, lock = where.open(), threading.Lock()

    def tell(*said: str) -> None:
        with lock:
            told.send(said)

    def work(job: Job) -> None:
        for number, name in enumerate(job.names, start=1):
            if job.clock:
                set_clock(random.randint(-job.clock, job.clock))
            try:
                entry, new = sender.send(store, name, job.submitter, daily_quota=job.quota)
            except InvalidInput as error:
                tell("refused", name, str(error))
                continue
            tell("new" if new else "old", name, entry.id)
            if job.withdraws and number % job.withdraws == 0:
                store.withdraw(entry.id, job.submitter)
                tell("withdrawn", name, entry.id)

    told.send("begun")
    with ThreadPoolExecutor(len(jobs)) as pool:
        list(pool.map(work, jobs))


def set_clock(days: int) -> None:
    """Set the store's clock in this process so many days ahead."""
    from shiftbench.leaderboard.store import entries, store

    def now() -> str:
        return (datetime.now(UTC) + timedelta(days=days)).isoformat(timespec="seconds")

    entries.now = store.now = now  # type: ignore[attr-defined]


def check_whole(root: Path, *, copy: bool = False) -> set[str]:
    """Check every entry of a store's folder against its own id, and every tombstone; return the ids, withdrawn too.

    The copy of a repository need not have the predictions.
    """
    store, found = Store(root), set()
    for folder in (root / "entries").glob("*"):
        files, whole = {path.name for path in folder.iterdir()}, {"card.json", "predictions.parquet"}
        assert files == whole or (copy and files == {"card.json"})
        entry = store._read(folder.name)
        if len(files) == len(whole):
            assert entry_id(entry.submitter, entry.card, pl.read_parquet(store.predictions(entry))) == folder.name
        found.add(folder.name)
    for path in (root / "withdrawn").glob("*"):
        assert json.loads(path.read_text())["id"] == path.stem
        assert path.stem in found
    return found


def crowd(where: Where, sender: Sender, n_processes: int, n_threads: int, n_each: int, quota: int) -> dict[str, Any]:
    """Run many clients that submit entries of their own, and also race for the quota of one identity.

    Returns: ids that were new, how often an answer was 'old', reasons of refusals, and the seconds it took.
    """
    start = time.perf_counter()
    clients = []
    for process in range(n_processes):
        jobs = []
        for thread in range(n_threads):
            own = [f"{process}-{thread}-{number}" for number in range(n_each)]
            # Each is sent twice, and one more under an identity that all share.
            jobs.append(Job(f"client {process}-{thread}", [name for name in own for _ in range(2)]))
            jobs.append(Job("shared", [f"shared {process}-{thread}"], quota))
        clients.append(Client(where, sender, jobs))
    said = [each for client in clients for each in client.told()]
    new = [identity for what, _, identity in said if what == "new"]
    refused = [reason for what, _, reason in said if what == "refused"]
    old = sum(what == "old" for what, _, _ in said)
    return {"new": new, "old": old, "refused": refused, "seconds": time.perf_counter() - start}


@dataclass
class Killed:
    """The reports of killed clients: ids by how often they were accepted, withdrawn ids, and kills during work."""

    accepted: list[str]
    withdrawn: set[str]
    at_work: int = 0


def kills(wheres: Sequence[Where], sender: Sender, n: int, longest: float, rng: random.Random) -> Killed:
    """Run many clients, and kill each at a random moment of its work, one at each place at a time.

    The moment is up to ``longest`` seconds after the client told of any of the steps of its work.

    They are as servers of one store: each has the same four models to send, under one identity, and a clock that jumps.
    """
    found = Killed([], set())
    with ThreadPoolExecutor(len(wheres)) as pool:
        for number in range(n // len(wheres)):
            job = Job(f"client {number}", NAMES, withdraws=2, clock=400)
            clients = [Client(where, sender, [job]) for where in wheres]
            moments = [(rng.randint(0, len(NAMES)), rng.uniform(0, longest)) for _ in clients]
            list(pool.map(lambda client, moment: client.kill_after(*moment), clients, moments))
            for client in clients:
                said = list(client.told())
                # An entry that the other client withdrew is refused.
                assert all("was withdrawn" in reason for what, _, reason in said if what == "refused")
                found.accepted += [identity for what, _, identity in said if what == "new"]
                found.withdrawn |= {identity for what, _, identity in said if what == "withdrawn"}
                found.at_work += len(said) < len(NAMES)
    return found


def send_again(store: Store, sender: Sender, n: int) -> int:
    """Submit again all that ``kills`` submitted, as killed clients would; return how many were new."""
    n_new = 0
    for number in range(n):
        for name in NAMES:
            with contextlib.suppress(InvalidInput):  # withdrawn, and stays so
                n_new += sender.send(store, name, f"client {number}")[1]
    return n_new
