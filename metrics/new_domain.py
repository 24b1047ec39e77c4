"""Prediction for the next domain: an interval for one more draw; other intervals are for the domains at hand."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class NextDomain(NamedTuple):
    """The mean over k target domains, and the interval for one more; ends are NaN for a single domain."""

    mean: float
    low: float
    high: float


def next_domain(by_domain: ArrayLike, *, level: float = 0.95, bounds: tuple[float, float] | None = None) -> NextDomain:
    """Predict a figure of one more target domain: ``mean -+ t(k - 1) s sqrt(1 + 1 / k)``.

    It holds the next value as often as ``level`` says where domains are drawn alike and the figure is about normal
    over them. A test set as large as those at hand is part of the draw. Benchmarks choose their domains, so a domain
    of another kind may lie outside more often.

    Args:
        by_domain: the figure for each target domain, shape (k,), k >= 1, finite.
        level: nominal coverage, in (0, 1).
        bounds: lowest and highest value that the figure can have; the interval is cut there.
    Returns: mean and ends, in the figure's unit.
    Raises: ValueError when there is no domain, a value is not finite, or level is out of range.
    Source: the usual prediction interval of one normal draw (e.g. Hahn and Meeker 1991, sec. 4.7).

    >>> [round(end, 3) for end in next_domain([0.70, 0.75, 0.80, 0.85])]
    [0.775, 0.545, 1.005]
    """
    values = np.asarray(by_domain, dtype=np.float64)
    if values.ndim != 1 or values.size == 0 or not np.all(np.isfinite(values)):
        raise ValueError(f"by_domain must hold a finite figure for each domain, shape (k,), got {values.shape}")
    if not 0 < level < 1:
        raise ValueError(f"level must lie in (0, 1), got {level}; 95% is 0.95")
    mean, k = float(values.mean()), values.size
    if k == 1:
        return NextDomain(mean, float("nan"), float("nan"))
    from scipy.special import stdtrit

    reach = float(stdtrit(k - 1, 0.5 + level / 2)) * float(values.std(ddof=1)) * float(np.sqrt(1 + 1 / k))
    ends = np.array([mean - reach, mean + reach])
    low, high = ends if bounds is None else np.clip(ends, *bounds)
    return NextDomain(mean, float(low), float(high))
