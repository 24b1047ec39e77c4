"""One board's nominated entries in a round: which of them the ranking half separates.

A round answers a few yes-or-no questions about a board, and releases nothing else: *is every entry above this cut
better than every entry below it?* k such answers reveal at most k bits, however many accounts take part, so an attacker
gains at most ``highest_gain``. Therefore the number of answers is limited, not that of accounts: one per round for
every 1,000 labels. Cuts are proposed from the feedback half, which costs no bit of the ranking half. A proposal that
the ranking half does not confirm releases only that fact. Entries between the two sides of a cut are not separated
from either side.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.release.halves import GoldKeys, both_halves, gold_keys, half_of, why_too_small
from shiftbench.leaderboard.release.history import labels_digest, labels_record, read_labels
from shiftbench.leaderboard.release.ladder import MIN_STEP, STANDARD_ERRORS, Measured
from shiftbench.leaderboard.release.measuring import Predicted, is_complete, measure, predicted_targets
from shiftbench.leaderboard.release.releases import LeftOut, Released, ReleasedBoard
from shiftbench.leaderboard.store import Entry, Store
from shiftbench.scoring.scores.score import token_encoder
from shiftbench.scoring.scores.shape import METRIC_VERSION
from shiftbench.validation.report import InvalidInput

ROUNDS_PER_YEAR = 4
LABELS_PER_ANSWER = 1_000
"""Number of labels of the ranking half per answer of a round."""
_MARGINS = (0.5, 1.0, 1.5, 2.0, 3.0)
"""Margins, in steps on the feedback half, between the entries on both sides of a proposed cut."""


def answers_per_round(n_labels: float) -> int:
    """Return how many cuts a round may test with ``n_labels`` labels in the ranking half.

    >>> [answers_per_round(n) for n in (500, 1_999, 2_000, 5_000)]
    [1, 1, 2, 5]
    """
    return max(1, int(n_labels // LABELS_PER_ANSWER))


def highest_gain(n_answers: int, n_labels: float) -> float:
    """Return an upper bound on the mean gain from yes-or-no answers about labels, as a fraction of the labels.

    Args:
        n_answers: number k of answers that depend on the labels.
        n_labels: effective number n of independent labels (``ranking_labels``).

    k answers contain at most k ln 2 nats. To an attacker the labels are independent, so the information about each
    label adds up to no more than that, and by Pinsker's inequality sqrt(nats / 2) bounds the increase in the
    probability of guessing a label. With Jensen's inequality over n labels: sqrt(k ln 2 / (2 n)). The bound holds for
    any number of accounts and classes, any strategy and any prior knowledge that leaves labels independent of each
    other.
    Source: Russo and Zou, Controlling Bias in Adaptive Data Analysis Using Information Theory (AISTATS 2016), prop. 1.

    >>> [round(100 * highest_gain(4 * answers_per_round(n), n), 1) for n in (500, 1_000, 2_000, 5_000)]
    [5.3, 3.7, 3.7, 3.7]
    """
    return float(np.sqrt(n_answers * np.log(2) / (2 * n_labels)))


def steps_between(entries: Sequence[Sequence[Measured]]) -> NDArray[np.float64]:
    """Return, for each pair of entries, the difference at which their mean scores count as different, shape (k, k).

    This step is a point, or two standard errors of the difference (delete-one-group jackknife) if larger.

    Args:
        entries: the scores of k entries on the same targets; groups are sampled independently per target.
    """
    variances = np.zeros((len(entries), len(entries)))
    for scores in zip(*entries, strict=True):
        without = np.array([each.without for each in scores])  # (k, groups)
        centred = without - without.mean(axis=1, keepdims=True)
        products = centred @ centred.T
        squares = np.diag(products)
        n_groups = without.shape[1]
        variances += (n_groups - 1) / n_groups * np.maximum(squares[:, None] + squares - 2 * products, 0)
    n_targets = max(1, len(entries[0])) if entries else 1
    return np.maximum(MIN_STEP, STANDARD_ERRORS * np.sqrt(variances) / n_targets)


@dataclass(frozen=True)
class Cut:
    """A question of a round: is each entry of ``above`` better by a step than each of ``below``? Indices of entries."""

    above: tuple[int, ...]
    below: tuple[int, ...]

    def is_confirmed(self, scores: NDArray[np.float64], steps: NDArray[np.float64]) -> bool:
        """Return the answer: the only result computed from labels of the ranking half that a round releases."""
        pairs = np.ix_(self.above, self.below)
        return bool((np.subtract.outer(scores, scores)[pairs] > steps[pairs]).all())


def propose_cuts(scores: NDArray[np.float64], steps: NDArray[np.float64], limit: int) -> list[Cut]:
    """Choose the cuts that separate most pairs of entries in expectation.

    Each cut lies where entries differ by a multiple of a step; a wider margin separates fewer pairs but is confirmed
    more often. Copies of entries, however many, may move a cut, but do not add one.

    Args:
        scores: the scores of k entries on the feedback half, shape (k,).
        steps: smallest difference at which two entries count as different there, shape (k, k).
        limit: maximum number of cuts.
    Returns: at most ``limit`` cuts, the most informative first; none if no pair of entries is a step apart.
    """
    order = np.argsort(-scores, kind="stable")
    ahead = np.subtract.outer(scores[order], scores[order])
    candidates = []
    for margin in _MARGINS:
        # Row a: the entries that each of the first a + 1 entries is ahead of.
        behind_all = np.logical_and.accumulate(ahead > margin * steps[np.ix_(order, order)], axis=0)
        chance = NormalDist().cdf((margin - 1) * STANDARD_ERRORS / np.sqrt(2))
        for last, row in enumerate(behind_all):
            first_below = row.size - int(np.logical_and.accumulate(row[::-1]).sum())
            if first_below < row.size:
                candidates.append((last + 1, first_below, chance))
    # Greedy: each cut is chosen for the pairs that the previous cuts probably leave undecided.
    undecided = np.ones_like(ahead)
    cuts: list[Cut] = []
    while candidates and len(cuts) < limit:
        worth = [chance * undecided[:above, below:].sum() for above, below, chance in candidates]
        best = int(np.argmax(worth))
        above, below, chance = candidates[best]
        if not worth[best]:
            break
        cuts.append(Cut(tuple(order[:above].tolist()), tuple(order[below:].tolist())))
        undecided[:above, below:] *= 1 - chance
        candidates.pop(best)
    return cuts


def rank_ranges(n_entries: int, confirmed: Iterable[Cut]) -> list[tuple[int, int]]:
    """Return each entry's best and worst possible rank, 1-based, given the confirmed cuts.

    >>> rank_ranges(4, [Cut((0,), (2, 3))])
    [(1, 2), (1, 4), (2, 4), (2, 4)]
    """
    ahead = np.zeros((n_entries, n_entries), dtype=bool)
    for cut in confirmed:
        ahead[np.ix_(cut.above, cut.below)] = True
    return [
        (1 + int(by_others.sum()), n_entries - int(others.sum()))
        for by_others, others in zip(ahead.T, ahead, strict=True)
    ]


@dataclass(frozen=True)
class Scored:
    """An entry with its score on each half of each target."""

    entry: Entry
    feedback: Sequence[Measured]
    ranking: Sequence[Measured]


@dataclass
class AnswersGiven:
    """Numbers of answers given, with the labels that they depend on."""

    boards: list[tuple[GoldKeys, int]] = field(default_factory=list)

    @classmethod
    def of(cls, store: Store, boards: Iterable[ReleasedBoard]) -> "AnswersGiven":
        """Count the answers of released boards."""
        boards = list(boards)
        labels = read_labels(store, {digest for board in boards for digest in board.labels.values()})
        return cls(
            [(all_labels(labels[digest] for digest in board.labels.values()), board.answers) for board in boards]
        )

    def add(self, labels: GoldKeys, n_answers: int) -> None:
        """Record the number of answers on a board."""
        self.boards.append((labels, n_answers))

    def on(self, labels: GoldKeys) -> int:
        """Count the answers that may depend on any of ``labels``; those on a board depend on all its labels."""
        return sum(n for others, n in self.boards if np.isin(labels, others, assume_unique=True).any())


def all_labels(parts: Iterable[GoldKeys]) -> GoldKeys:
    """Return the unique keys of several targets' labels."""
    return np.unique(np.concatenate([np.array([], dtype=np.uint64), *parts]))


