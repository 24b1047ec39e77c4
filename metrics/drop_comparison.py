"""Source drop against target drop: which is the more informative about a task, and means over models.

Domain Robustness paper, sec. 6.4 and appendix A. Its Theorem 1 calls four statements equivalent. On a complete
score matrix, every domain once as source and once as target of every other, with covariances over the n (n - 1)
shifts and

    y = Cov[TT, ST] - Cov[SS, ST],    x = Var[SS] - Cov[SS, TT] = Var[SS] n / (n - 1),

the two sides differ by y (1), by 4 x y (2), by 2 y (3), and E[SD^2] and E[TD^2] by 2 y as well: identities, no
independence needed. The paper's proof sets Cov[SS, TT] = 0, but a source is never its own target, so it is
-Var[SS] / (n - 1). Where all in-domain scores are equal, x and y are 0 and no statement holds. Statement (4) is
printed about E|SD| and E|TD|, proved for the squares, and does not follow.

The Domain Robustness paper's chi-square test of whether the domain trained on matters at all.

The paper (appendix C.8) takes the six orders of (SS, TT, ST) as equally likely when a shift has no effect and tests the
scenarios' counts over all shifts and models. Two things are wrong with that. Shifts of one matrix share scores and
models share domains, so the counts are not independent. And without any effect of the shift the orders are equally
likely only if all domains are equally hard: where targets differ in difficulty, SS lies far above or far below both TT
and ST, the four scenarios tend to a quarter each, and the test rejects without a shift effect. It is here to reproduce
the paper; the average drop, with its interval, answers the question.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftbench.metrics.robustness import TaskSummary, in_domain_difference, shift_scores, source_drop, target_drop

Floats = NDArray[np.float64]

# Sides closer than this are equal but for rounding.
_TIE = 1e-12


@dataclass(frozen=True)
class Inequality:
    """One statement ``left > right``, each side of the leading shape of the scores."""

    left: Floats
    right: Floats

    @property
    def holds(self) -> NDArray[np.bool_]:
        """Return whether left exceeds right by more than rounding error; False where undefined."""
        return np.asarray(self.left - self.right > _TIE)


@dataclass(frozen=True)
class TheoremOne:
    """Both sides of each statement of Theorem 1, over shifts with divisor n.

    Attributes:
        covariance: (1) Cov[TT, ST] > Cov[SS, ST].
        explained: (2) Cov[IDD, SD]^2 > Cov[IDD, TD]^2.
        variance: (3) Var[SD] > Var[TD].
        absolute: (4) as printed, E|SD| > E|TD|. It may fail where the others hold.
        squares: (4) as proved, E[SD^2] > E[TD^2].
    """

    covariance: Inequality
    explained: Inequality
    variance: Inequality
    absolute: Inequality
    squares: Inequality


def theorem_one(scores: ArrayLike) -> TheoremOne:
    """Compute both sides of the statements in the paper's Theorem 1 (see the module docstring).

    Args:
        scores: shape (..., n_domains, n_domains), row = source, column = target, diagonal = in-domain; fractions
            in [0, 1]. At least two domains.
    Returns: the statements. All sides of a matrix with a missing (NaN) score are NaN: the identities are about
        complete grids.
    Raises: ValueError when the matrices are not square, have fewer than two rows, or a score is outside [0, 1].
    Source: appendix A, Theorem 1 and its proof, corrected.

    >>> toy = theorem_one([[0.90, 0.75, 0.75], [0.95, 0.80, 0.65], [0.80, 0.75, 0.70]])
    >>> bool(toy.variance.holds), bool(toy.absolute.holds)
    (True, True)
    >>> round(float(toy.variance.left - toy.variance.right), 6)
    0.013333
    """
    st, ss, tt = shift_scores(scores)
    sd, td, idd = ss - st, tt - st, ss - tt
    return TheoremOne(
        covariance=Inequality(_covariance(tt, st), _covariance(ss, st)),
        explained=Inequality(_covariance(idd, sd) ** 2, _covariance(idd, td) ** 2),
        variance=Inequality(_covariance(sd, sd), _covariance(td, td)),
        absolute=Inequality(np.abs(sd).mean(axis=-1), np.abs(td).mean(axis=-1)),
        squares=Inequality((sd**2).mean(axis=-1), (td**2).mean(axis=-1)),
    )


@dataclass(frozen=True)
class DropsByDifficulty:
    """Mean drops over the shifts to the hardest targets first, shape (n_steps,) each.

    Attributes:
        idd: the steps: distinct in-domain differences, falling.
        n_shifts: shifts whose IDD is at least the step's.
        mean_sd: their mean SD.
        mean_td: their mean TD; ``mean_sd - mean_td`` is their mean IDD.
    """

    idd: Floats
    n_shifts: NDArray[np.int64]
    mean_sd: Floats
    mean_td: Floats


def drops_by_difficulty(scores: ArrayLike) -> DropsByDifficulty:
    """Average SD and TD over growing sets of shifts, those to the relatively hardest targets first.

    Looking at hard targets only makes SD large and TD not: it is the targets that are hard, not the shift. Over
    all shifts of a complete grid the two means are one. Shifts of equal IDD enter together, so the order of the
    domains does not matter; IDDs closer than rounding are equal.

    Args:
        scores: one matrix, shape (n_domains, n_domains), as for ``theorem_one``; shifts with an unknown (NaN)
            ST, SS or TT take no part.
    Returns: the running means, fractions in [-1, 1]; of length 0 when no shift is known.
    Raises: ValueError when it is not one square matrix of at least two domains, or a score is outside [0, 1].
    Source: Figure 2; the caption of Table 7 takes the steps with IDD > 0.

    >>> toy = drops_by_difficulty([[0.90, 0.75, 0.75], [0.95, 0.80, 0.65], [0.80, 0.75, 0.70]])
    >>> toy.idd.round(2).tolist(), toy.n_shifts.tolist()
    ([0.2, 0.1, -0.1, -0.2], [1, 3, 5, 6])
    >>> toy.mean_sd.round(3).tolist(), toy.mean_td.round(3).tolist()
    ([0.15, 0.15, 0.05, 0.025], [-0.05, 0.017, 0.01, 0.025])
    """
    if np.ndim(scores) != 2:
        raise ValueError(f"scores must be one square matrix, got shape {np.shape(scores)}")
    st, ss, tt = shift_scores(scores)
    known = ~np.isnan(st + ss + tt)
    st, ss, tt = st[known], ss[known], tt[known]
    order = np.argsort(-(ss - tt), kind="stable")
    idd, sd, td = (ss - tt)[order], (ss - st)[order], (tt - st)[order]
    last = np.flatnonzero(np.append(idd[:-1] - idd[1:] > _TIE, True)) if idd.size else np.zeros(0, dtype=np.int64)
    n_shifts = last + 1
    return DropsByDifficulty(
        idd[last], np.asarray(n_shifts, dtype=np.int64), sd.cumsum()[last] / n_shifts, td.cumsum()[last] / n_shifts
    )


def average_over_models(summaries: Sequence[TaskSummary]) -> dict[str, float]:
    """Average each figure of one task over models, in the order of the paper's Tables 6 and 8.

    Worst drops, correlations and R2 are not linear: their means over models differ from the same figures of
    the models' mean scores.

    Args:
        summaries: one summary per model, each of a single score matrix, at least one.
    Returns: means by name of figure; NaN where the figure is undefined for any of the models, so that every
        mean is over the same models.
    Raises: ValueError without a summary, or when one is of several matrices.
    Source: captions of Tables 6 and 8.

    >>> from shiftbench.metrics.robustness import summarise
    >>> a, b = summarise([[0.9, 0.7], [0.6, 0.8]]), summarise([[0.9, 0.5], [0.8, 0.8]])
    >>> {name: round(average_over_models([a, b])[name], 3) for name in ("worst_sd", "worst_td")}
    {'worst_sd': 0.3, 'worst_td': 0.3}
    """
    figures = [field.name for field in fields(TaskSummary) if field.name not in ("n_domains", "n_shifts", "complete")]
    table = [[np.asarray(getattr(summary, name)) for name in figures] for summary in summaries]
    if not table:
        raise ValueError("no summary to average over")
    if any(value.ndim for row in table for value in row):
        raise ValueError("each summary must be of one score matrix; summarise the models one by one")
    return dict(zip(figures, np.mean(np.array(table, dtype=np.float64), axis=0).tolist(), strict=True))


def _covariance(x: Floats, y: Floats) -> Floats:
    return np.asarray(((x - x.mean(axis=-1, keepdims=True)) * (y - y.mean(axis=-1, keepdims=True))).mean(axis=-1))


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
