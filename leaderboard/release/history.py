"""The figures on withheld labels that an account has received, counted by label whatever its id.

Data come in variants: versions, subsets, tasks that share texts, targets. If each variant had its own Ladder, each
would start without a hurdle, and its first number would reveal about as much as the very first one. Therefore variants
that share labels share one Ladder: a file must beat the best number that its account received on any of them. Scores
of variants are compared although their texts differ, which can only release less than one Ladder on the same texts
would. Variants share a Ladder if they share at least the part ``MIN_SHARED`` of the smaller one's labels. Below that
the Ladders are separate, but the figures on a shared label are still counted together.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np

from shiftbench.leaderboard.release.halves import GoldKeys
from shiftbench.leaderboard.store import Store

LOOKS_A_YEAR = 12
"""The most numbers depending on one label that an account receives in 365 days."""
YEAR = timedelta(days=365)
LABELS_A_NUMBER = 1_000
"""Labels of both halves for each number that a year allows where labels cannot be guessed."""
MIN_SHARED = 0.05
"""The smallest shared part of the smaller variant's labels at which two variants share a Ladder."""
_LABELS_PREFIX = "gold-"
Place = tuple[str, str, str, str]
"""A variant: content hash of the data, subset, task and target."""


@dataclass(frozen=True)
class ReceivedFigure:
    """One figure (None where there was no new one) on some labels that an account received for an entry of a variant.

    ``labels`` are keys of all labels of the variant, of both halves, so that counts by label do not reveal a half.
    """

    place: Place
    entry: str
    number: float | None
    day: date
    labels: GoldKeys


def numbers_a_year(n_labels: int, *, can_be_guessed: bool) -> int:
    """Return how many figures that depend on one label an account may receive in 365 days.

    ``n_labels`` are those of both halves. Where labels can be guessed, a file has to be better than guessing, and
    nobody without knowledge climbs. Where they cannot, as of answers to questions, anybody climbs: by answers that are
    surely wrong and that fewer and fewer texts have, so that each number tells how good the others are. Votes of k
    exact numbers on n binary labels gain sqrt(k / (2 pi n)): no more than 1.8 points for a number for every 500 labels
    of a half.
    """
    return LOOKS_A_YEAR if can_be_guessed else min(LOOKS_A_YEAR, n_labels // LABELS_A_NUMBER)


class History:
    """All figures that one account received, in order."""

    def __init__(self, tellings: Iterable[ReceivedFigure]) -> None:
        self.tellings = list(tellings)

    def add(self, telling: ReceivedFigure) -> None:
        """Add a figure that is released now."""
        self.tellings.append(telling)

    def label_access_count(self, labels: GoldKeys, after: date) -> int:
        """Count how often the account received figures on these labels since a day: the highest count of any label."""
        counts = np.zeros(labels.size, dtype=np.int64)
        for each in self.tellings:
            if each.day > after:
                counts += np.isin(labels, each.labels)
        return int(counts.max(initial=0))

    def best(self, labels: GoldKeys, place: Place) -> ReceivedFigure | None:
        """Return the best figure received on labels shared with these; of equal ones that of the same place."""
        return max(self._shared(labels), key=lambda each: (each.number, each.place == place), default=None)

    def _shared(self, labels: GoldKeys) -> list[ReceivedFigure]:
        numbers = [each for each in self.tellings if each.number is not None]
        shared = [
            np.intersect1d(each.labels, labels).size / max(1, min(each.labels.size, labels.size)) for each in numbers
        ]
        return [each for each, share in zip(numbers, shared, strict=True) if share >= MIN_SHARED]


def labels_digest(labels: GoldKeys) -> str:
    """Return the digest by which records refer to some labels: the SHA-256 of their sorted keys."""
    return hashlib.sha256(labels.tobytes()).hexdigest()


def labels_record(digest: str) -> str:
    """Return the name of the record that holds the keys of the labels of a digest."""
    return f"{_LABELS_PREFIX}{digest}.bin"


def read_labels(store: Store, digests: Iterable[str]) -> Mapping[str, GoldKeys]:
    """Read the keys of labels that records refer to by digest."""
    wanted = set(digests)
    contents: Mapping[str, bytes] = store.records(_LABELS_PREFIX) if wanted else {}
    return {digest: np.frombuffer(contents[labels_record(digest)], dtype=np.uint64) for digest in wanted}
