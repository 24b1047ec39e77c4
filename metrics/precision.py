"""Confidence intervals of scores: influences of groups, effective sample size, and limits derived from them.

The same method serves every score (a mean over texts, macro-F1, span F1, Depth F1). A text's influence is its effect on
the linearised score; sums of influences per group give the delete-one-group jackknife variance. The effective sample
size ``n`` is the number of independent texts for which a proportion has this variance. If independent texts would have
a larger variance, the jackknife variance is raised toward that, by at most two of its standard errors. If only a few
groups contain errors (or correct answers), the jackknife variance is unreliable, and it is shrunk toward that of
perfectly correlated groups. The interval is Wilson's with this ``n`` and Student's quantile with (effective groups - 1)
degrees of freedom. Intervals of sums and differences are combined by square-and-add, with the correlation of the
scores' influences on shared groups. The interval on one test set never uses data of another.

Sources: Wilson (1927); Korn and Graubard, "Confidence intervals for proportions with small expected number of positive
counts" (1998), effective n; Newcombe, "Interval estimation for the difference between independent proportions" (1998)
and Zou and Donner (2008), square-and-add; Satterthwaite (1946).

``exact_p`` is the exact binomial test of accuracy against a limit.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Formula = Callable[[Floats], Floats]

MIN_GROUPS = 5
"""Minimum effective number of groups in a test set, or in a class's gold texts, for an interval."""
KNOWN_GROUPS = 5
"""Minimum number of groups with an error for statistics of errors only, such as failure AUROC."""
MIN_RUNS = 5
"""Minimum number of runs per source to estimate training variance, and hence to compare recipes."""
_STEP = 4e-6
"""Relative step of central differences, near the optimum: the cube root of the machine epsilon."""


def slopes(formula: Formula, totals: ArrayLike) -> Floats:
    """Compute the partial derivatives of a score with respect to its counts (central differences).

    Args:
        formula: maps sums of counts (..., k) to scores (...); invariant to scaling all counts.
        totals: point at which to differentiate, shape (..., k), at least 0.
    Returns: derivatives, shape (..., k); 0 for a count of 0.

    >>> slopes(lambda sums: sums[..., 0] / sums[..., 1], [3.0, 4.0]).round(4).tolist()
    [0.25, -0.1875]
    """
    sums = np.asarray(totals, dtype=np.float64)
    step = _STEP * sums[..., None, :] * np.eye(sums.shape[-1])
    here = sums[..., None, :]
    with np.errstate(invalid="ignore", divide="ignore"):
        rises = formula(here + step) - formula(here - step)
        return np.asarray(np.where(sums > 0, rises / (2 * _STEP * np.where(sums > 0, sums, 1.0)), 0.0))


def group_influences(influences: ArrayLike, groups: NDArray[np.int64], weights: ArrayLike | None = None) -> Floats:
    """Sum influences of texts by group, scaled so that their squares sum to the delete-one-group jackknife variance.

    Args:
        influences: influence of each text on a score, shape (..., n), summing to 0.
        groups: group of each text, consecutive codes from 0, shape (n,).
        weights: weight of each text, shape (..., n), at least 0. Default: 1.
    Returns: shape (..., n_groups); NaN if one group has all the weight.

    >>> moves = group_influences(np.array([0.5, -0.5, 0.5, -0.5]) / 4, np.arange(4))
    >>> float((moves**2).sum().round(4))  # p (1 - p) / (n - 1)
    0.0833
    """
    moved, n_groups = np.asarray(influences, dtype=np.float64), int(groups.max()) + 1
    shares = np.ones(groups.size) if weights is None else np.asarray(weights, dtype=np.float64)
    shares = sum_by_group(shares / shares.sum(axis=-1, keepdims=True), groups)
    with np.errstate(invalid="ignore", divide="ignore"):
        without = sum_by_group(moved, groups) / (1 - shares)
        centred = without - without.mean(axis=-1, keepdims=True)
        return np.asarray(centred * np.sqrt((n_groups - 1) / n_groups))


def sum_by_group(values: Floats, groups: NDArray[np.int64]) -> Floats:
    """Sum values by group.

    Args:
        values: shape (..., n).
        groups: group of each value, consecutive codes from 0, shape (n,).
    Returns: sums, shape (..., n_groups).
    """
    n_groups = int(groups.max()) + 1
    if n_groups == groups.size and np.array_equal(groups, np.arange(n_groups)):
        return values
    rows = values.reshape(-1, values.shape[-1])
    sums = np.stack([np.bincount(groups, weights=row, minlength=n_groups) for row in rows])
    return np.asarray(sums.reshape(*values.shape[:-1], n_groups), dtype=np.float64)


