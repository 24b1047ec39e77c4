"""Source drop against target drop: which is the more informative about a task, and means over models.

Domain Robustness paper, sec. 6.4 and appendix A. Its Theorem 1 calls four statements equivalent. On a complete
score matrix, every domain once as source and once as target of every other, with covariances over the n (n - 1)
shifts and

    y = Cov[TT, ST] - Cov[SS, ST],    x = Var[SS] - Cov[SS, TT] = Var[SS] n / (n - 1),

the two sides differ by y (1), by 4 x y (2), by 2 y (3), and E[SD^2] and E[TD^2] by 2 y as well: identities, no
independence needed. The paper's proof sets Cov[SS, TT] = 0, but a source is never its own target, so it is
-Var[SS] / (n - 1). Where all in-domain scores are equal, x and y are 0 and no statement holds. Statement (4) is
printed about E|SD| and E|TD|, proved for the squares, and does not follow.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftbench.metrics.robustness import TaskSummary, shift_scores

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
