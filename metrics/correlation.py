"""Correlation of scores, the shape of OOD against ID scores, and effective robustness.

Shapes (BOSS paper, sec. 3): the states of one model family (scales, steps, shots, tunable parameters) are
points (ID score, OOD score). Four models are compared: a constant (no relation), a line, a line in logit space, and
two lines joined at a knee. Models often lie on a line in logit space (Miller et al. 2021), which is a curve in
score space and would be mistaken for a knee. The model is selected by BIC with a small-sample correction
(McQuarrie 1999),

    n ln(RSS / n) + n p ln(n) / (n - p - 2),    p = 1, 2, 3 or 4 coefficients (the knee is one),

with residuals in score space for all of them. Because states are few and the knee position is searched, plain BIC
overfits: over 6 to 100 simulated states it fits a knee to a noisy straight line in up to a third of cases (few states),
AICc in a fifth (many states), and this criterion in less than a tenth. The price is that detecting a knee takes many
states (``LEAST_STATES``).

Effective robustness: a model's OOD score minus the score expected from its ID score by a line fitted in logit space to
several baselines (Taori et al. 2020; in logit space Miller et al. 2021). With few baselines the line itself is
uncertain, which the interval includes. Models outside the baselines' range of ID scores are compared with the
extrapolated line.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Axis = Literal["logit", "linear"]
Kind = Literal["line up", "line down", "two lines", "v", "peak", "two lines down", "none", "too few states"]

LEAST_STATES: dict[Literal["I", "II", "III"], int] = {"I": 6, "II": 15, "III": 10}
"""Number of states needed to detect each type with 80% power if the noise is a tenth of the range of OOD scores."""
_COEFFICIENTS = {
    "constant": 1, "one line": 2, "one line on logits": 2, "flat, then a line": 3, "a line, then flat": 3,
    "two lines": 4,
}  # fmt: skip
_BENDS = {"flat, then a line": (False, True), "a line, then flat": (True, False), "two lines": (True, True)}
_STATES_PER_LINE = 3
# Residuals below this fraction of the total variation are rounding errors: such a fit is exact.
_EXACT = 1e-20


class _Bend(NamedTuple):
    rss: float
    slopes: tuple[float, float]
    knee: float
    value: float


@dataclass(frozen=True)
class IdOodShape:
    """The model of OOD against ID scores selected for a set of states.

    Attributes:
        kind: ``line up`` or ``line down`` (one line), ``two lines`` (knee, neither slope negative), ``v``
            (falls, then rises), ``peak`` (rises, then falls), ``two lines down``, ``none`` (a constant fits
            as well), or ``too few states`` (fewer than 5 states or 3 distinct ID scores: nothing was fitted).
        slopes: one slope, or those left and right of the knee; empty without a line.
        knee: ID score at which the lines join; NaN without a knee.
        knee_value: OOD score at the knee, or the line's value at the mean ID score; the mean for ``none``.
        anchor: ID score to which ``knee_value`` belongs.
        r2: coefficient of determination, in [0, 1]; 0 for ``none``; NaN when all OOD scores are equal
            or nothing was fitted.
        criterion: corrected BIC of each candidate, lower is better; infinite if it needs more states, or (in logit
            space) if an ID score is 0 or 1; empty when nothing was fitted.
        axis: ``logit`` for a line in logit space (slope of logit(OOD) on logit(ID)); otherwise ``linear``.
    """

    kind: Kind
    slopes: tuple[float, ...]
    knee: float
    knee_value: float
    anchor: float
    r2: float
    criterion: dict[str, float]
    axis: Axis = "linear"

    @property
    def boss_type(self) -> Literal["I", "II", "III"] | None:
        """Return the paper's type: I (one rising line, either axis), II (two rising lines), III (a V) or None."""
        types: dict[Kind, Literal["I", "II", "III"]] = {"line up": "I", "two lines": "II", "v": "III"}
        return types.get(self.kind)

    def predict(self, id_scores: ArrayLike) -> Floats:
        """Predict OOD scores, same shape as ``id_scores``; NaN when nothing was fitted.

        On the logit axis ID scores must lie strictly between 0 and 1.
        """
        if self.axis == "logit":
            start, centre = (_on_axis(np.array([place]), "logit", "anchor") for place in (self.knee_value, self.anchor))
            x = _on_axis(np.asarray(id_scores, dtype=np.float64), "logit", "id_scores")
            return _expit(start + self.slopes[0] * (x - centre))
        offset = np.asarray(id_scores, dtype=np.float64) - self.anchor
        left, right = (self.slopes[0], self.slopes[-1]) if self.slopes else (0.0, 0.0)
        return np.asarray(self.knee_value + np.where(offset < 0, left, right) * offset)


