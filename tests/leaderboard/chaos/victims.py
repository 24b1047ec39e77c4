"""What the suite kills: everything that writes to a store, a backup, an archive or the Hub, as processes."""

import base64
import contextlib
import ctypes
import functools
import hashlib
import json
import multiprocessing
import os
import resource
import shutil
import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import polars as pl

from shiftbench.builders.building import own
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.publishing.publish import publish_folders
from shiftbench.cli.data import benchmark_file
from shiftbench.leaderboard.app.server import ServerSettings, serve
from shiftbench.leaderboard.archive.open_archive import write_archive
from shiftbench.leaderboard.release import close_round, feedback, nominate
from shiftbench.leaderboard.release.releases import closed_rounds
from shiftbench.leaderboard.store import Store, open_store
from shiftbench.leaderboard.store.backup import back_up
from shiftbench.leaderboard.store.rescore import rescore
from shiftbench.validation.cards import Card
from shiftbench.validation.report import InvalidInput
from tests.hub.server import WRITE
from tests.leaderboard import attacks
from tests.leaderboard.release.gold import TASK, build_gold, file_of, with_errors
from tests.leaderboard.sending import Sender, tiny_sender

Said = tuple[str, ...]
N_TICKETS, N_FILES, MODELS = 4_000, 12, 4
"""Withheld test texts of each of three domains, prediction files with other predictions, models of one client."""
ACCOUNTS = ("ada", "bob", "eve")
"""They nominate, so that rounds stay small."""


def begin(say: Callable[..., None], limit: int | None, clock: int) -> None:
    """Begin the work of a victim: files can grow as on a nearly full disk, and its clock is set wrong."""
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    if clock:
        from shiftbench.leaderboard.store import entries, store

        def now() -> str:
            return (datetime.now(UTC) + timedelta(days=clock)).isoformat(timespec="microseconds")

        entries.now = store.now = now  # type: ignore[attr-defined]
    say("begun")


def submitter(
    say: Callable[..., None], how: "How", root: Path, work: "Work", account: str, names: Sequence[str]
) -> None:
    """Submit models, ask for their feedback, nominate the first and withdraw the last one."""
    store, gold = Store(root), work.gold
    begin(say, how.limit, how.clock)
    for number, name in enumerate(names):
        path, card = work.file(name)
        entry, _ = store.submit(path, card, [gold], account)
        say("accepted", entry.id)
        say("told", entry.id, told(store, gold, entry.id))
        if number == 0 and account in ACCOUNTS:
            nominate(store, entry.id, account, [gold])
            say("nominated", account, entry.id)
    if len(names) > 2:
        store.withdraw(entry.id, account)
        say("withdrawn", entry.id)


def told(store: Store, gold: DatasetFolder, identity: str) -> str:
    """Ask for an entry's feedback; return what is for ever: its numbers."""
    answers = feedback(store, store._read(identity), gold)
    return json.dumps([(each.task, each.target, each.best if each.is_new else None) for each in answers])


def hub_submitter(
    say: Callable[..., None], how: "How", url: str, copy: Path, senders: Sequence[Sender], client: str
) -> None:
    """Submit models to a repository, and withdraw every second one."""
    store = open_hub_store(url, copy)
    begin(say, how.limit, how.clock)
    for number in range(MODELS):
        entry, _ = senders[number % len(senders)].send(store, f"model {number}", client)
        say("accepted", entry.id)
        if number % 2:
            store.withdraw(entry.id, client)
            say("withdrawn", entry.id)


def open_hub_store(url: str, copy: Path) -> Store:
    """Open the repository of the loopback Hub as a store."""
    return open_store("hf://datasets/org/entries", cache=copy, api=hub_api(url))


def hub_api(url: str) -> Any:
    """Return a client of the loopback Hub."""
    from huggingface_hub import HfApi, constants

    constants.HF_HUB_DISABLE_XET = True
    return HfApi(endpoint=url, token=WRITE)


