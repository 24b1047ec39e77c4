"""Drops under domain shift, their scenarios, and the statistics that summarise a task.

Terms: SS and TT are the in-domain scores of source and target, ST the score on the target of a model trained on
the source. All are fractions in [0, 1] of one higher-is-better metric; drops lie in [-1, 1] and a positive drop
means that the shift hurts. An unknown score is NaN, and everything that depends on it is NaN too, never 0.

Source: Domain Robustness paper, sec. 3. Its appendix A prints ``TD = IDD - SD``; from its own definitions
``SD = TD + IDD``, as in its toy example (Table 7).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftbench.metrics.correlation import pearson, r_squared, spearman

Floats = NDArray[np.float64]

SCENARIOS = ("Classic", "Observed", "Unobserved", "No Challenge", "Tie", "Unknown")


def source_drop(cross_domain: ArrayLike, source_in_domain: ArrayLike) -> Floats:
    """Compute the drop from the source's in-domain score: ``SS - ST``.

    It confounds the effect of the shift with the difference in difficulty between source and target.

    Args:
        cross_domain: ST, shape (n_shifts,), fractions in [0, 1] or NaN where unknown.
        source_in_domain: SS, shape (n_shifts,), same metric.
    Returns: drops in [-1, 1], shape (n_shifts,), NaN where a score is NaN.
    Raises: ValueError when shapes differ or a score is outside [0, 1].
    Source: sec. 3.2.

    >>> source_drop([0.75], [0.90]).round(2).tolist()
    [0.15]
    """
    return _difference(source_in_domain, cross_domain)


def target_drop(cross_domain: ArrayLike, target_in_domain: ArrayLike) -> Floats:
    """Compute the drop from the target's in-domain score: ``TT - ST``.

    Positive: the shift hurts. Negative: training on the source gives a better score on the target than training on
    the target.

    Args:
        cross_domain: ST, shape (n_shifts,), fractions in [0, 1] or NaN where unknown.
        target_in_domain: TT, shape (n_shifts,), same metric and test sets.
    Returns: drops in [-1, 1], shape (n_shifts,), NaN where a score is NaN.
    Raises: ValueError when shapes differ or a score is outside [0, 1].
    Source: sec. 3.2.

    >>> target_drop([0.75], [0.80]).round(2).tolist()
    [0.05]
    """
    return _difference(target_in_domain, cross_domain)


def reference_target_drop(cross_domain: ArrayLike, reference_in_domain: ArrayLike) -> Floats:
    """Compute the drop from the in-domain score of a pinned reference model: ``TT of the reference - ST``.

    For entries without a TT (a single source, or no training at all). It confounds the shift with the quality of the
    two models, so it is reported separately, labelled as such, and never averaged, ranked or compared with a target
    drop.

    Args:
        cross_domain: ST of the entry, shape (n_shifts,), fractions in [0, 1] or NaN where unknown.
        reference_in_domain: TT of one pinned reference model, shape (n_shifts,), same metric and test sets.
    Returns: differences in [-1, 1], positive where the reference is better, shape (n_shifts,), NaN where a
        score is NaN.
    Raises: ValueError when shapes differ or a score is outside [0, 1].
    Source: this project's; the papers have no such metric.

    >>> reference_target_drop([0.75], [0.85]).round(2).tolist()
    [0.1]
    """
    return _difference(reference_in_domain, cross_domain)


def in_domain_difference(source_in_domain: ArrayLike, target_in_domain: ArrayLike) -> Floats:
    """Compute the in-domain difference (IDD) ``SS - TT = SD - TD``: positive if the target is harder in-domain.

    Args:
        source_in_domain: SS, shape (n_shifts,), fractions in [0, 1] or NaN where unknown.
        target_in_domain: TT, shape (n_shifts,), same metric.
    Returns: differences in [-1, 1], shape (n_shifts,), NaN where a score is NaN.
    Raises: ValueError when shapes differ or a score is outside [0, 1].
    Source: sec. 3.2.

    >>> in_domain_difference([0.90], [0.80]).round(2).tolist()
    [0.1]
    """
    return _difference(source_in_domain, target_in_domain)


def scenario(source_drops: ArrayLike, target_drops: ArrayLike) -> list[str]:
    """Return the scenario of each shift, the quadrant of (SD, TD).

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
    """Statistics of one task over its shifts: fractions, NaN where undefined, each of shape ``scores.shape[:-2]``.

    ``average_drop`` = mean SS - mean ST and is defined only on a complete grid, where it equals ``mean_sd`` and
    ``mean_td``. ``sd_std`` and ``td_std`` are sample standard deviations over shifts (divisor n - 1; NaN for a single
    shift), as in the paper's Remark 1 for Table 6. Correlations are over shifts; NaN if one side is constant.
    The paper's Remark 1 names Pearson where Table 6 prints Spearman, so both are included. ``r2_idd_sd`` and
    ``r2_idd_td`` are squared Pearson correlations; scores of pure noise give 0.25 with many domains, 0.27 on average
    with 6, 0.29 with 5 and 0.37 with 3. Since SD - TD = IDD, both regressions have the same residuals:
    ``(1 - r2_idd_sd) Var SD = (1 - r2_idd_td) Var TD``.
    """

    n_domains: int
    n_shifts: int
    complete: bool
    mean_ss: Floats
    highest_ss: Floats
    lowest_ss: Floats
    mean_st: Floats
    highest_st: Floats
    lowest_st: Floats
    average_drop: Floats
    mean_sd: Floats
    mean_td: Floats
    worst_sd: Floats
    worst_td: Floats
    average_worst_sd: Floats
    average_worst_td: Floats
    sd_std: Floats
    td_std: Floats
    spearman_st_ss: Floats
    spearman_st_tt: Floats
    pearson_st_ss: Floats
    pearson_st_tt: Floats
    spearman_idd_sd: Floats
    spearman_idd_td: Floats
    r2_idd_sd: Floats
    r2_idd_td: Floats


