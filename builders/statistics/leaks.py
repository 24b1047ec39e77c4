"""Test texts that stand in the texts a model was trained on, word for word or nearly (see ``near_pairs``)."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.builders.statistics.near_pairs import near_pairs


class FoundLeaks(NamedTuple):
    """Which test texts are leaked.

    Attributes:
        exact: those that stand in the training texts as they are, shape (n_test,).
        near: those that nearly do (and not as they are), shape (n_test,).
    """

    exact: pl.Series
    near: pl.Series


def find_leaks(test: pl.Series, train: pl.Series, scratch: Path | None = None) -> FoundLeaks:
    """Find the test texts that repeat a training text.

    Args:
        test: test texts, in any order; repeats are marked alike.
        train: training texts.
        scratch: a folder for what is put aside; None takes the system's.
    Returns: a mark for each test text. Needs the ``rensa`` package.

    >>> found = find_leaks(pl.Series(["so good", "So good.", "very bad"]), pl.Series(["so good"]))
    >>> found.exact.to_list(), found.near.to_list()
    ([True, False, False], [False, True, False])
    """
    known = train.unique()
    exact = test.is_in(known.implode())
    fresh = test.filter(~exact).unique(maintain_order=True)
    texts = pl.concat([known.alias("text"), fresh.alias("text")])
    with TemporaryDirectory(prefix="leaks-", dir=scratch) as place:
        pairs = near_pairs([texts], Path(place)).pairs.astype(np.int64)
    across: NDArray[np.bool_] = (pairs[:, 0] < len(known)) & (pairs[:, 1] >= len(known))
    alike = texts.gather(np.unique(pairs[across, 1]))
    return FoundLeaks(exact, test.is_in(alike.implode()) & ~exact)
