"""Intervals of ranks, the entries not told apart from the leader, and the selection bias of the leader's score.

Comparing entries: Holm's correction, runs that fail, stability of ranks.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

# So that two blocks of replicates stay in the processor's cache.
_BLOCK_ENTRIES = 64
_BLOCK_PAIRS = 2**14
# Entries nearly coincide if the variance of their difference is below this share of their own.
_CLOSE = 1e-3
# Differences this close are ties broken by rounding.
_TIE = 1e-12


class Leader(NamedTuple):
    """The entry with the highest score.

    Attributes:
        entry: its number.
        tied: entries that are not told apart from it, itself included, shape (n_entries,).
        corrected: its score less what it owes, on average, to being the best of all.
    """

    entry: int
    tied: NDArray[np.bool_]
    corrected: float


def run_spread(runs: Sequence[ArrayLike]) -> tuple[float, float]:
    """Compute the variance over training runs of a figure that sums over sources, and its degrees of freedom.

    Runs scored on one finite test set differ by more than training makes them differ. How much more, replicates tell:
    the variance over runs grows by as much again in each.

    Args:
        runs: for each source what each run adds to the figure: on the test sets, then in each replicate, shape
            (n_runs, 1 + n_draws), with at least 2 runs.
    Returns: the variance that training alone accounts for, at least 0; and the sum over sources of the squared variance
        over its degrees of freedom, which Satterthwaite's formula needs.
    """
    between = inflated = per_df = 0.0
    for each in runs:
        table = np.asarray(each, dtype=np.float64)
        n = len(table)
        variance = table.var(axis=0, ddof=1) / n
        between += variance[0]
        inflated += variance[1:].mean() if variance.size > 1 else variance[0]
        per_df += variance[0] ** 2 / (n - 1)
    return float(max(2 * between - inflated, 0.0)), float(per_df)


def rank_intervals(
    points: ArrayLike,
    replicates: ArrayLike,
    *,
    df: ArrayLike = np.inf,
    training: ArrayLike | None = None,
    per_df: ArrayLike | None = None,
    level: float = 0.95,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Compute the interval of each entry's rank: [1 + significantly better, K - significantly worse].

    Two entries differ significantly when their difference exceeds a multiple of its standard deviation over
    replicates. The multiple comes from the ``level`` quantile of the largest such ratio over all pairs (max-t), so that
    with probability ``level`` no equal entries are told apart anywhere, and all intervals hold the true ranks.
    Differences are taken replicate by replicate: shared signs make what all entries find hard cancel. Among replicates
    the standard deviation is known, on the test texts it is estimated: with Student's ``df`` degrees of freedom
    a ratio ``c`` counts as ``c sqrt(df / (df + 1 - c^2))``, which is the same quantile of the studentised ratio.

    Args:
        points: score of each entry, shape (n_entries,), higher is better, finite.
        replicates: the same with the influence of each group added or taken away, the same signs for every entry,
            shape (n_entries, n_draws), finite; 400 draws are enough.
        df: degrees of freedom of each score's variance over texts, effective groups less one, above 0; shape
            (n_entries,), or one for all. A difference has the lower of its entries'.
        training: variance of each score over training runs, shape (n_entries,), see ``run_spread``; by default 0:
            ranks are then those of these trained models, not of recipes.
        per_df: what that variance is known by (``run_spread``); by default exactly.
        level: probability that all intervals hold, in (0, 1).
    Returns: best and worst rank of each entry, each of shape (n_entries,), 1 is best.
    Raises: ValueError when shapes do not fit or a score is not finite; ranks are for entries that cover the
        grid.

    >>> noise = np.random.default_rng(0).normal(0.0, 0.01, size=(3, 400))
    >>> scores = np.array([0.9, 0.5, 0.501])
    >>> best, worst = rank_intervals(scores, scores[:, None] + noise)
    >>> best.tolist(), worst.tolist()
    ([1, 2, 2], [1, 3, 3])
    """
    ranked = RankedReplicates()
    ranked.add(points, replicates, df=df, training=training, per_df=per_df)
    return ranked.intervals(level)


