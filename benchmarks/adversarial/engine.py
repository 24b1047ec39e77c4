"""The engine on drawn test sets: whole draws at once by the formulas of ``metrics.precision``, or one end to end."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shiftbench.metrics.precision import (
    KNOWN_GROUPS,
    MIN_GROUPS,
    class_df,
    class_size,
    effective_n,
    group_influences,
    satterthwaite,
    slopes,
    student,
    wilson_limits,
)

Floats = NDArray[np.float64]


class Scores(NamedTuple):
    """Scores of many draws of one test set, as ``figures.Score`` has one: shape (n_draws,) each."""

    value: Floats
    n: Floats
    df: Floats
    is_refused: NDArray[np.bool_]


def accuracies(right, sizes) -> Scores:
    right = right.astype(float); sizes = sizes.astype(float)
    total = sizes.sum(axis=1)
    value = right.sum(axis=1) / total
    moved = (right - value[:, None] * sizes) / total[:, None]
    G = right.shape[1]
    by_group = group_influences(moved, np.arange(G), sizes)
    groups = total**2 / (sizes**2).sum(axis=1)
    known = ((right > 0).sum(axis=1) >= KNOWN_GROUPS) & ((right < sizes).sum(axis=1) >= KNOWN_GROUPS)
    n = effective_n(value, (by_group**2).sum(axis=1), value * (1 - value) / total, groups, known)
    return Scores(value, n, groups - 1, groups < MIN_GROUPS)


def limits(weights, scores, level=0.95):
    w = np.array(weights)
    value = np.stack([s.value for s in scores], -1); n = np.stack([s.n for s in scores], -1); df = np.stack([s.df for s in scores], -1)
    u = 1.959964
    low, high = wilson_limits(value, u**2 / n)
    if len(w) == 1:
        d = df[:, 0]
    else:
        d = satterthwaite((w * (high - low) / 2 / u) ** 2, df)
    q = student(d, level)
    low, high = wilson_limits(value, q[:, None]**2 / n)
    down = np.where(w > 0, w * (value - low), w * (high - value))
    up = np.where(w > 0, w * (high - value), w * (value - low))
    v = value @ w
    lo, hi = v - np.sqrt((down**2).sum(-1)), v + np.sqrt((up**2).sum(-1))
    return np.maximum(lo, 0.0 if min(w) > 0 else -1.0), np.minimum(hi, 1.0)
