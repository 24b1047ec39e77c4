"""Records of one account, in order: each is numbered, added once, and never changed.

Their names are ``records/<kind>-<account>-<number>.json``, the account as 16 digits of its name's SHA-256.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

from shiftbench.leaderboard.store import Store
from shiftbench.validation.json_text import parse_json
from shiftbench.validation.report import InvalidInput, Problem

Record = dict[str, Any]
"""A record's content, plain JSON."""
Written = tuple[Record, Mapping[str, bytes]]
"""A record, and other records by name that are added with it."""


def records_of(store: Store, kind: str, account: str | None = None) -> list[Record]:
    """Return the records of a kind, those of one account in order; without an account everybody's."""
    beginning = f"{kind}-" if account is None else f"{kind}-{_digest(account)}-"
    return [parse_record(name, content) for name, content in store.records(beginning).items()]


def append(store: Store, kind: str, account: str, write: Callable[[Sequence[Record]], Written | None]) -> Record | None:
    """Add a record to those of an account.

    Args:
        store: the store.
        kind: its kind, a word.
        account: whose it is.
        write: gives the record from those there are, and is called again where another came in between; None adds
            nothing. It may take long: nobody waits for it.
    Returns: the record, durable; None where ``write`` gave none.
    """
    while True:
        before = records_of(store, kind, account)
        written = write(before)
        if written is None:
            return None
        record, beside = written
        if store.add_records(lambda: _files(store, kind, account, before, record, beside)):  # noqa: B023 - called here
            return record


def _files(
    store: Store, kind: str, account: str, before: Sequence[Record], record: Record, beside: Mapping[str, bytes]
) -> dict[str, bytes] | None:
    """Return the files to add; None where the records have changed since they were made."""
    if len(records_of(store, kind, account)) != len(before):
        return None
    name = f"{kind}-{_digest(account)}-{len(before) + 1:06d}.json"
    return {**{key: content for key, content in beside.items() if not store.records(key)}, name: record_bytes(record)}


def record_bytes(record: Mapping[str, Any]) -> bytes:
    """Write a record's content."""
    return json.dumps(record, indent=1, ensure_ascii=False).encode()


def parse_record(name: str, content: bytes) -> Record:
    """Parse a record; InvalidInput when it is damaged, because feedback on withheld labels depends on all records."""
    try:
        read = parse_json(content)
    except ValueError as error:
        raise InvalidInput(Problem("a record of the store is damaged", name, cure="restore it from a copy")) from error
    return dict(read)


def today() -> date:
    """Return the day in UTC: what years and quarters are counted in."""
    return datetime.now(UTC).date()


def _digest(account: str) -> str:
    return hashlib.sha256(account.encode()).hexdigest()[:16]
