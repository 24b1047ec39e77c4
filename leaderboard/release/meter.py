"""The public meter of withheld labels: upper bound on what accounts that pool all feedback so far could have gained.

There is one bound per half, on the mean gain over attacks; neither depends on any label. Every account gets feedback
from the feedback half, so its bound rises with every account. The bound of the ranking half rises only with rounds
(``ranking.highest_gain``).
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.release.halves import both_halves, gold_keys, half_of
from shiftbench.leaderboard.release.history import read_labels
from shiftbench.leaderboard.release.measuring import can_be_guessed
from shiftbench.leaderboard.release.ranking import (
    AnswersGiven,
    all_labels,
    highest_gain,
    ranked_targets,
    ranking_labels,
)
from shiftbench.leaderboard.release.releases import closed_rounds, records_of
from shiftbench.leaderboard.store import Store

GAIN_PER_ROOT = 0.3
"""Factor c of the bound c * sqrt(answers / texts) on the gain of colluding accounts on the feedback half: the maximum
over all simulated attacks (``python -m benchmarks labels``; tests compare)."""
EXACT_PER_ROOT = float(1 / np.sqrt(2 * np.pi))
"""The same factor if labels cannot be guessed: random files vote on each label, weighted by their exact scores."""
SAFE_LABELS = 1_000
"""Number of labels in the ranking half below which collusion of accounts cannot be excluded."""


@dataclass(frozen=True)
class Meter:
    """Bounds on what feedback and rounds have revealed about a board's withheld labels so far.

    Attributes:
        feedback_answers: number of answers that all accounts received, on the most used target.
        feedback_gain: bound on the gain from pooling these answers, on that target's feedback half; a fraction.
        n_labels: effective number of labels in the ranking half (``ranking.ranking_labels``).
        round_answers: number of answers of all rounds so far on these labels.
        round_gain: bound on the gain from pooling the rounds' answers, on the ranking half; a fraction.
    """

    feedback_answers: int
    feedback_gain: float
    n_labels: int
    round_answers: int
    round_gain: float

    @property
    def may_collude(self) -> bool:
        """Return whether the ranking half is too small to exclude collusion."""
        return self.n_labels < SAFE_LABELS


def gain_by_feedback(n_answers: int, n_texts: int, n_classes: int, *, is_guessable: bool = True) -> float:
    """Return the largest mean gain from pooled feedback, as a fraction of the texts of a half.

    Args:
        n_answers: number of scores that all accounts received on these texts.
        n_texts: number of texts in the feedback half.
        n_classes: number of classes; the gain is at most 1 - 1 / n_classes, from uniform guessing to a perfect score.
        is_guessable: whether labels can be guessed, so that a file must beat guessing (the lower rate).

    >>> [round(100 * gain_by_feedback(12 * accounts, 2_000, 2), 1) for accounts in (1, 4, 20, 100)]
    [2.3, 4.6, 10.4, 23.2]
    """
    rate = GAIN_PER_ROOT if is_guessable else EXACT_PER_ROOT
    return float(min(rate * np.sqrt(n_answers / n_texts), 1 - 1 / max(2, n_classes)))


def read_meter(store: Store, folder: DatasetFolder, task: str, subset: str) -> Meter | None:
    """Return the meter of a board; None if no target has enough texts in each half.

    Answers on the same labels count even if they were given for another task, subset or version of the data.
    """
    targets = ranked_targets(folder, task, subset)
    if not targets:
        return None
    info = folder.task(task)
    answered = Counter(each["gold"] for look in records_of(store, "look") for each in look["told"])
    labels = read_labels(store, answered)
    asked = AnswersGiven([(labels[digest], number) for digest, number in answered.items()])
    rounds = AnswersGiven.of(store, [board for closed in closed_rounds(store) for board in closed.boards])
    keys = {target: gold_keys(both_halves(folder, task, subset, target)) for target in targets}
    spent = []
    for target in targets:
        n_answers = asked.on(keys[target])
        n_texts = half_of(folder, task, subset, target, feedback=True).height
        gain = gain_by_feedback(n_answers, n_texts, len(info.labels or ()), is_guessable=can_be_guessed(info))
        spent.append((gain, n_answers))
    feedback_gain, feedback_answers = max(spent)
    n_labels, round_answers = ranking_labels(folder, task, subset), rounds.on(all_labels(keys.values()))
    return Meter(feedback_answers, feedback_gain, round(n_labels), round_answers, highest_gain(round_answers, n_labels))