def id_ood_shape(id_scores: ArrayLike, ood_scores: ArrayLike) -> IdOodShape:
    """Select a constant, a line, a line in logit space or two joined lines (see the module docstring).

    Each of two joined lines is fitted to at least three states. The knee is the exact least-squares solution: it lies
    at a state or where the separate fits to both sides cross.

    Args:
        id_scores: shape (n_states,), fractions.
        ood_scores: shape (n_states,), fractions.
    Returns: the shape. Residual sums of squares below rounding error are treated as equal, so the simplest of several
        exact fits is selected.
    Raises: ValueError when shapes differ or a score is not finite.
    Source: BOSS paper, sec. 3 (types by eye there; by a criterion here).

    >>> x = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
    >>> id_ood_shape(x, [0.5, 0.4, 0.3, 0.2, 0.3, 0.4, 0.5, 0.6]).kind
    'v'
    >>> id_ood_shape(x, x).boss_type
    'I'
    """
    x, y = _checked_states(id_scores, ood_scores)
    if x.size < 5 or np.unique(x).size < 3:
        return IdOodShape("too few states", (), np.nan, np.nan, np.nan, np.nan, {})
    mean_x, mean_y = float(x.mean()), float(y.mean())
    total = float(((y - mean_y) ** 2).sum())
    if total <= _EXACT * y.size * max(mean_y**2, 1.0):
        flat = {name: _criterion(0.0, 1.0, x.size, p) for name, p in _COEFFICIENTS.items()}
        return IdOodShape("none", (), np.nan, mean_y, mean_x, np.nan, flat)
    level, slope = _straight(x - mean_x, y, True)
    bends = {name: _best_bend(x, y, slants) for name, slants in _BENDS.items()}
    residuals = {"constant": total, "one line": float(((y - level - slope * (x - mean_x)) ** 2).sum())}
    curve = _logit_line(x, y) if x.min() > 0 and x.max() < 1 and y.min() >= 0 and y.max() <= 1 else None
    residuals["one line on logits"] = curve.rss if curve else np.inf
    residuals |= {name: bend.rss for name, bend in bends.items()}
    criterion = {name: _criterion(residuals[name], total, x.size, p) for name, p in _COEFFICIENTS.items()}
    chosen = min(criterion, key=criterion.__getitem__)
    r2 = float(np.clip(1.0 - residuals[chosen] / total, 0.0, 1.0))
    if chosen == "constant":
        return IdOodShape("none", (), np.nan, mean_y, mean_x, 0.0, criterion)
    if chosen == "one line":
        kind: Kind = "line up" if slope > 0 else "line down"
        return IdOodShape(kind, (slope,), np.nan, level, mean_x, r2, criterion)
    if chosen == "one line on logits" and curve:
        kind = "line up" if curve.slopes[0] > 0 else "line down"
        return IdOodShape(kind, curve.slopes[:1], np.nan, curve.value, curve.knee, r2, criterion, "logit")
    bend = bends[chosen]
    kind = _bent_kind(bend.slopes, 1e-9 * float(np.ptp(y) / np.ptp(x)))
    return IdOodShape(kind, bend.slopes, bend.knee, bend.value, bend.knee, r2, criterion)


def spearman(x: ArrayLike, y: ArrayLike) -> Floats:
    """Compute Spearman's rank correlation along the last axis; ties get their mean rank.

    Args:
        x: shape (..., n), finite.
        y: shape (..., n), the same or one that broadcasts with x.
    Returns: correlations in [-1, 1], shape (...,); NaN where x or y is constant or n < 2.
    Raises: ValueError when the last axes differ or a value is not finite.
    Source: Domain Robustness paper, Table 6.

    >>> float(spearman([1, 2, 3, 4], [10, 20, 40, 30]))
    0.8
    """
    first, second = _checked_pair(x, y)
    return _pearson(_mean_ranks(first), _mean_ranks(second))


