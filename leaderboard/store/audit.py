"""Print a store's log for its host, and verify it against its hashes and the store's files."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from shiftbench.leaderboard.store.log import (
    ACCEPTED,
    BEGUN,
    ERASED,
    RELEASED,
    WITHDRAWN,
    Event,
    digest_of_names,
    digests_of,
)
from shiftbench.leaderboard.store.store import Store
from shiftbench.validation.plain_text import escape_invisible
from shiftbench.validation.report import InvalidInput


@dataclass(frozen=True)
class Verified:
    """Result of verifying a log: the number of events, the hash of the last one, and the problems found."""

    events: int
    hash: str
    problems: tuple[str, ...]


def verify(store: Store) -> Verified:
    """Check every line of a store's log, and that the store's files match it; nothing is changed.

    A log truncated together with its head, or completely rewritten, is indistinguishable from a shorter log: compare
    the number and hash with those printed earlier, or with those in a backup.
    """
    with store.locked():
        problems = store.log.check()
        try:
            store.log.refresh()
            head = store.log.head
            problems = problems or list(_differences(store))
        except InvalidInput as error:
            return Verified(0, "", tuple(problems or [str(error)]))
    return Verified(head.n, head.hash, tuple(problems))


def _differences(store: Store) -> Iterator[str]:
    """List the differences between a store's files and its log."""
    events = store.log.events
    if not events:
        return
    begun = next((event.facts for event in events if event.act == BEGUN), {})
    erased = {identity for event in events if event.act == ERASED for identity in event.facts["entries"]}
    here, gone = store.every_id(), store.withdrawn_ids()
    accepted = {event.entry or "" for event in events if event.act == ACCEPTED}
    yield from (
        f"entry {each}: accepted according to the log, but its files are missing"
        for each in sorted(accepted - here - erased)
    )
    yield from (f"entry {each}: erased according to the log, but its files exist" for each in sorted(erased & here))
    yield from _initial_differences("entries", (here | erased) - accepted, begun)
    withdrawn = {event.entry or "" for event in events if event.act == WITHDRAWN}
    yield from (f"entry {each}: withdrawn according to the log, but it is not" for each in sorted(withdrawn - gone))
    before_erasure = {each for event in events if event.act == ERASED for each in event.facts["withdrawn"]}
    yield from _initial_differences("withdrawn", ((gone - erased) | before_erasure) - withdrawn, begun)
    released = dict(begun.get("rounds", {}))
    for event in events:
        released |= event.facts.get("rounds", {}) if event.act in (RELEASED, ERASED) else {}
    rounds = digests_of(store.records("round-"))
    for name in sorted(released | rounds):
        if released.get(name) != rounds.get(name):
            yield f"records/{name}: differs from the record released according to the log"


def _initial_differences(what: str, unlogged: set[str], begun: dict[str, Any]) -> Iterator[str]:
    """Check that everything without an event was already in the store when the log began."""
    there = begun.get(what, {"n": 0, "digest": digest_of_names([])})
    if digest_of_names(unlogged) != there["digest"]:
        yield (
            f"{what}: {len(unlogged):,} have no event in the log, but {there['n']:,} (or others) existed when it began"
        )


def event_line(event: Event, people: dict[str, str]) -> str:
    """Format an event as one printable line: number, time, act, entry, person, facts and free text.

    Args:
        event: the event.
        people: names of persons by key (``EventLog.people``); an erased person is shown by key.
    """

    def person(key: str | None) -> str:
        return "" if key is None else people.get(key, key)

    parts = [f"{event.n:>6}", event.at[:19], f"{event.act:<10}", event.entry or ""]
    parts += [f"by {person(event.by)}" if event.by else "", f"account {person(event.whom)}" if event.whom else ""]
    parts += [f"{name}: {text}" for name, text in (event.words or {}).items()]
    parts += ["(text erased)"] if event.words is None and event.digest else []
    parts += [f"{name}={value}" for name, value in event.facts.items() if not isinstance(value, dict)]
    return escape_invisible(" ".join(part for part in parts if part)).replace("\n", "\\n")
