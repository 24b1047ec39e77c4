"""Agreement of single annotators with the majority of the others, and with the gold label.

Used as the human ceiling. Gold labels are usually majorities of the same votes, so agreement with gold is inflated by
the annotator's own vote. The leave-one-out score compares each annotator with the other votes only, just as a
model is compared with labels that it did not contribute to (as in Rajpurkar et al. 2016, "SQuAD", sec. 6, and Nangia &
Bowman 2019, "Human vs. Muppet"). Agreement with gold is MultiNLI's "individual label = gold label" (Williams et al.
2018, Table 2). A model may exceed the leave-one-out score: it learns from many annotators.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


class AnnotatorTables(NamedTuple):
    """Confusion counts of single annotators, each of shape (n_classes, n_classes + 1), as in ``classification``.

    Each text has weight 1, divided among its annotators. ``others``: rows are the majority of the other votes; a tie is
    divided among the tied classes. ``gold``: rows are the gold label.
    """

    others: Floats
    gold: Floats


def annotator_tables(votes: ArrayLike, gold: ArrayLike) -> AnnotatorTables:
    """Count single annotators' labels against the other annotators' majority and against gold.

    Args:
        votes: number of votes for each class, shape (n, n_classes), at least 2 per text.
        gold: class codes, shape (n,).
    Returns: the two tables; the last column (unusable outputs) is 0.
    Raises: ValueError if a text has fewer than 2 votes, or without texts.
    Source: see the module docstring.

    >>> tables = annotator_tables([[3, 0], [2, 1]], [0, 0])
    >>> tables.gold.round(3).tolist()  # one annotator of the second text differs from gold
    [[1.667, 0.333, 0.0], [0.0, 0.0, 0.0]]
    >>> tables.others.round(3).tolist()  # its other two annotators are each compared with a tied majority
    [[1.333, 0.333, 0.0], [0.333, 0.0, 0.0]]
    """
    counts = np.asarray(votes, dtype=np.float64)
    codes = np.asarray(gold, dtype=np.int64)
    if counts.ndim != 2 or not len(counts) or counts.shape[0] != len(codes):
        raise ValueError(f"votes must have one row per text, got shape {counts.shape} and {len(codes)} texts")
    total = counts.sum(axis=1)
    if total.min() < 2:
        raise ValueError("a text has fewer than 2 votes, so no annotator can be compared with others")
    n_classes = counts.shape[1]
    shares = counts / total[:, None]
    others, by_gold = np.zeros((n_classes, n_classes + 1)), np.zeros((n_classes, n_classes + 1))
    np.add.at(by_gold[:, :n_classes], codes, shares)
    for vote in range(n_classes):
        left = counts.copy()
        left[:, vote] -= 1  # without one annotator of this class; texts without one have weight 0 below
        majority = left == left.max(axis=1, keepdims=True)
        share = shares[:, vote, None] * majority / majority.sum(axis=1, keepdims=True)
        others[:, vote] = share.sum(axis=0)
    return AnnotatorTables(others, by_gold)