def pearson(x: ArrayLike, y: ArrayLike) -> Floats:
    """Compute Pearson's correlation along the last axis.

    Args:
        x: shape (..., n), finite.
        y: shape (..., n), the same or one that broadcasts with x.
    Returns: correlations in [-1, 1], shape (...,); NaN where x or y is constant or n < 2.
    Raises: ValueError when the last axes differ or a value is not finite.
    Source: Domain Robustness paper, Remark 1 (its Table 6 has Spearman's).

    >>> float(pearson([1, 2, 3], [3, 2, 1]))
    -1.0
    """
    first, second = _checked_pair(x, y)
    return _pearson(first, second)


def r_squared(x: ArrayLike, y: ArrayLike) -> Floats:
    """Compute R2, the squared Pearson correlation, along the last axis.

    Args:
        x: shape (..., n), finite.
        y: shape (..., n), the same or one that broadcasts with x.
    Returns: fractions in [0, 1], shape (...,); NaN where x or y is constant or n < 2.
    Raises: ValueError when the last axes differ or a value is not finite.
    Source: Domain Robustness paper, Table 6 (R2 of IDD with SD and TD).

    >>> float(r_squared([1, 2, 3], [2, 4, 6]))
    1.0
    """
    first, second = _checked_pair(x, y)
    return np.asarray(_pearson(first, second) ** 2)


def fit_line(id_scores: ArrayLike, ood_scores: ArrayLike, *, axis: Axis) -> tuple[float, float]:
    """Fit the least-squares line through reference models, for ``effective_robustness``.

    Args:
        id_scores: shape (n_models,), fractions; strictly between 0 and 1 on the logit axis.
        ood_scores: shape (n_models,), same range.
        axis: ``logit`` fits logit(OOD) on logit(ID); ``linear`` fits the scores themselves.
    Returns: slope and intercept on that axis.
    Raises: ValueError when there are fewer than two distinct ID scores, or a logit is infinite.

    >>> [round(value, 6) for value in fit_line([0.5, 0.7, 0.9], [0.4, 0.6, 0.8], axis="linear")]
    [1.0, -0.1]
    """
    x, y = _checked_states(id_scores, ood_scores)
    x, y = _on_axis(x, axis, "id_scores"), _on_axis(y, axis, "ood_scores")
    if np.unique(x).size < 2:
        raise ValueError("a line needs reference models with at least two distinct ID scores")
    slope = float(((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum())
    return slope, float(y.mean() - slope * x.mean())


def effective_robustness(
    id_scores: ArrayLike, ood_scores: ArrayLike, *, slope: float, intercept: float, axis: Axis
) -> Floats:
    """Compute effective robustness relative to a given line: ``OOD - line(ID)``.

    Args:
        id_scores: shape (n,), fractions; strictly between 0 and 1 on the logit axis.
        ood_scores: shape (n,), fractions in [0, 1].
        slope: slope of the line, on ``axis``.
        intercept: intercept of the line, on ``axis``.
        axis: the axis the line was fitted on: ``logit``, where line(ID) = expit(slope logit(ID) + intercept),
            or ``linear``. Differences are between scores in both cases.
    Returns: differences in [-1, 1] (on ``linear`` the line may leave [0, 1]), positive is better, shape (n,).
    Raises: ValueError when shapes differ, a score lies outside its range, or the line is not finite.

    >>> effective_robustness([0.8], [0.75], slope=1.0, intercept=-0.1, axis="linear").round(6).tolist()
    [0.05]
    >>> effective_robustness([0.5], [0.6], slope=2.0, intercept=0.0, axis="logit").round(6).tolist()
    [0.1]
    """
    x, y = _checked_states(id_scores, ood_scores)
    if np.any((y < 0) | (y > 1)):
        raise ValueError("ood_scores must be fractions in [0, 1]; did you pass points?")
    if not (np.isfinite(slope) and np.isfinite(intercept)):
        raise ValueError(f"the line must be finite, got slope {slope} and intercept {intercept}")
    expected = slope * _on_axis(x, axis, "id_scores") + intercept
    return np.asarray(y - (_expit(expected) if axis == "logit" else expected))


def _logit_line(x: Floats, y: Floats) -> _Bend:
    """Fit a line in logit space by least squares in score space; ``value`` is its score at the mean of logit(ID)."""
    from scipy.optimize import least_squares

    across = _on_axis(x, "logit", "id_scores")
    offset = across - across.mean()
    # The search starts from a line through logits, which scores of 0 and 1 do not have.
    inside = np.clip(y, 1e-3, 1 - 1e-3)
    level, slope = _straight(offset, np.log(inside / (1 - inside)), True)

    def misses(line: Floats) -> Floats:
        return _expit(line[0] + line[1] * offset) - y

    def steepness(line: Floats) -> Floats:
        expected = _expit(line[0] + line[1] * offset)
        return np.stack([np.ones_like(offset), offset], axis=1) * (expected * (1 - expected))[:, None]

    fitted = least_squares(misses, (level, slope), jac=steepness, method="lm").x
    centre, value = _expit(np.array([across.mean(), fitted[0]]))
    return _Bend(float((misses(fitted) ** 2).sum()), (float(fitted[1]),) * 2, float(centre), float(value))


def _expit(values: Floats) -> Floats:
    # Written so that no exponential overflows.
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * values)))


