"""Agreement of single annotators with the majority of the others, and with the gold label.

A ceiling that models are held to. Gold labels mostly are majorities of the very votes, so an annotator agrees with gold
by having made it; leave-one-out, each annotator is judged by the other votes alone, as a model is judged by labels that
it had no part in (Rajpurkar et al. 2016, "SQuAD", sec. 6, and Nangia & Bowman 2019, "Human vs. Muppet", judge people
by answers of others likewise). MultiNLI's own "individual label = gold label" (Williams et al. 2018, Table 2) is the
other figure. A model may lie above the first: it is trained on many people and a single one is not.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


class AnnotatorTables(NamedTuple):
    """Confusion counts of single annotators, shape (n_classes, n_classes + 1) each, as ``classification`` takes them.

    Each text counts once, shared by its annotators. ``others``: rows are the majority of the other votes, a tie shared
    by the classes that tie. ``gold``: rows are the gold label.
    """

    others: Floats
    gold: Floats


def annotator_tables(votes: ArrayLike, gold: ArrayLike) -> AnnotatorTables:
    """Count single annotators' labels by what they are judged by.

    Args:
        votes: number of votes for each class, shape (n, n_classes), at least 2 a text.
        gold: class codes, shape (n,).
    Returns: the two tables; no annotator's output is unusable, so the last column is 0.
    Raises: ValueError with a text of fewer than 2 votes, or without texts.
    Source: module docstring.

    >>> tables = annotator_tables([[3, 0], [2, 1]], [0, 0])
    >>> tables.gold.round(3).tolist()  # one annotator of the second text differs from gold
    [[1.667, 0.333, 0.0], [0.0, 0.0, 0.0]]
    >>> tables.others.round(3).tolist()  # and of the other two there either sees a tie
    [[1.333, 0.333, 0.0], [0.333, 0.0, 0.0]]
    """
    counts = np.asarray(votes, dtype=np.float64)
    codes = np.asarray(gold, dtype=np.int64)
    if counts.ndim != 2 or not len(counts) or counts.shape[0] != len(codes):
        raise ValueError(f"votes of shape {counts.shape} are not those of {len(codes)} texts, at least one")
    total = counts.sum(axis=1)
    if total.min() < 2:
        raise ValueError("a text has fewer than 2 votes, so no annotator has others")
    n_classes = counts.shape[1]
    shares = counts / total[:, None]
    others, by_gold = np.zeros((n_classes, n_classes + 1)), np.zeros((n_classes, n_classes + 1))
    np.add.at(by_gold[:, :n_classes], codes, shares)
    for vote in range(n_classes):
        left = counts.copy()
        left[:, vote] -= 1
        majority = left == left.max(axis=1, keepdims=True)
        share = shares[:, vote, None] * majority / majority.sum(axis=1, keepdims=True)
        others[:, vote] = share.sum(axis=0)
    return AnnotatorTables(others, by_gold)
