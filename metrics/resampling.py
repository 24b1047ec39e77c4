"""Weights that resample groups.

A replicate draws one weight per group of each domain's test set. With additive counts it is ``weights @ counts``
followed by the metric's own formula. What is made of replicates stands in ``shiftbench.metrics.bootstrap``.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

_BLOCK_CELLS = 2**22
"""Weights held at once; small blocks would make the product with counts slower by far."""
_PIECE_CELLS = 2**15
"""Weights drawn at once, so that the working arrays stay in the processor's cache."""


def group_weights(n_groups: int, n_draws: int, rng: np.random.Generator) -> Floats:
    """Draw bootstrap weights: how often each group is drawn when ``n_groups`` are drawn with replacement.

    Args:
        n_groups: groups of a domain's test set, at least 2.
        n_draws: number of replicates.
        rng: a generator seeded for this domain alone, so that all entries get the same weights.
    Returns: whole numbers as floats, each row summing to ``n_groups``, shape (n_draws, n_groups).
    Raises: ValueError with fewer than 2 groups: one group says nothing about how groups differ.

    >>> group_weights(4, 2, np.random.default_rng(0)).sum(axis=1).tolist()
    [4.0, 4.0]
    """
    return np.concatenate(list(_weight_blocks(n_groups, n_draws, rng))).astype(np.float64)


def replicate_counts(counts: ArrayLike, n_draws: int, rng: np.random.Generator) -> Floats:
    """Compute the counts of every replicate: ``group_weights(...) @ counts`` without holding all weights at once.

    Args:
        counts: additive counts of each group, shape (n_groups, ...).
        n_draws: number of replicates.
        rng: as for ``group_weights``; the same seed gives the same replicates.
    Returns: summed counts, shape (n_draws, ...); a metric's formula turns them into replicate scores. Whole
        numbers are exact, weighted counts good to about six digits: far below what replicates differ by.
    Raises: ValueError with fewer than 2 groups.

    >>> replicate_counts([[1.0, 1.0], [0.0, 1.0]], 3, np.random.default_rng(0))[:, 1].tolist()
    [2.0, 2.0, 2.0]
    """
    table = np.asarray(counts, dtype=np.float64)
    flat = table.reshape(len(table), -1)
    # Many cells of a confusion table are empty in every group.
    filled = flat.any(axis=0)
    counted = flat[:, filled].astype(np.float32)
    sums = np.zeros((n_draws, flat.shape[1]))
    start = 0
    for weights in _weight_blocks(len(table), n_draws, rng):
        sums[start : start + len(weights), filled] = weights @ counted
        start += len(weights)
    return sums.reshape(n_draws, *table.shape[1:])


def half_weights(n_groups: int, n_splits: int, rng: np.random.Generator) -> Floats:
    """Split a domain's groups at random into two halves, several times.

    Args:
        n_groups: groups of the domain, at least 2.
        n_splits: number of splits.
        rng: a generator seeded for this domain.
    Returns: 1 where a group belongs to the half, else 0, shape (n_splits, 2, n_groups); the halves of a split
        add up to 1 everywhere. Of an odd number the second half gets one more.
    Raises: ValueError with fewer than 2 groups.

    >>> half_weights(5, 3, np.random.default_rng(0)).sum(axis=2).tolist()
    [[2.0, 3.0], [2.0, 3.0], [2.0, 3.0]]
    """
    _check_groups(n_groups)
    first = np.tile(np.arange(n_groups) < n_groups // 2, (n_splits, 1))
    first = rng.permuted(first, axis=1)
    return np.stack([first, ~first], axis=1).astype(np.float64)


def _weight_blocks(n_groups: int, n_draws: int, rng: np.random.Generator) -> Iterator[NDArray[np.float32]]:
    """Draw weights a large block at a time, for fast products; each block is filled in small pieces."""
    _check_groups(n_groups)
    rows, piece = (max(1, cells // n_groups) for cells in (_BLOCK_CELLS, _PIECE_CELLS))
    for start in range(0, n_draws, rows):
        block = np.empty((min(rows, n_draws - start), n_groups), dtype=np.float32)
        for first in range(0, len(block), piece):
            part = block[first : first + piece]
            part[:] = _drawn(len(part), n_groups, rng)
        yield block


def _drawn(n_rows: int, n_groups: int, rng: np.random.Generator) -> NDArray[np.int64]:
    # Each row takes whole 64-bit words of the generator, so the size of a piece does not change the draws. A
    # word holds two draws: 32 random bits times n_groups, of which the upper 32 name a group. The groups'
    # chances then differ by less than n_groups / 2^32 of themselves, and no draw has to be rejected.
    bits = rng.integers(0, 2**64 - 1, size=(n_rows, (n_groups + 1) // 2), dtype=np.uint64, endpoint=True)
    drawn = bits.view(np.uint32)[:, :n_groups].astype(np.uint64)
    drawn *= np.uint64(n_groups)
    drawn >>= np.uint64(32)
    flat = drawn.view(np.int64)
    flat += np.arange(n_rows)[:, None] * n_groups
    return np.bincount(flat.ravel(), minlength=flat.size).reshape(n_rows, n_groups)


def _check_groups(n_groups: int) -> None:
    if n_groups < 2:
        raise ValueError(f"resampling needs at least 2 groups, got {n_groups}; is every example in one group?")
