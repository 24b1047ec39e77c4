"""Tests of whether a score or a paired difference keeps a limit, by one-sided p values that hold in the far tails."""

from typing import NamedTuple

import numpy as np


class SidedP(NamedTuple):
    """One-sided p values: against the true value being at most the limit (``above``), and at least it (``below``)."""

    above: float
    below: float


def limit_p(difference: float, se: float, n_groups: float, limit: float) -> SidedP:
    """Test on which side of a limit a paired difference of scores lies.

    The t test takes its standard error where the limit holds, as Wilson's interval and Tango's do: were the true loss
    ``L``, at least a share ``L`` of the texts would be lost, so the variance of a text's difference is at least
    ``L (1 - L)``. Without that, two models with the same outcomes on 20 texts would be shown to differ by nothing.

    Args:
        difference: the estimate, a fraction.
        se: its standard error over test texts, at least 0.
        n_groups: effective number of groups of the test set, at least 2.
        limit: a fraction in [0, 1).
    Returns: both p values, which sum to 1.
    Raises: ValueError when a number is out of range.
    Source: Tango, "Equivalence test and confidence interval for the difference in proportions for the paired-sample
        design" (1998): variance under the limit.

    >>> limit_p(0.05, 0.01, 400, 0.01).above < 0.001, round(limit_p(0.0, 0.0, 20, 0.01).below, 2)
    (True, 0.33)
    """
    if not (0 <= limit < 1 and se >= 0 and n_groups >= 2):
        raise ValueError(f"need a limit in [0, 1), se >= 0 and 2 groups, got {limit:g}, {se:g} and {n_groups:g}")
    from scipy.special import stdtr

    least = np.sqrt(limit * (1 - limit) / n_groups)
    error = max(se, float(least))
    if error == 0:
        above = 0.5 if difference == limit else float(difference < limit)
    else:
        above = float(stdtr(n_groups - 1, (limit - difference) / error))
    return SidedP(above, 1 - above)


def exact_p(score: float, n: float, limit: float) -> SidedP:
    """Test exactly on which side of a limit a share of right answers lies.

    Args:
        score: the share, in [0, 1].
        n: effective number of examples, above 0; it need not be whole.
        limit: a fraction in (0, 1).
    Returns: ``above`` is the probability of as high a share or a higher one if the limit were true, ``below`` of as low
        a one or a lower one; they sum to more than 1.
    Raises: ValueError when a number is out of range.
    Source: Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial"
        (1934), with the incomplete beta function where n is not whole.

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
