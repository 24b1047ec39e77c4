"""Methods of forecasting beside each other: on all models of a board, and over boards.

The unit is the target domain of a board: shifts into one domain, and models on it, err alike. Over boards it is assumed
that domains of different tasks are alike in how methods do; the figures of single boards need no such assumption.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from leaderboard.forecasting import CONCEPT_SHIFT
from leaderboard.forecasting.methods import FLOORS
from leaderboard.forecasting.shape import (
    BoardStandings,
    MethodComparison,
    ShiftForecast,
    Standing,
    TaskForecast,
)
from leaderboard.metrics.correlation import spearman
from leaderboard.metrics.forecast_errors import interval_score, mean_by_domain, paired_test, skill

MIN_MODELS = 10
"""Models of a shift below which their ranks are not correlated."""
_SEED = 0


class Forecasted(NamedTuple):
    """Forecasts of one model on one board."""

    board: str
    model: str
    task: TaskForecast


class _Point(NamedTuple):
    """One model on one shift: its forecasts by method, the truth, and the level of the intervals."""

    board: str
    model: str
    shift: ShiftForecast
    truth: float

    @property
    def unit(self) -> str:
        return f"{self.board} {self.shift.target}"

    def value(self, method: str) -> float | None:
        found = self.shift.of(method)
        return None if found is None else found.value


def compare_methods(
    found: Sequence[Forecasted], left_out: Sequence[str] = (), levels: Mapping[str, float] | None = None
) -> MethodComparison:
    """Compare methods on all shifts whose labels are known.

    Args:
        found: forecasts of every model.
        left_out: what was not compared, and why.
        levels: levels of the intervals of methods that bring their own; others have those of their shifts.
    """
    points = [
        _Point(each.board, each.model, shift, shift.truth)
        for each in found
        for shift in each.task.shifts
        if shift.truth is not None
    ]
    methods = list(dict.fromkeys(each.method for point in points for each in point.shift.forecasts))
    boards: list[str | None] = [*dict.fromkeys(point.board for point in points)]
    boards += [None] if len(boards) > 1 else []
    parts = []
    for board in boards:
        mine = [point for point in points if board in (None, point.board)]
        standings = [made for name in methods if (made := _standing(name, mine, levels or {})) is not None]
        parts.append(
            BoardStandings(
                board=board, models=tuple(dict.fromkeys(point.model for point in mine)), standings=tuple(standings)
            )
        )
    return MethodComparison(boards=tuple(parts), left_out=tuple(left_out), concept_shift=CONCEPT_SHIFT)


def _standing(method: str, points: Sequence[_Point], levels: Mapping[str, float]) -> Standing | None:
    """Measure how a method does on some points; None where it forecasts none of them."""
    known = [(point, value) for point in points if (value := point.value(method)) is not None]
    if not known:
        return None
    off = np.array([value - point.truth for point, value in known])
    units = [point.unit for point, _ in known]
    scores, held, n_intervals = _intervals(method, points, levels.get(method))
    rank_correlation, n_ranked = _ranks(known)
    against = {floor: _against(method, floor, points) for floor in FLOORS if floor != method}
    return Standing(
        method=method,
        n_models=len({(point.board, point.model) for point, _ in known}),
        n_units=len(set(units)),
        n_shifts=len(known),
        error=float(mean_by_domain(np.abs(off), units).mean()),
        bias=float(mean_by_domain(off, units).mean()),
        interval_score=scores,
        held=held,
        n_intervals=n_intervals,
        skill={floor: saved for floor, (saved, _) in against.items()},
        p={floor: p for floor, (_, p) in against.items()},
        rank_correlation=rank_correlation,
        n_ranked=n_ranked,
    )


def _intervals(method: str, points: Sequence[_Point], own_level: float | None) -> tuple[float | None, int | None, int]:
    """Score a method's intervals: Winkler's score, domains in which they held, domains with intervals."""
    scores: dict[str, list[float]] = {}
    above: dict[str, list[float]] = {}
    for point in points:
        level = own_level or point.shift.level
        each = point.shift.of(method)
        if each is None or each.low is None or each.high is None or level is None:
            continue
        scores.setdefault(point.unit, []).append(float(interval_score(each.low, each.high, point.truth, level)))
        above.setdefault(point.unit, []).append(float(each.low <= point.truth <= each.high) - level)
    if not scores:
        return None, None, 0
    held = sum(np.mean(each) >= -1e-9 for each in above.values())
    return float(np.mean([np.mean(each) for each in scores.values()])), int(held), len(scores)


def _against(method: str, floor: str, points: Sequence[_Point]) -> tuple[float | None, float | None]:
    """Compare a method with a floor on the points that both forecast: skill, and p over target domains."""
    both = [
        (point.unit, abs(a - point.truth), abs(b - point.truth))
        for point in points
        if (a := point.value(method)) is not None and (b := point.value(floor)) is not None
    ]
    if not both:
        return None, None
    units = [unit for unit, _, _ in both]
    mine, its = (mean_by_domain([each[place] for each in both], units) for place in (1, 2))
    saved = skill(float(mine.mean()), float(its.mean()))
    p = paired_test(mine - its, np.random.default_rng([_SEED, *f"{method}/{floor}".encode()]))
    return None if np.isnan(saved) else saved, None if np.isnan(p) else p


def _ranks(known: Sequence[tuple[_Point, float]]) -> tuple[float | None, int]:
    """Correlate forecasts and truths over the models of each shift; the mean over shifts, and their number."""
    shifts: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    for point, value in known:
        place = point.board, point.shift.source, point.shift.target
        shifts.setdefault(place, []).append((value, point.truth))
    pairs = [np.array(each).T for each in shifts.values() if len(each) >= MIN_MODELS]
    found = [float(spearman(forecasts, truths)) for forecasts, truths in pairs]
    defined = [each for each in found if not np.isnan(each)]
    return (float(np.mean(defined)), len(defined)) if defined else (None, 0)
