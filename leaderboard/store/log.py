"""The log of a store: an ordered list of its changes, chained by hashes.

    ROOT/log/000001.jsonl   events, one per line, ``SEGMENT`` per file
    ROOT/log/head.json      number and hash of the last event
    ROOT/log/people.json    names of persons by the random keys used in events

An event's hash covers its line except free text (a reason, a new name, a rejection) and the salt, for which the line
contains a salted digest. Erasing a person removes the name from the table and the free text from the lines about them;
all hashes stay valid. Events and their free text must not contain tokens, labels or visitors' addresses.

The host's actions (hiding, renaming, notes, bans) are stored only here: ``Moderation`` is computed from the events. An
event and its files are written in one step (``LocalFolder.add``), or in one commit on the Hub.
"""

import hashlib
import re
import secrets
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from shiftbench.builders.checksums import file_state
from shiftbench.validation.report import InvalidInput, Problem

LOG = "log"
"""The folder of the log in a store."""
HEAD, PEOPLE = f"{LOG}/head.json", f"{LOG}/people.json"
LOG_FILE = re.compile(r"\d{6}\.jsonl|head\.json|people\.json", re.ASCII)
"""Pattern of file names in the log's folder."""
SEGMENT = 250
"""Number of events per file: adding one rewrites its file, and on the Hub uploads it."""
START = "0" * 64
"""Previous hash of the first event."""

BEGUN, ACCEPTED, REFUSED, WITHDRAWN = "begun", "accepted", "refused", "withdrawn"
HIDDEN, UNHIDDEN, RENAMED, ANNOTATED = "hidden", "unhidden", "renamed", "annotated"
BANNED, UNBANNED, ERASED = "banned", "unbanned", "erased"
RELEASED, RESCORED, CONFIGURED = "released", "rescored", "configured"
MODERATING = (HIDDEN, UNHIDDEN, RENAMED, ANNOTATED, BANNED, UNBANNED, ERASED)
"""Actions of a host that change what is shown, and who may submit."""
_CURE = "run 'shiftbench board log --verify', and restore the store from a backup"


