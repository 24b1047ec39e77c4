"""Actions of a leaderboard's host on entries and accounts; the log records each with a reason.

    hide, unhide    remove an entry from all boards, and show it again; its files stay
    rename          give an entry another name, and its own line on the overall board
    annotate        add a note to an entry that visitors see; an empty note removes it
    ban, unban      block an account from submitting and nominating; its entries stay
    erase           delete the files of an account's entries, and its name; tombstones with the entries' ids stay

On withheld labels, the feedback records of an erased account stay without its name, under a digest of it: otherwise, an
account that returns would get its yearly feedback again.
"""

import json
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from shiftbench.leaderboard.store.entries import ENTRIES, LOCAL_SUBMITTER, record_path, tombstone_bytes, tombstone_path
from shiftbench.leaderboard.store.log import (
    ANNOTATED,
    BANNED,
    ERASED,
    HIDDEN,
    RENAMED,
    UNBANNED,
    UNHIDDEN,
    Draft,
    EventLog,
    digests_of,
)
from shiftbench.leaderboard.store.store import Change, Erasure, Store
from shiftbench.validation.cards import parse_card
from shiftbench.validation.json_text import parse_json
from shiftbench.validation.plain_text import escape_invisible
from shiftbench.validation.report import InvalidInput, Problem

MAX_WORDS = 500
"""Maximum length of a reason or a note."""
ERASED_ACCOUNT = "erased account"
"""Replaces the name of an erased account in records of rounds and feedback; no account can have this name."""


class Act(StrEnum):
    """The actions of a host."""

    HIDE = "hide"
    UNHIDE = "unhide"
    RENAME = "rename"
    ANNOTATE = "annotate"
    BAN = "ban"
    UNBAN = "unban"
    ERASE = "erase"


class Order(NamedTuple):
    """One action of a host on an entry (its id) or an account; ``text`` is the new name or the note."""

    act: Act
    target: str
    reason: str
    text: str = ""


def perform(store: Store, order: Order, by: str) -> str:
    """Perform a host's action, and return a sentence that says what was done. Idempotent.

    Args:
        store: the store.
        order: the action.
        by: the host's account.
    """
    order = Order(order.act, order.target.strip(), _words(order.reason, "--reason", required=True), order.text.strip())
    match order.act:
        case Act.HIDE | Act.UNHIDE:
            return _hide(store, order, by)
        case Act.RENAME:
            return _rename(store, order, by)
        case Act.ANNOTATE:
            return _annotate(store, order, by)
        case Act.BAN | Act.UNBAN:
            return _ban(store, order, by)
        case Act.ERASE:
            return _erase(store, order, by)


def erasable(store: Store, account: str) -> list[str]:
    """List the entries that erasing an account deletes; InvalidInput if the store has nothing from this account."""
    ids = store.sent_by(account)
    if not ids and store.log.key_of(account) is None:
        raise InvalidInput(Problem("there is no data of this account", "account", f"'{account[:80]}'", _SEE_LOG))
    return ids


_SEE_LOG = "see the accounts in 'shiftbench board log'"


def _hide(store: Store, order: Order, by: str) -> str:
    hides = order.act is Act.HIDE

    def make() -> Change | None:
        _refuse_absent(store, order.target)
        if (order.target in store.moderation.hidden) == hides:
            return None
        return Change([Draft(HIDDEN if hides else UNHIDDEN, order.target, by, words={"reason": order.reason})])

    store.change(make)
    return f"Entry {order.target} is {'hidden' if hides else 'shown again'}."


def _rename(store: Store, order: Order, by: str) -> str:
    def make() -> Change | None:
        _refuse_absent(store, order.target)
        card = store.sent(order.target).card
        facts = {**card.as_dict(), "name": order.text}
        name = parse_card(json.dumps(facts), "the new name").name  # validated as in a card
        if store.moderation.names.get(order.target) == name:
            return None
        return Change([Draft(RENAMED, order.target, by, words={"reason": order.reason, "name": name})])

    store.change(make)
    return f"Entry {order.target} is now named '{order.text}'."


def _annotate(store: Store, order: Order, by: str) -> str:
    note = _words(order.text, "the note", required=False)

    def make() -> Change | None:
        _refuse_absent(store, order.target)
        if store.moderation.notes.get(order.target, "") == note:
            return None
        return Change([Draft(ANNOTATED, order.target, by, words={"reason": order.reason, "note": note})])

    store.change(make)
    return f"Entry {order.target} now has {'the note' if note else 'no note'}."


