"""Feedback between rounds: one number per target and file, from the feedback half, through a Ladder.

A *look* is one number computed from some labels. Each account has ``scores_per_year`` of them for each label, across
tasks, subsets and versions; the score to beat is shared across them, too (``history``). The same file gets the same
response again, which is not counted. The store records what an account received, and the keys of the labels behind it:

    ROOT/records/look-<account>-<number>.json   the file, the day, and the feedback on each target
    ROOT/records/gold-<digest>.bin              the keys of a target's labels, sorted, 8 bytes each
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import polars as pl

from shiftbench.builders.encoder import Encoder
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.release.halves import (
    GoldKeys,
    both_halves,
    gold_keys,
    released_tasks,
    secret_draws,
    why_too_small,
)
from shiftbench.leaderboard.release.history import (
    YEAR,
    History,
    ReceivedScore,
    Variant,
    labels_digest,
    labels_record,
    read_labels,
    scores_per_year,
)
from shiftbench.leaderboard.release.ladder import Measured, Rung, next_rung
from shiftbench.leaderboard.release.measuring import (
    MAX_UNPARSED,
    TOO_MANY_UNPARSED,
    Predicted,
    can_be_guessed,
    measure,
    predicted_targets,
    shuffle_predictions,
)
from shiftbench.leaderboard.release.releases import Record, Written, append, today
from shiftbench.leaderboard.store import Entry, Store
from shiftbench.scoring.scores.score import token_encoder


@dataclass(frozen=True)
class TargetFeedback:
    """The feedback on a file for one target.

    Attributes:
        task, target: names.
        best: the best number that the account received for these labels so far, for any variant of the data; a fraction
            in whole points; None before the first one.
        is_new: whether ``best`` is this file's, which beat the previous best number by a step.
        looks_left: number of further files that may get feedback on these labels within a year.
        why_not: why this file got no number; empty if it got one.
    """

    task: str
    target: str
    best: float | None
    is_new: bool
    looks_left: int
    why_not: str = ""


def feedback(store: Store, entry: Entry, folder: DatasetFolder) -> tuple[TargetFeedback, ...]:
    """Return the feedback that an entry's submitter may receive; the same file gets the same feedback.

    Raises: InvalidInput for a damaged record.
    """
    asked = _FeedbackRequest(store, entry, folder)
    append(store, "look", entry.submitter, asked.write)
    return tuple(
        TargetFeedback(**{name: each[name] for name in TargetFeedback.__annotations__}) for each in asked.answers
    )


def file_digest(predictions: pl.DataFrame, data: str, subset: str) -> str:
    """Compute a file's digest from its predictions only, independent of row order and card."""
    rows = predictions.select("source", "seed", "id", "prediction").sort("source", "seed", "id")
    digest = hashlib.sha256(f"{data}/{subset}".encode())
    digest.update(rows.write_ndjson().encode())
    return digest.hexdigest()


