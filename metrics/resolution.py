"""Scenarios of shifts that their intervals, not only their point figures, show."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftbench.metrics.robustness import scenario

UNRESOLVED = "Unresolved"


def resolved_scenario(source_drop: ArrayLike, target_drop: ArrayLike) -> NDArray[np.str_]:
    """Return the scenario of each shift when both of its drops have an interval without 0, otherwise ``Unresolved``.

    A scenario is the signs of two drops. That both are as stated is an intersection-union test: it is wrong only where
    a drop whose true sign is another one (or 0) has an interval on the stated side of 0, so two intervals of level
    1 - alpha each give an error of at most alpha, however the drops go together; no joint region is needed. This holds
    for each shift by itself: a count over shifts has no correction for their number.

    Args:
        source_drop: lower and upper end of SD's interval, shape (..., 2); NaN without one.
        target_drop: those of TD, same shape.
    Returns: names of ``robustness.SCENARIOS`` or ``Unresolved``, shape (...,).
    Raises: ValueError when shapes differ, the last axis is not 2 long, or a lower end is above its upper end.
    Source: Domain Robustness paper, sec. 3.3 (scenarios); Berger, "Multiparameter hypothesis testing and acceptance
        sampling" (1982), for intersection-union tests.

    >>> resolved_scenario([[0.01, 0.05], [0.01, 0.05]], [[-0.09, -0.02], [-0.01, 0.04]]).tolist()
    ['Observed', 'Unresolved']
    """
    ends = [np.asarray(drop, dtype=np.float64) for drop in (source_drop, target_drop)]
    if ends[0].shape != ends[1].shape or ends[0].shape[-1:] != (2,):
        raise ValueError(f"both drops need ends of one shape (..., 2), got {ends[0].shape} and {ends[1].shape}")
    if any(np.any(drop[..., 0] > drop[..., 1]) for drop in ends):
        raise ValueError("a lower end is above its upper end; the last axis is (low, high)")
    clear = np.ones(ends[0].shape[:-1], dtype=bool)
    for drop in ends:
        clear &= (drop[..., 0] > 0) | (drop[..., 1] < 0)
    signs = [np.where(clear, np.sign(drop[..., 0]), np.nan) for drop in ends]
    names = np.reshape(scenario(*(sign.ravel() for sign in signs)), clear.shape)
    return np.asarray(np.where(clear, names, UNRESOLVED))