class Event(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One event.

    Attributes:
        n: its number, 1-based.
        at: time in UTC, ISO 8601.
        act: what was done, such as 'accepted'.
        before, hash: hashes of the previous event, and of this one.
        entry: id of the entry concerned.
        by, whom: keys of the person who acted, and of the person concerned.
        facts: further facts, never text that a person wrote.
        words: text that a person wrote, by name; None if there is none, or it was erased.
        salt, digest: random salt of the words, and the salted digest that ``hash`` covers instead of them.
    """

    n: int
    at: str
    act: str
    before: str
    hash: str
    entry: str | None = None
    by: str | None = None
    whom: str | None = None
    facts: dict[str, Any] = {}
    words: dict[str, str] | None = None
    salt: str | None = None
    digest: str | None = None

    def without_words(self) -> "Event":
        """Return the event without its words, as after an erasure."""
        return msgspec.structs.replace(self, words=None, salt=None)

    def computed_hash(self) -> str:
        """Compute the event's hash."""
        return hashlib.sha256(_line(msgspec.structs.replace(self.without_words(), hash=""))).hexdigest()


class Draft(NamedTuple):
    """An event to add: ``by`` and ``whom`` are names of persons, which the log replaces by keys."""

    act: str
    entry: str | None = None
    by: str | None = None
    whom: str | None = None
    facts: Mapping[str, Any] = {}
    words: Mapping[str, str] = {}


@dataclass(frozen=True)
class Moderation:
    """The combined effect of the host's actions; ``version`` is the number of the last one.

    Attributes:
        hidden: hidden entries, and since when (ISO 8601).
        names: renamed entries, and their new names.
        notes: notes on entries, which visitors see.
        banned: keys of persons who may not submit.
        erased: entries whose files were erased, and when.
    """

    version: int = 0
    hidden: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    banned: frozenset[str] = frozenset()
    erased: Mapping[str, str] = field(default_factory=dict)

    def after(self, event: Event) -> "Moderation":
        """Return the state after one more event."""
        hidden, names, notes, erased = (dict(each) for each in (self.hidden, self.names, self.notes, self.erased))
        banned, entry, words = set(self.banned), event.entry or "", event.words or {}
        match event.act:
            case "hidden":
                hidden[entry] = event.at
            case "unhidden":
                hidden.pop(entry, None)
            case "renamed" if words:
                names[entry] = words["name"]
            case "annotated" if words:
                notes[entry] = words["note"]
                if not words["note"]:
                    del notes[entry]
            case "banned":
                banned.add(event.whom or "")
            case "unbanned":
                banned.discard(event.whom or "")
            case "erased":
                for each in event.facts["entries"]:
                    erased[each] = event.at
                    for known in (hidden, names, notes):
                        known.pop(each, None)
        return Moderation(event.n, hidden, names, notes, frozenset(banned), erased)


class Head(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Number and hash of the last event."""

    n: int = 0
    hash: str = START


class EventLog:
    """The log of the store in a folder. Thread-safe; ``refresh`` reads what was added since.

    Properties return the state at the last ``refresh``, which costs only one stat of the head file if nothing is new.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = threading.RLock()
        self._seen: list[int] | None = None
        self._events: list[Event] = []
        self._head = Head()
        self._people: dict[str, str] = {}
        self._moderation = Moderation()

    @property
    def events(self) -> Sequence[Event]:
        """Return the events, the oldest first."""
        return self._read()._events

    @property
    def head(self) -> Head:
        """Return number and hash of the last event; 0 and ``START`` of an empty log."""
        return self._read()._head

    @property
    def people(self) -> Mapping[str, str]:
        """Return the names of persons by key."""
        return self._read()._people

    @property
    def moderation(self) -> Moderation:
        """Return the combined effect of the host's actions."""
        return self._read()._moderation

    def key_of(self, person: str) -> str | None:
        """Return a person's key; None if no event refers to them."""
        return next((key for key, name in self.people.items() if name == person), None)

    def refresh(self) -> None:
        """Read new events; InvalidInput if the log is damaged."""
        path = self._root / HEAD
        with self._lock:
            try:
                seen = file_state(path)
            except (FileNotFoundError, NotADirectoryError):
                if (self._root / segment_path(1)).exists():
                    raise _damaged(HEAD, "no such file") from None
                self._forget()
                return
            if seen != self._seen:
                self._load()
                self._seen = seen

    def added(self, drafts: Sequence[Draft], beginning: Callable[[], Mapping[str, Any]]) -> dict[str, bytes]:
        """Return the files that append events; the caller must hold the write lock until they are written.

        ``beginning`` returns the facts about the store with which an empty log begins.
        """
        with self._lock:
            self.refresh()
            people = dict(self._people)
            keys = {name: key for key, name in people.items()}

            def key(name: str | None) -> str | None:
                if name is not None and name not in keys:
                    keys[name] = f"p{secrets.token_hex(8)}"
                    people[keys[name]] = name
                return None if name is None else keys[name]

            drafts = [*([] if self._head.n else [Draft(BEGUN, facts=beginning())]), *drafts]
            new, head = [], self._head
            for draft in drafts:
                event = _event(draft._replace(by=key(draft.by), whom=key(draft.whom)), head)
                new.append(event)
                head = Head(event.n, event.hash)
            every = [*self._events, *new]
            first = self._head.n // SEGMENT
            files = {segment_path(number + 1): _segment(every, number) for number in range(first, _n_segments(every))}
            if people != self._people:
                files[PEOPLE] = _line(people)
            return {**files, HEAD: _line(head)}

    def erased(self, person: str, entries: Collection[str], files: Mapping[str, bytes]) -> dict[str, bytes]:
        """Return the files of a log without a person's name, and without the words about the person and the entries.

        ``files`` add the erasure event, which keeps its own reason; events about other persons are unchanged.
        """
        people = msgspec.json.decode(files.get(PEOPLE) or _line(self._people), type=dict[str, str])
        key = next((key for key, name in people.items() if name == person), None)
        out = {PEOPLE: _line({each: name for each, name in people.items() if each != key})}
        for number in range(_n_segments(self._events)):
            path = segment_path(number + 1)
            content = files.get(path) or _segment(self._events, number)
            events = [
                event.without_words() if event.act != ERASED and is_about(event, key, entries) else event
                for event in _decoded(path, content)
            ]
            if (lines := b"".join(_line(event) + b"\n" for event in events)) != content:
                out[path] = lines
        return {**files, **out, HEAD: files[HEAD]}

    def check(self) -> list[str]:
        """Check the log line by line; return the problems, each with its file and line."""
        return list(_problems(self._root))

    def _read(self) -> "EventLog":
        if self._seen is None:
            self.refresh()
        return self

    def _forget(self) -> None:
        self._seen, self._events, self._head, self._people = None, [], Head(), {}
        self._moderation = Moderation()

    def _load(self) -> None:
        """Read the segments with new events; all of them if a person was erased or the log was replaced."""
        head = _parsed(HEAD, self._bytes(HEAD), Head)
        start = self._head.n // SEGMENT
        new = self._segments(start, head.n)
        old = self._events[: start * SEGMENT]
        known = self._events[start * SEGMENT :]
        if [each.hash for each in new[: len(known)]] != [each.hash for each in known] or any(
            each.act == ERASED for each in new[len(known) :]
        ):
            old, known, new = [], [], self._segments(0, head.n)
            self._moderation = Moderation()
        if not new or (new[-1].n, new[-1].hash) != (head.n, head.hash):
            raise _damaged(HEAD, f"event {head.n:,}, but the last line is a different event")
        for event in new[len(known) :]:
            if event.act in MODERATING:
                self._moderation = self._moderation.after(event)
        people = (self._root / PEOPLE).is_file()
        self._people = _parsed(PEOPLE, self._bytes(PEOPLE), dict[str, str]) if people else {}
        self._events, self._head = [*old, *new], head

    def _segments(self, start: int, n: int) -> list[Event]:
        """Read the events of all segments from ``start`` on, up to event number ``n``."""
        paths = [segment_path(number + 1) for number in range(start, -(-n // SEGMENT))]
        return [event for path in paths for event in _decoded(path, self._bytes(path))][: n - start * SEGMENT]

    def _bytes(self, path: str) -> bytes:
        try:
            return (self._root / path).read_bytes()
        except FileNotFoundError as error:
            raise _damaged(path, "no such file") from error


def segment_path(number: int) -> str:
    """Return the path of a segment in a store; ``number`` is 1-based."""
    return f"{LOG}/{number:06d}.jsonl"


def is_about(event: Event, person: str | None, entries: Collection[str]) -> bool:
    """Return whether an event concerns one of the entries, or is by or about a person (given by key)."""
    return event.entry in entries or (person is not None and person in (event.by, event.whom))


def is_in_log(root: Path, head: bytes) -> bool:
    """Return whether the log in a folder contains the event of a given head."""
    named = msgspec.json.decode(head, type=Head)
    file = root / segment_path((named.n - 1) // SEGMENT + 1)
    return file.is_file() and named.hash.encode() in file.read_bytes()


def digest_of_names(names: Collection[str]) -> str:
    """Hash the ids that a store had before its log began; the log's first event contains this digest."""
    return hashlib.sha256("\n".join(sorted(names)).encode()).hexdigest()


def digests_of(records: Mapping[str, bytes]) -> dict[str, str]:
    """Compute the digests of rounds' records that the log stores: SHA-256 by record name."""
    return {name: hashlib.sha256(content).hexdigest() for name, content in records.items()}


def _event(draft: Draft, head: Head) -> Event:
    words, salt, digest = dict(draft.words) or None, None, None
    if words is not None:
        salt = secrets.token_hex(16)
        digest = _words_digest(salt, words)
    at = datetime.now(UTC).isoformat(timespec="microseconds")
    event = Event(head.n + 1, at, draft.act, head.hash, "", draft.entry, draft.by, draft.whom, dict(draft.facts))
    event = msgspec.structs.replace(event, words=words, salt=salt, digest=digest)
    return msgspec.structs.replace(event, hash=event.computed_hash())


def _words_digest(salt: str, words: Mapping[str, str]) -> str:
    return hashlib.sha256(salt.encode() + _line(words)).hexdigest()


def _line(content: Any) -> bytes:
    """Encode JSON in its single accepted form."""
    return msgspec.json.encode(content, order="sorted")


def _n_segments(events: Sequence[Event]) -> int:
    return -(-len(events) // SEGMENT)


def _segment(events: Sequence[Event], number: int) -> bytes:
    return b"".join(_line(event) + b"\n" for event in events[number * SEGMENT : (number + 1) * SEGMENT])


def _decoded(path: str, content: bytes) -> list[Event]:
    try:
        return msgspec.json.Decoder(list[Event]).decode(b"[" + b",".join(content.splitlines()) + b"]")
    except msgspec.DecodeError as error:
        raise _damaged(path, str(error)[:200]) from error


def _parsed(path: str, content: bytes, kind: Any) -> Any:
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.DecodeError as error:
        raise _damaged(path, str(error)[:200]) from error


def _damaged(path: str, found: str) -> InvalidInput:
    return InvalidInput(Problem("the store's log is damaged", path, found, _CURE))


def _problems(root: Path) -> Iterator[str]:
    """Check every line of a log: format, number, hash, words, and the previous line's hash."""
    paths = sorted((root / LOG).glob("*.jsonl"))
    lines = [line for path in paths for line in _numbered_lines(path)]
    read = [(where, line, _event_or_none(line)) for where, line in lines]
    yield from _file_problems(paths)
    yield from _chain_problems(read)
    yield from _word_problems([(where, event) for where, _, event in read if event is not None])
    head, last = _head_or_none(root), read[-1][2] if read else None
    if head is None and read:
        yield f"{HEAD}: missing or damaged"
    elif head is not None and (last is None or (last.n, last.hash) != (head.n, head.hash)):
        yield (
            f"{HEAD}: refers to event {head.n:,}, which is not the last line: lines at the end are missing or were "
            "added"
        )


def _numbered_lines(path: Path) -> list[tuple[str, bytes]]:
    lines = path.read_bytes().split(b"\n")
    lines = lines[:-1] if lines[-1] == b"" else lines
    return [(f"{LOG}/{path.name}, line {number}", line) for number, line in enumerate(lines, 1)]


def _event_or_none(line: bytes) -> Event | None:
    try:
        return msgspec.json.decode(line, type=Event)
    except msgspec.DecodeError:
        return None


def _file_problems(paths: Sequence[Path]) -> Iterator[str]:
    for number, path in enumerate(paths, 1):
        if path.name != Path(segment_path(number)).name:
            yield f"{LOG}/{path.name}: {segment_path(number)} was expected: a file is missing"
        content = path.read_bytes()
        if not content.endswith(b"\n") or (number < len(paths) and content.count(b"\n") != SEGMENT):
            yield f"{LOG}/{path.name}: it does not end with a complete line, or does not have {SEGMENT} lines"


def _chain_problems(read: Sequence[tuple[str, bytes, Event | None]]) -> Iterator[str]:
    before: str | None = START
    for n, (where, line, event) in enumerate(read, 1):
        if event is None:
            yield f"{where}: the line was altered: it is not an event"
        elif _line(event) != line or event.computed_hash() != event.hash:
            yield f"{where}: the line was altered"
        elif event.n != n or before not in (None, event.before):
            yield (
                f"{where}: event {event.n:,} does not follow the previous line: a line is missing, duplicated or moved"
            )
        before = event.hash if event is not None else None


def _word_problems(read: Sequence[tuple[str, Event]]) -> Iterator[str]:
    """Check the words of events; those removed by an erasure may be missing."""
    erasures = [event for _, event in read if event.act == ERASED]
    for where, event in read:
        if event.words is not None and _words_digest(event.salt or "", event.words) != event.digest:
            yield f"{where}: its text was altered"
        taken = any(is_about(event, each.whom, each.facts["entries"]) for each in erasures)
        if event.words is None and event.digest is not None and not taken:
            yield f"{where}: its text is missing, but was not erased"


def _head_or_none(root: Path) -> Head | None:
    try:
        return msgspec.json.decode((root / HEAD).read_bytes(), type=Head)
    except (OSError, msgspec.DecodeError):
        return None
