"""Simultaneous intervals of ranks, the entries tied with the leader, and the selection bias of the leader's score.

``rank_units`` ranks models by a table of their scores on units (items, tasks, clusters of either), ``RankedReplicates``
ranks entries by replicates of their aggregate scores. Both use the max-t statistic: the largest studentised difference
over all pairs. Also here: Holm's correction, failed runs, stability of ranks.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

MIN_UNITS = 8
"""Minimum number of units for ranks: eight units have 128 sign patterns."""

# Two blocks of replicates should fit into the processor's cache.
_BLOCK_ENTRIES = 64
_BLOCK_PAIRS = 2**14
# Entries nearly coincide if the standard deviation of their difference is below this fraction of their own.
_CLOSE = 1e-3
# Smaller differences are rounding errors and count as ties.
_TIE = 1e-12


class Leader(NamedTuple):
    """The entry with the highest score.

    Attributes:
        entry: its index.
        tied: mask of the entries not significantly different from it, itself included, shape (n_entries,).
        corrected: its score minus the estimated selection bias (winner's curse).
    """

    entry: int
    tied: NDArray[np.bool_]
    corrected: float


def run_spread(runs: Sequence[ArrayLike]) -> tuple[float, float]:
    """Estimate the variance over training runs of a statistic that is a sum over sources, for Satterthwaite's formula.

    The variance over runs on a finite test set includes test-sampling noise. A replicate contains this noise twice, so
    the increase in variance from the test set to the replicates estimates the noise, which is then subtracted.

    Args:
        runs: per source, the contribution of each run to the statistic: first on the test set, then in each replicate,
            shape (n_runs, 1 + n_draws), at least 2 runs.
    Returns: the variance due to training, at least 0; and the sum over sources of variance squared / degrees of
        freedom.
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

    Two entries differ significantly if their difference exceeds a multiple of its standard deviation over
    replicates. The multiple is the ``level`` quantile of the largest such ratio over all pairs (max-t), so that with
    probability ``level`` no two equal entries are declared different (FWER), and all intervals cover the true ranks
    simultaneously. All entries share the signs of a replicate, so the common difficulty of texts cancels in
    differences. The standard deviation is known for replicates but estimated for the test texts: with ``df`` degrees
    of freedom a ratio ``c`` becomes ``c sqrt(df / (df + 1 - c^2))``, the same quantile of the studentised ratio.

    Args:
        points: score of each entry, shape (n_entries,), higher is better, finite.
        replicates: scores with the influence of each group added or subtracted at random (the same signs for every
            entry), shape (n_entries, n_draws), finite; 400 draws are enough.
        df: degrees of freedom of each score's variance over texts (effective groups minus one), above 0; shape
            (n_entries,), or a scalar. A difference has the lower of its two entries' degrees of freedom.
        training: variance of each score over training runs, shape (n_entries,), see ``run_spread``. Default: 0, which
            ranks these trained models rather than their recipes.
        per_df: second result of ``run_spread``, shape (n_entries,). Default: the training variance is known exactly.
        level: simultaneous coverage of the intervals, in (0, 1).
    Returns: best and worst rank of each entry, each of shape (n_entries,), 1 is best.
    Raises: ValueError when shapes do not fit or a score is not finite (an entry that does not cover the grid).

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
    """Replicates of many entries and their pairwise comparisons; entries can be added incrementally."""

    def __init__(self) -> None:
        self._scores: Floats = np.empty(0)
        self._deviations: Floats = np.empty((0, 0))
        self._df: Floats = np.empty(0)
        self._per_df: Floats = np.empty(0)
        self._kinds: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._largest: NDArray[np.float32] = np.empty(0, dtype=np.float32)
        # For the first entries: how many are significantly better and worse, counted at a multiple.
        self._better, self._worse = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        self._counted_at = 0.0

    def add(
        self,
        points: ArrayLike,
        replicates: ArrayLike,
        *,
        df: ArrayLike = np.inf,
        training: ArrayLike | None = None,
        per_df: ArrayLike | None = None,
    ) -> None:
        """Add entries, and compare them with each other and with earlier ones.

        Args:
            points: as for ``rank_intervals``.
            replicates: as for ``rank_intervals``; the same number of draws in every call.
            df: as for ``rank_intervals``.
            training: as for ``rank_intervals``.
            per_df: as for ``rank_intervals``.
        Raises: ValueError as ``rank_intervals``.
        """
        scores = np.asarray(points, dtype=np.float64)
        drawn = np.asarray(replicates, dtype=np.float64)
        if scores.ndim != 1 or scores.size < 1 or drawn.ndim != 2 or len(drawn) != scores.size or drawn.shape[1] < 2:
            raise ValueError(
                f"points must have shape (n_entries,) and replicates (n_entries, n_draws), got {scores.shape} "
                f"and {drawn.shape}"
            )
        if not (np.all(np.isfinite(scores)) and np.all(np.isfinite(drawn))):
            raise ValueError("ranks need a finite score of every entry; drop entries that do not cover the grid")
        deviations = drawn - scores[:, None]
        if training is not None:
            deviations += _training_noise(np.asarray(training, dtype=np.float64), deviations)
        known_by = np.zeros(scores.size) if per_df is None else np.asarray(per_df, dtype=np.float64)
        freedoms = np.broadcast_to(np.asarray(df, dtype=np.float64), scores.shape)
        # Entries with identical replicates get the same code, so that rounding errors do not separate them.
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
        for start in range(first, self._scores.size, _BLOCK_ENTRIES):
            block = slice(start, min(start + _BLOCK_ENTRIES, self._scores.size))
            for other in range(0, block.stop, _BLOCK_ENTRIES):
                self._compare(block, slice(other, min(other + _BLOCK_ENTRIES, block.stop)))

    def intervals(self, level: float = 0.95) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Compute best and worst ranks as in ``rank_intervals``, in the order in which entries were added.

        Entries ranked by an earlier call are compared only with those added since, unless the additions changed the
        critical value, which is rare if there are many entries.
        """
        critical, scores = self._critical(level), self._scores
        first = self._better.size if critical == self._counted_at else 0
        self._better, self._worse = (
            np.concatenate([counts[:first], np.zeros(scores.size - first, dtype=np.int64)])
            for counts in (self._better, self._worse)
        )
        for start in range(first, scores.size, _BLOCK_ENTRIES):
            block = slice(start, min(start + _BLOCK_ENTRIES, scores.size))
            apart = scores[None, :] - scores[block, None]
            clear = self._exceeds_critical(block, critical)
            better, worse = clear & (apart > 0), clear & (apart < 0)
            self._better[block] = np.count_nonzero(better, axis=1)
            self._worse[block] = np.count_nonzero(worse, axis=1)
            self._better[:first] += np.count_nonzero(worse[:, :first], axis=0)
            self._worse[:first] += np.count_nonzero(better[:, :first], axis=0)
        self._counted_at = critical
        return 1 + self._better, scores.size - self._worse

    def leader(self, level: float = 0.95) -> Leader:
        """Find the entry with the highest score, the entries tied with it, and its score corrected for selection.

        An entry is tied with the leader if their difference is within the max-t multiple, which is taken over all pairs
        because the leader was selected. The selection bias is estimated as the mean over replicates of the best entry's
        score in the replicate minus its score on the test set; among equal entries this removes a half to three
        quarters of the bias.
        """
        if not self._scores.size:
            return Leader(-1, np.zeros(0, dtype=bool), float("nan"))
        entry = int(np.argmax(self._scores))
        tied = ~self._exceeds_critical(slice(entry, entry + 1), self._critical(level))[0]
        best = np.argmax(self._scores[:, None] + self._deviations, axis=0)
        owed = self._deviations[best, np.arange(best.size)].mean()
        return Leader(entry, tied, float(self._scores[entry] - owed))

    def _critical(self, level: float) -> float:
        """Compute the ``level`` quantile over replicates of the largest studentised difference of any pair."""
        if not 0 < level < 1:
            raise ValueError(f"level must lie in (0, 1), got {level}; 95% is 0.95")
        return float(np.quantile(self._largest, level, method="higher")) if self._largest.size else 0.0

    def _exceeds_critical(self, block: slice, critical: float) -> NDArray[np.bool_]:
        """Check which entries differ significantly from those of a block, shape (n_block, n_entries)."""
        apart = np.abs(self._scores[None, :] - self._scores[block, None])
        sd = self._sds(block, slice(0, self._scores.size))
        # A variance estimated from n replicates has itself only n degrees of freedom.
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
        """Update the largest studentised difference of each replicate with the pairs of two blocks of entries."""
        _raise_largest(self._largest, self._deviations[block], self._deviations[others], self._sds(block, others))

    def _sds(self, some: slice, others: slice) -> Floats:
        """Compute the standard deviation over replicates of each pairwise difference, shape (n_some, n_others)."""
        same = self._kinds[some][:, None] == self._kinds[others]
        apart = _distances(self._deviations[some], self._deviations[others], same)
        return np.asarray(apart / np.sqrt(self._deviations.shape[1]))


def _distances(left: Floats, right: Floats, same: NDArray[np.bool_]) -> Floats:
    """Compute pairwise Euclidean distances between the rows of two tables; 0 where ``same``."""
    scale = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1)
    squares = scale - 2 * left @ right.T
    apart = np.sqrt(np.maximum(squares, 0))
    # The matrix product loses small differences to cancellation: compute those of nearly equal entries directly.
    close = squares < _CLOSE**2 * scale
    apart[same] = 0
    rows, columns = np.nonzero(close & ~same)
    for start in range(0, rows.size, _BLOCK_PAIRS):
        pairs = slice(start, start + _BLOCK_PAIRS)
        apart[rows[pairs], columns[pairs]] = np.sqrt(((left[rows[pairs]] - right[columns[pairs]]) ** 2).sum(axis=1))
    return np.asarray(apart)


def _raise_largest(largest: NDArray[np.float32], left: Floats, right: Floats, sd: Floats) -> None:
    """Update ``largest`` in place: the maximum per draw with the studentised differences of ``left`` and ``right``.

    Args:
        largest: running maximum in standard deviations, shape (n_draws,).
        left: deviations of entries, shape (n_left, n_draws).
        right: deviations of other entries, shape (n_right, n_draws).
        sd: standard deviation of each difference, shape (n_left, n_right); pairs with sd 0 are skipped.
    """
    single = right.astype(np.float32)
    spread = np.sqrt((right**2).mean(axis=1))
    moved = np.empty_like(single)
    for row, entry in enumerate(left):
        np.subtract(single, entry.astype(np.float32), out=moved)
        np.abs(moved, out=moved)
        # For nearly equal entries single precision would leave only rounding errors.
        close = sd[row] <= _CLOSE * spread
        scale = np.divide(1, sd[row], out=np.zeros_like(sd[row]), where=~close)
        np.multiply(moved, scale.astype(np.float32)[:, None], out=moved)
        near = np.flatnonzero(close & (sd[row] > _TIE))
        if near.size:
            moved[near] = np.abs(right[near] - entry) / sd[row][near, None]
        np.maximum(largest, moved.max(axis=0), out=largest)


@dataclass(frozen=True)
class UnitRanks:
    """Ranks of models by their mean over units, with all pairwise tests.

    Attributes:
        points: mean of each model, shape (n_models,); NaN for a model that lacks a unit.
        size: effective number of units, ``1 / sum w^2`` of weights that sum to 1.
        multiple: critical value of a difference in standard errors; infinite if no difference can be significant.
        difference: row model's mean minus column model's over the units that both have, shape (n_models,
            n_models); NaN for fewer than ``MIN_UNITS`` common units.
        se: standard error of each difference, same shape.
        p: two-sided p value of each difference (Student's t), same shape; 1 if the means are equal.
        p_corrected: p values corrected over all pairs by max-t.
        decided: whether two models differ significantly after that correction, same shape.
        best: lower end of each model's rank interval, shape (n_models,), 1 is best; 0 for a model that lacks a unit.
        worst: upper end, same shape.
    """

    points: Floats
    size: float
    multiple: float
    difference: Floats
    se: Floats
    p: Floats
    p_corrected: Floats
    decided: NDArray[np.bool_]
    best: NDArray[np.int64]
    worst: NDArray[np.int64]


def rank_units(
    scores: ArrayLike, weights: ArrayLike | None = None, *, level: float = 0.95, n_draws: int = 1000
) -> UnitRanks:
    """Rank models scored on the same units, with rank intervals of simultaneous coverage ``level``.

    The statistic of a pair is its mean difference divided by the root of the sum of squares over units, a monotone
    function of Student's t. Its critical value is the ``level`` quantile of the maximum over pairs under random sign
    flips of units, shared by all models: a studentised wild bootstrap with the null imposed. With up to 12 units all
    sign patterns are enumerated. If differences of equal models are symmetric around 0, the family-wise error rate is
    at most ``1 - level`` for any number of units, variances and weights. Resampling units with replacement guarantees
    this only asymptotically: with 20 units it declares some equal models different in 9% of
    leaderboards.

    A model that lacks a unit has no rank. It is compared with each other model on their common units, under the same
    correction.

    Args:
        scores: score of each model on each unit, shape (n_models, n_units), higher is better; NaN if missing.
        weights: weights of the units, shape (n_units,), above 0. Default: equal.
        level: simultaneous coverage, in (0, 1).
        n_draws: number of random sign patterns if there are more than 12 units.
    Returns: the ranks.
    Raises: ValueError when shapes do not fit, a score is infinite, no model is complete, or there are fewer than
        ``MIN_UNITS`` units.
    Source: Romano and Wolf, "Exact and approximate stepdown methods for multiple hypothesis testing" (2005); Mogstad,
        Romano, Shaikh and Wilhelm, "Inference for ranks with applications to mobility across neighbourhoods and
        academic achievement across countries" (2024).

    >>> table = np.random.default_rng(0).normal(size=(3, 40)) + np.array([[2.0], [0.0], [0.0]])
    >>> ranks = rank_units(table)
    >>> ranks.best.tolist(), ranks.worst.tolist()
    ([1, 2, 2], [1, 3, 3])
    """
    table, shares = _checked_table(scores, weights, level)
    n_models, n_units = table.shape
    size = float(1 / (shares**2).sum())
    is_known = np.isfinite(table)
    complete = np.flatnonzero(is_known.all(axis=1))
    # The difficulty of a unit cancels in differences; subtracting it first avoids rounding errors.
    eased = np.where(is_known, table - table[complete].mean(axis=0), 0.0)
    signs = _signs(np.sort(table, axis=None), n_units, n_draws)
    largest = np.zeros(signs.shape[1], dtype=np.float32)
    difference, spread = np.full((n_models, n_models), np.nan), np.full((n_models, n_models), np.nan)
    sizes = np.full((n_models, n_models), size)
    points = eased[complete] @ shares
    moved = eased[complete] * shares
    same = np.array([hash(row.tobytes()) for row in table[complete]])
    apart = _distances(moved, moved, same[:, None] == same)
    difference[np.ix_(complete, complete)], spread[np.ix_(complete, complete)] = points[:, None] - points, apart
    deviations = moved @ signs
    for row in range(1, len(complete)):
        _raise_largest(largest, deviations[row : row + 1], deviations[:row], apart[row : row + 1, :row])
    later = np.concatenate([complete, np.flatnonzero(~is_known.all(axis=1))])
    for place in range(complete.size, n_models):
        model, others = later[place], later[:place]
        common = is_known[others] & is_known[model]
        enough = np.count_nonzero(common, axis=1) >= MIN_UNITS
        rows, common = others[enough], common[enough]
        share = common * shares
        share /= share.sum(axis=1, keepdims=True)
        moved = (eased[model] - eased[rows]) * share
        apart = np.sqrt((moved**2).sum(axis=1))
        difference[model, rows], spread[model, rows] = moved.sum(axis=1), apart
        difference[rows, model], spread[rows, model] = -difference[model, rows], apart
        sizes[model, rows] = sizes[rows, model] = 1 / (share**2).sum(axis=1)
        if rows.size:
            _raise_largest(largest, np.zeros((1, signs.shape[1])), moved @ signs, apart[None])
    tests = _studentise(difference, spread, sizes, float(np.abs(eased).max()))
    # The observed table counts as one draw. The factor makes up for single precision, so that ties count as reached.
    reached = np.sort(largest.astype(np.float64)) * (1 + 1e-6)
    corrected = (1 + reached.size - np.searchsorted(reached, tests.ratio, side="left")) / (1 + reached.size)
    corrected = np.where(np.isnan(difference), np.nan, np.where(tests.is_apart, corrected, 1.0))
    decided = tests.is_apart & (corrected <= 1 - level + _TIE)
    critical = float(reached[max(int(np.ceil((1 + reached.size) * level)) - 1, 0)])
    room = size - critical**2
    ranked = np.ix_(complete, complete)
    means, best, worst = np.full(n_models, np.nan), np.zeros(n_models, np.int64), np.zeros(n_models, np.int64)
    means[complete] = table[complete] @ shares
    best[complete] = 1 + np.count_nonzero(decided[ranked] & (difference[ranked] < 0), axis=1)
    worst[complete] = complete.size - np.count_nonzero(decided[ranked] & (difference[ranked] > 0), axis=1)
    multiple = float(critical * np.sqrt((size - 1) / room)) if room > 0 else float("inf")
    return UnitRanks(means, size, multiple, difference, tests.se, tests.p, corrected, decided, best, worst)


def _checked_table(scores: ArrayLike, weights: ArrayLike | None, level: float) -> tuple[Floats, Floats]:
    """Return scores and weights normalised to sum to 1; raise ValueError as ``rank_units`` documents."""
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2 or np.any(np.isinf(table)):
        raise ValueError(f"scores must be finite or NaN, of shape (n_models, n_units), got {table.shape}")
    if not 0 < level < 1:
        raise ValueError(f"level must lie in (0, 1), got {level}; 95% is 0.95")
    n_units = table.shape[1]
    shares = np.ones(n_units) if weights is None else np.asarray(weights, dtype=np.float64)
    if shares.shape != (n_units,) or not np.all(shares > 0):
        raise ValueError(f"weights must be above 0, one for each of the {n_units} units")
    if n_units < MIN_UNITS:
        raise ValueError(f"ranks need {MIN_UNITS} units, got {n_units}")
    if not np.any(np.all(np.isfinite(table), axis=1)):
        raise ValueError("no model has a score on every unit; drop some units")
    return table, np.asarray(shares / shares.sum())


class _Tests(NamedTuple):
    """Pairwise tests, each field of shape (n_models, n_models): see ``UnitRanks``; ``ratio`` is the max-t statistic."""

    ratio: Floats
    se: Floats
    p: Floats
    is_apart: NDArray[np.bool_]


def _studentise(difference: Floats, spread: Floats, sizes: Floats, scale: float) -> _Tests:
    """Compute Student's p values of differences, and the statistic that is compared with the sign-flip draws."""
    from scipy.special import stdtr

    tiny, df = _TIE * max(scale, 1e-300), sizes - 1
    apart = np.abs(difference)
    is_apart = apart > tiny
    ratio = np.divide(apart, spread, out=np.where(is_apart, np.inf, 0.0), where=spread > tiny)
    left = np.maximum(sizes - ratio**2, 0)
    t = np.divide(np.sqrt(df) * ratio, np.sqrt(left), out=np.where(is_apart, np.inf, 0.0), where=left > _TIE)
    se = np.divide(apart, t, out=spread * np.sqrt(sizes / df), where=(t > _TIE) & np.isfinite(t))
    p = np.where(is_apart, 2 * stdtr(df, -np.minimum(t, 1e150)), 1.0)
    return _Tests(ratio, np.where(np.isinf(t), 0.0, se), np.where(np.isnan(difference), np.nan, p), is_apart)


def _signs(values: Floats, n_units: int, n_draws: int) -> Floats:
    """Draw signs of units, shape (n_units, n_draws); for up to 12 units, all patterns (up to a global sign).

    The all-plus pattern is excluded because the observed table is counted separately. Random patterns are seeded by
    the values, so that different tables do not share the Monte Carlo error of one draw.
    """
    if n_units <= 12:
        patterns = np.arange(1, 2 ** (n_units - 1))
        return np.asarray(1.0 - 2.0 * ((patterns >> np.arange(n_units)[:, None]) & 1))
    generator = np.random.default_rng(np.frombuffer(sha256(values.tobytes()).digest(), dtype=np.uint32))
    return np.asarray(1.0 - 2.0 * generator.integers(0, 2, size=(n_units, n_draws), dtype=np.int8))


def _training_noise(training: Floats, deviations: Floats) -> Floats:
    """Draw normal deviations with the given variances, one row per entry, seeded by the entry's replicates."""
    n = deviations.shape[1]
    # Permuted normal quantiles instead of random draws, so that the sample variance is exact.
    normal = np.array([NormalDist().inv_cdf((place + 0.5) / n) for place in range(n)])
    normal /= normal.std()
    noise = np.zeros(deviations.shape)
    for row in np.flatnonzero(training > 0):
        seed = np.frombuffer(deviations[row].tobytes(), dtype=np.uint32)
        noise[row] = np.sqrt(training[row]) * np.random.default_rng(seed).permutation(normal)
    return noise


def _student(normal: Floats, per_df: Floats) -> Floats:
    """Convert normal quantiles to Student's t quantiles (Cornish-Fisher expansion); ``per_df`` is 1 / df."""
    z = normal
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return np.asarray(z + sum(term * per_df ** (power + 1) for power, term in enumerate(terms)))


FAILURE = 0.10
"""A run has failed if it scores more than this below its recipe's best run; fixed before any scores were seen."""
RUNS_OF_RARE_FAILURES = 29
"""Number of runs without a failure that bounds a recipe's failure rate by 10% (one-sided 95%)."""


def holm(p_values: ArrayLike) -> Floats:
    """Compute Holm-corrected p values, to be compared with the family-wise level.

    Args:
        p_values: p values of the family, any shape, in [0, 1]. NaN (a comparison that could not be made)
            stays NaN and does not count.
    Returns: corrected p values in [0, 1], same shape; they control the family-wise error rate under any dependence.
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
    """Count the failed runs of a recipe: those that score more than ``margin`` below the best run.

    Args:
        scores: score of each run, fractions, shape (n_runs,), at least one.
        margin: a fraction.

    >>> failed_runs([0.8, 0.79, 0.6]), failed_runs([0.8, 0.7])
    (1, 0)
    """
    each = np.asarray(scores, dtype=np.float64)
    return int((each < each.max() - margin - _TIE).sum())


def share_at_most(n_failed: int, n_runs: int, level: float = 0.95) -> float:
    """Compute the exact one-sided upper confidence bound of a recipe's failure rate.

    Args:
        n_failed: number of failed runs.
        n_runs: number of runs, at least 1.
        level: confidence level, in (0, 1).
    Returns: the bound, in (0, 1].
    Source: Clopper and Pearson, "The use of confidence or fiducial limits" (1934).

    >>> [round(share_at_most(0, n), 3) for n in (5, RUNS_OF_RARE_FAILURES)], share_at_most(2, 2)
    ([0.451, 0.098], 1.0)
    """
    from scipy.special import betaincinv

    return 1.0 if n_failed == n_runs else float(betaincinv(n_failed + 1, n_runs - n_failed, level))


@dataclass(frozen=True)
class RankStability:
    """Ranks on all domains and with each domain left out.

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

    A rank that depends on one domain is unlikely to generalise to a new one.

    Args:
        scores: score matrix of each entry, shape (n_entries, n_domains, n_domains), sources by targets,
            finite.
        statistic: maps score matrices (n_entries, d, d) to the values ranked, (n_entries,), higher is better.
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
        raise ValueError("ranks need every score of every entry; drop entries that do not cover the grid")
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