def _best_bend(x: Floats, y: Floats, slants: tuple[bool, bool]) -> _Bend:
    """Fit two least-squares lines joined at a knee; ``slants``: whether the left and right slope may be nonzero."""
    best = _Bend(np.inf, (np.nan, np.nan), np.nan, np.nan)
    for knee in _candidate_knees(x, y, slants):
        offset = x - knee
        columns = [np.ones_like(x)]
        columns += [
            part for part, slant in zip((np.minimum(offset, 0), np.maximum(offset, 0)), slants, strict=True) if slant
        ]
        coefficients, rss = _least_squares(np.stack(columns, axis=1), y)
        if rss < best.rss:
            slopes = iter(coefficients[1:])
            left, right = (float(next(slopes)) if slant else 0.0 for slant in slants)
            best = _Bend(rss, (left, right), knee, float(coefficients[0]))
    return best


def _candidate_knees(x: Floats, y: Floats, slants: tuple[bool, bool]) -> list[float]:
    # Between two neighbouring states the residual sum of squares is smooth in the knee and can have a minimum only
    # where the separate fits cross; otherwise the best knee is at a state.
    def hold_lines(*sides: NDArray[np.bool_]) -> bool:
        return all(side.sum() >= _STATES_PER_LINE and np.unique(x[side]).size >= 2 for side in sides)

    states = np.unique(x)
    knees = [float(state) for state in states if hold_lines(x <= state, x >= state)]
    for before, after in pairwise(states):
        sides = x <= before, x >= after
        if not hold_lines(*sides):
            continue
        (a, b), (c, d) = (
            _straight(x[side] - before, y[side], slant) for side, slant in zip(sides, slants, strict=True)
        )
        if b != d and 0 < (a - c) / (d - b) < after - before:
            knees.append(float(before + (a - c) / (d - b)))
    return knees


def _straight(x: Floats, y: Floats, slant: bool) -> tuple[float, float]:
    """Return intercept and slope of the least-squares line; without ``slant`` the mean and 0."""
    offset = x - x.mean()
    slope = float((offset * y).sum() / (offset**2).sum()) if slant else 0.0
    return float(y.mean() - slope * x.mean()), slope


def _bent_kind(slopes: tuple[float, float], tiny: float) -> Kind:
    left, right = (0.0 if abs(slope) <= tiny else slope for slope in slopes)
    if left >= 0 and right >= 0:
        return "two lines"
    if left < 0 < right:
        return "v"
    return "peak" if right < 0 < left else "two lines down"


def _criterion(residual: float, total: float, n: int, p: int) -> float:
    if n - p - 2 <= 0 or not np.isfinite(residual):
        return np.inf
    return float(n * np.log(max(residual, _EXACT * total) / n) + n * p * np.log(n) / (n - p - 2))


def _least_squares(design: Floats, y: Floats) -> tuple[Floats, float]:
    coefficients = np.linalg.lstsq(design, y, rcond=None)[0]
    return np.asarray(coefficients, dtype=np.float64), float(((y - design @ coefficients) ** 2).sum())


