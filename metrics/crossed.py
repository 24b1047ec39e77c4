"""Test of whether one recipe is better than another: a t test on crossed variances of training runs and groups.

A score moves for two reasons: which texts the test set happens to hold, and how training happened to go. Texts are
shared by all runs and by both entries, runs are shared by all texts; so the two are crossed, and a paired test on texts
alone knows nothing of the second. With R_A and R_B runs of a source and G groups of texts the variance of the
difference of the run-averaged scores is

    s2_A / R_A + s2_B / R_B  +  (variance over groups of the run-averaged paired difference) / G  -  residual,

where s2 is the variance of a run's score and the residual that of runs by groups, which both terms before hold and
which counts once. Its degrees of freedom are Satterthwaite's. A statistic that is a weighted sum of scores on several
targets by models of several sources adds these up: over sources for runs, over targets for groups.

Scores that are no means (macro-F1, span F1) enter by their jackknife: what each group moves the score by.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

MIN_RUNS = 5
"""With fewer runs of a source training variance counts as not measured: nothing is said about recipes, only about the
trained models."""
_LEAST_TEXTS = 0.5


@dataclass(frozen=True)
class RunScores:
    """The runs of one source of one entry on several cells (a cell: a test set, or a weighting of one).

    Attributes:
        scores: of each run on each cell, shape (n_runs, n_cells).
        influences: for each cell what each group moves each run's score by (see ``influences``), (n_groups, n_runs).
    """

    scores: Floats
    influences: Sequence[Floats]


@dataclass(frozen=True)
class SourcePair:
    """One source of both entries.

    Attributes:
        a, b: the runs of either entry, on the same cells.
        targets: number of the test set that each cell is of, shape (n_cells,); cells of one test set share its groups.
        weights: of each cell in each statistic, shape (n_cells, n_statistics).
    """

    a: RunScores
    b: RunScores
    targets: Sequence[int]
    weights: Floats


@dataclass(frozen=True)
class CrossedTest:
    """Result of ``crossed_test``; all but the last of shape (n_statistics,).

    Attributes:
        difference: A minus B.
        standard_error: over new test texts and new training runs.
        df: Satterthwaite's degrees of freedom.
        p_value: two-sided; NaN where the difference or its error is undefined.
        correlation: of the differences' errors, shape (n_statistics, n_statistics).
    """

    difference: Floats
    standard_error: Floats
    df: Floats
    p_value: Floats
    correlation: Floats


def influences(counts: ArrayLike, finish: Callable[[Floats], Floats]) -> Floats:
    """Compute each group's influence on a score; the squares sum to the score's variance (jackknife).

    Args:
        counts: additive counts of each group, shape (n_groups, ..., k).
        finish: sums of counts (..., k) -> scores (...).
    Returns: influences, shape (n_groups, ...), summing to 0 over groups; NaN throughout with fewer than 2 groups.

    >>> right = np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 1.0], [0.0, 1.0]])
    >>> moves = influences(right, lambda sums: sums[..., 0] / sums[..., 1])
    >>> moves.round(4).tolist(), float((moves**2).sum().round(4))  # p (1 - p) / (n - 1)
    ([0.1443, -0.1443, 0.1443, -0.1443], 0.0833)
    """
    table = np.asarray(counts, dtype=np.float64)
    n = len(table)
    if n < 2:
        return np.full(table.shape[:-1], np.nan)
    without = finish(table.sum(axis=0) - table)
    return np.asarray((without.mean(axis=0) - without) * np.sqrt((n - 1) / n))


def residual_variance(moves: ArrayLike) -> float:
    """Compute the variance of a run-averaged score that comes from runs by groups.

    Args:
        moves: influences of each run, shape (n_groups, n_runs), with at least 2 runs.
    """
    table = np.asarray(moves, dtype=np.float64)
    n_runs = table.shape[1]
    apart = table - table.mean(axis=1, keepdims=True)
    return float((apart**2).sum() / (n_runs * (n_runs - 1)))


def paired_influences(pairs: Sequence[SourcePair]) -> dict[int, Floats]:
    """Compute each group's influence on the difference of the run-averaged statistics, over all sources.

    Args:
        pairs: the runs of each source, one or more on either side.
    Returns: by number of the test set, shape (n_groups, n_statistics); squares summed over groups are variances.
    """
    moved: dict[int, Floats] = {}
    for pair in pairs:
        for cell, target in enumerate(pair.targets):
            apart = pair.a.influences[cell].mean(axis=1) - pair.b.influences[cell].mean(axis=1)
            moved[target] = moved.get(target, 0.0) + _weighted(apart[:, None], pair.weights[cell])
    return moved


def crossed_test(pairs: Sequence[SourcePair], n_groups: Sequence[float]) -> CrossedTest:
    """Test whether two recipes differ, in several statistics at once (module docstring: which variance).

    Args:
        pairs: every source that a statistic needs, with at least 2 runs on either side; ``MIN_RUNS`` are asked for by
            what calls this.
        n_groups: effective number of groups of each test set.
    Returns: the tests. No p value lies below that of a sign test over the groups of the smallest test set used: where
        all groups and runs agree, the variance is 0 and t says nothing.
    Raises: ValueError with no source, or with a single run.
    """
    if not pairs:
        raise ValueError("there is no source to compare")
    if min(len(side.scores) for pair in pairs for side in (pair.a, pair.b)) < 2:
        raise ValueError("the variance over runs needs at least 2 runs of every source")
    k = pairs[0].weights.shape[1]
    difference, residual, per_df = np.zeros(k), np.zeros(k), np.zeros(k)
    runs, texts = np.zeros((k, k)), np.zeros((k, k))
    fewest = np.full(k, np.inf)
    for pair in pairs:
        difference += (pair.a.scores.mean(axis=0) - pair.b.scores.mean(axis=0)) @ pair.weights
        for side in (pair.a, pair.b):
            moved = (side.scores - side.scores.mean(axis=0)) @ pair.weights
            covariance = moved.T @ moved / (len(moved) * (len(moved) - 1))
            runs += covariance
            per_df += np.diagonal(covariance) ** 2 / (len(moved) - 1)
            per_cell = np.array([[residual_variance(each)] for each in side.influences])
            residual += _weighted(per_cell, pair.weights**2).sum(axis=0)
        for cell, target in enumerate(pair.targets):
            fewest[pair.weights[cell] != 0] = np.minimum(fewest[pair.weights[cell] != 0], n_groups[target])
    for target, moved in paired_influences(pairs).items():
        covariance = moved.T @ moved
        texts += covariance
        per_df += np.diagonal(covariance) ** 2 / max(n_groups[target] - 1, 1)
    # Where runs hardly differ, the noise of the first two terms could make all of it vanish.
    training = np.maximum(np.diagonal(runs) - residual, -_LEAST_TEXTS * np.diagonal(texts))
    variance = training + np.diagonal(texts)
    p_value, df = _two_sided(difference, variance, per_df, fewest)
    together = runs + texts
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = np.sqrt(np.outer(np.diagonal(together), np.diagonal(together)))
        correlation = np.where(scale > 0, together / scale, 0.0)  # undefined ones too
    np.fill_diagonal(correlation, 1.0)
    return CrossedTest(difference, np.sqrt(variance), df, p_value, correlation)


def _weighted(values: Floats, weights: Floats) -> Floats:
    """Compute products with weights; terms of weight 0 may be undefined."""
    return np.where(weights != 0, values * weights, 0.0)


def _two_sided(difference: Floats, variance: Floats, per_df: Floats, fewest: Floats) -> tuple[Floats, Floats]:
    """Return p values and degrees of freedom."""
    from scipy.special import stdtr

    with np.errstate(invalid="ignore", divide="ignore"):
        df = np.where(per_df > 0, variance**2 / per_df, np.inf)
        t = np.where(difference == 0, 0.0, np.abs(difference) / np.sqrt(variance))
        p_value = 2 * stdtr(np.where(np.isfinite(df), np.maximum(df, 1.0), 1e9), -t)
    p_value = np.where(t == 0, 1.0, np.maximum(p_value, np.where(np.isfinite(fewest), 2.0 ** (1 - fewest), 0.0)))
    return np.where(np.isnan(difference) | np.isnan(variance), np.nan, np.minimum(p_value, 1.0)), df
