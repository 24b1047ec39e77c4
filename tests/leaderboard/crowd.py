"""Clients of a store in processes of their own, like servers: many at once."""

import contextlib
import json
import multiprocessing
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import polars as pl

from shiftbench.leaderboard.store import Store
from shiftbench.leaderboard.store.entries import entry_id
from shiftbench.validation.report import InvalidInput

from .sending import Sender


@dataclass(frozen=True)
class Job:
    """The models that one client submits, in order."""

    submitter: str
    names: Sequence[str]
    quota: int | None = None


class Client:
    """A process that works on jobs, each in a thread; it reports each accepted entry at once."""

    def __init__(self, root: Path, sender: Sender, jobs: Sequence[Job]) -> None:
        # A server that has imported everything forks the processes: they begin at once.
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(
            [__name__, "scipy.special", "pandera.polars", "pandera.strategies.pandas_strategies"]
        )
        self._heard, told = context.Pipe(duplex=False)
        self._process = context.Process(target=_work, args=(told, root, sender, jobs), daemon=True)
        self._process.start()
        told.close()

    def told(self) -> Iterator[tuple[str, str, str]]:
        """Return its reports: 'new', 'old' or 'refused', the name, and the id or reason."""
        with contextlib.suppress(EOFError, ConnectionResetError):
            while True:
                yield self._heard.recv()
        self._process.join()


def _work(told: Connection, root: Path, sender: Sender, jobs: Sequence[Job]) -> None:
    store, lock = Store(root), threading.Lock()

    def tell(*said: str) -> None:
        with lock:
            told.send(said)

    def work(job: Job) -> None:
        for name in job.names:
            try:
                entry, new = sender.send(store, name, job.submitter, daily_quota=job.quota)
            except InvalidInput as error:
                tell("refused", name, str(error))
                continue
            tell("new" if new else "old", name, entry.id)

    with ThreadPoolExecutor(len(jobs)) as pool:
        list(pool.map(work, jobs))


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


def crowd(root: Path, sender: Sender, n_processes: int, n_threads: int, n_each: int, quota: int) -> dict[str, Any]:
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
        clients.append(Client(root, sender, jobs))
    said = [each for client in clients for each in client.told()]
    new = [identity for what, _, identity in said if what == "new"]
    refused = [reason for what, _, reason in said if what == "refused"]
    old = sum(what == "old" for what, _, _ in said)
    return {"new": new, "old": old, "refused": refused, "seconds": time.perf_counter() - start}
