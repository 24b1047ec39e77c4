"""Comparing entries: paired swap test, Holm's correction, stability of ranks.

Two entries that predicted the same test set are compared group by group: if they were equally good,
exchanging their outputs on any group would change nothing but chance. Groups, not examples, are exchanged,
because examples of a group are not independent. Everything works on additive counts per group, so any score
that is a formula of summed counts can be compared.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

N_SWAPS = 20_000
MAX_SWAPS = 1_000_000
"""The most swaps of a test: each takes 4 bytes of memory for each figure."""
SEPARATE_GROUPS = 2**12
"""Up to this number of groups each is drawn separately; in larger test sets, equal differences are drawn together."""
# So that a block of swaps stays in the processor's cache.
_BLOCK_CELLS = 2**20
_SWAPS_AT_ONCE = 2**13
_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float32)
"""The eight bits of every byte, shape (256, 8)."""
# Whole numbers up to this are exact in single precision.
_SINGLE = 2**24
# Differences this close to the observed one are ties broken by rounding.
_TIE = 1e-12


class Finish(Protocol):
    """A formula from summed counts to statistics."""

    def __call__(self, *totals: Floats) -> Floats:
        """Compute statistics (...,) or (..., n_statistics) from one array (..., k) of summed counts per test set."""


@dataclass(frozen=True)
class SwapTest:
    """Result of ``swap_test``.

    Attributes:
        difference: statistic of A minus statistic of B, shape () or (n_statistics,).
        p_value: two-sided, in [1 / (1 + n_swaps), 1], same shape; NaN where the difference is undefined.
        n_swaps: number of random swaps drawn.
    """

    difference: Floats
    p_value: Floats
    n_swaps: int


def swap_test(
    counts_a: Sequence[ArrayLike],
    counts_b: Sequence[ArrayLike],
    finish: Finish,
    rng: np.random.Generator | Sequence[np.random.Generator],
    *,
    n_swaps: int = N_SWAPS,
) -> SwapTest:
    """Test whether two entries differ, by exchanging their outputs on random groups.

    ST is compared on one test set, that of the target. TD = TT - ST uses the same test set twice: its counts
    stand side by side, so TT and ST of a group are exchanged together. SD = SS - ST uses two test sets: give
    both, and their groups are exchanged independently. Several statistics may come from one call; they share
    the swaps.

    The swaps of a test set of up to ``SEPARATE_GROUPS`` groups depend on its generator and its number of groups
    alone. So a statistic has the same p value whichever others are tested with it. In larger test sets, groups on
    which both entries have the same counts are skipped, and groups that differ alike are drawn together, by how many
    of them are exchanged: much less to draw, but the swaps then depend on all the counts that are given.

    Args:
        counts_a: for each test set the counts of entry A per group, shape (n_groups, k).
        counts_b: the same of entry B, on the same groups.
        finish: statistics from summed counts, one argument per test set.
        rng: draws the swaps: one generator, or one for each test set.
        n_swaps: number of random swaps.
    Returns: differences and two-sided p values ``(1 + hits) / (1 + n_swaps)``, where a hit is a swap at least
        as far from zero as the observed difference. A swap on which a statistic is undefined counts as a hit.
    Raises: ValueError when shapes differ, a count is not finite, or n_swaps < 1.

    >>> right = [[[1.0, 1.0]] * 9 + [[0.0, 1.0]]]
    >>> wrong = [[[0.0, 1.0]] * 10]
    >>> result = swap_test(right, wrong, lambda sums: sums[..., 0] / sums[..., 1], np.random.default_rng(0))
    >>> float(result.difference), bool(abs(result.p_value - 2 / 2**9) < 0.001)
    (0.9, True)
    """
    if n_swaps < 1:
        raise ValueError(f"n_swaps must be at least 1, got {n_swaps}")
    tables = _checked_tables(counts_a, counts_b)
    totals_a = [a.sum(axis=0) for a, _ in tables]
    totals_b = [b.sum(axis=0) for _, b in tables]
    difference = np.asarray(finish(*totals_a) - finish(*totals_b), dtype=np.float64)
    if all(np.array_equal(a, b) for a, b in tables):
        return SwapTest(difference, np.where(np.isnan(difference), np.nan, 1.0), n_swaps)
    rngs = rng.spawn(len(tables)) if isinstance(rng, np.random.Generator) else rng
    kinds = [_kinds(b - a) for a, b in tables]
    widest = max(*(len(rows) for rows, _ in kinds), *(total.size for total in totals_a), 1)
    block = max(1, _BLOCK_CELLS // widest)
    least = np.abs(difference) - _TIE
    hits = np.zeros(difference.shape)
    for start in range(0, n_swaps, block):
        n = min(block, n_swaps - start)
        moved = [
            _swapped_counts(multiplicity, n, each).astype(rows.dtype, copy=False) @ rows
            for (rows, multiplicity), each in zip(kinds, rngs, strict=True)
        ]
        swapped_a = finish(*(total + change for total, change in zip(totals_a, moved, strict=True)))
        swapped_b = finish(*(total - change for total, change in zip(totals_b, moved, strict=True)))
        # "not less than" rather than "at least": an undefined swap counts as a hit.
        hits += (~(np.abs(swapped_a - swapped_b) < least)).sum(axis=0)
    p_value = np.where(np.isnan(difference), np.nan, (1 + hits) / (1 + n_swaps))
    return SwapTest(difference, np.asarray(p_value), n_swaps)


def flip_signs(contributions: ArrayLike, n_swaps: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Draw differences that result when the outputs of two entries are exchanged on random groups.

    For differences that are sums over groups: exchanging a group turns the sign of what it contributes.

    Args:
        contributions: of each group to each difference, shape (n_groups, n_differences).
        n_swaps: number of random swaps.
        rng: draws them; they depend on it and the number of groups alone.
    Returns: drawn differences, shape (n_swaps, n_differences), good to about six digits.
    Raises: ValueError when there is no group, or n_swaps < 1.

    >>> sorted(set(flip_signs([[1.0], [1.0]], 50, np.random.default_rng(0))[:, 0].tolist()))
    [-2.0, 0.0, 2.0]
    """
    table = np.asarray(contributions, dtype=np.float32)
    if table.ndim != 2 or len(table) == 0 or n_swaps < 1:
        raise ValueError(
            f"contributions must have shape (n_groups, n_differences), got {table.shape}, n_swaps {n_swaps}"
        )
    drawn = np.zeros((n_swaps, table.shape[1]), dtype=np.float32)
    n_bytes = (len(table) + 63) // 64 * 8
    padded = np.zeros((8 * n_bytes, table.shape[1]), dtype=np.float32)
    padded[: len(table)] = table
    for start in range(0, n_swaps, _SWAPS_AT_ONCE):
        part = drawn[start : start + _SWAPS_AT_ONCE]
        words = np.frombuffer(rng.bytes(len(part) * n_bytes), dtype=np.uint8).reshape(len(part), n_bytes)
        # A byte decides over eight groups: what each of its 256 values sums is looked up, not summed again.
        for byte, values in enumerate(np.ascontiguousarray(words.T)):
            part += (_BITS @ padded[8 * byte : 8 * byte + 8]).take(values, axis=0)
    return np.asarray(2 * drawn - table.sum(axis=0))