def _ban(store: Store, order: Order, by: str) -> str:
    bans = order.act is Act.BAN
    if not order.target or len(order.target) > MAX_WORDS:
        raise InvalidInput(Problem("this is not an account name", "account", f"'{order.target[:80]}'", _SEE_LOG))
    _refuse_hidden_characters(order.target, "account")

    def make() -> Change | None:
        if (store.log.key_of(order.target) in store.moderation.banned) == bans:
            return None
        return Change([Draft(BANNED if bans else UNBANNED, by=by, whom=order.target, words={"reason": order.reason})])

    store.change(make)
    return f"Account '{order.target}' may {'no longer submit' if bans else 'submit again'}."


def _erase(store: Store, order: Order, by: str) -> str:
    account = order.target
    erased: list[str] = []

    def make() -> Change:
        erased[:] = erasable(store, account)
        records = dict(_records_without(store, account))
        rounds = digests_of({name: content for name, content in records.items() if name.startswith("round-")})
        withdrawn = sorted(store.withdrawn_ids().intersection(erased))
        facts = {"entries": erased, "withdrawn": withdrawn, "rounds": rounds}
        files: dict[str, bytes | None] = {record_path(name): content for name, content in records.items()}
        files |= {tombstone_path(each): tombstone_bytes(each) for each in erased if each not in withdrawn}
        files |= dict.fromkeys([f"{ENTRIES}/{each}" for each in erased])
        files |= dict.fromkeys(sorted(store.derived_of(erased)))
        event = Draft(ERASED, by=by, whom=account, facts=facts, words={"reason": order.reason})
        return Change([event], files, Erasure(account, frozenset(erased)))

    store.change(make)
    store.forget_former_revisions()
    copies = "Copies elsewhere, such as archives and backups, are not erased."
    return f"Account '{account}' is erased, entries: {len(erased):,}. {copies}"


def _records_without(store: Store, account: str) -> Iterator[tuple[str, bytes]]:
    """Return the records that contain an account's name, with the name replaced."""
    for name, content in store.records("").items():
        if name.endswith(".json") and account.encode() in content:
            read = parse_json(content)
            changed = _without(read, account)
            if changed != read:
                yield name, json.dumps(changed, indent=1, ensure_ascii=False).encode()


def _without(content: Any, account: str) -> Any:
    if isinstance(content, Mapping):
        return {
            key: ERASED_ACCOUNT if key == "account" and value == account else _without(value, account)
            for key, value in content.items()
        }
    return [_without(each, account) for each in content] if isinstance(content, list) else content


def _refuse_absent(store: Store, identity: str) -> None:
    if identity not in store.every_id():
        what = "there is no such entry" if identity not in store.moderation.erased else "this entry was erased"
        raise InvalidInput(Problem(what, "entry", f"'{identity[:40]}'", "see the board, or 'shiftbench board log'"))


def _words(text: str, where: str, *, required: bool) -> str:
    """Validate a reason or note, and return it stripped."""
    text = text.strip()
    if required and not text:
        raise InvalidInput(Problem("a reason is needed", where, cure="give a reason; it is recorded in the log"))
    if len(text) > MAX_WORDS or "\n" in text:
        cure = f"write one line of at most {MAX_WORDS} characters"
        raise InvalidInput(Problem("the text is too long", where, f"{len(text):,} characters", cure))
    return _refuse_hidden_characters(text, where)


def _refuse_hidden_characters(text: str, where: str) -> str:
    """Return the text; InvalidInput if one of its characters is invisible."""
    if (escaped := escape_invisible(text, "")) != text:
        raise InvalidInput(Problem("some characters are invisible", where, f"'{escaped[:80]}'", "remove them"))
    return text


def erase_again(store: Store, newer: EventLog) -> list[str]:
    """Erase from a restored store the persons whom the host has erased since its backup.

    Args:
        store: the restored store.
        newer: the log of a newer copy of the store, which records these erasures.
    Returns: one sentence per erasure.
    """
    known = {event.hash for event in store.log.events}
    keys = [event.whom or "" for event in newer.events if event.act == ERASED and event.hash not in known]
    people = [store.log.people[key] for key in keys if key in store.log.people]
    reason = "erased before the store was restored from an older backup"
    return [perform(store, Order(Act.ERASE, each, reason), LOCAL_SUBMITTER) for each in people]