class Ranking:
    """One board in one round."""

    def __init__(
        self, store: Store, folder: DatasetFolder, task: str, subset: str, *, given: AnswersGiven, name: str
    ) -> None:
        """Find the board's targets and their labels; ``given`` has the answers of earlier rounds and boards."""
        self.store, self.folder, self.task, self.subset = store, folder, task, subset
        self.given, self.name = given, name
        self.info = folder.task(task)
        self.title = f"{folder.manifest.benchmark}/{task}"
        self.targets = ranked_targets(folder, task, subset)
        self.keys = {each: gold_keys(both_halves(folder, task, subset, each)) for each in self.targets}
        self.labels = all_labels(self.keys.values())
        self.left_out: list[LeftOut] = []

    def board(self, entries: Iterable[Entry]) -> ReleasedBoard | None:
        """Rank entries; None if nothing can be released: no target has enough texts, or no entry is readable."""
        found = [each for entry in entries if (each := self._score_entry(entry)) is not None] if self.targets else []
        if not found:
            return None
        ranked = [each for each in found if isinstance(each, Scored)]
        n_labels = ranking_labels(self.folder, self.task, self.subset)
        limit = answers_per_round(n_labels)
        left = max(0, min(limit, ROUNDS_PER_YEAR * limit - self.given.on(self.labels)))
        cuts = propose_cuts(*_scores_and_steps([each.feedback for each in ranked]), left)
        scores, steps = _scores_and_steps([each.ranking for each in ranked])
        placed = rank_ranges(len(ranked), [cut for cut in cuts if cut.is_confirmed(scores, steps)])
        self.given.add(self.labels, len(cuts))
        standing = {each.entry.id: place for each, place in zip(ranked, placed, strict=True)}
        released = [self._released(each if isinstance(each, Entry) else each.entry, standing) for each in found]
        return ReleasedBoard(
            data=self.folder.content_hash,
            settings=self.folder.version.settings,
            benchmark=self.folder.manifest.benchmark,
            subset=self.subset,
            task=self.task,
            entries=tuple(sorted(released, key=_in_order)),
            labels={target: labels_digest(keys) for target, keys in self.keys.items()},
            n_labels=round(n_labels),
            n_answers=len(cuts),
        )

    def _released(self, entry: Entry, standing: Mapping[str, tuple[int, int]]) -> Released:
        first, last = standing.get(entry.id, (None, None))
        return Released(
            entry=entry.id,
            account=entry.submitter,
            place=first,
            last_place=last,
            with_leader=None if first is None else first == 1,
            since=self.name,
            metric_version=METRIC_VERSION,
        )

    def records(self) -> dict[str, bytes]:
        """Return the records with the board's label keys."""
        return {labels_record(labels_digest(keys)): keys.tobytes() for keys in self.keys.values()}

    def _score_entry(self, entry: Entry) -> Scored | Entry | None:
        """Score an entry; return it unscored if a shift or score is missing, and None if its files are damaged."""
        try:
            rows = self.store.checked_rows(entry.id, self.folder)
        except InvalidInput as error:
            self._leave_out(entry, "", damage(error))
            return None
        predicted = predicted_targets(rows, self.task, self.info)
        if not is_complete(predicted, self.info):
            self._leave_out(entry, "", "some shifts used for ranking are missing")
            return entry
        halves: dict[bool, list[Measured]] = {True: [], False: []}
        for target in self.targets:
            for feedback, found in halves.items():
                score = self._measure(predicted[target], target, feedback=feedback)
                if score is None:
                    self._leave_out(entry, target, "its score is undefined on these texts")
                    return entry
                found.append(score)
        return Scored(entry, halves[True], halves[False])

    def _measure(self, predicted: Predicted, target: str, *, feedback: bool) -> Measured | None:
        encoder = token_encoder(self.folder)
        return measure(predicted, self.folder, self.task, self.subset, target, feedback=feedback, encoder=encoder)

    def _leave_out(self, entry: Entry, target: str, why: str) -> None:
        left_out = LeftOut(entry=entry.id, account=entry.submitter, task=self.title, target=target, why=why)
        self.left_out.append(left_out)