def holm(p_values: ArrayLike) -> Floats:
    """Compute Holm's corrected p values, each of which may be compared with one level for a family of tests.

    Args:
        p_values: p values of the family, any shape, in [0, 1]. NaN (a comparison that could not be made)
            stays NaN and does not count.
    Returns: corrected p values in [0, 1], same shape; the chance of any false rejection in the family stays
        below the level, whatever the dependence.
    Raises: ValueError when a p value lies outside [0, 1].

    >>> holm([0.01, 0.04, 0.03]).round(4).tolist()
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(p_values, dtype=np.float64)
    if np.any((values < 0) | (values > 1)):
        raise ValueError("p values must lie in [0, 1]")
    flat = values.ravel()
    corrected = np.full(flat.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(flat))
    order = tested[np.argsort(flat[tested], kind="stable")]
    steps = flat[order] * np.arange(order.size, 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return corrected.reshape(values.shape)


@dataclass(frozen=True)
class RankStability:
    """Ranks with each domain left out.

    Attributes:
        ranks: ranks on all domains, shape (n_entries,), 1 is best; equal scores share the better rank.
        left_out: ranks with each domain left out, shape (n_domains, n_entries).
        best: best rank over all of these, shape (n_entries,).
        worst: worst rank over all of these, shape (n_entries,).
    """

    ranks: NDArray[np.int64]
    left_out: NDArray[np.int64]
    best: NDArray[np.int64]
    worst: NDArray[np.int64]


def rank_stability(scores: ArrayLike, statistic: Callable[[Floats], Floats] | None = None) -> RankStability:
    """Rank entries again with each domain left out, as source and as target.

    A rank that one domain decides says little about the next domain.

    Args:
        scores: score matrix of each entry, shape (n_entries, n_domains, n_domains), sources by targets,
            finite.
        statistic: what is ranked, score matrices (n_entries, d, d) -> (n_entries,), higher is better.
            Default: the mean cross-domain score.
    Returns: the ranks.
    Raises: ValueError with fewer than 3 domains (leaving one out leaves no shift), a matrix that is not
        square, or a missing score.

    >>> scores = np.full((2, 3, 3), 0.5)
    >>> scores[0, 0, 1], scores[1] = 0.9, 0.52
    >>> stability = rank_stability(scores)
    >>> stability.ranks.tolist(), stability.left_out.tolist()
    ([1, 2], [[2, 1], [2, 1], [1, 2]])
    """
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 3 or table.shape[1] != table.shape[2] or table.shape[0] < 1:
        raise ValueError(f"scores must have shape (n_entries, n_domains, n_domains), got {table.shape}")
    n_domains = table.shape[1]
    if n_domains < 3:
        raise ValueError(f"leaving a domain out needs at least 3 domains, got {n_domains}")
    if not np.all(np.isfinite(table)):
        raise ValueError("ranks need every score of every entry; leave out entries that do not cover the grid")
    rank_by = statistic or _mean_cross_domain
    others = [[d for d in range(n_domains) if d != domain] for domain in range(n_domains)]
    ranks = _ranks(rank_by(table))
    left_out = np.stack([_ranks(rank_by(table[:, rest][:, :, rest])) for rest in others])
    every = np.vstack([ranks, left_out])
    return RankStability(ranks, left_out, every.min(axis=0), every.max(axis=0))


def _kinds(differences: Floats) -> tuple[NDArray[np.floating], NDArray[np.int64]]:
    """Count groups by distinct row, in single precision where sums stay exact."""
    rows, multiplicity = differences, np.ones(len(differences), dtype=np.int64)
    if len(differences) > SEPARATE_GROUPS:
        rows, multiplicity = _distinct_differences(differences)
    whole = np.all(differences == np.rint(differences)) and np.abs(differences).sum(axis=0).max(initial=0) < _SINGLE
    return (rows.astype(np.float32) if whole else rows), multiplicity


def _distinct_differences(differences: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Count groups by distinct non-zero row."""
    differing = differences[np.any(differences != 0, axis=1)]
    if len(differing) == 0:
        return np.zeros((0, differences.shape[1])), np.zeros(0, dtype=np.int64)
    # Largest multiplicity first, so that the rows of single groups lie together at the end.
    rows, multiplicity = np.unique(differing, axis=0, return_counts=True)
    order = np.argsort(-multiplicity, kind="stable")
    return rows[order], multiplicity[order]


