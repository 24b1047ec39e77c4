"""Acts: start victims, kill them, and look at what is left."""

import contextlib
import hashlib
import json
import os
import random
import re
import shutil
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import httpx
import polars as pl

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.publishing.publish import default_tag
from shiftbench.leaderboard.release.releases import closed_rounds, parse_record
from shiftbench.leaderboard.store import Store
from shiftbench.leaderboard.store.audit import verify
from shiftbench.leaderboard.store.backup import check_backup, restore
from shiftbench.leaderboard.store.entries import entry_id
from shiftbench.leaderboard.store.log import ACCEPTED, WITHDRAWN
from shiftbench.validation.cards import Card
from shiftbench.validation.report import InvalidInput
from tests.hub.faults import Fault
from tests.hub.published import files as published_files
from tests.hub.published import texts as published_texts
from tests.hub.server import running_hub
from tests.leaderboard.app.test_server import free_port
from tests.leaderboard.chaos.victims import (
    ACCOUNTS,
    MODELS,
    N_FILES,
    N_TICKETS,
    How,
    Victim,
    Work,
    archiver,
    backer,
    bystander,
    hub_submitter,
    open_hub_store,
    publisher,
    rescorer,
    rounds,
    server,
    submitter,
    told,
    without_override,
)
from tests.leaderboard.sending import Sender


@dataclass
class Act:
    """One act, as the state file has it: a line of JSON."""

    number: int
    kind: str
    kills: int = 0
    in_the_middle: int = 0
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    half: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)
    held: list[str] = field(default_factory=list)
    restored: int = 0
    refused: list[str] = field(default_factory=list)
    said: list[list[str]] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def is_wrong(self) -> bool:
        """Return whether anything went wrong."""
        return bool(self.lost or self.doubled or self.half or self.changed or self.odd)

    def add(self, victim: Victim, at_work: bool) -> None:
        """Count a kill, and keep what the victim was told."""
        self.kills += 1
        self.in_the_middle += at_work and not any(each[0] == "done" for each in victim.said)
        self.keep(victim)

    def keep(self, victim: Victim) -> None:
        """Keep what a victim was told."""
        self.refused += victim.refused()
        self.said += [list(each) for each in victim.said if each[0] not in ("begun", "done", "refused", "failed")]


class Ledger:
    """What was acknowledged so far, and the rounds as they were first seen."""

    def __init__(self) -> None:
        self.accepted: set[str] = set()
        self.withdrawn: set[str] = set()
        self.told: dict[str, str] = {}
        self.rounds: dict[str, str] = {}
        self.released: set[str] = set()
        self.nominated: set[tuple[str, str]] = set()
        self.whole: set[str] = set()

    def add(self, said: Sequence[Sequence[str]]) -> None:
        """Add what victims were told."""
        for what, *more in said:
            if what == "accepted":
                self.accepted.add(more[0])
            elif what == "withdrawn":
                self.withdrawn.add(more[0])
            elif what == "told":
                self.told[more[0]] = more[1]
            elif what == "nominated":
                self.nominated.add((more[0], more[1]))
            elif what == "released":
                self.released.add(more[0])
            elif what == "round":
                self.rounds[more[0]] = more[1]