def _in_order(released: Released) -> tuple[float, float, str]:
    first, last = released.place, released.last_place
    return (np.inf, np.inf, released.entry) if first is None or last is None else (first, last, released.entry)


def ranked_targets(folder: DatasetFolder, task: str, subset: str) -> list[str]:
    """List the targets that rounds rank by: those with enough texts in both halves."""
    tested = [target for target, facts in folder.task(task).domains.items() if "test" in facts.splits]
    return [each for each in tested if not why_too_small(folder, task, subset, each)]


def ranking_labels(folder: DatasetFolder, task: str, subset: str) -> float:
    """Return the effective number of labels behind a board's score on the ranking half.

    Labels of one group may be correlated, so a group counts as one label, weighted by its share of texts in the mean
    over targets. Groups of weights w count as 1 / sum(w^2) (Kish). 0.0 for a board without a target that is large
    enough.
    """
    targets = ranked_targets(folder, task, subset)
    squares = 0.0
    for target in targets:
        sizes = half_of(folder, task, subset, target, feedback=False)["group"].value_counts()["count"].to_numpy()
        squares += float(np.square(sizes / sizes.sum() / len(targets)).sum())
    return 1 / squares if targets else 0.0


def _scores_and_steps(entries: Sequence[Sequence[Measured]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean over targets of each entry, and the steps between entries."""
    return np.array([np.mean([each.value for each in entry]) for entry in entries]), steps_between(entries)


def damage(error: InvalidInput) -> str:
    """Format for a round's record why an entry's files could not be read, without any server path."""
    return f"its files are damaged: {error.problems[0].what}"