def effective_groups(weights: ArrayLike) -> Floats:
    """Compute the effective number of groups, ``(sum w)^2 / sum w^2``; 0 if all weights are 0.

    Args:
        weights: weights of the groups, shape (..., n_groups), at least 0.
    Returns: numbers from 0 to n_groups, shape (...).

    >>> effective_groups([[2.0, 2.0, 0.0], [0.0, 0.0, 0.0]]).tolist()
    [2.0, 0.0]
    """
    heavy = np.asarray(weights, dtype=np.float64)
    squares = (heavy**2).sum(axis=-1)
    return np.asarray(heavy.sum(axis=-1) ** 2 / np.where(squares > 0, squares, 1.0))


def class_size(class_groups: ArrayLike) -> Floats:
    """Compute the effective sample size of a mean over classes, each with its own effective number of groups.

    Args:
        class_groups: effective number of gold groups of each class, shape (..., n_classes), above 0.
    Returns: effective numbers of groups, shape (...).

    >>> class_size([[20.0, 20.0], [100.0, 5.0]]).round(1).tolist()
    [40.0, 19.0]
    """
    groups = np.asarray(class_groups, dtype=np.float64)
    return np.asarray(groups.shape[-1] ** 2 / (1 / groups).sum(axis=-1))


def class_df(class_groups: ArrayLike) -> Floats:
    """Compute Satterthwaite's degrees of freedom of a mean over classes with equal variance per group.

    Args:
        class_groups: effective number of gold groups of each class, shape (..., n_classes), above 1.
    Returns: degrees of freedom, shape (...).

    >>> class_df([[20.0, 20.0], [100.0, 5.0]]).round(1).tolist()
    [38.0, 4.4]
    """
    groups = np.asarray(class_groups, dtype=np.float64)
    return satterthwaite(1 / groups, groups - 1)


def unknown_share(holding: ArrayLike) -> Floats:
    """Compute the weight that ``effective_n`` gives to its conservative bound; 1 if no group contains an error.

    Args:
        holding: effective number of groups that contain errors (or correct answers, or a difference between two
            models), at least 0.
    Returns: weights in (0, 1], same shape: below 0.03 from 5 groups on.

    >>> unknown_share([0.0, 1.0, 5.0]).round(3).tolist()
    [1.0, 0.75, 0.023]
    """
    return np.asarray(3 / (np.asarray(holding, dtype=np.float64) ** 3 + 3))


def effective_n(score: ArrayLike, variance: ArrayLike, least: ArrayLike, size: ArrayLike, holding: ArrayLike) -> Floats:
    """Compute the effective sample size: the number of independent binary outcomes with the same variance.

    If ``e`` groups contain errors (or correct answers), the variance is a mixture of the jackknife variance and, with
    weight ``3 / (e^3 + 3)``, that of perfectly correlated groups. Without errors this is Korn and Graubard's bound;
    from 5 groups on it is nearly the jackknife variance, with a smooth transition. A variance below that of independent
    texts may be due to chance, or to a design in which every group contains every label; it is raised toward that of
    independent texts by at most two of its standard errors (``sqrt(2 / (size - 1))`` of the variance).

    Args:
        score: in [0, 1]; shapes must broadcast.
        variance: jackknife variance over groups, at least 0.
        least: the variance if texts were independent, at least 0.
        size: effective number of groups; ``class_size`` for a mean over classes.
        holding: effective number of groups with errors, or with correct answers if fewer.
    Returns: above 0.

    >>> effective_n([0.5, 1.0], [0.01, 0.0], [0.0025, 0.0], 40.0, [100.0, 0.0]).round(2).tolist()
    [25.0, 40.0]
    """
    p = np.asarray(score, dtype=np.float64)
    correlated = p * (1 - p) / np.asarray(size, dtype=np.float64)  # variance if all texts of a group have one outcome
    unknown = unknown_share(holding)
    own = np.asarray(variance, dtype=np.float64)
    highest = own * (1 + 2 * np.sqrt(2 / np.maximum(np.asarray(size, dtype=np.float64) - 1, 1.0)))
    mixed = (1 - unknown) * np.maximum(own, np.minimum(least, highest)) + unknown * correlated
    return np.asarray(np.where(correlated > 0, p * (1 - p) / np.where(mixed > 0, mixed, 1.0), size))


def student(df: ArrayLike, level: float = 0.95) -> Floats:
    """Compute the two-sided quantile of Student's t distribution.

    Args:
        df: degrees of freedom, above 0; may be infinite.
        level: probability of the interval, in (0, 1).
    Returns: quantiles, shape of ``df``; 1.96 for infinite ``df`` and level 0.95.
    """
    from scipy.special import stdtrit

    return np.asarray(stdtrit(np.minimum(df, 1e9), 0.5 + level / 2))


def wilson_limits(score: ArrayLike, square: ArrayLike) -> tuple[Floats, Floats]:
    """Compute Wilson's score interval.

    Args:
        score: in [0, 1]; shapes must broadcast.
        square: ``t^2 / n``, at least 0.
    Returns: lower and upper ends in [0, 1].

    >>> [round(float(end), 3) for end in wilson_limits(1.0, 0.128)]
    [0.887, 1.0]
    """
    p, s = np.asarray(score, dtype=np.float64), np.asarray(square, dtype=np.float64)
    centre = (p + s / 2) / (1 + s)
    reach = np.sqrt(s * (p * (1 - p) + s / 4)) / (1 + s)
    return np.minimum(np.maximum(centre - reach, 0.0), p), np.maximum(np.minimum(centre + reach, 1.0), p)