def _pearson(x: Floats, y: Floats) -> Floats:
    dx = x - x.mean(axis=-1, keepdims=True)
    dy = y - y.mean(axis=-1, keepdims=True)
    # Rounding can give a constant non-zero deviations from its mean, so test the values themselves.
    constant = (np.ptp(x, axis=-1) == 0) | (np.ptp(y, axis=-1) == 0)
    scale = np.sqrt((dx**2).sum(axis=-1) * (dy**2).sum(axis=-1))
    ratio = (dx * dy).sum(axis=-1) / np.where(constant | (scale == 0), 1.0, scale)
    return np.asarray(np.where(constant | (scale == 0), np.nan, np.clip(ratio, -1.0, 1.0)))


def _mean_ranks(values: Floats) -> Floats:
    order = np.argsort(values, axis=-1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=-1)
    n = values.shape[-1]
    position = np.broadcast_to(np.arange(n), values.shape)
    edge = np.ones(values.shape, dtype=bool)
    edge[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    first = np.maximum.accumulate(np.where(edge, position, 0), axis=-1)
    ends = np.ones(values.shape, dtype=bool)
    ends[..., :-1] = edge[..., 1:]
    last = np.minimum.accumulate(np.where(ends, position, n - 1)[..., ::-1], axis=-1)[..., ::-1]
    ranks = np.empty(values.shape)
    np.put_along_axis(ranks, order, (first + last) / 2.0, axis=-1)
    return ranks


def _on_axis(scores: Floats, axis: Axis, name: str) -> Floats:
    if axis == "linear":
        return scores
    if axis != "logit":
        raise ValueError(f"axis must be 'logit' or 'linear', got {axis!r}")
    if np.any((scores <= 0) | (scores >= 1)):
        raise ValueError(f"{name} must lie strictly between 0 and 1 on the logit axis; did you pass points?")
    return np.asarray(np.log(scores) - np.log1p(-scores))


def _checked_states(id_scores: ArrayLike, ood_scores: ArrayLike) -> tuple[Floats, Floats]:
    x = np.asarray(id_scores, dtype=np.float64)
    y = np.asarray(ood_scores, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(f"id_scores and ood_scores must be 1-d and of equal length, got {x.shape} and {y.shape}")
    if not (np.all(np.isfinite(x)) and np.all(np.isfinite(y))):
        raise ValueError("ID and OOD scores must be finite; drop the states without them")
    return x, y


def _checked_pair(x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    first = np.asarray(x, dtype=np.float64)
    second = np.asarray(y, dtype=np.float64)
    if first.ndim < 1 or second.ndim < 1 or first.shape[-1] != second.shape[-1] or first.shape[-1] == 0:
        raise ValueError(f"x and y must have the same last axis, n >= 1, got {first.shape} and {second.shape}")
    if not (np.all(np.isfinite(first)) and np.all(np.isfinite(second))):
        raise ValueError("correlations need finite values; drop the shifts without them")
    return first, second


MIN_BASELINES = 3
"""Minimum number of baselines for a line with an interval (n - 2 degrees of freedom)."""


@dataclass(frozen=True)
class BaselineLine:
    """The least-squares line of logit(OOD) on logit(ID) through baselines.

    Attributes:
        slope: slope of the line.
        intercept: intercept of the line.
        n: number of baselines.
        scatter: residual standard deviation of logit(OOD), n - 2 degrees of freedom.
        centre: mean logit(ID) of the baselines.
        squares: sum of squared deviations of logit(ID) from ``centre``.
        lowest: lowest ID score of a baseline.
        highest: highest ID score of a baseline.
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
        """Return the line's OOD score at an ID score strictly between 0 and 1."""
        return float(
            -effective_robustness([id_score], [0.0], slope=self.slope, intercept=self.intercept, axis="logit")[0]
        )

    def interval(self, id_score: float) -> tuple[float, float]:
        """Compute the 95% confidence interval of the line's OOD score at an ID score strictly between 0 and 1."""
        from scipy.special import stdtrit

        x = _logit(id_score)
        error = self.scatter * np.sqrt(1 / self.n + (x - self.centre) ** 2 / self.squares)
        reach = float(stdtrit(self.n - 2, 0.975)) * float(error)
        middle = self.slope * x + self.intercept
        low, high = 0.5 * (1 + np.tanh(0.5 * np.array([middle - reach, middle + reach])))
        return float(low), float(high)


def baseline_line(id_scores: ArrayLike, ood_scores: ArrayLike) -> BaselineLine:
    """Fit a line through baselines in logit space.

    Args:
        id_scores: shape (n,), n >= 3, fractions strictly between 0 and 1, at least two distinct.
        ood_scores: shape (n,), fractions strictly between 0 and 1.
    Raises: ValueError with fewer baselines, a score of 0 or 1, or if all ID scores are equal.

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
    """Effective robustness with its 95% interval; the ends are NaN if a score has no interval."""

    value: float
    low: float
    high: float


def effective_interval(line: BaselineLine, id_score: ArrayLike, ood_score: ArrayLike) -> Effective:
    """Compute a model's effective robustness with its interval.

    The errors of ID score, OOD score and line are combined as if independent. This is conservative when they are
    positively correlated: mean SS and mean ST share test texts, and so do baselines and model.

    Args:
        line: fitted to baselines that do not include the model.
        id_score: the model's ID score and the ends of its 95% interval, shape (3,), the score strictly between 0 and 1.
        ood_score: its OOD score and the ends of its interval, shape (3,).
    Raises: ValueError when the ID score has no logit.

    >>> line = baseline_line([0.6, 0.7, 0.8], [0.5, 0.62, 0.7])
    >>> [round(end, 2) for end in effective_interval(line, [0.7, 0.68, 0.72], [0.65, 0.63, 0.67])]
    [0.05, -0.1, 0.21]
    """
    id_values, ood_values = np.asarray(id_score, dtype=np.float64), np.asarray(ood_score, dtype=np.float64)
    expected = line.expected(float(id_values[0]))
    value = float(ood_values[0]) - expected
    if np.isnan([*id_values, *ood_values]).any():
        return Effective(value, float("nan"), float("nan"))
    inside = np.clip(id_values[1:], 1e-9, 1 - 1e-9)
    moved = sorted(line.expected(float(end)) for end in inside)  # a negative slope swaps the ends
    by_line = line.interval(float(id_values[0]))
    # Independent errors: the lengths of the intervals add in quadrature.
    low = expected - float(np.hypot(expected - moved[0], expected - by_line[0]))
    high = expected + float(np.hypot(moved[1] - expected, by_line[1] - expected))
    down, up = (
        np.hypot(ood_values[0] - ood_values[1], high - expected),
        np.hypot(ood_values[2] - ood_values[0], expected - low),
    )
    return Effective(value, value - float(down), value + float(up))


def against_others(id_scores: ArrayLike, ood_scores: ArrayLike) -> list[tuple[BaselineLine, Effective] | None]:
    """Compare each of several models with the line through all others.

    Args:
        id_scores: ID scores with the ends of their 95% intervals, shape (n, 3), fractions; NaN where unknown.
        ood_scores: OOD scores in the same format.
    Returns: the result of ``one_against_others`` for each model.
    """
    id_values = np.asarray(id_scores, dtype=np.float64)
    return [one_against_others(id_values, ood_scores, model) for model in range(len(id_values))]


def one_against_others(
    id_scores: ArrayLike, ood_scores: ArrayLike, model: int
) -> tuple[BaselineLine, Effective] | None:
    """Compare one of several models with the line through all others.

    Args:
        id_scores: ID scores with the ends of their 95% intervals, shape (n, 3), fractions; NaN where unknown.
        ood_scores: OOD scores in the same format.
        model: row index of the model.
    Returns: the line of the others and the model's effective robustness. None if the model lacks a score strictly
        between 0 and 1, fewer than three others have both, or all others have the same ID score.
    """
    id_values, ood_values = np.asarray(id_scores, dtype=np.float64), np.asarray(ood_scores, dtype=np.float64)
    usable = (id_values[:, 0] > 0) & (id_values[:, 0] < 1) & (ood_values[:, 0] > 0) & (ood_values[:, 0] < 1)
    others = usable & (np.arange(len(id_values)) != model)
    if not usable[model] or others.sum() < MIN_BASELINES or np.ptp(id_values[others, 0]) == 0:
        return None
    line = baseline_line(id_values[others, 0], ood_values[others, 0])
    return line, effective_interval(line, id_values[model], ood_values[model])


def _logit(score: ArrayLike) -> Floats:
    fractions = np.asarray(score, dtype=np.float64)
    if np.any((fractions <= 0) | (fractions >= 1)):
        raise ValueError("scores must lie strictly between 0 and 1 on the logit axis")
    return np.asarray(np.log(fractions) - np.log1p(-fractions))