def summarise(scores: ArrayLike) -> TaskSummary:
    """Summarise score matrices: one task, or several tasks or models at once.

    Args:
        scores: shape (..., n_domains, n_domains), row = source, column = target, diagonal = in-domain; fractions
            in [0, 1], NaN where unknown. A cell that is NaN in one matrix is ignored in all. At least two domains.
    Returns: the summary.
    Raises: ValueError when the matrices are not square, have fewer than two rows, or a score is outside [0, 1].
    Source: sec. 3.2, Tables 4-6; the correlations of IDD are Table 8's.

    >>> toy = summarise([[0.90, 0.75, 0.75], [0.95, 0.80, 0.65], [0.80, 0.75, 0.70]])
    >>> [round(float(figure), 4) for figure in (toy.mean_ss, toy.mean_st, toy.average_drop, toy.worst_td)]
    [0.8, 0.775, 0.025, 0.1]
    """
    matrix = _score_matrix(scores)
    n = matrix.shape[-1]
    in_domain = np.diagonal(matrix, axis1=-2, axis2=-1)
    source = np.nonzero(~np.eye(n, dtype=bool))[0]
    st, ss, tt = shift_scores(matrix)
    sd, td, idd = source_drop(st, ss), target_drop(st, tt), in_domain_difference(ss, tt)
    complete = not np.isnan(matrix).any()
    mean_ss, mean_st = _over_known(np.mean, in_domain), _over_known(np.mean, st)
    return TaskSummary(
        n_domains=n,
        n_shifts=int(_known_throughout(st).sum()),
        complete=complete,
        mean_ss=mean_ss,
        highest_ss=_over_known(np.max, in_domain),
        lowest_ss=_over_known(np.min, in_domain),
        mean_st=mean_st,
        highest_st=_over_known(np.max, st),
        lowest_st=_over_known(np.min, st),
        average_drop=mean_ss - mean_st if complete else np.full(mean_st.shape, np.nan),
        mean_sd=_over_known(np.mean, sd),
        mean_td=_over_known(np.mean, td),
        worst_sd=_over_known(np.max, sd),
        worst_td=_over_known(np.max, td),
        average_worst_sd=_average_worst(sd, source),
        average_worst_td=_average_worst(td, source),
        sd_std=_over_known(_sample_std, sd),
        td_std=_over_known(_sample_std, td),
        spearman_st_ss=_where_both(spearman, st, ss),
        spearman_st_tt=_where_both(spearman, st, tt),
        pearson_st_ss=_where_both(pearson, st, ss),
        pearson_st_tt=_where_both(pearson, st, tt),
        spearman_idd_sd=_where_both(spearman, idd, sd),
        spearman_idd_td=_where_both(spearman, idd, td),
        r2_idd_sd=_where_both(r_squared, idd, sd),
        r2_idd_td=_where_both(r_squared, idd, td),
    )


