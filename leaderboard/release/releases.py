"""Records of the store: numbered records of each account, and the permanent results of rounds.

A record is added once and never changed. Names are ``records/<kind>-<account>-<number>.json``, with the account
as 16 digits of its name's SHA-256, and ``records/round-<year>-Q<quarter>.json``.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Any

import pydantic

from shiftbench.leaderboard.store import Store
from shiftbench.leaderboard.store.log import Draft
from shiftbench.validation.json_text import parse_json
from shiftbench.validation.report import InvalidInput, Problem

Record = dict[str, Any]
"""A record's content, as plain JSON."""
_ACTS = {"look": "answered", "nomination": "nominated"}
"""Name of the log event for adding a record of each kind."""
Written = tuple[Record, Mapping[str, bytes]]
"""A record, and the other records, by name, to add with it."""


def records_of(store: Store, kind: str, account: str | None = None) -> list[Record]:
    """Return the records of a kind, in order for one account; of all accounts if ``account`` is None."""
    beginning = f"{kind}-" if account is None else f"{kind}-{_digest(account)}-"
    return [parse_record(name, content) for name, content in store.records(beginning).items()]


def append(store: Store, kind: str, account: str, write: Callable[[Sequence[Record]], Written | None]) -> Record | None:
    """Add a record to those of an account, and return it once it is durable.

    ``write`` builds it from the existing records, and is called again if another was added meanwhile; None adds
    nothing. It may be slow: no lock is held meanwhile.
    """
    while True:
        before = records_of(store, kind, account)
        written = write(before)
        if written is None:
            return None
        record, beside = written
        event = Draft(_ACTS[kind], str(record["entry"]), account)
        if store.add_records(lambda: _files(store, kind, account, before, record, beside), event):  # noqa: B023 - called here
            return record


def _files(
    store: Store, kind: str, account: str, before: Sequence[Record], record: Record, beside: Mapping[str, bytes]
) -> dict[str, bytes] | None:
    """Return the files to add; None if other records of the account were added after ``before`` was read."""
    if len(records_of(store, kind, account)) != len(before):
        return None
    name = f"{kind}-{_digest(account)}-{len(before) + 1:06d}.json"
    return {**{key: content for key, content in beside.items() if not store.records(key)}, name: record_bytes(record)}


def record_bytes(record: Mapping[str, Any]) -> bytes:
    """Encode a record."""
    return json.dumps(record, indent=1, ensure_ascii=False).encode()


@lru_cache(maxsize=100_000)
def parse_record(name: str, content: bytes) -> Record:
    """Parse a record (cached); InvalidInput if damaged, since feedback on withheld labels depends on all records."""
    try:
        read = parse_json(content)
    except ValueError as error:
        raise InvalidInput(
            Problem("a record of the store is damaged", name, cure="restore it from a backup")
        ) from error
    return dict(read)


def today() -> date:
    """Return today's date in UTC, in which years and quarters are counted."""
    return datetime.now(UTC).date()


def _digest(account: str) -> str:
    return hashlib.sha256(account.encode()).hexdigest()[:16]


class _Shape(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class Released(_Shape):
    """What a round released about an entry on one board.

    ``place``: 1 plus the number of entries shown to be better; ``last_place``: the number of all entries minus those
    shown to be worse. Entries with equal values tie. ``with_leader``: no entry is shown to be better. All three are
    null if the entry lacks a shift. ``since``: the round; ``metric_version``: the version that the scores were computed
    with. Rounds before 0.3 also released scores, which stay: ``targets`` (mean score under shift by target, fractions),
    ``repeated`` (targets whose score is that of an earlier entry of the account) and ``mean``.
    """

    entry: str
    account: str
    targets: dict[str, float] | None = pydantic.Field(default=None, exclude_if=lambda value: value is None)
    repeated: tuple[str, ...] | None = pydantic.Field(default=None, exclude_if=lambda value: value is None)
    mean: float | None = pydantic.Field(default=None, exclude_if=lambda value: value is None)
    place: int | None = None
    last_place: int | None = pydantic.Field(default=None, exclude_if=lambda value: value is None)
    with_leader: bool | None = None
    since: str
    metric_version: str

    @pydantic.model_validator(mode="before")
    @classmethod
    def _drop_tie_letters(cls, content: Any) -> Any:
        """Read rounds of metric version 4 and before, which had tie-group letters in place of ``with_leader``."""
        return (
            {name: value for name, value in content.items() if name != "ties"} if isinstance(content, dict) else content
        )


class ReleasedBoard(_Shape):
    """What a round released on one board: content hash of the data, subset, task, and its entries.

    ``settings`` is the data's settings hash; older rounds have none. ``labels``: digests of the targets' label keys,
    stored in records ``gold-<digest>.bin``. ``n_answers`` questions were answered from the ``n_labels`` labels of the
    ranking half; rounds before 0.3 have neither.
    """

    data: str
    settings: str | None = pydantic.Field(default=None, exclude_if=lambda value: value is None)
    benchmark: str
    subset: str
    task: str
    entries: tuple[Released, ...]
    labels: dict[str, str] = {}
    n_labels: int | None = pydantic.Field(default=None, exclude_if=lambda value: value is None)
    n_answers: int | None = pydantic.Field(default=None, exclude_if=lambda value: value is None)

    @property
    def key(self) -> tuple[str, str, str]:
        """Return content hash, subset and task."""
        return self.data, self.subset, self.task

    @property
    def answers(self) -> int:
        """Count the answers given from the board's labels; each score released by a round before 0.3 counts as one."""
        return sum(len(each.targets or ()) for each in self.entries) if self.n_answers is None else self.n_answers


class LeftOut(_Shape):
    """A nominated entry that a round does not rank, the target responsible (empty: all of them), and the reason."""

    entry: str
    account: str
    task: str
    target: str
    why: str


class Round(_Shape):
    """A closed round."""

    name: str
    closed_on: date
    boards: tuple[ReleasedBoard, ...]
    left_out: tuple[LeftOut, ...] = ()


def round_name(day: date) -> str:
    """Return the name of the round of a day.

    >>> round_name(date(2026, 11, 22))
    '2026-Q4'
    """
    return f"{day.year}-Q{(day.month + 2) // 3}"


def closed_rounds(store: Store) -> list[Round]:
    """Return the closed rounds, the last one last."""
    records = store.records("round-").items()
    try:
        return [Round.model_validate(parse_record(name, content)) for name, content in records]
    except pydantic.ValidationError as error:
        found, cure = str(error.errors()[0])[:200], "restore it from a backup"
        raise InvalidInput(Problem("a round's record is damaged", "store", found, cure)) from error


def last_release(rounds: Iterable[Round], key: tuple[str, str, str]) -> tuple[str, ReleasedBoard] | None:
    """Return the last round that released a board: its name and the board's results; None before the first."""
    every = [(each.name, board) for each in rounds for board in each.boards if board.key == key]
    return every[-1] if every else None
