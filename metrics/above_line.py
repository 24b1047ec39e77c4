"""Effective robustness with its interval: how far a model lies above the line of several baselines, on logits.

A better model is nearly always better out of distribution too, by about as much as baselines of its in-distribution
score are. Effective robustness asks what is left after that (Taori et al. 2020; on logits Miller et al. 2021).
Baselines scatter around their line and are few, so the line itself is uncertain; and models beyond their scores are
judged by the line's extension.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftbench.metrics.correlation import effective_robustness, fit_line

Floats = NDArray[np.float64]

MIN_BASELINES = 3
"""Baselines below which a line has no scatter, and so no interval."""


@dataclass(frozen=True)
class BaselineLine:
    """The least-squares line of logit(OOD) on logit(ID) through baselines.

    Attributes:
        slope, intercept: of the line.
        n: baselines.
        scatter: standard deviation of logit(OOD) around the line, n - 2 degrees of freedom.
        centre: mean logit(ID) of the baselines.
        squares: sum of squared distances from it.
        lowest, highest: ID scores of the outermost baselines.
    """

    slope: float
    intercept: float
    n: int
    scatter: float
    centre: float
    squares: float
    lowest: float
    highest: float

    def expected(self, id_score: float) -> float:
        """Compute the OOD score that the line expects at an ID score, strictly between 0 and 1."""
        return float(
            -effective_robustness([id_score], [0.0], slope=self.slope, intercept=self.intercept, axis="logit")[0]
        )

    def interval(self, id_score: float) -> tuple[float, float]:
        """Compute the ends of the 95% interval of the line's OOD score there, from the scatter of baselines."""
        from scipy.special import stdtrit

        x = _logit(id_score)
        error = self.scatter * np.sqrt(1 / self.n + (x - self.centre) ** 2 / self.squares)
        reach = float(stdtrit(self.n - 2, 0.975)) * float(error)
        middle = self.slope * x + self.intercept
        low, high = 0.5 * (1 + np.tanh(0.5 * np.array([middle - reach, middle + reach])))
        return float(low), float(high)


def baseline_line(id_scores: ArrayLike, ood_scores: ArrayLike) -> BaselineLine:
    """Fit the line through baselines on logits.

    Args:
        id_scores: shape (n,), n >= 3, fractions strictly between 0 and 1, two of them distinct.
        ood_scores: shape (n,), likewise.
    Raises: ValueError with fewer baselines, a score of 0 or 1, or one ID score throughout.

    >>> round(baseline_line([0.6, 0.7, 0.8], [0.6, 0.7, 0.8]).slope, 6)
    1.0
    """
    x, y = np.asarray(id_scores, dtype=np.float64), np.asarray(ood_scores, dtype=np.float64)
    if x.size < MIN_BASELINES:
        raise ValueError(f"a line with an interval needs {MIN_BASELINES} baselines or more, got {x.size}")
    slope, intercept = fit_line(x, y, axis="logit")
    across, up = _logit(x), _logit(y)
    left = up - intercept - slope * across
    scatter = float(np.sqrt((left**2).sum() / (x.size - 2)))
    squares = float(((across - across.mean()) ** 2).sum())
    return BaselineLine(
        slope, intercept, x.size, scatter, float(across.mean()), squares, float(x.min()), float(x.max())
    )


class Effective(NamedTuple):
    """OOD score above the line, with the ends of its 95% interval; NaN where a score has no interval."""

    value: float
    low: float
    high: float


def effective_interval(line: BaselineLine, id_score: ArrayLike, ood_score: ArrayLike) -> Effective:
    """Compute a model's effective robustness with its interval.

    The ends of the model's own scores, and those of the line, are joined as independent: that errs on the wide
    side where scores of one model go together (mean SS and mean ST share test texts), and where baselines and model
    share test texts.

    Args:
        line: of the baselines, the model not among them.
        id_score: the model's ID score and the ends of its 95% interval, shape (3,), the score strictly between 0 and 1.
        ood_score: its OOD score and ends, shape (3,).
    Raises: ValueError when the ID score has no logit.

    >>> line = baseline_line([0.6, 0.7, 0.8], [0.5, 0.62, 0.7])
    >>> [round(end, 2) for end in effective_interval(line, [0.7, 0.68, 0.72], [0.65, 0.63, 0.67])]
    [0.05, -0.1, 0.21]
    """
    own, away = np.asarray(id_score, dtype=np.float64), np.asarray(ood_score, dtype=np.float64)
    expected = line.expected(float(own[0]))
    value = float(away[0]) - expected
    if np.isnan([*own, *away]).any():
        return Effective(value, float("nan"), float("nan"))
    inside = np.clip(own[1:], 1e-9, 1 - 1e-9)
    moved = sorted(line.expected(float(end)) for end in inside)  # a falling line turns the ends around
    by_line = line.interval(float(own[0]))
    # The line's error and the model's error are independent, so their lengths add as squares.
    low = expected - float(np.hypot(expected - moved[0], expected - by_line[0]))
    high = expected + float(np.hypot(moved[1] - expected, by_line[1] - expected))
    down, up = np.hypot(away[0] - away[1], high - expected), np.hypot(away[2] - away[0], expected - low)
    return Effective(value, value - float(down), value + float(up))


def against_others(id_scores: ArrayLike, ood_scores: ArrayLike) -> list[tuple[BaselineLine, Effective] | None]:
    """Compare each of several models with the line through all others.

    Args:
        id_scores: ID scores with the ends of their 95% intervals, shape (n, 3), fractions; NaN where unknown.
        ood_scores: OOD scores likewise.
    Returns: for each model what ``one_against_others`` does.
    """
    own = np.asarray(id_scores, dtype=np.float64)
    return [one_against_others(own, ood_scores, model) for model in range(len(own))]


def one_against_others(
    id_scores: ArrayLike, ood_scores: ArrayLike, model: int
) -> tuple[BaselineLine, Effective] | None:
    """Compare one of several models with the line through all others.

    Args:
        id_scores: ID scores with the ends of their 95% intervals, shape (n, 3), fractions; NaN where unknown.
        ood_scores: OOD scores likewise.
        model: its row.
    Returns: the line of the others and its effective robustness; None where it or fewer than three others have both
        scores strictly between 0 and 1, or all others have one ID score.
    """
    own, away = np.asarray(id_scores, dtype=np.float64), np.asarray(ood_scores, dtype=np.float64)
    usable = (own[:, 0] > 0) & (own[:, 0] < 1) & (away[:, 0] > 0) & (away[:, 0] < 1)
    others = usable & (np.arange(len(own)) != model)
    if not usable[model] or others.sum() < MIN_BASELINES or np.ptp(own[others, 0]) == 0:
        return None
    line = baseline_line(own[others, 0], away[others, 0])
    return line, effective_interval(line, own[model], away[model])


def _logit(score: ArrayLike) -> Floats:
    fractions = np.asarray(score, dtype=np.float64)
    if np.any((fractions <= 0) | (fractions >= 1)):
        raise ValueError("on logits scores must lie strictly between 0 and 1")
    return np.asarray(np.log(fractions) - np.log1p(-fractions))