def look_at(root: Path, ledger: Ledger, act: Act) -> None:
    """Look at a store of withheld labels: what is missing, doubled, half, or has another content than before."""
    store = Store(root)
    store.check_writable()  # as the next server would: what a killed one had decided is done
    there = {path.name for path in (root / "entries").glob("*")}
    act.lost += sorted(ledger.accepted - there)
    act.lost += sorted(f"withdrawn {each}" for each in ledger.withdrawn & set(store.ids()))
    for identity in sorted(there - ledger.whole):
        if why := why_half(store, identity):
            act.half.append(f"{identity}: {why}")
        ledger.whole.add(identity)
    records = {path.name: path.read_bytes() for path in (root / "records").glob("*")}
    read = {name: parse_record(name, content) for name, content in records.items() if name.endswith(".json")}
    looks: Counter[tuple[str, str, str]] = Counter()
    numbered: dict[str, list[int]] = {}
    for name, record in read.items():
        if not name.startswith("round-"):
            numbered.setdefault(name[:-12], []).append(int(name[-11:-5]))
        for each in record.get("told", ()):
            looks[record["account"], record["file"], each["target"]] += 1
            if each["gold"] and f"gold-{each['gold']}.bin" not in records:
                act.half.append(f"{name} without its labels")
        for board in record.get("boards", ()):
            act.half += [
                f"{name} without its labels" for each in board["labels"].values() if f"gold-{each}.bin" not in records
            ]
    nominated = {
        (record["account"], record["entry"]) for name, record in read.items() if name.startswith("nomination-")
    }
    act.lost += [f"nomination of {each}" for each in ledger.nominated - nominated]
    act.doubled += [f"{each} told {n} times" for each, n in looks.items() if n > 1]
    act.half += [
        f"{each}: {sorted(found)}"
        for each, found in numbered.items()
        if sorted(found) != list(range(1, len(found) + 1))
    ]
    released = {
        name: hashlib.sha256(content).hexdigest() for name, content in records.items() if name.startswith("round-")
    }
    act.lost += sorted(
        (ledger.rounds.keys() - released.keys())
        | {f"round {each}" for each in ledger.released if f"round-{each}.json" not in released}
    )
    act.changed += [name for name, digest in ledger.rounds.items() if released.get(name, digest) != digest]
    act.said += [["round", name, digest] for name, digest in released.items() if name not in ledger.rounds]
    act.half += [f"left over: {path.name}" for path in root.iterdir() if path.name not in KNOWN]
    act.half += verify(store).problems
    events = Counter((event.act, event.entry) for event in store.log.events if event.act in (ACCEPTED, WITHDRAWN))
    act.doubled += [f"logged {n} times: {each}" for each, n in events.items() if n > 1]
    ledger.add(act.said)


KNOWN = {"entries", "withdrawn", "records", "scores", "comparisons", "log", ".lock", ".new"}


def why_half(store: Store, identity: str) -> str | None:
    """Return why an entry is not whole, if it is not: its id is computed again."""
    try:
        entry = store._read(identity)
        rows = pl.read_parquet(store.predictions(entry))
    except (InvalidInput, OSError, pl.exceptions.PolarsError) as error:
        return str(error)
    return None if entry_id(entry.submitter, entry.card, rows) == identity else "it has another id"


