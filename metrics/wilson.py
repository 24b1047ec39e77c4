"""Intervals of one score between 0 and 1, sound near its ends and where examples come in groups.

Resampling cannot see what a small test set happens not to hold: of 30 texts that are all right every replicate is all
right, and its interval has no width. Wilson's interval asks instead which true shares the observed one is likely under,
so it has width at 0 and at 1. Examples of one group are alike and weigh less than as many independent ones: the
interval is made as if there were *effective* ``n`` of them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

MIN_GROUPS = 5
"""Effective groups of a test set below which a score has no interval."""
MIN_CLASS_GROUPS = 10
"""Effective groups with gold examples of a class below which a mean over classes has none."""


class Moments(NamedTuple):
    """Sums over one test set of example scores ``x`` in [0, 1], from which their spread in and between groups follows.

    Attributes:
        n, n_groups: examples and groups.
        group_squares: sum over groups of their squared sizes.
        total: sum of x.
        squares: sum of x squared.
        between: sum over groups of (the group's sum of x) squared / its size.
    """

    n: int
    n_groups: int
    group_squares: float
    total: float
    squares: float
    between: float

    @property
    def dispersion(self) -> float:
        """Return the variance of x in units of ``p (1 - p)``, p its mean: 1 for right or wrong, below for grades."""
        mean = self.total / self.n
        most = mean * (1 - mean)
        return min((self.squares / self.n - mean**2) / most, 1.0) if most > 0 else 0.0


class RunMoments(NamedTuple):
    """Moments of several runs on one test set, from which those of any mean over runs follow.

    Attributes:
        n, n_groups, group_squares: as in ``Moments``.
        totals: sum of each run's scores, shape (n_runs,).
        products: sum over examples of the product of two runs' scores, shape (n_runs, n_runs).
        between: sum over groups of the product of two runs' sums, over the group's size, shape (n_runs, n_runs).
    """

    n: int
    n_groups: int
    group_squares: float
    totals: Floats
    products: Floats
    between: Floats

    def of(self, runs: Sequence[int]) -> Moments:
        """Return the moments of the mean over some runs."""
        pairs = np.ix_(runs, runs)
        return Moments(
            n=self.n,
            n_groups=self.n_groups,
            group_squares=self.group_squares,
            total=float(self.totals[list(runs)].mean()),
            squares=float(self.products[pairs].mean()),
            between=float(self.between[pairs].mean()),
        )


def run_moments(scores: Floats, groups: NDArray[np.int64]) -> RunMoments:
    """Sum the example scores of several runs on one test set.

    Args:
        scores: in [0, 1], shape (n_runs, n).
        groups: group of each example, codes from 0 without a gap, shape (n,).

    >>> run_moments(np.array([[1.0, 0.0, 1.0]]), np.array([0, 0, 1])).of([0])
    Moments(n=3, n_groups=2, group_squares=5.0, total=2.0, squares=2.0, between=1.5)
    """
    sizes = np.bincount(groups)
    sums = np.stack([np.bincount(groups, weights=row) for row in scores])
    return RunMoments(
        n=groups.size,
        n_groups=sizes.size,
        group_squares=float((sizes**2).sum()),
        totals=sums.sum(axis=1),
        products=scores @ scores.T,
        between=(sums / sizes) @ sums.T,
    )


def intraclass_correlation(cells: Sequence[Moments]) -> float:
    """Pool the correlation of two examples of one group over several test sets and models.

    Of each cell the variance between and within groups is estimated by analysis of variance (groups of any size), and
    both are averaged over cells, weighted by ``n_groups - 1``: one cell with few groups or few errors knows too little.

    Args:
        cells: moments of the scores; cells without two groups, or without a group of two, take no part.
    Returns: a correlation in [0, 1]; 0 where no cell takes part or no score varies.
    Source: Donner, "A review of inference procedures for the intraclass correlation coefficient" (1986), sec. 2.1.

    >>> intraclass_correlation([Moments(4, 2, 8.0, total=2.0, squares=2.0, between=2.0)])
    1.0
    """
    between = within = 0.0
    for cell in cells:
        if not 1 < cell.n_groups < cell.n:
            continue
        inside = (cell.squares - cell.between) / (cell.n - cell.n_groups)
        across = (cell.between - cell.total**2 / cell.n) / (cell.n_groups - 1)
        size = (cell.n - cell.group_squares / cell.n) / (cell.n_groups - 1)
        between += (cell.n_groups - 1) * (across - inside) / size
        within += (cell.n_groups - 1) * inside
    if between <= 0:
        return 0.0
    return float(between / (between + max(within, 0.0)))


def effective_n(n_texts: float, n_groups: float, correlation: float, dispersion: float = 1.0) -> float:
    """Compute the number of equally precise independent right-or-wrong examples: ``n / design effect``.

    Args:
        n_texts: effective number of examples, ``(sum w)^2 / sum w^2`` of their weights (n of equal ones).
        n_groups: effective number of groups, the same of the groups' summed weights, at most ``n_texts``.
        correlation: of two examples of one group, in [0, 1].
        dispersion: variance of the scores in units of ``p (1 - p)``, in (0, 1]: 1 of right or wrong.
    Returns: at most ``n_texts / dispersion``; with correlation 1 ``n_groups / dispersion``.
    Raises: ValueError when a number is out of range.

    >>> effective_n(200, 10, 0.0), effective_n(200, 10, 1.0), round(effective_n(200, 10, 0.05), 1)
    (200.0, 10.0, 102.6)
    """
    if not (0 < n_groups <= n_texts * (1 + 1e-9) and 0 <= correlation <= 1 and 0 < dispersion <= 1):
        raise ValueError(
            f"need 0 < n_groups <= n_texts, a correlation in [0, 1] and a dispersion in (0, 1], got {n_groups:g}, "
            f"{n_texts:g}, {correlation:g} and {dispersion:g}"
        )
    return float(1 / (dispersion * ((1 - correlation) / n_texts + correlation / n_groups)))


def relative_square(n: float, df: float, *, level: float = 0.95) -> float:
    """Compute ``t^2 / n``, the property of a test set that a score's interval depends on.

    Args:
        n: effective number of examples, > 0.
        df: degrees of freedom of Student's quantile t, > 0: effective groups less 1.
        level: nominal coverage, in (0, 1).
    Raises: ValueError when level, n or df is out of range.

    >>> round(relative_square(100, 1e9), 4)
    0.0384
    """
    if not 0 < level < 1:
        raise ValueError(f"level must lie in (0, 1), got {level}; 95% is 0.95")
    if n <= 0 or df <= 0:
        raise ValueError(f"n and df must be above 0, got {n:g} and {df:g}")
    from scipy.special import stdtrit

    return float(stdtrit(df, 0.5 + level / 2) ** 2 / n)


def square_of_mean(coefficients: ArrayLike, squares: ArrayLike, correlation: ArrayLike) -> float:
    """Compute the ``relative_square`` of a weighted mean of scores, as if the scores were equal.

    Where they differ it errs on the wide side: ``p (1 - p)`` of the mean is at least the mean of theirs.

    Args:
        coefficients: weights, shape (k,), >= 0, summing to 1.
        squares: of each score, shape (k,).
        correlation: of the scores over test sets, shape (k, k).

    >>> round(square_of_mean([0.5, 0.5], [0.04, 0.04], [[1, 0], [0, 1]]), 3)
    0.02
    """
    reach = np.asarray(coefficients, dtype=np.float64) * np.sqrt(np.asarray(squares, dtype=np.float64))
    return float(reach @ np.asarray(correlation, dtype=np.float64) @ reach)


def wilson_interval(score: float, square: float) -> tuple[float, float]:
    """Compute Wilson's score interval, with Student's quantile in the place of the normal one.

    Args:
        score: observed share or mean in [0, 1].
        square: ``t^2 / n``, from ``relative_square``, >= 0.
    Returns: lower and upper end in [0, 1].
    Raises: ValueError when the score or the square is out of range.
    Source: Wilson, "Probable inference, the law of succession, and statistical inference" (1927); effective n in it:
        Korn and Graubard, "Confidence intervals for proportions with small expected number of positive counts" (1998).

    >>> [round(end, 3) for end in wilson_interval(1.0, relative_square(30, 1e9))]
    [0.886, 1.0]
    """
    if not 0 <= score <= 1:
        raise ValueError(f"scores must lie in [0, 1], got {score:g}; did you pass points (x100)?")
    if not square >= 0:
        raise ValueError(f"the square must be 0 or more, got {square:g}")
    centre = (score + square / 2) / (1 + square)
    reach = float(np.sqrt(square * (score * (1 - score) + square / 4))) / (1 + square)
    return min(max(centre - reach, 0.0), score), max(min(centre + reach, 1.0), score)


def square_of_interval(score: float, low: float, high: float) -> float:
    """Compute the ``relative_square`` that a Wilson interval was made with.

    Args:
        score: that the interval is of.
        low: its lower end.
        high: its upper end.

    >>> round(square_of_interval(0.9, *wilson_interval(0.9, 0.04)), 6)
    0.04
    """
    # (high - low)^2 / 4 (1 + s)^2 = s p (1 - p) + s^2 / 4, whose leading coefficient is below 0.
    reach = (high - low) ** 2 / 4
    a, b, c = reach - 0.25, 2 * reach - score * (1 - score), reach
    return float((-b - np.sqrt(b * b - 4 * a * c)) / (2 * a)) if a < 0 else float("inf")
