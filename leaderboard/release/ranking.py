"""One board's nominated entries on the ranking half: their figures, their places, and the possible leaders.

Released figures of random files would show which of them to weigh more in a vote at the next round. Three rules keep
the figures few: an entry that cannot be told apart from guessing has none; an entry that cannot be told apart from the
last figure that its account received on these labels repeats that figure; all others are rounded to steps of two
standard errors (``ladder.round_figure``). Where labels cannot be guessed, a year has only ``history.numbers_a_year``
new figures. Places and the leading set compare exact scores: entries further apart than the step between them keep
their order.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date

import numpy as np
from numpy.typing import NDArray

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.release.halves import both_halves, gold_keys, secret_draws, why_too_small
from shiftbench.leaderboard.release.history import (
    YEAR,
    History,
    Place,
    ReceivedFigure,
    labels_digest,
    labels_record,
    numbers_a_year,
    read_labels,
)
from shiftbench.leaderboard.release.ladder import (
    MIN_STEP,
    STANDARD_ERRORS,
    Measured,
    Rung,
    is_apart,
    paired_error,
    round_figure,
)
from shiftbench.leaderboard.release.measuring import (
    MAX_UNPARSED,
    TOO_MANY_UNPARSED,
    Predicted,
    can_be_guessed,
    is_complete,
    measure,
    predicted_targets,
    shuffle_predictions,
)
from shiftbench.leaderboard.release.releases import LeftOut, Released, ReleasedBoard, Round
from shiftbench.leaderboard.store import Entry, Store
from shiftbench.scoring.scores.score import token_encoder
from shiftbench.scoring.scores.shape import METRIC_VERSION
from shiftbench.validation.report import InvalidInput

_DRAWS, _SEED = 10_000, 18


def steps_between(entries: Sequence[Sequence[Measured]]) -> NDArray[np.float64]:
    """Return how far the mean scores of every two entries must lie apart to be told apart, shape (k, k).

    Args:
        entries: of each of k entries its scores on the same targets, whose groups are drawn apart from each other.
    """
    steps = np.full((len(entries), len(entries)), MIN_STEP)
    for row, first in enumerate(entries):
        for column, second in enumerate(entries[:row]):
            errors = [paired_error(*pair) for pair in zip(first, second, strict=True)]
            error = float(np.sqrt(np.square(errors).sum())) / len(errors)
            steps[row, column] = steps[column, row] = max(MIN_STEP, STANDARD_ERRORS * error)
    return steps


def places(scores: Sequence[float], steps: NDArray[np.float64]) -> list[int]:
    """Return the place of each entry: 1 plus the number of entries ahead by more than a step.

    >>> places([0.70, 0.695, 0.60], np.full((3, 3), 0.01))
    [1, 1, 3]
    """
    ahead = np.subtract.outer(scores, scores) < -steps  # [i, j]: entry j is ahead of entry i
    return [1 + int(row.sum()) for row in ahead]


def leading_set(entries: Sequence[Sequence[Measured]]) -> list[bool]:
    """Find the entries that cannot be told apart from the one with the highest score, that one included.

    Ties between pairs are not transitive, so there is one set, as on boards of public labels (``metrics.ranking``): the
    leader was chosen as the best of all, so an entry is apart from it by more than a multiple of their paired standard
    error, the 95% quantile of the largest of all entries' standardised differences from it; never by less than a step.

    Args:
        entries: of each of k entries its scores on the same targets, as ``steps_between`` takes them.
    Returns: a mark for each entry. They tell less than what every two entries' steps would: which of the set leads is
        not among it, nor how its other entries compare.
    """
    if not entries:
        return []
    scores = np.array([np.mean([each.value for each in entry]) for entry in entries])
    leader = int(scores.argmax())
    moved = np.array([_influences(entries[leader], entry) for entry in entries])
    errors = np.sqrt((moved**2).sum(axis=1))
    differs = errors > 0
    multiple = STANDARD_ERRORS
    if differs.any():
        standardised = moved[differs] / errors[differs, None]
        # Correlated normal variables: what every entry's difference from the leader would be by chance.
        drawn = np.random.default_rng(_SEED).standard_normal((_DRAWS, moved.shape[1]), dtype=np.float32)
        largest = np.abs(drawn @ standardised.T.astype(np.float32)).max(axis=1)
        multiple = max(multiple, float(np.quantile(largest, 0.95)))
    return [bool(tied) for tied in scores[leader] - scores <= np.maximum(MIN_STEP, multiple * errors)]


def _influences(leader: Sequence[Measured], entry: Sequence[Measured]) -> NDArray[np.float64]:
    """Compute each group's influence, target by target, on the difference of two mean scores (jackknife)."""
    parts = []
    for first, second in zip(leader, entry, strict=True):
        apart = first.without - second.without
        parts.append((apart.mean() - apart) * np.sqrt((apart.size - 1) / apart.size) / len(leader))
    return np.concatenate(parts)


