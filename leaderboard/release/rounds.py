"""Rounds: four times a year the nominated entries are ranked on the ranking half, of which nothing else is released.

    ROOT/records/nomination-<account>-<number>.json   one entry and task of an account; the last one counts
    ROOT/records/round-<year>-Q<quarter>.json         what the round released, for ever

Boards are rebuilt from entries, but for this: a released figure is what the round's record has, and no later metric,
rescoring or round changes it. An entry that stays nominated keeps the figures that it was released with.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import polars as pl
import pydantic

from builders.folder.reader import DatasetFolder
from leaderboard.release.halves import released_tasks
from leaderboard.release.ladder import Measured
from leaderboard.release.ledger import Record, Written, append, parse_record, record_bytes, records_of, today
from leaderboard.release.measuring import Predicted, is_complete, measure, predicted_targets
from leaderboard.release.ties import places, steps_between, tie_groups
from leaderboard.scoring.score import token_encoder
from leaderboard.scoring.shape import METRIC_VERSION
from leaderboard.store import Entry, Store, folder_of
from validation.report import InvalidInput, Problem, did_you_mean

DECIMALS = 3
"""Decimals of a released fraction: a tenth of a point."""


class _Shape(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class Released(_Shape):
    """What a round released of an entry on one board.

    ``targets``: mean score under shift by target, fractions. ``mean`` over the targets, ``place`` and ``ties`` (letters
    of its tie groups) are there where the entry has every shift that the board ranks by. ``since``: the round that
    released its figures first; ``metric_version``: what they were computed with.
    """

    entry: str
    account: str
    targets: dict[str, float]
    mean: float | None
    place: int | None
    ties: tuple[str, ...]
    since: str
    metric_version: str


class ReleasedBoard(_Shape):
    """What a round released on one board: content hash of the data, subset, and task."""

    data: str
    benchmark: str
    subset: str
    task: str
    entries: tuple[Released, ...]

    @property
    def key(self) -> tuple[str, str, str]:
        """Content hash, subset and task."""
        return self.data, self.subset, self.task


class Round(_Shape):
    """A closed round."""

    name: str
    closed_on: date
    boards: tuple[ReleasedBoard, ...]


def round_name(day: date) -> str:
    """Name the round of a day.

    >>> round_name(date(2026, 11, 22))
    '2026-Q4'
    """
    return f"{day.year}-Q{(day.month + 2) // 3}"


def rounds(store: Store) -> list[Round]:
    """Return the closed rounds, the last one at the end."""
    found = store.records("round-").items()
    try:
        return [Round.model_validate(parse_record(name, content)) for name, content in found]
    except pydantic.ValidationError as error:
        raise InvalidInput(Problem("a round's record is damaged", "store", str(error.errors()[0])[:200])) from error


def last_release(store: Store, key: tuple[str, str, str]) -> tuple[str, ReleasedBoard] | None:
    """Return the name of the last round that released anything on a board, and what; None before the first."""
    every = [(each.name, board) for each in rounds(store) for board in each.boards if board.key == key]
    return every[-1] if every else None


def nominate(store: Store, identity: str, account: str, folders: Sequence[DatasetFolder], task: str = "") -> list[str]:
    """Nominate an entry for the next round: each account has one for a task, the last that it named.

    Args:
        store: holds the entry.
        identity: its id.
        account: who asks; only who sent an entry may nominate it.
        folders: the datasets at hand.
        task: one of its tasks; empty for all of them.
    Returns: the tasks, as ``benchmark/task``.
    Raises: InvalidInput for an entry of somebody else, without such a task, or on public labels.
    """
    entry = store.entry(identity)
    folder = folder_of(entry.card, folders)
    if entry.submitter != account:
        raise InvalidInput(Problem("only who sent an entry may nominate it", identity, cure="sign in as who sent it"))
    if folder.has_public_labels:
        cure = "nothing is to be done: its scores are on the board"
        raise InvalidInput(Problem("rounds are for withheld labels", identity, folder.manifest.benchmark, cure))
    offered = [
        f"{folder.manifest.benchmark}/{name}" for name in entry_tasks(store, entry) & set(released_tasks(folder))
    ]
    chosen = sorted(name for name in offered if not task or task in (name, name.partition("/")[2]))
    if not chosen:
        cure = did_you_mean(task, sorted(offered)) if offered else "submit predictions of a task with a board"
        raise InvalidInput(Problem("the entry has no such task", identity, f"'{task[:80]}'", cure))
    for name in chosen:
        append(store, "nomination", account, lambda before, name=name: _nomination(before, entry, name))  # type: ignore[misc]
    return chosen


def nominated(store: Store) -> dict[tuple[str, str], str]:
    """Return the nominated entries that are not withdrawn, by account and task (``benchmark/task``)."""
    last = {(each["account"], each["task"]): str(each["entry"]) for each in records_of(store, "nomination")}
    present = set(store.ids())
    return {key: identity for key, identity in last.items() if identity in present}


def entry_tasks(store: Store, entry: Entry) -> set[str]:
    """Return the tasks that an entry has predictions of."""
    ids = pl.scan_parquet(store.predictions(entry), glob=False).select(pl.col("id").str.split("/").list.get(1).unique())
    return set(ids.collect()["id"])


def close_round(store: Store, folders: Sequence[DatasetFolder], day: date | None = None) -> Round:
    """Rank the nominated entries on their ranking halves, and write down what that gives, for ever.

    Args:
        store: the store.
        folders: gold folders; boards of other data keep what their last round released.
        day: the day; default today. Its quarter is the round.
    Raises: InvalidInput when the quarter's round is closed, no labels are withheld, or nothing is nominated.
    """
    day = day or today()
    name, withheld = round_name(day), [folder for folder in folders if not folder.has_public_labels]
    file = f"round-{name}.json"
    if store.records(file):
        raise InvalidInput(Problem("the round of this quarter is closed", name, cure="close the next one next quarter"))
    if not withheld:
        raise InvalidInput(Problem("no labels are withheld here", "--data", cure="give the gold folder of a build"))
    by_account = nominated(store)
    boards = [board for folder in withheld for board in _boards(store, folder, by_account, name)]
    if not boards:
        cure = "let submitters nominate: shiftbench nominate ENTRY --to ..."
        raise InvalidInput(Problem("no entry is nominated for these data", name, cure=cure))
    closed = Round(name=name, closed_on=day, boards=tuple(boards))
    store.add_records(lambda: {file: record_bytes(closed.model_dump(mode="json"))})
    return closed


def _nomination(before: Sequence[Record], entry: Entry, task: str) -> Written | None:
    last = next((each for each in reversed(before) if each["task"] == task), None)
    if last is not None and last["entry"] == entry.id:
        return None
    return {"account": entry.submitter, "task": task, "entry": entry.id, "day": today().isoformat()}, {}


def _boards(
    store: Store, folder: DatasetFolder, by_account: Mapping[tuple[str, str], str], name: str
) -> list[ReleasedBoard]:
    """Rank a folder's nominated entries, a board for each task and subset that there are any of."""
    folder.refuse_withheld()
    found = []
    for task in released_tasks(folder):
        mine = [each for (_, title), each in by_account.items() if title == f"{folder.manifest.benchmark}/{task}"]
        entries = [entry for entry in map(store.entry, sorted(mine)) if entry.card.data == folder.content_hash]
        for subset in sorted({entry.card.subset for entry in entries}):
            there = [entry for entry in entries if entry.card.subset == subset]
            facts: dict[str, Any] = {"data": folder.content_hash, "subset": subset, "task": task}
            released = _Ranking(store, folder, task, subset).released(there, name)
            found.append(ReleasedBoard(benchmark=folder.manifest.benchmark, entries=released, **facts))
    return found


