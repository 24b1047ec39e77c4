"""The Domain Robustness paper's chi-square test of whether the domain trained on matters at all.

The paper (appendix C.8) takes the six orders of (SS, TT, ST) as equally likely when a shift has no effect and tests the
scenarios' counts over all shifts and models. Two things are wrong with that. Shifts of one matrix share scores and
models share domains, so the counts are not independent. And without any effect of the shift the orders are equally
likely only if all domains are equally hard: where targets differ in difficulty, SS lies far above or far below both TT
and ST, the four scenarios tend to a quarter each, and the test rejects without a shift effect. It is here to reproduce
the paper; the average drop, with its interval, answers the question.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftbench.metrics.robustness import in_domain_difference, source_drop, target_drop

Floats = NDArray[np.float64]

_SCENARIO_SHARES = {"Classic": 1 / 3, "Observed": 1 / 6, "Unobserved": 1 / 6, "No Challenge": 1 / 3}


@dataclass(frozen=True)
class ChiSquareTest:
    """Result of a chi-square test of goodness of fit.

    Attributes:
        statistic: sum of (observed - expected)^2 / expected, >= 0; NaN without shifts.
        df: degrees of freedom.
        p_value: in [0, 1]; NaN without shifts. With fewer than 30 shifts some expected count is below 5 and the
            approximation is poor.
        n: shifts counted.
        n_left_out: shifts left out: a tie or an unknown score has no place among the cells.
    """

    statistic: float
    df: int
    p_value: float
    n: int
    n_left_out: int


def scenario_chi_square(scenarios: Sequence[str]) -> ChiSquareTest:
    """Test the scenarios' counts against 1/3 Classic, 1/6 Observed, 1/6 Unobserved, 1/3 No Challenge.

    These are the shares when all six orders of (SS, TT, ST) are equally likely. See the module docstring for
    what a small p value does not show.

    Args:
        scenarios: names of ``robustness.scenario`` over the shifts (and models) of a task; Tie and Unknown are
            left out and counted.
    Returns: the test, 3 degrees of freedom.
    Raises: ValueError for a name that is no scenario.
    Source: appendix C.8, which does not say whether its cells are scenarios (here) or orders
        (``order_chi_square``).

    >>> test = scenario_chi_square(["Classic"] * 30 + ["Unobserved"] * 6 + ["Tie"])
    >>> test.statistic, test.n, test.n_left_out, test.p_value < 0.05 / 14
    (45.0, 36, 1, True)
    """
    known = {*_SCENARIO_SHARES, "Tie", "Unknown"}
    if strange := sorted(set(scenarios) - known):
        raise ValueError(f"{strange[0]!r} is no scenario; known: {', '.join(sorted(known))}")
    observed = [sum(name == cell for name in scenarios) for cell in _SCENARIO_SHARES]
    return _chi_square(observed, list(_SCENARIO_SHARES.values()), len(scenarios))


def order_chi_square(
    cross_domain: ArrayLike, source_in_domain: ArrayLike, target_in_domain: ArrayLike
) -> ChiSquareTest:
    """Test whether the six orders of (SS, TT, ST) are equally frequent.

    Args:
        cross_domain: ST, shape (n_shifts,), fractions in [0, 1] or NaN where unknown.
        source_in_domain: SS, shape (n_shifts,).
        target_in_domain: TT, shape (n_shifts,).
    Returns: the test, 5 degrees of freedom; shifts with two equal scores or an unknown one are left out.
    Raises: ValueError when shapes differ or a score is outside [0, 1].
    Source: appendix C.8, read as a test of the six sequences it lists.

    >>> test = order_chi_square([0.7] * 6, [0.8, 0.9, 0.5, 0.6, 0.6, 0.8], [0.9, 0.8, 0.6, 0.5, 0.8, 0.6])
    >>> test.statistic, test.df, test.n
    (0.0, 5, 6)
    """
    sd = source_drop(cross_domain, source_in_domain).ravel()
    td = target_drop(cross_domain, target_in_domain).ravel()
    idd = in_domain_difference(source_in_domain, target_in_domain).ravel()
    counted = ~np.isnan(sd + td) & (sd != 0) & (td != 0) & (idd != 0)
    # ST below or above SS, below or above TT, and SS below or above TT: six of the eight codes can occur.
    codes = (4 * (sd > 0) + 2 * (td > 0) + (idd > 0))[counted]
    observed = np.bincount(codes, minlength=8)[[0, 1, 2, 5, 6, 7]]
    return _chi_square(observed.tolist(), [1 / 6] * 6, sd.size)


def bonferroni(p_values: ArrayLike) -> Floats:
    """Compute Bonferroni's correction: p values times their number, to be compared with the uncorrected level.

    ``comparison.holm`` keeps the same promise and rejects no less; this one reproduces the paper, where 14 tests
    at 0.05 give 0.0036.

    Args:
        p_values: p values of the family, any shape, in [0, 1]. NaN (an untestable case) stays NaN and does not
            count.
    Returns: corrected p values in [0, 1], same shape.
    Raises: ValueError when a p value lies outside [0, 1].
    Source: appendix C.8.

    >>> bonferroni([0.001, 0.004, 0.5]).round(3).tolist()
    [0.003, 0.012, 1.0]
    """
    values = np.asarray(p_values, dtype=np.float64)
    if np.any((values < 0) | (values > 1)):
        raise ValueError("p values must lie in [0, 1]")
    return np.asarray(np.minimum(1.0, values * np.count_nonzero(~np.isnan(values))))


def _chi_square(observed: Sequence[int], shares: Sequence[float], n_shifts: int) -> ChiSquareTest:
    from scipy.special import chdtrc

    counts, n = np.asarray(observed, dtype=np.float64), int(sum(observed))
    df = len(counts) - 1
    if n == 0:
        return ChiSquareTest(float("nan"), df, float("nan"), 0, n_shifts)
    expected = n * np.asarray(shares)
    statistic = float(((counts - expected) ** 2 / expected).sum())
    return ChiSquareTest(statistic, df, float(chdtrc(df, statistic)), n, n_shifts - n)