def square_of_interval(score: float, low: float, high: float) -> float:
    """Recover ``t^2 / n`` from a Wilson interval: the inverse of ``wilson_limits``.

    Args:
        score: the score, in [0, 1].
        low: lower end of its interval.
        high: upper end of its interval.
    Returns: ``t^2 / n``, at least 0; infinite if the interval is [0, 1].

    >>> round(square_of_interval(0.9, *wilson_limits(0.9, 0.04)), 6)
    0.04
    """
    # Solve (high - low)^2 / 4 (1 + s)^2 = s p (1 - p) + s^2 / 4 for s; the leading coefficient is negative.
    reach = (high - low) ** 2 / 4
    a, b, c = reach - 0.25, 2 * reach - score * (1 - score), reach
    return float((-b - np.sqrt(b * b - 4 * a * c)) / (2 * a)) if a < 0 else float("inf")


def influence_correlation(influences: Sequence[Floats], test_sets: Sequence[object]) -> Floats:
    """Compute the correlation matrix of k scores from their influences; 0 between different test sets.

    Args:
        influences: group influences of each score, each of shape (n_groups,).
        test_sets: test set of each score; scores of one test set share its groups.
    Returns: shape (k, k), ones on the diagonal; 0 for a score without variance.
    """
    joint = np.eye(len(influences))
    for test_set in dict.fromkeys(test_sets):
        rows = [row for row, each in enumerate(test_sets) if each == test_set]
        if len(rows) > 1:
            moved = np.stack([influences[row] for row in rows])
            lengths = np.sqrt((moved**2).sum(axis=1))
            unit = moved / np.where(lengths > 0, lengths, 1.0)[:, None]
            joint[np.ix_(rows, rows)] = np.clip(unit @ unit.T, -1.0, 1.0)
    np.fill_diagonal(joint, 1.0)
    return joint


def satterthwaite(variances: ArrayLike, dfs: ArrayLike) -> Floats:
    """Compute Satterthwaite's degrees of freedom of a sum of independent variance estimates.

    Args:
        variances: the estimates, at least 0, shape (..., k).
        dfs: degrees of freedom of each, above 0, same shape.
    Returns: degrees of freedom of the sum, shape (...); the minimum of ``dfs`` if all variances are 0.

    >>> satterthwaite([[1.0, 1.0], [0.0, 1.0]], [[10.0, 10.0], [3.0, 10.0]]).tolist()
    [20.0, 10.0]
    """
    parts, freedoms = np.asarray(variances, dtype=np.float64), np.asarray(dfs, dtype=np.float64)
    over = (parts**2 / freedoms).sum(axis=-1)
    return np.asarray(
        np.where(over > 0, parts.sum(axis=-1) ** 2 / np.where(over > 0, over, 1.0), freedoms.min(axis=-1))
    )


def residual_variance(influences: ArrayLike) -> float:
    """Compute the run-by-group interaction variance of a score averaged over runs.

    Args:
        influences: group influences of each run, shape (n_groups, n_runs), with at least 2 runs.
    """
    table = np.asarray(influences, dtype=np.float64)
    n_runs = table.shape[1]
    apart = table - table.mean(axis=1, keepdims=True)
    return float((apart**2).sum() / (n_runs * (n_runs - 1)))


class SidedP(NamedTuple):
    """One-sided p values: ``above`` for H0 "at most the limit", ``below`` for H0 "at least the limit"."""

    above: float
    below: float


def exact_p(score: float, n: float, limit: float) -> SidedP:
    """Test exactly (binomial) whether the true accuracy is above or below a limit.

    Args:
        score: observed accuracy, in [0, 1].
        n: effective number of examples, above 0, not necessarily an integer.
        limit: a fraction in (0, 1).
    Returns: ``above`` is the probability of this accuracy or a higher one if the true accuracy equals the limit,
        ``below`` that of this or a lower one; they sum to more than 1.
    Raises: ValueError when a number is out of range.
    Source: Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial"
        (1934), with the incomplete beta function for non-integer n.

    >>> found = exact_p(0.5, 10, 0.8)
    >>> round(found.below, 4), round(found.above, 4)
    (0.0328, 0.9936)
    """
    if not (0 <= score <= 1 and n > 0 and 0 < limit < 1):
        raise ValueError(f"need a score in [0, 1], n above 0 and a limit in (0, 1), got {score:g}, {n:g} and {limit:g}")
    from scipy.special import betainc

    right = score * n
    above = 1.0 if right <= 0 else float(betainc(right, n - right + 1, limit))
    below = 1.0 if right >= n else float(betainc(n - right, right + 1, 1 - limit))
    return SidedP(above, below)
