"""Depth of target texts in a source domain, Depth F1, and the slope of correctness on depth.

Source: Depth F1 paper, sec. 3. Depths lie in [0, 2]; a high depth means "like the source domain".
``lambda`` is the percentage of the MOST source-similar target texts excluded (0 excludes none). The paper's equation 7
would exclude the remaining texts instead, but the paper's text and tables agree with the definition here.

The slope measures how much accuracy rises as texts get closer to the source. Depth F1 is a noisier measure of this: at
lambda 0 the weights are nearly uniform, so it is close to accuracy, and at lambda 90 only a tenth of the texts remains.
The slope uses every text once and has more power.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftbench.metrics.precision import effective_groups, satterthwaite, student

Floats = NDArray[np.float64]

_BLOCK_ROWS = 512

LAMBDAS = (0, 25, 50, 75, 90)
"""The values of lambda that the paper reports (sec. 5.1)."""


def tte_depth(source: ArrayLike, target: ArrayLike | None = None) -> Floats:
    """Compute the depth of each target text: 2 minus its mean cosine distance to the source texts.

    Because cosine distance is ``1 - x . y`` on unit vectors, the mean needs no pairwise matrix: the depth is
    ``1 + x . mean(y)``, linear in the number of texts and exact.

    Args:
        source: embeddings of the source texts, shape (n_source, d); rows need not have unit length.
        target: embeddings of the target texts, shape (n_target, d). Default: the source texts themselves, each
            one left out of its own mean (at least two are needed).
    Returns: depths in [0, 2], shape (n_target,) or (n_source,).
    Raises: ValueError on a zero or non-finite vector, differing d, or too few source texts.
    Source: equation 1.

    >>> tte_depth([[1.0, 0.0], [0.0, 1.0]], [[2.0, 0.0]]).tolist()
    [1.5]
    >>> tte_depth([[1.0, 0.0], [0.0, 1.0]]).tolist()
    [1.0, 1.0]
    """
    source_vectors = _vectors("source", source)
    n_source = len(source_vectors)
    mean = np.zeros(source_vectors.shape[1])
    for rows, norms in _blocks("source", source_vectors):
        mean += (1.0 / norms) @ rows
    mean = (mean / n_source).astype(source_vectors.dtype)
    if target is None:
        if n_source < 2:
            raise ValueError("leave-one-out depths of source texts need at least two texts")
        return _as_depth((n_source * _similarity("source", source_vectors, mean) - 1.0) / (n_source - 1.0))
    target_vectors = _vectors("target", target)
    if target_vectors.shape[1] != source_vectors.shape[1]:
        raise ValueError(
            f"source has {source_vectors.shape[1]} dimensions, target {target_vectors.shape[1]}: "
            "were they embedded by the same encoder?"
        )
    return _as_depth(_similarity("target", target_vectors, mean))


def depth_weights(target_depth: ArrayLike, source_depth: ArrayLike | float) -> Floats:
    """Compute each target text's weight: the deepest source text's depth minus its own, normalised to sum to 1.

    A text deeper than the deepest source text gets weight 0 (the paper's formula would go negative).

    Args:
        target_depth: depths of the target texts in the source, shape (n_target,).
        source_depth: depths of the source texts in the source, shape (n_source,), or their maximum.
    Returns: weights >= 0 that sum to 1, shape (n_target,).
    Raises: ValueError when all weights are 0, or a depth is not finite.
    Source: equations 2 and 3.

    >>> depth_weights([1.0, 1.25, 1.75], [1.5, 1.25]).round(3).tolist()
    [0.667, 0.333, 0.0]
    """
    depths = _finite("target_depth", target_depth)
    deepest = float(_finite("source_depth", source_depth).max())
    weights = np.maximum(0.0, deepest - depths)
    total = weights.sum()
    if total <= 0:
        raise ValueError("all depth weights are 0: every target text is at least as deep as the deepest source text")
    return np.asarray(weights / total)


def least_deep(target_depth: ArrayLike, lambda_: float) -> NDArray[np.bool_]:
    """Select the ``100 - lambda`` percent least deep target texts; texts tied at the cut are included.

    Args:
        target_depth: depths, shape (n_target,), n_target >= 1.
        lambda_: percentage of the most source-similar texts to exclude, in [0, 100).
    Returns: mask of the selected texts, shape (n_target,), at least one true.
    Raises: ValueError when lambda is out of range or there is no text.
    Source: sec. 3.3 (see the module docstring on equation 7).

    >>> least_deep([1.1, 1.2, 1.3, 1.4], 50).tolist()
    [True, True, False, False]
    """
    depths = _finite("target_depth", target_depth)
    if not 0 <= lambda_ < 100:
        raise ValueError(f"lambda is a percentage in [0, 100), got {lambda_}")
    if depths.size == 0:
        raise ValueError("no target texts")
    # The tolerance keeps a rounding error of the percentage from raising the number by one.
    n_kept = max(1, int(np.ceil(depths.size * (100 - lambda_) / 100 - 1e-9)))
    return np.asarray(depths <= np.partition(depths, n_kept - 1)[n_kept - 1])


def effective_size(weights: ArrayLike) -> float:
    """Compute the effective sample size of weights: ``(sum w)^2 / sum w^2``.

    Args:
        weights: shape (n,), >= 0.
    Returns: a number between 1 and n.
    Raises: ValueError when all weights are 0.

    >>> effective_size([1.0, 1.0, 0.0])
    2.0
    """
    values = _finite("weights", weights)
    if not values.any():
        raise ValueError("the effective size is undefined when all weights are 0")
    return float(effective_groups(values))


def weighted_score(scores: ArrayLike, weights: ArrayLike) -> Floats:
    """Compute the depth-weighted mean of per-text scores: ``sum(w s) / sum(w)``.

    Span F1 is not a mean over texts; its depth-weighted form is ``2 sum(w tp) / sum(w (gold + predicted))``, which is
    computed from weighted span counts.

    Args:
        scores: score of each target text, shape (..., n), finite, any unit; leading axes are runs or models.
        weights: shape (n,), finite and >= 0, not all 0; they need not sum to 1. An excluded text has weight 0.
    Returns: weighted means in the unit of the scores, shape (...,).
    Raises: ValueError when shapes do not fit, a score is not finite, a weight is negative or not finite, all
        weights are 0, or there is no text.
    Source: equation 6 for correctness; for other scores this project's.

    >>> float(weighted_score([0.5, 1.0], [1.0, 3.0]))
    0.875
    """
    values, shares = _finite("scores", scores), _finite("weights", weights)
    if shares.ndim != 1 or values.shape[-1] != shares.size:
        raise ValueError(f"scores (..., n) and weights (n,) must share n, got {values.shape} and {shares.shape}")
    if np.any(shares < 0):
        raise ValueError(f"weights must not be negative, got {shares.min():g}; did you skip depth_weights?")
    largest = shares.max(initial=0.0)
    if largest == 0:
        raise ValueError("a depth-weighted score is undefined when all weights are 0 or there is no text")
    shares = np.ldexp(shares, -np.frexp(largest)[1])  # exact, and tiny weights do not underflow
    return np.asarray((values @ shares) / shares.sum())


def depth_f1(correct: ArrayLike, weights: ArrayLike) -> Floats:
    """Compute Depth F1, micro-averaged: ``2 DTP / (2 DTP + DFP + DFN)``, equal to depth-weighted accuracy.

    With one label per text every misclassified text is one false positive and one false negative of the same weight,
    so DFP = DFN = sum of w over misclassified texts.

    Args:
        correct: whether each target text is classified correctly, booleans or 0 and 1, shape (..., n).
        weights: from ``depth_weights``, shape (n,), >= 0, not all 0; for lambda > 0 multiplied by ``least_deep``.
    Returns: fractions in [0, 1], higher is better, shape (...,).
    Raises: ValueError as ``weighted_score``, or when ``correct`` has a value other than 0 and 1.
    Source: equations 4-6.

    >>> depth = [0.8, 1.0, 1.3]
    >>> weights = depth_weights(depth, 1.5)
    >>> float(depth_f1([True, True, False], weights).round(3))
    0.857
    >>> float(depth_f1([True, True, False], weights * least_deep(depth, 50)))
    1.0
    """
    right = np.asarray(correct, dtype=np.float64)
    if not np.all((right == 0) | (right == 1)):
        raise ValueError("correct must contain only 0 and 1; for graded scores use weighted_score")
    return weighted_score(right, weights)


@dataclass(frozen=True)
class RankSumTest:
    """Result of ``rank_sum_test``.

    Attributes:
        u: number of pairs (source, target) in which the target is deeper, ties counted half, in
            [0, n_source n_target].
        effect: ``u / (n_source n_target)``: 0.5 no difference, lower = target further from the source. Equals Q minus
            half the fraction of tied pairs.
        p_value: in [0, 1]; NaN when all depths are equal.
    """

    u: float
    effect: float
    p_value: float


def rank_sum_test(
    source_depth: ArrayLike, target_depth: ArrayLike, *, alternative: Literal["two-sided", "less"] = "two-sided"
) -> RankSumTest:
    """Test whether target texts are as deep in the source as source texts (Wilcoxon-Mann-Whitney).

    Uses the normal approximation of U with tie and continuity correction. It assumes independent texts, but depths of
    source texts share one mean vector and texts within a group are correlated, so with large corpora read the effect,
    not the p value.

    Args:
        source_depth: leave-one-out depths of the source texts in the source, shape (n_source,). Without leaving each
            text out of its own mean the source would look too deep.
        target_depth: depths of the target texts in the source, shape (n_target,). The approximation needs about 8
            texts or more on each side.
        alternative: ``less`` tests only whether the target is further from the source.
    Returns: the test result.
    Raises: ValueError when either is empty or a depth is not finite, or alternative is unknown.
    Source: sec. 4.2 defines only Q; this is the corresponding test.

    >>> test = rank_sum_test([1.4, 1.5, 1.6, 1.7], [1.1, 1.2, 1.3, 1.5])
    >>> test.u, test.effect, round(test.p_value, 3)
    (1.5, 0.09375, 0.081)
    """
    source, target = _finite("source_depth", source_depth), _finite("target_depth", target_depth)
    if source.size == 0 or target.size == 0:
        raise ValueError("the rank-sum test needs at least one source and one target text")
    if alternative not in ("two-sided", "less"):
        raise ValueError(f"alternative must be 'two-sided' or 'less', got {alternative!r}")
    n, m = source.size, target.size
    ordered = np.sort(source)
    u = float((np.searchsorted(ordered, target, "left") + np.searchsorted(ordered, target, "right")).sum() / 2)
    ties = np.unique(np.concatenate([source, target]), return_counts=True)[1].astype(np.float64)
    total = n + m
    variance = n * m / 12 * (total + 1 - (ties**3 - ties).sum() / (total * (total - 1)))
    if ties.size == 1:
        return RankSumTest(u, u / (n * m), float("nan"))
    from scipy.special import ndtr

    offset = u - n * m / 2
    if alternative == "two-sided":
        p_value = min(1.0, 2 * float(ndtr(-(abs(offset) - 0.5) / np.sqrt(variance))))
    else:
        p_value = float(ndtr((offset + 0.5) / np.sqrt(variance)))
    return RankSumTest(u, u / (n * m), p_value)


def q_statistic(source_depth: ArrayLike, target_depth: ArrayLike) -> float:
    """Compute the probability that a source text is no deeper in the source than a target text: ``Pr[D(X) <= D(Y)]``.

    0.5 when both come from the same distribution; lower means the target is further from the source.

    Args:
        source_depth: depths of the source texts in the source, shape (n_source,).
        target_depth: depths of the target texts in the source, shape (n_target,).
    Returns: a fraction in [0, 1].
    Raises: ValueError when either is empty.
    Source: sec. 4.2; equation 8 read with both depths taken in the source.

    >>> q_statistic([1.0, 2.0], [1.5])
    0.5
    """
    source = np.sort(_finite("source_depth", source_depth))
    target = _finite("target_depth", target_depth)
    if source.size == 0 or target.size == 0:
        raise ValueError("Q needs at least one source and one target text")
    return float(np.searchsorted(source, target, side="right").mean() / source.size)


def q_reference(source_depth: ArrayLike, target_depth: ArrayLike) -> float:
    """Compute Q as the authors' code does: the mean fraction of the *pooled* texts that are less deep than a target.

    Each target text is ranked among source and target texts together, so without ties the value is
    ``pooled_q(q_statistic(source_depth, target_depth), n_source, n_target)``. It depends on the two sample sizes:
    with twice as many target as source texts it cannot be below 1/3. Values for different sizes are not comparable.

    Args:
        source_depth: depths of the source texts in the source, shape (n_source,).
        target_depth: depths of the target texts in the source, shape (n_target,).
    Returns: a fraction in [0, 1].
    Raises: ValueError when either is empty.
    Source: ``q_score`` of https://github.com/pkseeg/tte_depth, which agrees with the values in Table 1.

    >>> q_reference([1.0, 2.0], [1.5, 0.5])
    0.25
    """
    source, target = _finite("source_depth", source_depth), _finite("target_depth", target_depth)
    if source.size == 0 or target.size == 0:
        raise ValueError("Q needs at least one source and one target text")
    pooled = np.sort(np.concatenate([source, target]))
    return float(np.searchsorted(pooled, target, side="left").mean() / pooled.size)


def pooled_q(q: float, n_source: int, n_target: int) -> float:
    """Convert equation 8's Q to the value of ``q_reference`` at given sample sizes, if no two depths are equal.

    ``(n_source * q + (n_target - 1) / 2) / (n_source + n_target)``: on average ``n_source * q`` source texts and half
    of the other target texts are less deep than a target text.

    Args:
        q: Q of equation 8, a fraction in [0, 1].
        n_source: number of source texts, at least 1.
        n_target: number of target texts, at least 1.
    Returns: a fraction in [0, 1].
    Raises: ValueError when a size is below 1.

    >>> round(pooled_q(0.02, 500, 1000), 2)
    0.34
    """
    if n_source < 1 or n_target < 1:
        raise ValueError("Q needs at least one source and one target text")
    return (n_source * q + (n_target - 1) / 2) / (n_source + n_target)


def _vectors(name: str, values: ArrayLike) -> NDArray[np.floating]:
    vectors = np.asarray(values)
    if vectors.dtype not in (np.float32, np.float64):
        vectors = vectors.astype(np.float64)
    if vectors.ndim != 2 or len(vectors) == 0:
        raise ValueError(f"{name} must be embeddings of shape (n, d) with n >= 1, got shape {vectors.shape}")
    return vectors


def _similarity(name: str, vectors: NDArray[np.floating], mean: NDArray[np.floating]) -> NDArray[np.floating]:
    """Compute the dot product of each unit vector with the mean, shape (n,)."""
    return np.concatenate([np.vecdot(rows, mean) / norms for rows, norms in _blocks(name, vectors)])


def _blocks(name: str, vectors: NDArray[np.floating]) -> Iterator[tuple[NDArray[np.floating], NDArray[np.floating]]]:
    """Yield blocks of rows and their norms, small enough to stay in the processor's cache for a second pass."""
    for start in range(0, len(vectors), _BLOCK_ROWS):
        rows = vectors[start : start + _BLOCK_ROWS]
        norms = np.sqrt(np.vecdot(rows, rows))
        bad = ~np.isfinite(norms) | (norms == 0)
        if bad.any():
            row = start + int(np.flatnonzero(bad)[0])
            raise ValueError(f"{name} row {row} is a zero or non-finite vector and has no direction")
        yield rows, norms


def _as_depth(similarity: NDArray[np.floating]) -> Floats:
    # Rounding may move an exact 2 or 0 a few ulp out of range.
    return np.clip(1.0 + similarity.astype(np.float64), 0.0, 2.0)


def _finite(name: str, values: ArrayLike | float) -> Floats:
    array = np.atleast_1d(np.asarray(values, dtype=np.float64))
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite")
    return array


class DepthSlope(NamedTuple):
    """The slope of scores on depth, per standard deviation of depth over the test set.

    Attributes:
        slopes: slope of each run, shape (n_runs,); positive if scores are higher closer to the source.
        influences: influence of each group on a run's slope, shape (n_runs, n_groups), summing to 0 over groups.
        effective_groups: effective number of groups of the test set.
    """

    slopes: Floats
    influences: Floats
    effective_groups: float


class SlopeEstimate(NamedTuple):
    """A slope with its 95% interval under resampling of test texts; NaN if there is no interval."""

    slope: float
    low: float
    high: float


def depth_slope(scores: ArrayLike, depth: ArrayLike, groups: NDArray[np.int64]) -> DepthSlope | None:
    """Regress the scores of texts on their depth in the source, standardised over the test set.

    Args:
        scores: score of each text, fractions, shape (n_runs, n).
        depth: depth of each text in the source, shape (n,), finite.
        groups: group of each text, consecutive codes from 0, shape (n,).
    Returns: slopes and influences; None if all depths are equal or there is only one group.
    Raises: ValueError when shapes differ or a value is not finite.

    >>> found = depth_slope([[0.0, 0.0, 1.0, 1.0]], [0.1, 0.2, 0.3, 0.4], np.arange(4))
    >>> found.slopes.round(3).tolist()
    [0.447]
    """
    right, deep = np.asarray(scores, dtype=np.float64), np.asarray(depth, dtype=np.float64)
    if right.ndim != 2 or right.shape[1:] != deep.shape or deep.shape != groups.shape:
        raise ValueError(f"scores (n_runs, n), depth and groups (n,) must share n, got {right.shape} and {deep.shape}")
    if not (np.all(np.isfinite(right)) and np.all(np.isfinite(deep))):
        raise ValueError("scores and depths must be finite")
    sizes = np.bincount(groups)
    if sizes.size < 2 or np.ptp(deep) == 0:
        return None
    steps = (deep - deep.mean()) / deep.std()
    slopes = right @ steps / deep.size
    left = right - right.mean(axis=1, keepdims=True) - slopes[:, None] * steps
    influences = np.stack([np.bincount(groups, weights=row) for row in left * steps]) / deep.size
    return DepthSlope(slopes, influences, effective_size(sizes))


def mean_slope(
    targets: Sequence[Sequence[tuple[DepthSlope, Sequence[int]]]], *, min_groups: float = 5
) -> SlopeEstimate:
    """Average slopes over runs and shifts, with a Student interval for the sampling of test texts.

    Shifts into the same target share its test texts, so their influences are added per group; targets are independent.
    The sum over groups of squared influences is the cluster-robust variance, divided by 1 - 1 / groups.

    Args:
        targets: per target, the slopes of the shifts into it, each with the indices of the runs to average.
        min_groups: minimum effective number of groups in every test set for an interval.
    Returns: mean slope and its interval, NaN with too few groups.
    Raises: ValueError when there is no slope.
    Source: Liang and Zeger, "Longitudinal data analysis using generalized linear models" (1986).
    """
    n_shifts = sum(map(len, targets))
    if n_shifts == 0:
        raise ValueError("there are no slopes to average")
    mean = sum(fitted.slopes[list(runs)].mean() for shifts in targets for fitted, runs in shifts) / n_shifts
    smallest = min(fitted.effective_groups for shifts in targets for fitted, _ in shifts)
    if smallest < min_groups:
        return SlopeEstimate(float(mean), float("nan"), float("nan"))
    variances, dfs = [], []
    for shifts in filter(None, targets):
        influence = np.sum([fitted.influences[list(runs)].mean(axis=0) for fitted, runs in shifts], axis=0) / n_shifts
        groups = shifts[0][0].effective_groups
        variances.append(float((influence**2).sum()) * groups / (groups - 1))
        dfs.append(groups - 1)
    reach = float(student(satterthwaite(variances, dfs))) * float(np.sqrt(sum(variances)))
    return SlopeEstimate(float(mean), float(mean - reach), float(mean + reach))