def _swapped_counts(multiplicity: NDArray[np.int64], n: int, rng: np.random.Generator) -> NDArray[np.integer]:
    """Draw how many groups of each kind are exchanged in each of ``n`` swaps, shape (n, n_kinds)."""
    several = int(np.count_nonzero(multiplicity > 1))
    single = multiplicity.size - several
    # Whole words for each swap, so that swaps do not depend on how many are drawn at once.
    n_bytes = (single + 63) // 64 * 8
    words = np.frombuffer(rng.bytes(n * n_bytes), dtype=np.uint8).reshape(n, n_bytes)
    bits = np.unpackbits(words, axis=1, count=single)
    if not several:
        return bits
    return np.hstack([rng.binomial(multiplicity[:several], 0.5, size=(n, several)), bits])


def _mean_cross_domain(scores: Floats) -> Floats:
    off_diagonal = ~np.eye(scores.shape[-1], dtype=bool)
    return np.asarray(scores[..., off_diagonal].mean(axis=-1))


def _ranks(scores: Floats) -> NDArray[np.int64]:
    # Means of the same scores in another order may differ in the last digit.
    return np.asarray(1 + (scores[None, :] > scores[:, None] + _TIE).sum(axis=1), dtype=np.int64)


def _checked_tables(counts_a: Sequence[ArrayLike], counts_b: Sequence[ArrayLike]) -> list[tuple[Floats, Floats]]:
    if len(counts_a) != len(counts_b) or len(counts_a) == 0:
        raise ValueError(
            f"give the counts of both entries for the same test sets, at least one; got {len(counts_a)} "
            f"and {len(counts_b)}"
        )
    tables = []
    for number, (a, b) in enumerate(zip(counts_a, counts_b, strict=True)):
        first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
        if first.ndim != 2 or first.shape != second.shape or len(first) == 0:
            raise ValueError(
                f"test set {number}: counts of A and B must share a shape (n_groups, k), got {first.shape} "
                f"and {second.shape}; did you pass a single table instead of a list of them?"
            )
        if not (np.all(np.isfinite(first)) and np.all(np.isfinite(second))):
            raise ValueError(f"test set {number}: counts must be finite")
        tables.append((first, second))
    return tables