def shift_scores(scores: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Arrange a score matrix by shift: ST, SS and TT of every ordered pair of different domains.

    Args:
        scores: as for ``summarise``.
    Returns: ST, SS and TT, each of shape (..., n_domains * (n_domains - 1)), ordered by source, then target;
        NaN where unknown.
    Raises: ValueError as ``summarise``.

    >>> [side.tolist() for side in shift_scores([[0.9, 0.7], [0.6, 0.8]])]
    [[0.7, 0.6], [0.9, 0.8], [0.8, 0.9]]
    """
    matrix = _score_matrix(scores)
    source, target = np.nonzero(~np.eye(matrix.shape[-1], dtype=bool))
    in_domain = np.diagonal(matrix, axis1=-2, axis2=-1)
    return matrix[..., source, target], in_domain[..., source], in_domain[..., target]


def scenario_shares(names: Sequence[str]) -> dict[str, float]:
    """Compute the proportion of each scenario among the shifts with a known scenario.

    Args:
        names: scenario of each shift.
    Returns: fractions by scenario that sum to 1; all NaN if every scenario is ``Unknown``.

    >>> scenario_shares(["Classic", "Tie", "Classic", "Unknown"])["Classic"].__round__(3)
    0.667
    """
    known = [name for name in names if name != "Unknown"]
    return {name: known.count(name) / len(known) if known else float("nan") for name in SCENARIOS if name != "Unknown"}


def _known_throughout(values: Floats) -> NDArray[np.bool_]:
    """Return a mask of the positions on the last axis without a NaN in any matrix."""
    return np.asarray(~np.isnan(values).reshape(-1, values.shape[-1]).any(axis=0))


def _over_known(statistic: Callable[..., Floats], values: Floats) -> Floats:
    known = _known_throughout(values)
    return np.asarray(statistic(values[..., known], axis=-1)) if known.any() else np.full(values.shape[:-1], np.nan)


def _where_both(statistic: Callable[[Floats, Floats], Floats], x: Floats, y: Floats) -> Floats:
    known = _known_throughout(x) & _known_throughout(y)
    return statistic(x[..., known], y[..., known]) if known.any() else np.full(x.shape[:-1], np.nan)


def _sample_std(values: Floats, axis: int) -> Floats:
    n = values.shape[axis]
    return np.asarray(np.std(values, axis=axis) * (np.sqrt(n / (n - 1)) if n > 1 else np.nan))


def _average_worst(drops: Floats, source: NDArray[np.intp]) -> Floats:
    """Average the worst drop per source over sources; sources without a known drop are skipped."""
    worst = np.stack([_over_known(np.max, drops[..., source == row]) for row in np.unique(source)], axis=-1)
    return _over_known(np.mean, worst)


def _difference(left: ArrayLike, right: ArrayLike) -> Floats:
    a, b = _fractions("scores", left), _fractions("scores", right)
    if a.shape != b.shape:
        raise ValueError(f"scores must have the same shape, got {a.shape} and {b.shape}")
    return a - b


def _drops(source_drops: ArrayLike, target_drops: ArrayLike) -> tuple[Floats, Floats]:
    sd, td = np.asarray(source_drops, dtype=np.float64), np.asarray(target_drops, dtype=np.float64)
    if sd.shape != td.shape:
        raise ValueError(f"source and target drops must have the same shape, got {sd.shape} and {td.shape}")
    return sd, td


def _score_matrix(scores: ArrayLike) -> Floats:
    matrix = _fractions("scores", scores)
    if matrix.ndim < 2 or matrix.shape[-1] < 2 or matrix.shape[-2] != matrix.shape[-1]:
        raise ValueError(f"scores must be square matrices of at least two domains, got shape {matrix.shape}")
    return matrix


def _fractions(name: str, values: ArrayLike) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    known = array[~np.isnan(array)]
    if known.size and (known.min() < 0 or known.max() > 1):
        raise ValueError(
            f"{name} must be fractions in [0, 1], got {known.min():g} to {known.max():g}; did you pass points (x100)?"
        )
    return array
