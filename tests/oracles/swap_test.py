"""The paired swap test, an oracle of what p values by inversion find: outputs are exchanged on random groups."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def swap_test(
    a: Floats, b: Floats, finish: Callable[[Floats], Floats], rng: np.random.Generator, n_swaps: int = 999
) -> float:
    """Compute the two-sided p value of the difference of two entries' scores.

    Args:
        a: counts of one entry by group, shape (n_groups, k).
        b: those of the other.
        finish: sums of counts (..., k) -> scores (...).
        rng: draws the swaps.
        n_swaps: how many.
    """
    apart = b - a
    moved = rng.integers(0, 2, size=(n_swaps, len(a))).astype(np.float64) @ apart
    drawn = finish(a.sum(axis=0) + moved) - finish(b.sum(axis=0) - moved)
    observed = finish(a.sum(axis=0)) - finish(b.sum(axis=0))
    return float((1 + (np.abs(drawn) >= abs(observed) - 1e-12).sum()) / (1 + n_swaps))
