"""Correction of many tests in one comparison: a graphical procedure for the ranking figure, step-down max-t for others.

An entry is ranked by one figure. That figure is tested at ``MAIN_SHARE`` of the level, all others together at what is
left; where it is rejected its share passes on to the others, where all of those are rejected theirs passes to it
(Bretz, Maurer, Brannath and Posch 2009). Among the others the largest standardised difference of what is left decides,
step by step, against its own distribution under exchange (Westfall and Young 1993): correlated shifts cost less than
with Holm.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

LEVEL = 0.05
"""The highest probability that a comparison makes any false claim."""
MAIN_SHARE = 0.8
"""Share of the level for the figure that ranks: .04 of .05."""
_ROUNDING = 1e-5
_BLOCK = 2**16


class Corrected(NamedTuple):
    """Corrected p values of one comparison: of the figure that ranks, and of the others, shape (n_others,)."""

    main: float
    others: Floats


def step_down(observed: ArrayLike, drawn: ArrayLike) -> Floats:
    """Compute p values corrected by step-down max-t.

    Args:
        observed: sizes of the standardised differences, shape (n_tests,); NaN where there is no test.
        drawn: the same where there is no difference, shape (n_draws, n_tests). A draw that is NaN counts as larger than
            what was observed.
    Returns: p values in [1 / (1 + n_draws), 1], shape (n_tests,); NaN where there is no test.
    Raises: ValueError when shapes do not fit.

    >>> null = np.abs(np.random.default_rng(0).normal(size=(9999, 3)))
    >>> step_down([4.0, 2.5, 0.1], null).round(2).tolist()
    [0.0, 0.03, 0.92]
    """
    sizes = np.asarray(observed, dtype=np.float64)
    table = np.asarray(drawn)
    if sizes.ndim != 1 or table.ndim != 2 or table.shape[1] != sizes.size or len(table) == 0:
        raise ValueError(f"observed must have shape (n_tests,) and drawn (n_draws, n_tests), got {table.shape}")
    corrected = np.full(sizes.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(sizes))
    order = tested[np.argsort(sizes[tested], kind="stable")]
    # Sums that are equal may differ in their last digits.
    least = sizes[order] * (1 - _ROUNDING)
    hits = np.zeros(order.size)
    for start in range(0, len(table), _BLOCK):
        largest = np.maximum.accumulate(table[start : start + _BLOCK, order], axis=1)
        hits += (~(largest < least)).sum(axis=0)
    p_values = (1 + hits) / (1 + len(table))
    corrected[order] = np.maximum.accumulate(p_values[::-1])[::-1]
    return corrected


def pass_on(main: float, others: ArrayLike, n_comparisons: int = 1) -> Corrected:
    """Compute the p values of one comparison, corrected by the graphical procedure of the module's docstring.

    Args:
        main: p value of the figure that ranks; NaN where there is none: the others then have the whole level.
        others: p values of the others, corrected among themselves (``step_down``); NaN where there is no test.
        n_comparisons: comparisons (pairs of entries and tasks) that share the level equally.
    Returns: p values, each of which may be compared with ``LEVEL``.
    Raises: ValueError when a p value lies outside [0, 1] or there is no comparison.

    >>> found = pass_on(0.001, [0.03, 0.2])
    >>> round(found.main, 5), found.others.tolist()  # the main figure's share was passed on
    (0.00125, [0.03, 0.2])
    >>> pass_on(0.5, [0.008]).others.round(3).tolist()  # it was not
    [0.04]
    """
    rest = np.asarray(others, dtype=np.float64)
    if n_comparisons < 1:
        raise ValueError(f"n_comparisons must be at least 1, got {n_comparisons}")
    every = np.append(rest, main)
    if np.any((every < 0) | (every > 1)):
        raise ValueError("p values must lie in [0, 1]")
    tested = ~np.isnan(rest)
    if np.isnan(main):
        return Corrected(float("nan"), np.minimum(rest * n_comparisons, 1.0))
    first = main / MAIN_SHARE
    last = float(rest[tested].max()) / (1 - MAIN_SHARE) if tested.any() else 0.0
    alone = min(first, max(main, last))
    passed = np.minimum(rest / (1 - MAIN_SHARE), np.maximum(rest, first))
    return Corrected(min(alone * n_comparisons, 1.0), np.minimum(passed * n_comparisons, 1.0))


def least_draws(n_comparisons: int = 1) -> int:
    """Compute the number of swaps needed for any figure of a comparison to reach ``LEVEL`` by itself.

    >>> least_draws(), least_draws(3)
    (100, 300)
    """
    return int(np.ceil(n_comparisons / (LEVEL * (1 - MAIN_SHARE)) - 1e-9))


def normal_sizes(p_values: ArrayLike) -> Floats:
    """Convert two-sided p values to sizes of normal variables, so that t tests of any df can be compared.

    >>> normal_sizes([0.05, 1.0]).round(2).tolist()
    [1.96, 0.0]
    """
    from scipy.special import ndtri

    values = np.clip(np.asarray(p_values, dtype=np.float64), 1e-300, 1.0)
    return np.asarray(np.abs(-ndtri(values / 2)))


def draw_sizes(correlation: ArrayLike, n_draws: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Draw sizes of correlated standard normal variables, as under no difference.

    Args:
        correlation: shape (n_tests, n_tests), positive semidefinite.
        n_draws: number of draws.
        rng: the generator.
    Returns: shape (n_draws, n_tests).
    """
    values, vectors = np.linalg.eigh(np.asarray(correlation, dtype=np.float64))
    root = (vectors * np.sqrt(np.maximum(values, 0.0))).astype(np.float32)
    drawn = rng.standard_normal((n_draws, len(root)), dtype=np.float32) @ root.T
    return np.asarray(np.abs(drawn))