def server(say: Callable[..., None], how: "How", root: Path, work: "Work", port: int) -> None:
    """Serve the withheld tickets."""
    os.setsid()
    with open(os.devnull, "w") as nothing:
        os.dup2(nothing.fileno(), 1)
        os.dup2(nothing.fileno(), 2)
    gold = work.gold

    def begun() -> None:
        with attacks.client() as browser:
            while True:
                with contextlib.suppress(httpx.HTTPError):
                    browser.get(f"http://127.0.0.1:{port}/healthz")
                    begin(say, how.limit, how.clock)
                    return
                time.sleep(0.05)

    threading.Thread(target=begun, daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):
        serve([gold], Store(root), port=port, settings=ServerSettings(daily_quota=10**6))


def rounds(say: Callable[..., None], how: "How", root: Path, work: "Work", day: date) -> None:
    """Release the round of a day."""
    store, gold = Store(root), work.gold
    begin(say, how.limit, how.clock)
    say("released", close_round(store, [gold], day).name)


def archiver(say: Callable[..., None], how: "How", root: Path, work: "Work", out: Path) -> None:
    """Write the archive of the open store."""
    store, data = Store(root), work.open
    begin(say, how.limit, how.clock)
    write_archive(store, [data], out, lambda *_: {})
    say("archived")


def backer(say: Callable[..., None], how: "How", root: Path, file: Path) -> None:
    """Back up a store."""
    store = Store(root)
    begin(say, how.limit, how.clock)
    back_up(store, file)
    say("backed up")


def rescorer(say: Callable[..., None], how: "How", root: Path, work: "Work") -> None:
    """Score the open store again."""
    store, data = Store(root), work.open
    begin(say, how.limit, how.clock)
    failed = rescore(store, [data], every=True).failed
    if failed:
        raise InvalidInput(next(iter(failed.values())))
    say("rescored")


def publisher(say: Callable[..., None], how: "How", url: str, folder: Path, repo: str) -> None:
    """Publish a dataset."""
    begin(say, how.limit, how.clock)
    publish_folders(folder, repo, describe=benchmark_file, api=hub_api(url))
    say("published")


def bystander(say: Callable[..., None], how: "How", root: Path, work: "Work", seed: int) -> None:
    """Read the store and submit to it for as long as the suite runs; a full or read-only disk is a refusal."""
    store, gold = Store(root), work.gold
    begin(say, how.limit, how.clock)
    for number in range(10**6):
        path, card = work.file(f"bystander {seed} {number}")
        with contextlib.suppress(InvalidInput):
            entry, _ = store.submit(path, card, [gold], "bystander")
            say("accepted", entry.id)
        for each in store.entries():
            assert store.predictions(each).stat().st_size
        closed_rounds(store)
        time.sleep(10)


@dataclass(frozen=True)
class How:
    """What is wrong with a victim's machine: how large its files may get, and how many days its clock is ahead."""

    limit: int | None = None
    clock: int = 0


@dataclass(frozen=True)
class Work:
    """The suite's folder, with data, prediction files and stores."""

    root: Path
    n_tickets: int

    def make(self) -> None:
        """Build the data and the prediction files, once."""
        if (self.root / "made").exists():
            return
        shutil.rmtree(self.root, ignore_errors=True)
        gold = build_gold(self.root / "tickets", self.n_tickets)
        own.build_own(TASK, self.root / "tickets" / "rows.csv", self.root / "tickets" / "open")
        for number in range(N_FILES):
            file_of(gold, with_errors(gold, 0.1 + 0.02 * number, number), self.root / f"{number}.parquet")
        store, data = Store(self.root / "open"), self.open
        for number in range(3):
            facts = {"name": f"open {number}", "paradigm": "other", "data": data.content_hash}
            card = Card.model_validate(facts | {"share_predictions": True})
            store.submit(self.root / f"{number}.parquet", card, [data])
        rescore(store, [data])  # makes forecasts, too
        tiny_sender(self.root / "tiny")
        self._make_long()
        (self.root / "made").touch()

    def _make_long(self) -> None:
        """Build tickets of which one domain's texts are so long that no socket takes its file at once: about 9 MB."""
        rng = np.random.default_rng(1)
        rows = pl.read_csv(self.root / "tickets" / "rows.csv")
        first = rows["domain"] == rows["domain"][0]
        ends = pl.Series([base64.b64encode(rng.bytes(2_200)).decode() for _ in range(rows.height)])
        longer = pl.when(first).then(pl.concat_str("text", pl.lit(" "), ends)).otherwise("text")
        (self.root / "long").mkdir()
        rows.with_columns(text=longer).write_csv(self.root / "long" / "rows.csv")
        own.build_own(TASK, self.root / "long" / "rows.csv", self.root / "long" / "open")

    @property
    def long(self) -> DatasetFolder:
        """Open the folder of the tickets with long texts."""
        return opened(self.root / "long" / "open")

    @property
    def gold(self) -> DatasetFolder:
        """Open the folder of the withheld tickets."""
        return opened(self.root / "tickets" / "built" / "gold")

    @property
    def open(self) -> DatasetFolder:
        """Open the folder of the same tickets with public labels."""
        return opened(self.root / "tickets" / "open")

    @property
    def store(self) -> Path:
        """Return the store of the withheld tickets."""
        return self.root / "secret"

    def file(self, name: str) -> tuple[Path, Card]:
        """Return the prediction file and the card of a model."""
        number = int(hashlib.sha256(name.encode()).hexdigest(), 16) % N_FILES
        facts = {"name": name, "paradigm": "other", "data": self.gold.content_hash}
        return self.root / f"{number}.parquet", Card.model_validate(facts)