class Suite:
    """The suite: its folder, its state file, and the acts."""

    def __init__(self, state: Path, seed: int, n_tickets: int = N_TICKETS, longest_upload: float = 9.0) -> None:
        self.state, self.seed, self.longest_upload = state, seed, longest_upload
        self.work = Work(state.with_suffix(".work").absolute(), n_tickets)
        self.acts: list[Act] = []
        self.ledger = Ledger()
        self.longest: dict[str, float] = {}
        self.in_flight = 0
        if state.exists():
            lines = state.read_text().splitlines()
            self.acts = [Act(**json.loads(line)) for line in lines]
            for act in self.acts:
                self.ledger.add(act.said)

    def run(self, n_acts: int, kinds: Sequence[str] | None = None) -> None:
        """Run acts until there are so many."""
        self.work.make()
        writable(self.work.root)
        with running_hub(self.work.root / f"hub-{os.getpid()}") as hub:
            self.hub, load = hub, Victim(bystander, How(), self.work.store, self.work, len(self.acts))
            assert load.wait_for("begun", 300), load.said
            try:
                while len(self.acts) < n_acts:
                    self._act(len(self.acts), kinds, load)
            finally:
                load.kill()
        shutil.rmtree(self.work.root / f"hub-{os.getpid()}")

    def whole_store(self) -> Act:
        """Look at the whole store again, every entry of it, with all that was acknowledged in all acts."""
        act, ledger = Act(len(self.acts), AT_THE_END), Ledger()
        for each in self.acts:
            ledger.add(each.said)
        look_at(self.work.store, ledger, act)
        return act

    def _act(self, number: int, kinds: Sequence[str] | None, load: Victim) -> None:
        rng = random.Random(f"{self.seed} {number}")
        kind = (
            kinds[number % len(kinds)] if kinds else rng.choices(list(KINDS), [each[1] for each in KINDS.values()])[0]
        )
        act, started = Act(number, kind), time.monotonic()
        assert not [each for each in load.said if each[0] == "failed"], load.said[-1]
        KINDS[kind][0](self, act, rng)
        act.said += [list(each) for each in load.said if each[0] == "accepted" and each[1] not in self.ledger.accepted]
        self.ledger.add(act.said)
        look_at(self.work.store, self.ledger, act)
        act.seconds = round(time.monotonic() - started, 2)
        self.acts.append(act)
        with self.state.open("a") as file:
            file.write(json.dumps(asdict(act)) + "\n")

    def killed(self, act: Act, rng: random.Random, work: Callable[..., None], *arguments: Any) -> Victim:
        """Run a victim, and kill it within the time that its kind takes at most."""
        victim = self.started(act, rng, work, *arguments)
        at_work = self.kill_at(rng, victim, work.__name__)
        act.add(victim, at_work)
        return victim

    def started(self, act: Act, rng: random.Random, work: Callable[..., None], *arguments: Any) -> Victim:
        """Start a victim, some with a wrong clock, some on a nearly full disk."""
        limit = rng.randint(500, 200_000) if rng.random() < 0.1 and work is not server else None
        victim = Victim(work, How(limit, rng.choice((0, 0, -400, 400))), *arguments)
        assert victim.wait_for("begun", 300), (act.kind, victim.said)
        return victim

    def kill_at(self, rng: random.Random, victim: Victim, name: str) -> bool:
        """Kill a victim at a random moment of what such a one takes; learn how long that is from those that ended."""
        longest = self.longest.setdefault(name, 2.0)
        begun, after = time.monotonic(), rng.uniform(0, longest)
        if victim.wait_for("done", after):
            self.longest[name] = max(0.05, 0.8 * (time.monotonic() - begun))
        else:
            self.longest[name] = min(20.0, max(longest, 1.05 * after + 0.02))
        return victim.kill()

    def again(self, act: Act, work: Callable[..., None], *arguments: Any) -> Victim:
        """Run a victim once more, to its end."""
        victim = Victim(work, How(), *arguments)
        victim.end(600)
        if ("done",) not in victim.said:
            act.odd.append(f"{work.__name__}, run again: {victim.said[-1]}")
        act.keep(victim)
        return victim

    # The acts.

    def submit(self, act: Act, rng: random.Random) -> None:
        """Two clients of one store with the same models, as two servers; then the first model once more."""
        account = rng.choice((*ACCOUNTS, f"client {act.number}"))
        names = [f"{account} {act.number} {number}" for number in range(rng.randint(1, 3))]
        arguments = (self.work.store, self.work, account, names)
        victims = [self.started(act, rng, submitter, *arguments) for _ in range(2)]
        for victim in victims:
            act.add(victim, self.kill_at(rng, victim, "submitter"))
        act.odd += [reason for reason in act.refused if not RIGHTLY.search(reason)]
        self.again(act, submitter, self.work.store, self.work, account, names[:1])
        before = {each[1]: each[2] for each in act.said if each[0] == "told"}
        store = Store(self.work.store)
        there = [each for each in before if each in store.ids()]
        act.changed += [f"feedback of {each}" for each in there if told(store, self.work.gold, each) != before[each]]

    def round(self, act: Act, rng: random.Random) -> None:
        """Release the next round."""
        store = Store(self.work.store)
        if not any(path.name.startswith("nomination-") for path in (store.root / "records").glob("*")):
            names = [f"ada {act.number}"]
            self.again(act, submitter, self.work.store, self.work, "ada", names)
        n_closed = len(closed_rounds(store))
        day = date(2027 + n_closed // 4, 1 + 3 * (n_closed % 4), 1)
        for _ in range(3):
            if len(closed_rounds(Store(self.work.store))) == n_closed:
                self.killed(act, rng, rounds, self.work.store, self.work, day)
        if len(closed_rounds(Store(self.work.store))) == n_closed:
            self.again(act, rounds, self.work.store, self.work, day)

    def backup(self, act: Act, rng: random.Random) -> None:
        """Back up the store into a file that takes many backups; then restore it."""
        if not Store(self.work.store).ids():  # what is no store yet is refused
            self.again(act, submitter, self.work.store, self.work, "ada", [f"ada {act.number}"])
        file, out = self.work.root / "secret.tar", self.work.root / "restored"
        finished = check_backup(file).number if file.exists() else 0
        for _ in range(4):
            self.killed(act, rng, backer, self.work.store, file)
            if finished and check_backup(file).number < finished and check_backup(file).number != 1:
                act.lost.append("a finished backup")
        before = tree(self.work.store)
        self.again(act, backer, self.work.store, file)
        shutil.rmtree(out, ignore_errors=True)
        restore(file, out)
        there, after = tree(out), tree(self.work.store)
        still = {path: content for path, content in before.items() if after.get(path) == content}
        act.lost += sorted(before.keys() - there.keys())
        act.doubled += sorted(there.keys() - after.keys())
        act.changed += sorted(path for path, content in still.items() if there.get(path) != content)
        act.restored = int(there == before)
        probe, known = Act(act.number, "restored"), Ledger()
        for each in self.acts:
            known.add(each.said)
        known.whole = self.ledger.whole | {path.split("/")[1] for path in there if path.startswith("entries/")}
        look_at(out, known, probe)
        act.lost += probe.lost
        act.half += probe.half

    def archive(self, act: Act, rng: random.Random) -> None:
        """Write an archive; the same command goes on, and ends with what an undisturbed one writes."""
        out, whole = self.work.root / "archive", self.work.root / "archive.whole"
        if not whole.exists():
            self.again(act, archiver, self.work.root / "open", self.work, whole)
        shutil.rmtree(out, ignore_errors=True)
        for _ in range(3):
            if not out.exists():
                self.killed(act, rng, archiver, self.work.root / "open", self.work, out)
        if not out.exists():
            self.again(act, archiver, self.work.root / "open", self.work, out)
        compare_trees(act, tree(whole), tree(out))

    def rescore(self, act: Act, rng: random.Random) -> None:
        """Score entries again; their scores are what they were."""
        root = self.work.root / "open"
        before = scores_in(root)
        for _ in range(3):
            self.killed(act, rng, rescorer, root, self.work)
        self.again(act, rescorer, root, self.work)
        compare_trees(act, before, scores_in(root))

    def publish(self, act: Act, rng: random.Random) -> None:
        """Publish a dataset, killed while the Hub holds one of its requests; a reader sees a version or none."""
        folder = self.work.open
        if not hasattr(self, "published"):
            self.hub.faults.plan()
            self.again(act, publisher, self.hub.url, folder.path, "org/first")
            self.published = self.hub.faults.kinds()
        faults = []
        for number in range(2):
            n_held = sum(len(each.held) for each in self.acts)
            kind = sorted(self.published)[(n_held + number) % len(self.published)]
            nth, landed = rng.randint(1, self.published[kind]), rng.random() < 0.5
            faults.append(Fault(kind, nth=nth, does="hold", landed=landed))
        self.publish_held(act, folder, faults)

    def publish_held(self, act: Act, folder: DatasetFolder, faults: Sequence[Fault]) -> None:
        """Publish a dataset, killed at each of some faults, and then to the end."""
        repo = f"org/tickets-{act.number}"
        wanted = published_files(folder, self.hub, repo)
        for fault in faults:
            kind = fault.kind
            self.hub.faults.plan(fault)
            victim = Victim(publisher, How(), self.hub.url, folder.path, repo)
            act.held.append(self.held(kind, victim))
            act.add(victim, victim.kill())
            self.hub.faults.release()
            there = self.hub.stored.files(repo) if repo in self.hub.stored.by_name else {}
            act.half += [f"{repo} after {kind}"] if there not in ({}, wanted) else []
        self.hub.faults.plan()
        self.again(act, publisher, self.hub.url, folder.path, repo)
        compare_trees(act, wanted, self.hub.stored.files(repo))
        stored = self.hub.stored.by_name.pop(repo)
        if set(stored.tags) != {default_tag(folder, published_texts(folder, self.hub, repo))}:
            act.half.append(f"tags of {repo}: {set(stored.tags)}")

    def held(self, kind: str, victim: Victim) -> str:
        """Wait until the Hub holds a request of a kind, or the victim has ended; return the kind, or nothing."""
        end = time.monotonic() + 60
        while time.monotonic() < end and not self.hub.faults.held.wait(0.01) and not victim.has_ended:
            pass
        return kind if self.hub.faults.held.is_set() else ""

    def hub_store(self, act: Act, rng: random.Random) -> None:
        """Two clients of one repository, killed while the Hub holds one of their requests, or at any moment."""
        name, copies = "org/entries", [self.work.root / f"copy {number}" for number in range(3)]
        for copy in copies:
            shutil.rmtree(copy, ignore_errors=True)
        self.hub.stored.by_name.pop(name, None)
        self.hub.stored.create(name, private=True)
        senders = [Sender(self.work.root / "tiny" / "majority.parquet", self.tiny_card, self.tiny)]
        kind = sorted(HELD)[sum(each.kind == act.kind for each in self.acts) % len(HELD)]
        fault = Fault(kind, nth=rng.randint(1, HELD[kind]), does="hold", landed=rng.random() < 0.5)
        if act.kind == LFS_UPLOAD:
            self.empty_hub()
            self.hub.stored.create(name, private=True)
            card = Card.model_validate({"name": "m", "paradigm": "other", "data": self.work.open.content_hash})
            files = [self.work.root / f"{number}.parquet" for number in range(N_FILES)]
            senders = [Sender(path, card, self.work.open) for path in files]
            kind, fault = "lfs_put", part_of_upload(rng, MODELS, files[0].stat().st_size)
        self.hub.faults.plan(fault)
        victims = [
            Victim(hub_submitter, How(clock=rng.choice((0, 300))), self.hub.url, copy, senders, "ada")
            for copy in copies[:2]
        ]
        if rng.random() < 0.7 or act.kind == LFS_UPLOAD:
            act.held.append(self.held(kind, victims[0]))
            at_work = [victim.kill() for victim in victims]
        else:
            at_work = [self.kill_at(rng, victim, hub_submitter.__name__) for victim in victims]
        self.hub.faults.release()
        self.hub.faults.plan()
        said = [each for victim in victims for each in victim.said]
        for victim, killed in zip(victims, at_work, strict=True):
            act.kills += 1
            act.in_the_middle += killed and not any(each[0] == "done" for each in victim.said)
        titles = [commit.title for commit in self.hub.stored.by_name[name].history()]
        store = open_hub_store(self.hub.url, copies[2])
        there, ids = store._place.ids(), set(store.ids())
        act.lost += sorted({each[1] for each in said if each[0] == "accepted"} - there)
        act.lost += sorted({each[1] for each in said if each[0] == "withdrawn"} & ids)
        act.doubled += [
            title for title, n in Counter(titles).items() if n > 1 and title.startswith(("Entry", "Withdraw"))
        ]
        act.half += [f"{each}: {why}" for each in there if (why := why_half(store, each))]

    def lfs_upload(self, act: Act, rng: random.Random) -> None:
        """A dataset or entries, killed with a part of a file sent, to a Hub that has no file yet."""
        if rng.random() < 0.5:
            self.hub_store(act, rng)
            return
        self.empty_hub()
        files = sorted(self.work.long.path.rglob("*.parquet"))
        largest = max(path.stat().st_size for path in files)
        self.publish_held(act, self.work.long, [part_of_upload(rng, n, largest) for n in (len(files), 1, 1)])

    def empty_hub(self) -> None:
        """Make the Hub forget all that was uploaded, so that each file is sent again."""
        self.hub.stored.by_name.clear()
        for path in self.hub.stored.objects.iterdir():
            path.unlink()

    @property
    def tiny(self) -> DatasetFolder:
        """Open the small dataset of the repository's entries."""
        return DatasetFolder.open(self.work.root / "tiny" / "data")

    @property
    def tiny_card(self) -> Card:
        """Return the card of the repository's entries."""
        return Card.model_validate({"name": "m", "paradigm": "other", "data": self.tiny.content_hash})

    def serve(self, act: Act, rng: random.Random, n_servers: int = 1, number: int = signal.SIGKILL) -> None:
        """Servers of one store, killed while clients upload."""
        ports = [free_port() for _ in range(n_servers)]
        victims = [
            Victim(server, How(clock=rng.choice((0, 0, 300))), self.work.store, self.work, port) for port in ports
        ]
        for victim in victims:
            assert victim.wait_for("begun", 300), victim.said
        heard: list[str] = []
        ended = threading.Event()
        clients = [
            threading.Thread(target=self.upload, args=(port, f"{act.number} {client}", heard, ended), daemon=True)
            for port in ports
            for client in range(3)
        ]
        for client in clients:
            client.start()
        time.sleep(rng.uniform(0.5, self.longest_upload))
        for victim in victims:
            act.kills += 1
            act.in_the_middle += self.in_flight > 0
            victim.kill(number, group=True)
        ended.set()
        for client in clients:
            client.join(60)
        act.said += [["accepted", identity] for identity in heard]

    def upload(self, port: int, client: str, heard: list[str], ended: threading.Event) -> None:
        """Upload one model after the other as a browser does, until the server is gone; keep the ids it answered."""
        url = f"http://127.0.0.1:{port}"
        with httpx.Client(base_url=url, headers={"origin": url}, timeout=60, verify=False) as browser:
            for number in range(10**6):
                path, card = self.work.file(f"upload {client} {number}")
                with contextlib.suppress(httpx.HTTPError), path.open("rb") as file, self.flying():
                    form = {"do": "submit", "card": json.dumps(card.as_dict())}
                    answer = browser.post("/submit", data=form, files={"file": (path.name, file)})
                    while (refresh := answer.headers.get("refresh")) and not ended.is_set():
                        answer = browser.get(refresh.partition("url=")[2])
                    if answer.status_code == 200 and (found := ANSWERED.search(answer.text)):
                        heard.append(found[1])
                if ended.is_set():
                    return

    @contextmanager
    def flying(self) -> Iterator[None]:
        """Count an upload while its answer has not come."""
        self.in_flight += 1
        try:
            yield
        finally:
            self.in_flight -= 1

    def terminate(self, act: Act, rng: random.Random) -> None:
        """A server that is told to stop (SIGTERM) while clients upload."""
        self.serve(act, rng, number=signal.SIGTERM)

    def serve_two(self, act: Act, rng: random.Random) -> None:
        """Two servers of one store, killed while clients upload to both."""
        self.serve(act, rng, n_servers=2)

    def read_only(self, act: Act, rng: random.Random) -> None:
        """A read-only store refuses what is sent, and can be backed up."""
        file = self.work.root / f"read-only {act.number}.tar"
        folders = [
            self.work.store,
            *(path for path in self.work.store.rglob("*") if path.is_dir() and path.name != ".new"),
        ]
        modes = {path: path.stat().st_mode for path in folders}
        names = [f"read-only {act.number}"]
        try:
            for path in folders:
                path.chmod(0o500)
            victim = Victim(without_override, submitter, How(), self.work.store, self.work, "ada", names)
            victim.end()
            assert any("cannot be written" in reason for reason in victim.refused()), victim.said
            saved = Victim(without_override, backer, How(), self.work.store, file)
            saved.end()
            assert ("done",) in saved.said, saved.said
            check_backup(file)
        finally:
            for path, mode in modes.items():
                path.chmod(mode)
        file.unlink()


def writable(root: Path) -> None:
    """Make folders writable again that an interrupted suite left read-only."""
    for path in [root, *root.rglob("*")]:
        if path.is_dir() and not path.stat().st_mode & 0o200:
            path.chmod(0o700)


ANSWERED = re.compile(r"/entry\?id=([0-9a-f]{16})")
RIGHTLY = re.compile("was withdrawn|cannot be written|File too large|has changed")
"""Reasons for which a client may be refused: the other one has withdrawn the entry, or the disk is full."""
HELD = {"commit": 6, "info": 8, "tree": 4, "preupload": 6, "lfs_batch": 2, "lfs_put": 2, "resolve": 4}
"""Requests of clients of a repository at which the Hub holds them, with the last number that is tried."""
LFS_UPLOAD = "LFS upload"


def part_of_upload(rng: random.Random, n_files: int, size: int) -> Fault:
    """Draw at which file's upload the Hub takes no more, and after how many bytes."""
    return Fault("lfs_put", nth=rng.randint(1, n_files), does="hold", after=rng.randint(1, size))


AT_THE_END = "at the end"
"""The kind of the last look at the whole store."""
KINDS: dict[str, tuple[Callable[[Suite, Act, random.Random], None], float]] = {
    "submit": (Suite.submit, 4),
    "release-round": (Suite.round, 3),
    "backup": (Suite.backup, 3),
    "archive": (Suite.archive, 2),
    "rescore": (Suite.rescore, 2),
    "publish": (Suite.publish, 3),
    "Hub store": (Suite.hub_store, 3),
    LFS_UPLOAD: (Suite.lfs_upload, 3),
    "server": (Suite.serve, 2),
    "two servers": (Suite.serve_two, 1),
    "SIGTERM": (Suite.terminate, 1),
    "read-only": (Suite.read_only, 0.5),
}
"""The kinds of acts, with how often they are drawn."""


def tree(root: Path) -> dict[str, bytes]:
    """Read what a backup holds of a folder, by path."""
    files = [path for path in root.rglob("*") if path.is_file() and "/." not in str(path.relative_to(root.parent))]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in files if path.parent.name != "index"}


