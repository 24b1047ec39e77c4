"""The exact test of whether a share of right answers keeps a limit."""

from typing import NamedTuple


class SidedP(NamedTuple):
    """One-sided p values: against the true value being at most the limit (``above``), and at least it (``below``)."""

    above: float
    below: float


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