class RankedReplicates:
    """Replicates of many entries, with the pairwise data that ``rank_intervals`` needs; entries can be added singly."""

    def __init__(self) -> None:
        self._scores: Floats = np.empty(0)
        self._deviations: Floats = np.empty((0, 0))
        self._df: Floats = np.empty(0)
        self._per_df: Floats = np.empty(0)
        self._squares: Floats = np.empty(0)
        self._kinds: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._largest: NDArray[np.float32] = np.empty(0, dtype=np.float32)

    def add(
        self,
        points: ArrayLike,
        replicates: ArrayLike,
        *,
        df: ArrayLike = np.inf,
        training: ArrayLike | None = None,
        per_df: ArrayLike | None = None,
    ) -> None:
        """Add entries; arguments and errors are those of ``rank_intervals``."""
        scores = np.asarray(points, dtype=np.float64)
        drawn = np.asarray(replicates, dtype=np.float64)
        if scores.ndim != 1 or scores.size < 1 or drawn.ndim != 2 or len(drawn) != scores.size or drawn.shape[1] < 2:
            raise ValueError(
                f"points must have shape (n_entries,) and replicates (n_entries, n_draws), got {scores.shape} "
                f"and {drawn.shape}"
            )
        if not (np.all(np.isfinite(scores)) and np.all(np.isfinite(drawn))):
            raise ValueError("ranks need a finite score of every entry; leave out entries that do not cover the grid")
        deviations = drawn - scores[:, None]
        if training is not None:
            deviations += _training_noise(np.asarray(training, dtype=np.float64), deviations)
        known_by = np.zeros(scores.size) if per_df is None else np.asarray(per_df, dtype=np.float64)
        freedoms = np.broadcast_to(np.asarray(df, dtype=np.float64), scores.shape)
        kinds = np.array([hash(row.tobytes()) for row in deviations])
        first = self._scores.size
        if first == 0:
            self._deviations = np.empty((0, drawn.shape[1]))
            self._largest = np.zeros(drawn.shape[1], dtype=np.float32)
        self._scores = np.concatenate([self._scores, scores])
        self._df = np.concatenate([self._df, freedoms])
        self._per_df = np.concatenate([self._per_df, known_by])
        self._deviations = np.concatenate([self._deviations, deviations])
        self._kinds = np.concatenate([self._kinds, kinds])
        self._squares = np.concatenate([self._squares, (deviations**2).sum(axis=1)])
        for start in range(first, self._scores.size, _BLOCK_ENTRIES):
            block = slice(start, min(start + _BLOCK_ENTRIES, self._scores.size))
            for other in range(0, block.stop, _BLOCK_ENTRIES):
                self._compare(block, slice(other, min(other + _BLOCK_ENTRIES, block.stop)))

    def intervals(self, level: float = 0.95) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Compute what ``rank_intervals`` does, of the entries in the order in which they were added."""
        critical = self._critical(level)
        scores = self._scores
        best, worst = np.empty(scores.size, dtype=np.int64), np.empty(scores.size, dtype=np.int64)
        for start in range(0, scores.size, _BLOCK_ENTRIES):
            block = slice(start, min(start + _BLOCK_ENTRIES, scores.size))
            apart = scores[None, :] - scores[block, None]
            clear = self._exceeds_critical(block, critical)
            best[block] = 1 + np.count_nonzero(clear & (apart > 0), axis=1)
            worst[block] = scores.size - np.count_nonzero(clear & (apart < 0), axis=1)
        return best, worst

    def leader(self, level: float = 0.95) -> Leader:
        """Find the entry with the highest score, those not told apart from it, and its score without selection.

        Ties between pairs are not transitive, so one set is given: of the entries that the leader does not beat by more
        than the max-t multiple, which is over all pairs because the leader was selected. What selection adds is the
        mean, over replicates, of how far the best entry of a replicate exceeds its own score; of equal entries that
        takes off a half to three quarters of it.
        """
        if not self._scores.size:
            return Leader(-1, np.zeros(0, dtype=bool), float("nan"))
        entry = int(np.argmax(self._scores))
        tied = ~self._exceeds_critical(slice(entry, entry + 1), self._critical(level))[0]
        best = np.argmax(self._scores[:, None] + self._deviations, axis=0)
        owed = self._deviations[best, np.arange(best.size)].mean()
        return Leader(entry, tied, float(self._scores[entry] - owed))

    def _critical(self, level: float) -> float:
        """Compute the quantile over replicates of the largest difference of any pair, in standard deviations."""
        if not 0 < level < 1:
            raise ValueError(f"level must lie in (0, 1), got {level}; 95% is 0.95")
        return float(np.quantile(self._largest, level, method="higher")) if self._largest.size else 0.0

    def _exceeds_critical(self, block: slice, critical: float) -> NDArray[np.bool_]:
        """Check which entries differ from those of a block, shape (n_block, n_entries)."""
        apart = np.abs(self._scores[None, :] - self._scores[block, None])
        sd = self._sds(block, slice(0, self._scores.size))
        # The replicates, too, tell a variance no better than as many groups would.
        df = 1 / (1 / np.minimum(self._df[block, None], self._df) + 1 / self._largest.size)
        left = df + 1 - critical**2
        multiple = np.full(sd.shape, np.inf)
        np.sqrt(critical**2 * df / left, out=multiple, where=left > 0)
        per_df = self._per_df[block, None] + self._per_df
        if per_df.any():
            multiple = _student(multiple, np.divide(per_df, sd**4, out=np.zeros_like(sd), where=sd > _TIE))
        least = np.multiply(multiple, sd, out=np.zeros_like(sd), where=sd > _TIE)
        return np.asarray(apart > np.maximum(least, _TIE))

    def _compare(self, block: slice, others: slice) -> None:
        """Compute the largest differences between two blocks of entries, in standard deviations, by replicate."""
        sd = self._sds(block, others)
        single = self._deviations[others].astype(np.float32)
        spread = np.sqrt(self._squares[others] / single.shape[1])
        moved = np.empty_like(single)
        for row, entry in enumerate(range(block.start, block.stop)):
            np.subtract(single, self._deviations[entry].astype(np.float32), out=moved)
            np.abs(moved, out=moved)
            # For entries that nearly coincide, single precision would show only its rounding errors.
            close = sd[row] <= _CLOSE * spread
            scale = np.divide(1, sd[row], out=np.zeros_like(sd[row]), where=~close)
            np.multiply(moved, scale.astype(np.float32)[:, None], out=moved)
            near = np.flatnonzero(close & (sd[row] > _TIE))
            if near.size:
                exact = np.abs(self._deviations[others][near] - self._deviations[entry])
                moved[near] = exact / sd[row][near, None]
            np.maximum(self._largest, moved.max(axis=0), out=self._largest)

    def _sds(self, some: slice, others: slice) -> Floats:
        """Compute the standard deviation of each difference of two entries' replicates, shape (n_some, n_others)."""
        left, right = self._deviations[some], self._deviations[others]
        scale = self._squares[some, None] + self._squares[others]
        squares = scale - 2 * left @ right.T
        sd = np.sqrt(np.maximum(squares, 0) / left.shape[1])
        # The product of matrices loses the small difference of entries that nearly coincide.
        close = squares < _CLOSE**2 * scale
        same = self._kinds[some][:, None] == self._kinds[others]
        sd[same] = 0
        rows, columns = np.nonzero(close & ~same)
        for start in range(0, rows.size, _BLOCK_PAIRS):
            pairs = slice(start, start + _BLOCK_PAIRS)
            apart = left[rows[pairs]] - right[columns[pairs]]
            sd[rows[pairs], columns[pairs]] = np.sqrt((apart**2).mean(axis=1))
        return np.asarray(sd)


def _training_noise(training: Floats, deviations: Floats) -> Floats:
    """Draw normal deviations of these variances, one row an entry, decided by the entry's own replicates."""
    n = deviations.shape[1]
    # Quantiles in random order rather than draws, so that their variance is what it should be.
    normal = np.array([NormalDist().inv_cdf((place + 0.5) / n) for place in range(n)])
    normal /= normal.std()
    noise = np.zeros(deviations.shape)
    for row in np.flatnonzero(training > 0):
        seed = np.frombuffer(deviations[row].tobytes(), dtype=np.uint32)
        noise[row] = np.sqrt(training[row]) * np.random.default_rng(seed).permutation(normal)
    return noise


def _student(normal: Floats, per_df: Floats) -> Floats:
    """Compute quantiles of Student's t from those of the normal (Cornish and Fisher), ``per_df`` being 1 / df."""
    z = normal
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return np.asarray(z + sum(term * per_df ** (power + 1) for power, term in enumerate(terms)))


FAILURE = 0.10
"""A run fails that scores this much less than the best run of its recipe; fixed before any scores were seen."""
RUNS_OF_RARE_FAILURES = 29
"""With so many runs of which none fails, at most a tenth of a recipe's runs do (one-sided 95%)."""


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