class _FeedbackRequest:
    """A file for which feedback is requested."""

    def __init__(self, store: Store, entry: Entry, folder: DatasetFolder) -> None:
        self.store, self.entry, self.folder = store, entry, folder
        self.subset = entry.card.subset
        self.predictions = store.checked_rows(entry.id, folder)
        self.file = file_digest(self.predictions, folder.content_hash, self.subset)
        self.encoder: Encoder | None = token_encoder(folder)
        self.measured: dict[tuple[str, str], Measured | None] = {}
        self.answers: list[dict[str, Any]] = []

    def write(self, before: Sequence[Record]) -> Written | None:
        """Compute the feedback, given the account's earlier records; return the new record, or None if nothing is new.

        A score already returned for a file is final, and so is the result that a score is undefined, because both
        depend on labels. Other reasons for returning no score may change, and are not recorded.
        """
        day = today()
        history, labels, new = _history(self.store, before), {}, []
        known = {_target(each): each for look in before if look["file"] == self.file for each in look["told"]}
        self.answers = []
        for task in released_tasks(self.folder):
            for target, predicted in predicted_targets(self.predictions, task, self.folder.task(task)).items():
                each = known.get((task, target))
                if each is None:
                    each, keys = self._feedback_on(task, target, predicted, history, day)
                    if each["gold"] is not None:
                        number = each["best"] if each["is_new"] else None
                        history.add(ReceivedScore(self._variant(task, target), self.entry.id, number, day, keys))
                        labels[labels_record(each["gold"])] = keys.tobytes()
                        new.append(each)
                self.answers.append(each)
        facts = {"account": self.entry.submitter, "day": day.isoformat(), "file": self.file, "entry": self.entry.id}
        data = {"data": self.folder.content_hash, "settings": self.folder.version.settings, "subset": self.subset}
        record: Record = {**facts, **data, "told": new}
        return (record, labels) if new else None

    def _variant(self, task: str, target: str) -> Variant:
        return self.folder.content_hash, self.subset, task, target

    def _feedback_on(
        self, task: str, target: str, predicted: Predicted, history: History, day: date
    ) -> tuple[dict[str, Any], GoldKeys]:
        keys = gold_keys(both_halves(self.folder, task, self.subset, target))
        best, looks = history.best(keys, self._variant(task, target)), history.label_access_count(keys, day - YEAR)
        limit = scores_per_year(keys.size, can_be_guessed=can_be_guessed(self.folder.task(task)))
        facts = {"task": task, "target": target, "best": best and best.number, "is_new": False, "gold": None}
        # None of these reasons depends on a label.
        why_not = why_too_small(self.folder, task, self.subset, target)
        if not why_not and predicted.unparsed > MAX_UNPARSED:
            why_not = TOO_MANY_UNPARSED
        if not why_not and looks >= limit:
            some = f"all {limit} scores" if limit > 1 else "the only score"
            why_not = f"{some} allowed per year on these labels already received"
        if why_not:
            return {**facts, "looks_left": max(limit - looks, 0), "why_not": why_not}, keys
        facts |= {"looks_left": limit - looks - 1, "gold": labels_digest(keys)}
        own = self._measured(task, target, predicted)
        if own is None:
            return {**facts, "why_not": "its score is undefined on these texts"}, keys
        draws = secret_draws(self.folder, "look", self.file, task, target)
        first, guess = draws.random(), None
        if can_be_guessed(self.folder.task(task)):
            guess = self._measure(task, target, shuffle_predictions(predicted, draws))
        number = next_rung(own, self._score_to_beat(task, target, best), guess, first)
        if number is not None:
            facts |= {"best": number, "is_new": True}
        return {**facts, "why_not": ""}, keys

    def _measured(self, task: str, target: str, predicted: Predicted) -> Measured | None:
        if (task, target) not in self.measured:
            self.measured[task, target] = self._measure(task, target, predicted)
        return self.measured[task, target]

    def _measure(self, task: str, target: str, predicted: Predicted) -> Measured | None:
        return measure(predicted, self.folder, task, self.subset, target, feedback=True, encoder=self.encoder)

    def _score_to_beat(self, task: str, target: str, best: ReceivedScore | None) -> Rung | None:
        """Return the score to beat: the best released one and, if for the same variant, its file's exact score."""
        if best is None or best.number is None:
            return None
        if best.variant != self._variant(task, target) or best.entry in self.store.moderation.erased:
            return Rung(best.number)
        # A withdrawn file counts too: the account still has to beat the number released on it.
        rows = self.store.checked_rows(best.entry, self.folder)
        file = predicted_targets(rows, task, self.folder.task(task))[target]
        return Rung(best.number, self._measure(task, target, file))


def _history(store: Store, looks: Sequence[Record]) -> History:
    """Return an account's history from the records of its feedback."""
    asked = [(look, each) for look in looks for each in look["told"]]
    labels = read_labels(store, [each["gold"] for _, each in asked])
    return History(
        ReceivedScore(
            variant=(look["data"], look["subset"], *_target(each)),
            entry=look["entry"],
            number=each["best"] if each["is_new"] else None,
            day=date.fromisoformat(look["day"]),
            labels=labels[each["gold"]],
        )
        for look, each in asked
    )


def _target(answer: Mapping[str, Any]) -> tuple[str, str]:
    return answer["task"], answer["target"]