DECIMALS = 3
"""Decimals of a released mean, a fraction."""


@dataclass
class Scored:
    """An entry on the ranking half: its predictions and scores by target, and whether it is complete."""

    entry: Entry
    predicted: dict[str, Predicted] = field(default_factory=dict)
    measured: dict[str, Measured] = field(default_factory=dict)
    is_complete: bool = False


class Ranking:
    """One board in one round."""

    def __init__(
        self,
        store: Store,
        folder: DatasetFolder,
        task: str,
        subset: str,
        *,
        closed: Sequence[Round],
        histories: dict[str, History],
        name: str,
        day: date,
    ) -> None:
        """Find the board's targets, their labels, and what earlier rounds released of them."""
        self.store, self.folder, self.task, self.subset = store, folder, task, subset
        self.histories, self.name, self.day = histories, name, day
        self.info = folder.task(task)
        self.title = f"{folder.manifest.benchmark}/{task}"
        tested = [target for target, facts in self.info.domains.items() if "test" in facts.splits]
        self.targets = [each for each in tested if not why_too_small(folder, task, subset, each)]
        """Targets with enough texts in both halves; nothing is released of others."""
        self.labels = {each: gold_keys(both_halves(folder, task, subset, each)) for each in self.targets}
        self.left_out: list[LeftOut] = []
        key = (folder.content_hash, subset, task)
        self.earlier: dict[str, Released] = {}
        for each in closed:
            self.earlier |= {old.entry: old for board in each.boards if board.key == key for old in board.entries}

    def board(self, entries: Iterable[Entry]) -> ReleasedBoard | None:
        """Rank entries; None where nothing can be released: no target has enough texts, or no entry is sound."""
        scored = [each for entry in entries if (each := self._score_entry(entry)) is not None] if self.targets else []
        if not scored:
            return None
        return ReleasedBoard(
            data=self.folder.content_hash,
            settings=self.folder.version.settings,
            benchmark=self.folder.manifest.benchmark,
            subset=self.subset,
            task=self.task,
            entries=self._ranked(scored),
            labels={target: labels_digest(keys) for target, keys in self.labels.items()},
        )

    def records(self) -> dict[str, bytes]:
        """Return the records of label keys that the board names."""
        return {labels_record(labels_digest(keys)): keys.tobytes() for keys in self.labels.values()}

    def _ranked(self, scored: Sequence[Scored]) -> tuple[Released, ...]:
        figures = {each.entry.id: self._released_figures(each) for each in scored}
        ranked = [each for each in scored if figures[each.entry.id].mean is not None and each.is_complete]
        scores = [sum(one.value for one in each.measured.values()) / len(each.measured) for each in ranked]
        measured = [[one for _, one in sorted(each.measured.items())] for each in ranked]
        placed = places(scores, steps_between(measured))
        for each, place, leads in zip(ranked, placed, leading_set(measured), strict=True):
            standing = {"place": place, "with_leader": leads}
            figures[each.entry.id] = figures[each.entry.id].model_copy(update=standing)
        return tuple(
            sorted(figures.values(), key=lambda each: (each.place is None, each.place, -(each.mean or 0), each.entry))
        )

    def _score_entry(self, entry: Entry) -> Scored | None:
        """Score an entry on each target; None where its files are damaged, which is recorded and stops nobody else."""
        try:
            rows = self.store.checked_rows(entry.id, self.folder)
        except InvalidInput as error:
            self._leave_out(entry, "", damage(error))
            return None
        predicted = predicted_targets(rows, self.task, self.info)
        scored = Scored(entry, {target: each for target, each in predicted.items() if target in self.targets})
        for target, each in scored.predicted.items():
            measured = None
            if each.unparsed > MAX_UNPARSED:
                self._leave_out(entry, target, TOO_MANY_UNPARSED)
            else:
                measured = self._measure(each, target)
            if measured is not None:
                scored.measured[target] = measured
        scored.is_complete = is_complete(predicted, self.info) and scored.measured.keys() == scored.predicted.keys()
        return scored

    def _released_figures(self, scored: Scored) -> Released:
        """Return an entry's released figures, without its place: the earlier ones, or otherwise its figures now."""
        entry = scored.entry
        if entry.id in self.earlier:
            return self.earlier[entry.id].model_copy(update={"place": None, "with_leader": None})
        figures, repeated = {}, []
        for target, measured in sorted(scored.measured.items()):
            last = self._last_released(entry, target)
            is_repeated = last is not None and not is_apart(measured, last)
            if not is_repeated and self._is_used_up(entry, target):
                self._leave_out(
                    entry, target, "its account has received all figures that rounds release on these labels in a year"
                )
                continue
            figure = self._figure(scored, target, measured, last)
            if figure is None:
                self._leave_out(entry, target, "it cannot be told apart from guessing")
                continue
            figures[target] = figure
            if is_repeated:
                repeated.append(target)
            else:
                telling = ReceivedFigure(self._place(target), entry.id, figure, self.day, self.labels[target])
                self.histories.setdefault(entry.submitter, History([])).add(telling)
        is_whole = scored.is_complete and figures.keys() == scored.measured.keys()
        return Released(
            entry=entry.id,
            account=entry.submitter,
            targets=figures,
            repeated=tuple(repeated),
            mean=round(sum(figures.values()) / len(figures), DECIMALS) if is_whole and figures else None,
            place=None,
            with_leader=None,
            since=self.name,
            metric_version=METRIC_VERSION,
        )

    def _is_used_up(self, entry: Entry, target: str) -> bool:
        labels = self.labels[target]
        limit = numbers_a_year(labels.size, can_be_guessed=can_be_guessed(self.info))
        history = self.histories.get(entry.submitter, History([]))
        return history.label_access_count(labels, self.day - YEAR) >= limit

    def _figure(self, scored: Scored, target: str, measured: Measured, last: Rung | None) -> float | None:
        guess = None
        if can_be_guessed(self.info):
            draws = secret_draws(self.folder, "round", scored.entry.id, self.task, target)
            guess = self._measure(shuffle_predictions(scored.predicted[target], draws), target)
        first = secret_draws(self.folder, "round", self.name, self.task, target).random()
        return round_figure(measured, last, guess, first)

    def _last_released(self, entry: Entry, target: str) -> Rung | None:
        """Return the figures that rounds released last to an account on these labels, with the scores behind them."""
        history = self.histories.get(entry.submitter, History([]))
        last = history.last(self.labels[target])
        if last is None or last.number is None:
            return None
        return Rung(last.number, self._score_of(last.entry, target) if last.place == self._place(target) else None)

    def _score_of(self, identity: str, target: str) -> Measured | None:
        try:
            rows = self.store.checked_rows(identity, self.folder)
        except InvalidInput:  # the earlier entry was damaged since, so only its released number is compared with
            return None
        return self._measure(predicted_targets(rows, self.task, self.info)[target], target)

    def _measure(self, predicted: Predicted, target: str) -> Measured | None:
        encoder = token_encoder(self.folder)
        return measure(predicted, self.folder, self.task, self.subset, target, feedback=False, encoder=encoder)

    def _place(self, target: str) -> Place:
        return self.folder.content_hash, self.subset, self.task, target

    def _leave_out(self, entry: Entry, target: str, why: str) -> None:
        left_out = LeftOut(entry=entry.id, account=entry.submitter, task=self.title, target=target, why=why)
        self.left_out.append(left_out)


def damage(error: InvalidInput) -> str:
    """Format for a round's record why an entry's files could not be read, without a path of the server."""
    return f"its files are damaged: {error.problems[0].what}"


def round_histories(store: Store, closed: Sequence[Round]) -> dict[str, History]:
    """Return the figures that rounds released to each account, in order; repeated figures are left out."""
    boards = [(each, board) for each in closed for board in each.boards]
    labels = read_labels(store, {digest for _, board in boards for digest in board.labels.values()})
    histories: dict[str, History] = {}
    for each, board in boards:
        for entry in board.entries:
            new_figures = entry.targets.items() if entry.since == each.name else ()
            for target, number in new_figures:
                if target in entry.repeated or target not in board.labels:
                    continue
                place = (*board.key, target)
                telling = ReceivedFigure(place, entry.entry, number, each.closed_on, labels[board.labels[target]])
                histories.setdefault(entry.account, History([])).add(telling)
    return histories