class _Ranking:
    """One board's nominated entries on the ranking half."""

    def __init__(self, store: Store, folder: DatasetFolder, task: str, subset: str) -> None:
        self.store, self.folder, self.task, self.subset = store, folder, task, subset
        self.info = folder.task(task)
        key = (folder.content_hash, subset, task)
        self.earlier: dict[str, Released] = {}
        for closed in rounds(store):
            self.earlier |= {each.entry: each for board in closed.boards if board.key == key for each in board.entries}

    def released(self, entries: Sequence[Entry], name: str) -> tuple[Released, ...]:
        measured = {entry.id: self._measured(entry) for entry in entries}
        figures = {entry.id: self._figures(entry, *measured[entry.id], name) for entry in entries}
        ranked = [entry.id for entry in entries if figures[entry.id].mean is not None and measured[entry.id][1]]
        scores = [float(figures[identity].mean or 0) for identity in ranked]
        targets = [[each for _, each in sorted(measured[identity][0].items())] for identity in ranked]
        steps = steps_between(targets)
        ranks = zip(ranked, places(scores, steps), tie_groups(scores, steps), strict=True)
        for identity, place, ties in ranks:
            figures[identity] = figures[identity].model_copy(update={"place": place, "ties": ties})
        return tuple(sorted(figures.values(), key=lambda each: (each.place is None, -(each.mean or 0), each.entry)))

    def _measured(self, entry: Entry) -> tuple[dict[str, Measured], bool]:
        """Score an entry on each target, and say whether it has all that the board ranks by."""
        rows = self.store.checked_rows(entry.id, self.folder)
        predicted = predicted_targets(rows, self.task, self.info)
        found = {target: self._on(each, target) for target, each in predicted.items()}
        known = {target: each for target, each in found.items() if each is not None}
        return known, len(known) == len(found) and is_complete(predicted, self.info)

    def _on(self, predicted: Predicted, target: str) -> Measured | None:
        encoder = token_encoder(self.folder)
        return measure(predicted, self.folder, self.task, self.subset, target, feedback=False, encoder=encoder)

    def _figures(self, entry: Entry, measured: Mapping[str, Measured], complete: bool, name: str) -> Released:
        """Return what is released of an entry: what was before, or else its scores now; without place and ties."""
        if entry.id in self.earlier:
            return self.earlier[entry.id].model_copy(update={"place": None, "ties": ()})
        targets = {target: round(each.value, DECIMALS) for target, each in sorted(measured.items())}
        mean = round(sum(each.value for each in measured.values()) / len(measured), DECIMALS) if complete else None
        return Released(
            entry=entry.id,
            account=entry.submitter,
            targets=targets,
            mean=mean,
            place=None,
            ties=(),
            since=name,
            metric_version=METRIC_VERSION,
        )
