"""Drops under domain shift, their scenarios, and the figures that summarise a task.

Words: SS and TT are the in-domain scores of source and target, ST the score on the target of a model trained on
the source. All are fractions in [0, 1] of one higher-is-better metric; drops lie in [-1, 1] and a positive drop
means the shift hurt. An unknown score is NaN, and everything that depends on it is NaN too, never 0.

Source: Domain Robustness paper, sec. 3. Its appendix A prints ``TD = IDD - SD``; from its own definitions
``SD = TD + IDD``, as in its toy example (Table 7).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

SCENARIOS = ("Classic", "Observed", "Unobserved", "No Challenge", "Tie", "Unknown")


def source_drop(cross_domain: ArrayLike, source_in_domain: ArrayLike) -> Floats:
    """Score lost against the model's own in-domain score: ``SS - ST``.

    It mixes the harm of the shift with the target simply being harder or easier than the source.

    Args:
        cross_domain: ST, shape (n_shifts,), fractions in [0, 1] or NaN where unknown.
        source_in_domain: SS, shape (n_shifts,), same metric.
    Returns: drops in [-1, 1], shape (n_shifts,), NaN where a score is.
    Raises: ValueError when shapes differ or a score is outside [0, 1].
    Source: sec. 3.2.

    >>> source_drop([0.75], [0.90]).round(2).tolist()
    [0.15]
    """
    return _difference(source_in_domain, cross_domain)


def target_drop(cross_domain: ArrayLike, target_in_domain: ArrayLike) -> Floats:
    """Score lost on a target domain by not having trained on it: ``TT - ST``.

    Positive: the shift hurt. Negative: the source taught the target better than its own data did.

    Args:
        cross_domain: ST, shape (n_shifts,), fractions in [0, 1] or NaN where unknown.
        target_in_domain: TT, shape (n_shifts,), same metric and test sets.
    Returns: drops in [-1, 1], shape (n_shifts,), NaN where a score is.
    Raises: ValueError when shapes differ or a score is outside [0, 1].
    Source: sec. 3.2.

    >>> target_drop([0.75], [0.80]).round(2).tolist()
    [0.05]
    """
    return _difference(target_in_domain, cross_domain)


def in_domain_difference(source_in_domain: ArrayLike, target_in_domain: ArrayLike) -> Floats:
    """How much harder the target is than the source for models at home there: ``SS - TT = SD - TD``.

    Args:
        source_in_domain: SS, shape (n_shifts,), fractions in [0, 1] or NaN where unknown.
        target_in_domain: TT, shape (n_shifts,), same metric.
    Returns: differences in [-1, 1], shape (n_shifts,), NaN where a score is.
    Raises: ValueError when shapes differ or a score is outside [0, 1].
    Source: sec. 3.2.

    >>> in_domain_difference([0.90], [0.80]).round(2).tolist()
    [0.1]
    """
    return _difference(source_in_domain, target_in_domain)


def scenario(source_drops: ArrayLike, target_drops: ArrayLike) -> list[str]:
    """Name the quadrant of (SD, TD) that each shift falls in.

    Classic: both positive. Observed: only SD positive (the target is harder, the shift itself did no harm).
    Unobserved: only TD positive (harm hidden by an easier target). No Challenge: both negative. Tie: a drop is
    exactly 0. Unknown: a drop is NaN.

    Args:
        source_drops: SD, shape (n_shifts,).
        target_drops: TD, shape (n_shifts,).
    Returns: one name of ``SCENARIOS`` per shift.
    Raises: ValueError when shapes differ.
    Source: sec. 3.1 (appendix A.2 misprints No Challenge).

    >>> scenario([0.15, 0.15, -0.1, -0.15, 0.0], [0.05, -0.05, 0.1, -0.05, 0.1])
    ['Classic', 'Observed', 'Unobserved', 'No Challenge', 'Tie']
    """
    sd, td = _drops(source_drops, target_drops)
    names = np.select(
        [np.isnan(sd) | np.isnan(td), (sd == 0) | (td == 0), (sd > 0) & (td > 0), sd > 0, td > 0],
        ["Unknown", "Tie", "Classic", "Observed", "Unobserved"],
        default="No Challenge",
    )
    return [str(name) for name in names]


@dataclass(frozen=True)
class TaskSummary:
    """Figures of one task over its shifts; fractions, NaN where undefined.

    ``average_drop`` = mean SS - mean ST and is defined only on a complete grid, where it equals ``mean_sd`` and
    ``mean_td``. The standard deviations are of the population of shifts. The Spearman correlations are over
    shifts. ``r2_idd_sd`` and ``r2_idd_td`` are squared Pearson correlations; scores of pure noise give 0.25.
    """

    n_domains: int
    n_shifts: int
    complete: bool
    mean_ss: float
    highest_ss: float
    lowest_ss: float
    mean_st: float
    highest_st: float
    lowest_st: float
    average_drop: float
    mean_sd: float
    mean_td: float
    worst_sd: float
    worst_td: float
    average_worst_sd: float
    average_worst_td: float
    sd_std: float
    td_std: float
    spearman_st_ss: float
    spearman_st_tt: float
    r2_idd_sd: float
    r2_idd_td: float
    scenario_shares: dict[str, float]


def summarise(scores: ArrayLike) -> TaskSummary:
    """Summarise one task from its matrix of scores.

    Args:
        scores: shape (n_domains, n_domains), row = source, column = target, diagonal = in-domain; fractions in
            [0, 1], NaN where unknown. At least two domains.
    Returns: see ``TaskSummary``.
    Raises: ValueError when the matrix is not square, has fewer than two rows, or a score is outside [0, 1].
    Source: sec. 3.2, Tables 4-6.

    >>> toy = summarise([[0.90, 0.75, 0.75], [0.95, 0.80, 0.65], [0.80, 0.75, 0.70]])
    >>> round(toy.mean_ss, 4), round(toy.mean_st, 4), round(toy.average_drop, 4), round(toy.worst_td, 4)
    (0.8, 0.775, 0.025, 0.1)
    """
    matrix = _fractions("scores", scores)
    n = len(matrix)
    if matrix.shape != (n, n) or n < 2:
        raise ValueError(f"scores must be a square matrix of at least two domains, got shape {matrix.shape}")
    in_domain = np.diag(matrix)
    source, target = np.nonzero(~np.eye(n, dtype=bool))
    st, ss, tt = matrix[source, target], in_domain[source], in_domain[target]
    sd, td = source_drop(st, ss), target_drop(st, tt)
    idd = in_domain_difference(ss, tt)
    complete = not np.isnan(matrix).any()
    names = scenario(sd, td)
    known = sum(name != "Unknown" for name in names)
    return TaskSummary(
        n_domains=n,
        n_shifts=int((~np.isnan(st)).sum()),
        complete=complete,
        mean_ss=_over_known(np.mean, in_domain),
        highest_ss=_over_known(np.max, in_domain),
        lowest_ss=_over_known(np.min, in_domain),
        mean_st=_over_known(np.mean, st),
        highest_st=_over_known(np.max, st),
        lowest_st=_over_known(np.min, st),
        average_drop=float(in_domain.mean() - st.mean()) if complete else float("nan"),
        mean_sd=_over_known(np.mean, sd),
        mean_td=_over_known(np.mean, td),
        worst_sd=_over_known(np.max, sd),
        worst_td=_over_known(np.max, td),
        average_worst_sd=_average_worst(sd, source, n),
        average_worst_td=_average_worst(td, source, n),
        sd_std=_over_known(np.std, sd),
        td_std=_over_known(np.std, td),
        spearman_st_ss=spearman(st, ss),
        spearman_st_tt=spearman(st, tt),
        r2_idd_sd=pearson(idd, sd) ** 2,
        r2_idd_td=pearson(idd, td) ** 2,
        scenario_shares={
            name: names.count(name) / known if known else float("nan") for name in SCENARIOS if name != "Unknown"
        },
    )


def pearson(x: ArrayLike, y: ArrayLike) -> float:
    """Pearson correlation over the pairs where both are known; NaN with fewer than two, or a constant side.

    >>> round(pearson([1, 2, 3], [2, 4, 7]), 4)
    0.9934
    """
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    known = ~np.isnan(a) & ~np.isnan(b)
    if known.sum() < 2:
        return float("nan")
    a, b = a[known] - a[known].mean(), b[known] - b[known].mean()
    # A constant side leaves rounding dust after centring; dust is not variation.
    scale = float(np.sqrt((a**2).sum() * (b**2).sum()))
    return float((a * b).sum() / scale) if scale > 1e-15 else float("nan")


def spearman(x: ArrayLike, y: ArrayLike) -> float:
    """Spearman rank correlation (ties share their mean rank) over the pairs where both are known.

    >>> spearman([1, 2, 3], [10, 30, 20])
    0.5
    """
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    known = ~np.isnan(a) & ~np.isnan(b)
    return pearson(_mean_ranks(a[known]), _mean_ranks(b[known]))


def _mean_ranks(values: Floats) -> Floats:
    ordered = np.sort(values)
    first = np.searchsorted(ordered, values, side="left")
    last = np.searchsorted(ordered, values, side="right")
    return np.asarray((first + last + 1) / 2)


def _average_worst(drops: Floats, source: NDArray[np.intp], n_domains: int) -> float:
    rows = [drops[(source == row) & ~np.isnan(drops)] for row in range(n_domains)]
    worst = [float(row.max()) for row in rows if row.size]
    return float(np.mean(worst)) if worst else float("nan")


def _over_known(statistic: Callable[[Floats], np.float64], values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(statistic(known)) if known.size else float("nan")


def _difference(left: ArrayLike, right: ArrayLike) -> Floats:
    a, b = _fractions("scores", left), _fractions("scores", right)
    if a.shape != b.shape:
        raise ValueError(f"scores must have one shape, got {a.shape} and {b.shape}")
    return a - b


def _drops(source_drops: ArrayLike, target_drops: ArrayLike) -> tuple[Floats, Floats]:
    sd, td = np.asarray(source_drops, dtype=np.float64), np.asarray(target_drops, dtype=np.float64)
    if sd.shape != td.shape:
        raise ValueError(f"source and target drops must have one shape, got {sd.shape} and {td.shape}")
    return sd, td


def _fractions(name: str, values: ArrayLike) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    known = array[~np.isnan(array)]
    if known.size and (known.min() < 0 or known.max() > 1):
        raise ValueError(
            f"{name} must be fractions in [0, 1], got {known.min():g} to {known.max():g}; did you pass points (x100)?"
        )
    return array
