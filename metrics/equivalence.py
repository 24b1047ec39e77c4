"""Test of whether a difference is small: within a margin fixed before the scores were seen.

A test that finds no difference has shown none to be absent. Two one-sided tests (TOST) turn the question round: each
says that the difference is not beyond one end of the margin, at 5%, and both must. Of several differences all must hold
(an intersection-union test), which needs no correction: the claim is wrong as soon as one of them is, and that one is
found wrong in 5% of studies at most.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

LEVEL = 0.05


def check_margin(margin: float) -> float:
    """Check a margin, and return it.

    Raises: ValueError when it is not a fraction above 0 and below 1.

    >>> check_margin(0.02)
    0.02
    """
    if not 0 < margin < 1:
        raise ValueError(f"a margin must lie above 0 and below 1, got {margin:g}; 2 points are 0.02")
    return margin


def equivalence_p(difference: ArrayLike, se: ArrayLike, df: ArrayLike, margin: float) -> Floats:
    """Test by two one-sided t tests that a difference lies within a margin on either side.

    Args:
        difference: estimates, fractions; shapes of the three must broadcast.
        se: their standard errors, at least 0.
        df: degrees of freedom, at least 1; NaN below.
        margin: a fraction in (0, 1).
    Returns: the larger p value of the two tests, in [0, 1]; NaN where an argument is undefined.
    Raises: ValueError for a margin out of range.
    Source: Schuirmann, "A comparison of the two one-sided tests procedure and the power approach for assessing the
        equivalence of average bioavailability" (1987); Berger, "Multiparameter hypothesis testing and acceptance
        sampling" (1982) for the intersection-union.

    >>> equivalence_p([0.0, 0.03], 0.01, 100, 0.02).round(3).tolist()
    [0.024, 0.84]
    """
    from scipy.special import stdtr

    check_margin(margin)
    apart, errors, freedom = np.broadcast_arrays(*(np.asarray(each, dtype=np.float64) for each in (difference, se, df)))
    room = margin - np.abs(apart)
    with np.errstate(invalid="ignore", divide="ignore"):
        t = np.where(errors > 0, room / errors, np.sign(room) * np.inf)
    p_value = stdtr(np.where(freedom >= 1, freedom, np.nan), -t)
    return np.asarray(np.where(np.isnan(apart) | np.isnan(errors), np.nan, p_value))
