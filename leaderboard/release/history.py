"""The scores on withheld labels that an account has received, counted by label, independent of row ids.

Data come in variants: versions, subsets, tasks that share texts, targets. If each variant had its own Ladder, each
would start without a hurdle, and its first score would reveal about as much as the very first one. Therefore variants
that share labels share one Ladder: a file must beat the best score that its account received on any of them. Comparing
scores of variants with different texts can only release less than one Ladder on the same texts would. Two variants
share a Ladder if they share at least ``MIN_SHARED`` of the smaller one's labels. Below that their Ladders are separate,
but scores that depend on a shared label are still counted together.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np

from shiftbench.leaderboard.release.halves import GoldKeys
from shiftbench.leaderboard.store import Store

LOOKS_PER_YEAR = 12
"""Maximum number of scores depending on one label that an account may receive in 365 days."""
YEAR = timedelta(days=365)
LABELS_PER_SCORE = 1_000
"""If labels cannot be guessed, a year allows one score per this many labels (of both halves)."""
MIN_SHARED = 0.05
"""Two variants share a Ladder if they share at least this fraction of the smaller one's labels."""
_LABELS_PREFIX = "gold-"
Variant = tuple[str, str, str, str]
"""A variant: content hash of the data, subset, task and target."""


@dataclass(frozen=True)
class ReceivedScore:
    """One score (None if there was no new one) that an account received for an entry of a variant.

    ``labels`` are the keys of all labels of the variant, in both halves, so that counts by label do not reveal a half.
    """

    variant: Variant
    entry: str
    number: float | None
    day: date
    labels: GoldKeys


def scores_per_year(n_labels: int, *, can_be_guessed: bool) -> int:
    """Return how many scores that depend on one label an account may receive in 365 days.

    ``n_labels`` counts both halves. If labels can be guessed, a file must beat guessing, so nobody can improve without
    knowledge. If they cannot, as in question answering, a submitter can replace more and more answers with certainly
    wrong ones: each score then reveals how good the remaining answers are. Combining k exact scores on n binary labels
    by majority vote gains sqrt(k / (2 pi n)): at most 1.8 points with one score for every 500 labels of a half.
    """
    return LOOKS_PER_YEAR if can_be_guessed else min(LOOKS_PER_YEAR, n_labels // LABELS_PER_SCORE)


class History:
    """All scores that one account received, in order."""

    def __init__(self, received: Iterable[ReceivedScore]) -> None:
        self.received = list(received)

    def add(self, score: ReceivedScore) -> None:
        """Add a score that is released now."""
        self.received.append(score)

    def label_access_count(self, labels: GoldKeys, after: date) -> int:
        """Return how many scores the account received on one of these labels after a day: the maximum over labels."""
        counts = np.zeros(labels.size, dtype=np.int64)
        for each in self.received:
            if each.day > after:
                counts += np.isin(labels, each.labels)
        return int(counts.max(initial=0))

    def best(self, labels: GoldKeys, variant: Variant) -> ReceivedScore | None:
        """Return the best score received on variants that share enough labels with these; ties prefer ``variant``."""
        return max(self._shared(labels), key=lambda each: (each.number, each.variant == variant), default=None)

    def _shared(self, labels: GoldKeys) -> list[ReceivedScore]:
        numbers = [each for each in self.received if each.number is not None]
        shared = [
            np.intersect1d(each.labels, labels).size / max(1, min(each.labels.size, labels.size)) for each in numbers
        ]
        return [each for each, share in zip(numbers, shared, strict=True) if share >= MIN_SHARED]


def labels_digest(labels: GoldKeys) -> str:
    """Return the digest that identifies labels in records: the SHA-256 of their sorted keys."""
    return hashlib.sha256(labels.tobytes()).hexdigest()


def labels_record(digest: str) -> str:
    """Return the name of the record with the label keys of a digest."""
    return f"{_LABELS_PREFIX}{digest}.bin"


def read_labels(store: Store, digests: Iterable[str]) -> Mapping[str, GoldKeys]:
    """Read the label keys of digests."""
    wanted = set(digests)
    contents: Mapping[str, bytes] = store.records(_LABELS_PREFIX) if wanted else {}
    return {digest: np.frombuffer(contents[labels_record(digest)], dtype=np.uint64) for digest in wanted}