def scores_in(root: Path) -> dict[str, bytes]:
    """Read the scores of a store."""
    return {path: content for path, content in tree(root).items() if path.startswith("scores/")}


def compare_trees(act: Act, wanted: dict[str, bytes], there: dict[str, bytes]) -> None:
    """Note what is missing or another than wanted."""
    act.lost += sorted(wanted.keys() - there.keys())
    act.doubled += sorted(there.keys() - wanted.keys())
    act.changed += [path for path, content in wanted.items() if there.get(path, content) != content]


COLUMNS = ("kills", "in_the_middle", "lost", "doubled", "half", "changed", "odd")


def table(acts: Sequence[Act]) -> str:
    """Format the table of kills, a row a kind of act."""
    rows = [("act", "acts", *(name.replace("_", " ") for name in COLUMNS))]
    for kind in [*KINDS, AT_THE_END, "all"]:
        mine = [act for act in acts if kind in (act.kind, "all")]
        counts = [sum(n if isinstance(n := getattr(act, name), int) else len(n) for act in mine) for name in COLUMNS]
        rows.append((kind, str(len(mine)), *map(str, counts)))
    held = Counter(f"{act.kind} {kind}" for act in acts for kind in act.held if kind)
    words = [
        f"killed while the Hub held: {', '.join(f'{what} {n}' for what, n in sorted(held.items()))}",
        f"restored stores equal byte for byte: {sum(act.restored for act in acts)}",
    ]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return "\n".join([*lines, *words])