@functools.cache
def opened(folder: Path) -> DatasetFolder:
    """Open a dataset, once in a process."""
    return DatasetFolder.open(folder)


class Victim:
    """A process that works, reports, and is killed."""

    def __init__(self, work: Callable[..., None], *arguments: Any) -> None:
        # A server that has imported everything forks the processes: they begin at once.
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["tests.leaderboard.chaos.victims"])
        self._heard, told = context.Pipe(duplex=False)
        self._process = context.Process(target=_run, args=(told, work, arguments), daemon=False)
        self._process.start()
        told.close()
        self.said: list[Said] = []
        self._reader = threading.Thread(target=self._listen, daemon=True)
        self._reader.start()

    def _listen(self) -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                self.said.append(self._heard.recv())

    def wait_for(self, what: str, seconds: float) -> bool:
        """Wait until it has said something of a kind, or has ended."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not any(each[0] == what for each in self.said):
            if not self._reader.is_alive():
                return any(each[0] == what for each in self.said)
            time.sleep(0.005)
        return any(each[0] == what for each in self.said)

    @property
    def has_ended(self) -> bool:
        """Return whether nothing more is heard of it."""
        return not self._reader.is_alive()

    def kill(self, number: int = signal.SIGKILL, *, group: bool = False) -> bool:
        """Kill it, with its own processes if it leads some; return whether it was at work."""
        at_work = self._process.is_alive()
        with contextlib.suppress(ProcessLookupError):
            (os.killpg if group else os.kill)(self._process.pid or 0, number)
        return self.end() or at_work

    def end(self, seconds: float = 120) -> bool:
        """Wait for its end; return False. AssertionError with what went wrong in it, or when it does not end."""
        self._process.join(seconds)
        assert not self._process.is_alive(), "it does not end"
        self._reader.join(10)
        wrong = [each for each in self.said if each[0] == "failed"]
        assert not wrong, wrong
        return False

    def refused(self) -> list[str]:
        """Return the reasons for which it gave up."""
        return [each[1] for each in self.said if each[0] == "refused"]


def _run(told: Connection, work: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    lock = threading.Lock()

    def say(*words: str) -> None:
        with lock:
            told.send(words)

    try:
        work(say, *arguments)
        say("done")
    except InvalidInput as error:
        say("refused", str(error))
    except BaseException as error:
        import traceback

        say("failed", f"{type(error).__name__}: {error}", traceback.format_exc()[-2_000:])


def without_override(say: Callable[..., None], work: Callable[..., None], *arguments: Any) -> None:
    """Work without root's right to write anywhere."""
    if os.geteuid() == 0:
        libc, header, caps = (
            ctypes.CDLL(None, use_errno=True),
            (ctypes.c_uint32 * 2)(0x20080522, 0),
            (ctypes.c_uint32 * 6)(),
        )
        assert libc.capget(header, caps) == 0
        caps[0] &= ~(1 << 1)  # CAP_DAC_OVERRIDE among the effective ones
        assert libc.capset(header, caps) == 0
    work(say, *arguments)
