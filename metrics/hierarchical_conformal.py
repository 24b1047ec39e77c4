"""Intervals around forecasts whose errors come in domains: conformal prediction for hierarchical data.

Shifts into one domain err alike, so the unit that must be exchangeable is the domain, not the shift. Each of k domains
with known errors counts 1 / (k + 1), its shifts share that, and the domain to come counts the rest, at infinity. With
few domains no high level can hold: the most is k / (k + 1).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftbench.metrics.precision import student, wilson_limits

Floats = NDArray[np.float64]

LEVELS = ((9, 0.9), (4, 0.8))
"""Fewest domains with known errors, and the level that intervals then have; none with fewer."""
_SLACK = 1e-9


def interval_level(n_domains: int) -> float | None:
    """Compute the level that intervals set on so many domains have; None where there are too few.

    >>> interval_level(3), interval_level(4), interval_level(9)
    (None, 0.8, 0.9)
    """
    return next((level for least, level in LEVELS if n_domains >= least), None)


def domain_quantile(errors: Sequence[ArrayLike], level: float) -> float:
    """Compute the size that the error of a shift into one more domain stays within, with probability ``level``.

    Args:
        errors: absolute errors of the shifts into each domain, k arrays of at least one error.
        level: in (0, 1), at most k / (k + 1).
    Returns: the least q for which the domains' shares of errors up to q add up to ``level * (k + 1)``. A random shift
        into a domain that is exchangeable with these errs by at most q with probability ``level`` or more.
    Raises: ValueError when the level is higher than so many domains allow, or a domain has no error.
    Source: Dunn, Wasserman, Ramdas, "Distribution-free prediction sets for two-layer hierarchical models" (2023), the
        pooled distribution function; with the mass at infinity of Lee, Barber, Willett, "Distribution-free inference
        with hierarchical data" (2023), which makes it hold for any number of domains.

    >>> domain_quantile([[0.01, 0.03], [0.02], [0.05], [0.04]], 0.8)
    0.05
    >>> domain_quantile([[0.01, 0.03], [0.02], [0.05], [0.04]], 0.4)
    0.03
    """
    groups = [np.abs(np.asarray(group, dtype=np.float64)).ravel() for group in errors]
    k = len(groups)
    if not k or any(not group.size for group in groups):
        raise ValueError("every domain needs at least one known error")
    if not 0 < level <= k / (k + 1) + _SLACK:
        raise ValueError(f"{k} domains allow levels up to {k / (k + 1):.3f}, got {level:g}")
    values = np.concatenate(groups)
    masses = np.concatenate([np.full(group.size, 1 / group.size) for group in groups])
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(masses[order]) >= level * (k + 1) - _SLACK
    return float(values[order][int(np.argmax(reached))])


class Coverage(NamedTuple):
    """Number of domains in which intervals held, and the share of shifts inside, averaged over domains.

    Attributes:
        held: domains in which at least the intervals' level of the shifts lay inside.
        n_domains: domains counted.
        share: mean over domains of the share of shifts inside.
        low: lower end of the 95% interval of the share: Wilson's, with domains as the examples.
        high: its upper end.
    """

    held: int
    n_domains: int
    share: float
    low: float
    high: float


def coverage_by_domain(inside: Sequence[ArrayLike], level: ArrayLike) -> Coverage:
    """Count coverage in domains.

    Args:
        inside: for each domain whether each of its shifts lay in its interval, k >= 1 arrays.
        level: of the intervals, in (0, 1): one, or one for each domain, shape (k,).
    Raises: ValueError without a domain, or where one has no shift.

    >>> found = coverage_by_domain([[True], [True], [True], [False]], 0.8)
    >>> found.held, found.n_domains, found.share, round(found.low, 2), round(found.high, 2)
    (3, 4, 0.75, 0.3, 0.95)
    """
    shares = np.array([np.mean(np.asarray(each, dtype=np.float64)) if np.size(each) else np.nan for each in inside])
    if not shares.size or np.isnan(shares).any():
        raise ValueError("coverage needs domains, each with at least one shift")
    share = float(shares.mean())
    low, high = wilson_limits(share, float(student(np.inf)) ** 2 / shares.size)
    held = int((shares >= np.asarray(level) - _SLACK).sum())
    return Coverage(held, shares.size, share, float(low), float(high))
