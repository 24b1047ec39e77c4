"""Feedback between rounds: one number per target and file, from the feedback half, through a Ladder.

A *look* is a number asked of some labels: ``LOOKS_A_YEAR`` for each account and label, whatever task, subset or version
the label stands in. A file sent again gets the answer that it got, and costs no look. What an account was told is a
record of the store, and so are the keys of the labels that the answer depends on:

    ROOT/records/look-<account>-<number>.json   the file, the day, and of each target what was told
    ROOT/records/gold-<digest>.bin              the keys of a target's labels, sorted, 8 bytes each
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np
import polars as pl

from builders.encoder import Encoder
from builders.folder.reader import DatasetFolder
from leaderboard.release.halves import GoldKeys, gold_keys, half_of, released_tasks
from leaderboard.release.ladder import Measured, next_rung, step_between
from leaderboard.release.ledger import Record, Written, append, today
from leaderboard.release.measuring import (
    MAX_UNPARSED,
    Predicted,
    can_be_guessed,
    measure,
    predicted_targets,
    shuffled,
)
from leaderboard.scoring.score import token_encoder
from leaderboard.store import Entry, Store

LOOKS_A_YEAR = 12
"""As many numbers as one account is told in 365 days that depend on one and the same label."""
MIN_TEXTS, MIN_GROUPS = 500, 5
"""Texts and groups that each half of a target must have: of fewer, a step would hide little."""
_YEAR = timedelta(days=365)


@dataclass(frozen=True)
class Told:
    """What an account is told of a file on one target.

    Attributes:
        task, target: names.
        best: the best score of the account's files so far, a fraction in whole points; None before there is one.
        is_new: whether this file set it: it is better than the one before by a step.
        looks_left: further files that the account may ask about these labels within a year.
        why_not: why there is no number for this file; empty where there is one.
    """

    task: str
    target: str
    best: float | None
    is_new: bool
    looks_left: int
    why_not: str = ""


def feedback(store: Store, entry: Entry, folder: DatasetFolder) -> tuple[Told, ...]:
    """Return what the sender of an entry may be told of it; the same file gets the same answer.

    Args:
        store: holds the entry.
        entry: an entry on withheld labels.
        folder: the gold folder that it is for.
    Raises: InvalidInput for a damaged record.
    """
    asked = _Asked(store, entry, folder)
    append(store, "look", entry.submitter, asked.write)
    return tuple(Told(**{name: each[name] for name in Told.__annotations__}) for each in asked.told)


def file_digest(predictions: pl.DataFrame, data: str, subset: str) -> str:
    """Name a file by its predictions alone, in whatever order and with whatever card they come."""
    rows = predictions.select("source", "seed", "id", "prediction").sort("source", "seed", "id")
    digest = hashlib.sha256(f"{data}/{subset}".encode())
    digest.update(rows.write_ndjson().encode())
    return digest.hexdigest()


class _Asked:
    """One file whose sender asks how good it is."""

    def __init__(self, store: Store, entry: Entry, folder: DatasetFolder) -> None:
        self.store, self.entry, self.folder = store, entry, folder
        self.subset = entry.card.subset
        self.predictions = store.checked_rows(entry.id, folder)
        self.file = file_digest(self.predictions, folder.content_hash, self.subset)
        self.encoder: Encoder | None = token_encoder(folder)
        self.measured: dict[tuple[str, str], Measured | None] = {}
        self.told: list[dict[str, Any]] = []

    def write(self, before: Sequence[Record]) -> Written | None:
        """Answer, given the account's earlier looks; returns the record of what is told now, None where nothing is.

        A number that the file got before is its answer for ever, and so is that its score is undefined, which depends
        on labels. Other reasons why it got none may change, and are not recorded.
        """
        day = today()
        counted, golds, new = _Counted(self.store, before, day), {}, []
        known = {_place(each): each for look in before if look["file"] == self.file for each in look["told"]}
        self.told = []
        for task in released_tasks(self.folder):
            for target, predicted in predicted_targets(self.predictions, task, self.folder.task(task)).items():
                each = known.get((task, target))
                if each is None:
                    each, keys = self._told(task, target, predicted, counted, before)
                    if each["gold"] is not None:
                        counted.add(keys)
                        golds[f"gold-{each['gold']}.bin"] = keys.tobytes()
                        new.append(each)
                self.told.append(each)
        facts = {"account": self.entry.submitter, "day": day.isoformat(), "file": self.file, "entry": self.entry.id}
        record = {**facts, "data": self.folder.content_hash, "subset": self.subset, "told": new}
        return (record, golds) if new else None

    def _told(
        self, task: str, target: str, predicted: Predicted, counted: "_Counted", before: Sequence[Record]
    ) -> tuple[dict[str, Any], GoldKeys]:
        half = half_of(self.folder, task, self.subset, target, feedback=True)
        keys = gold_keys(half)
        last = self._last(before, task, target)
        best, rung = (last["best"], last["rung"]) if last else (None, None)
        looks = counted.looks(keys)
        facts = {"task": task, "target": target, "best": best, "rung": rung, "is_new": False, "gold": None}
        why_not = self._why_not(half, task, target, predicted, looks)
        if why_not:
            return {**facts, "looks_left": max(LOOKS_A_YEAR - looks, 0), "why_not": why_not}, keys
        facts |= {"looks_left": LOOKS_A_YEAR - looks - 1, "gold": hashlib.sha256(keys.tobytes()).hexdigest()}
        own = self._measured(task, target, predicted)
        if own is None:
            return {**facts, "why_not": "its score is undefined on these texts"}, keys
        compared = self._compared(task, target, predicted, rung)
        new = None
        if compared is None:
            new = next_rung(own.value, -np.inf, 0.0)
        else:
            new = next_rung(own.value, compared.value if best is None else best, step_between(own, compared))
        if new is not None:
            facts |= {"best": new, "rung": self.entry.id, "is_new": True}
        return {**facts, "why_not": ""}, keys

    def _why_not(self, half: pl.DataFrame, task: str, target: str, predicted: Predicted, looks: int) -> str:
        """Return why a file gets no number on a target; no reason depends on a label."""
        ranking = half_of(self.folder, task, self.subset, target, feedback=False)
        if min(half.height, ranking.height) < MIN_TEXTS:
            return f"fewer than {MIN_TEXTS} texts in a half of the test set"
        if min(part["group"].n_unique() for part in (half, ranking)) < MIN_GROUPS:
            return f"fewer than {MIN_GROUPS} groups of texts in a half of the test set"
        if predicted.unparsed > MAX_UNPARSED:
            return f"more than {100 * MAX_UNPARSED:.0f}% of its outputs are unusable"
        if looks >= LOOKS_A_YEAR:
            return f"all {LOOKS_A_YEAR} looks of a year are used up"
        return ""

    def _last(self, before: Sequence[Record], task: str, target: str) -> dict[str, Any] | None:
        """Return what the account was last told of the target."""
        here = [look for look in before if (look["data"], look["subset"]) == (self.folder.content_hash, self.subset)]
        told = [each for look in here for each in look["told"] if _place(each) == (task, target)]
        return told[-1] if told else None

    def _measured(self, task: str, target: str, predicted: Predicted) -> Measured | None:
        if (task, target) not in self.measured:
            self.measured[task, target] = self._measure(task, target, predicted)
        return self.measured[task, target]

    def _measure(self, task: str, target: str, predicted: Predicted) -> Measured | None:
        return measure(predicted, self.folder, task, self.subset, target, feedback=True, encoder=self.encoder)

    def _compared(self, task: str, target: str, predicted: Predicted, rung: str | None) -> Measured | None:
        """Score what the file must be better than: the best one so far, or the file's own labels dealt at random."""
        info = self.folder.task(task)
        if rung is not None:
            # Withdrawn or not: what an account was told of a file stays what it must be better than.
            rows = self.store.checked_rows(rung, self.folder)
            return self._measure(task, target, predicted_targets(rows, task, info)[target])
        if not can_be_guessed(info):
            return None
        rng = np.random.default_rng([int(self.file[:16], 16), *task.encode(), *target.encode()])
        return self._measure(task, target, shuffled(predicted, rng))


def _place(told: Mapping[str, Any]) -> tuple[str, str]:
    return told["task"], told["target"]


class _Counted:
    """How often an account was told a number that depends on a label, in the 365 days before a day."""

    def __init__(self, store: Store, before: Sequence[Record], day: date) -> None:
        recent = [look for look in before if date.fromisoformat(look["day"]) > day - _YEAR]
        digests = [each["gold"] for look in recent for each in look["told"]]
        contents: Mapping[str, bytes] = store.records("gold-") if digests else {}
        self.seen = [np.frombuffer(contents[f"gold-{digest}.bin"], dtype=np.uint64) for digest in digests]

    def looks(self, keys: GoldKeys) -> int:
        """Count the looks at that one of some labels which was looked at most."""
        counts = np.zeros(keys.size, dtype=np.int64)
        for seen in self.seen:
            counts += np.isin(keys, seen)
        return int(counts.max(initial=0))

    def add(self, keys: GoldKeys) -> None:
        """Count one more look."""
        self.seen.append(keys)
