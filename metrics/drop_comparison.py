"""Source drop compared with target drop (Theorem 1), drops by difficulty, means over models, and scenario tests.

Domain Robustness paper, sec. 6.4 and appendix A. Its Theorem 1 calls four statements equivalent. On a complete
score matrix, every domain once as source and once as target of every other, with covariances over the n (n - 1)
shifts and

    y = Cov[TT, ST] - Cov[SS, ST],    x = Var[SS] - Cov[SS, TT] = Var[SS] n / (n - 1),

the two sides of statement (1) differ by y, those of (2) by 4 x y, and those of (3) by 2 y; E[SD^2] - E[TD^2] is also
2 y. These are identities and need no independence assumption. The paper's proof sets Cov[SS, TT] = 0, but a source is
never its own target, so it is -Var[SS] / (n - 1). If all in-domain scores are equal, x and y are 0 and no statement
holds. Statement (4) is printed for E|SD| and E|TD| but proved for the squares, and does not follow.

The paper's chi-square test of whether the training domain matters at all (appendix C.8) assumes that without a shift
effect the six orders of (SS, TT, ST) are equally likely, and tests the scenario counts over all shifts and models. This
is invalid for two reasons. Shifts of one matrix share scores and models share domains, so the counts are not
independent. And without a shift effect the orders are equally likely only if all domains are equally hard: if targets
differ in difficulty, SS is far above or far below both TT and ST, the four scenarios tend to a quarter each, and the
test rejects. It is included to reproduce the paper; use the average drop with its interval instead.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftbench.metrics.robustness import TaskSummary, in_domain_difference, shift_scores, source_drop, target_drop

Floats = NDArray[np.float64]

# Smaller differences are rounding errors.
_TIE = 1e-12


@dataclass(frozen=True)
class Inequality:
    """An inequality ``left > right``; both arrays have shape ``scores.shape[:-2]``."""

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
        absolute: (4) as printed, E|SD| > E|TD|. It may be false although the others are true.
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
    Returns: the statements, NaN for a matrix with a missing (NaN) score: the identities hold for complete grids.
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
    """Cumulative mean drops over shifts in order of decreasing IDD, arrays of shape (n_steps,).

    Attributes:
        idd: distinct in-domain differences, decreasing.
        n_shifts: number of shifts with at least this IDD.
        mean_sd: mean SD of these shifts.
        mean_td: mean TD of these shifts; ``mean_sd - mean_td`` is their mean IDD.
    """

    idd: Floats
    n_shifts: NDArray[np.int64]
    mean_sd: Floats
    mean_td: Floats


def drops_by_difficulty(scores: ArrayLike) -> DropsByDifficulty:
    """Compute cumulative means of SD and TD over shifts in order of decreasing IDD (hardest targets first).

    Restricting to hard targets inflates SD but not TD, because SD includes the difficulty of the target. Over all
    shifts of a complete grid the two means are equal. Shifts with equal IDD (up to rounding) enter together, so the
    order of the domains does not matter.

    Args:
        scores: one matrix, shape (n_domains, n_domains), as for ``theorem_one``; shifts with an unknown (NaN)
            ST, SS or TT are ignored.
    Returns: the cumulative means, fractions in [-1, 1]; of length 0 when no shift is known.
    Raises: ValueError unless it is one square matrix of at least two domains with scores in [0, 1].
    Source: Figure 2; the caption of Table 7 uses the steps with IDD > 0.

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
    """Average the statistics of one task over models, as in the paper's Tables 6 and 8.

    Worst drops, correlations and R2 are not linear: the mean over models differs from the statistic of the models'
    mean scores.

    Args:
        summaries: one summary per model, each of a single score matrix, at least one.
    Returns: means by name of the statistic; NaN if it is undefined for any model, so that all means are over the
        same models.
    Raises: ValueError without a summary, or if one covers several matrices.
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
        raise ValueError("each summary must be of one score matrix; summarise each model separately")
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
        n: number of shifts counted.
        n_left_out: number of shifts excluded because of a tie or an unknown score.
    """

    statistic: float
    df: int
    p_value: float
    n: int
    n_left_out: int


def scenario_chi_square(scenarios: Sequence[str]) -> ChiSquareTest:
    """Test the scenarios' counts against 1/3 Classic, 1/6 Observed, 1/6 Unobserved, 1/3 No Challenge.

    These are the proportions if all six orders of (SS, TT, ST) are equally likely. See the module docstring for the
    limits of this test.

    Args:
        scenarios: names from ``robustness.scenario`` over the shifts (and models) of a task; Tie and Unknown are
            excluded and counted in ``n_left_out``.
    Returns: the test, 3 degrees of freedom.
    Raises: ValueError for an unknown scenario.
    Source: appendix C.8, which does not state whether its cells are scenarios (here) or orders
        (``order_chi_square``).

    >>> test = scenario_chi_square(["Classic"] * 30 + ["Unobserved"] * 6 + ["Tie"])
    >>> test.statistic, test.n, test.n_left_out, test.p_value < 0.05 / 14
    (45.0, 36, 1, True)
    """
    known = {*_SCENARIO_SHARES, "Tie", "Unknown"}
    if strange := sorted(set(scenarios) - known):
        raise ValueError(f"{strange[0]!r} is not a scenario; known: {', '.join(sorted(known))}")
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
    Returns: the test, 5 degrees of freedom; shifts with two equal scores or an unknown score are excluded.
    Raises: ValueError when shapes differ or a score is outside [0, 1].
    Source: appendix C.8, interpreted as a test of the six sequences it lists.

    >>> test = order_chi_square([0.7] * 6, [0.8, 0.9, 0.5, 0.6, 0.6, 0.8], [0.9, 0.8, 0.6, 0.5, 0.8, 0.6])
    >>> test.statistic, test.df, test.n
    (0.0, 5, 6)
    """
    sd = source_drop(cross_domain, source_in_domain).ravel()
    td = target_drop(cross_domain, target_in_domain).ravel()
    idd = in_domain_difference(source_in_domain, target_in_domain).ravel()
    counted = ~np.isnan(sd + td) & (sd != 0) & (td != 0) & (idd != 0)
    # Three bits: ST below SS, ST below TT, TT below SS. Six of the eight codes are possible.
    codes = (4 * (sd > 0) + 2 * (td > 0) + (idd > 0))[counted]
    observed = np.bincount(codes, minlength=8)[[0, 1, 2, 5, 6, 7]]
    return _chi_square(observed.tolist(), [1 / 6] * 6, sd.size)


def bonferroni(p_values: ArrayLike) -> Floats:
    """Compute Bonferroni-corrected p values, to be compared with the family-wise level.

    ``ranking.holm`` gives the same guarantee with at least as many rejections; this one reproduces the paper, where
    14 tests at 0.05 give 0.0036.

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
