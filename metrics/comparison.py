"""Comparing entries: Holm's correction, runs that fail, stability of ranks."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

FAILURE = 0.10
"""A run fails that scores this much less than the best run of its recipe; fixed before any scores were seen."""
RUNS_OF_RARE_FAILURES = 29
"""With so many runs of which none fails, at most a tenth of a recipe's runs do (one-sided 95%)."""
# Means of the same scores in another order may differ in the last digit.
_TIE = 1e-12


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


def failed_runs(scores: ArrayLike, margin: float = FAILURE) -> int:
    """Count the runs of a recipe that failed: those that score more than a margin less than the best one.

    Args:
        scores: of the runs, fractions, shape (n_runs,), at least one.
        margin: a fraction.

    >>> failed_runs([0.8, 0.79, 0.6]), failed_runs([0.8, 0.7])
    (1, 0)
    """
    each = np.asarray(scores, dtype=np.float64)
    return int((each < each.max() - margin - _TIE).sum())


def share_at_most(n_failed: int, n_runs: int, level: float = 0.95) -> float:
    """Compute the one-sided exact upper bound of the share of a recipe's runs that fail.

    Args:
        n_failed: runs that failed.
        n_runs: all runs, at least 1.
        level: of the bound.
    Source: Clopper and Pearson, "The use of confidence or fiducial limits" (1934).

    >>> [round(share_at_most(0, n), 3) for n in (5, RUNS_OF_RARE_FAILURES)], share_at_most(2, 2)
    ([0.451, 0.098], 1.0)
    """
    from scipy.special import betaincinv

    return 1.0 if n_failed == n_runs else float(betaincinv(n_failed + 1, n_runs - n_failed, level))


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


def _mean_cross_domain(scores: Floats) -> Floats:
    off_diagonal = ~np.eye(scores.shape[-1], dtype=bool)
    return np.asarray(scores[..., off_diagonal].mean(axis=-1))


def _ranks(scores: Floats) -> NDArray[np.int64]:
    return np.asarray(1 + (scores[None, :] > scores[:, None] + _TIE).sum(axis=1), dtype=np.int64)
