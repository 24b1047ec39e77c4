"""Errors of a method's forecasts by target domain, for one prediction file or for boards' models.

The unit is the target domain, because errors on shifts into the same domain, and of models on it, are correlated.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from shiftbench.metrics.domain_order import Board, order_boards
from shiftbench.metrics.new_domain import coverage_by_domain, interval_score, mean_by_domain, paired_test, skill
from shiftbench.scoring.forecasting.methods import FLOORS
from shiftbench.scoring.forecasting.shape import HeldIn, MethodErrors, MethodOrder
from shiftbench.scoring.scores.figures import none_if_nan

_SEED = 0


class Point(NamedTuple):
    """One method's forecast of one model on one shift whose labels are known.

    Attributes:
        domain: the target, prefixed with its board if there are several: the unit of all means.
        model: the model.
        source: what it was trained on.
        truth: the true score.
        value: the forecast.
        low: lower end of its interval; None without one.
        high: upper end.
        level: level of the interval.
        truth_error: standard error of the true score over test texts; None if unknown.
    """

    domain: str
    model: str
    source: str
    truth: float
    value: float
    low: float | None = None
    high: float | None = None
    level: float | None = None
    truth_error: float | None = None

    @property
    def error(self) -> float:
        """Forecast minus truth."""
        return self.value - self.truth


def method_errors(
    method: str, points: Mapping[str, Sequence[Point]], order: MethodOrder | None = None
) -> MethodErrors | None:
    """Measure the errors of a method; None if it has no forecast.

    Args:
        method: its name.
        points: forecasts of each method, including the naive baselines.
        order: evaluation of its ordering of domains, if available (``order_domains``).
    """
    mine = points.get(method, ())
    if not mine:
        return None
    errors, domains = np.array([point.error for point in mine]), [point.domain for point in mine]
    held, winkler = _count_held(mine)
    compared = {
        floor: _compare_with_floor(mine, points.get(floor, ()), f"{method}/{floor}")
        for floor in FLOORS
        if floor != method
    }
    return MethodErrors(
        method=method,
        n_models=len({point.model for point in mine}),
        n_domains=len(set(domains)),
        n_shifts=len(mine),
        error=float(mean_by_domain(np.abs(errors), domains).mean()),
        bias=float(mean_by_domain(errors, domains).mean()),
        interval_score=winkler,
        held=held,
        skill={floor: saved for floor, (saved, _) in compared.items()},
        p={floor: p for floor, (_, p) in compared.items()},
        order=order,
    )


def sort_methods(methods: Iterable[MethodErrors]) -> list[MethodErrors]:
    """Sort methods by mean error.

    Methods that lack a forecast of some target domains come last, because their means are over fewer domains.
    """
    return sorted(methods, key=lambda each: (-each.n_domains, each.error))


def errors_by_domain(points: Iterable[Point]) -> dict[str, list[float]]:
    """List absolute errors by target domain."""
    found: dict[str, list[float]] = {}
    for point in points:
        found.setdefault(point.domain, []).append(abs(point.error))
    return found


def _count_held(points: Sequence[Point]) -> tuple[HeldIn | None, float | None]:
    """Count the domains in which intervals covered the truth, and average interval scores; None without intervals."""
    inside: dict[str, list[bool]] = {}
    levels: dict[str, list[float]] = {}
    scores: dict[str, list[float]] = {}
    for point in points:
        if point.low is None or point.high is None or point.level is None:
            continue
        inside.setdefault(point.domain, []).append(point.low <= point.truth <= point.high)
        levels.setdefault(point.domain, []).append(point.level)
        score = float(interval_score(point.low, point.high, point.truth, point.level))
        scores.setdefault(point.domain, []).append(score)
    if not inside:
        return None, None
    wanted = [float(np.mean(each)) for each in levels.values()]
    found = coverage_by_domain(list(inside.values()), wanted)
    winkler = float(np.mean([np.mean(each) for each in scores.values()]))
    return HeldIn(level=float(np.mean(wanted)), **found._asdict()), winkler


def _compare_with_floor(mine: Sequence[Point], floor: Sequence[Point], about: str) -> tuple[float | None, float | None]:
    """Compare a method with a naive baseline on the shifts that both forecast: skill, and p over target domains."""
    known = {point[:3]: abs(point.error) for point in floor}
    both = [(point.domain, abs(point.error), known[point[:3]]) for point in mine if point[:3] in known]
    if not both:
        return None, None
    domains = [domain for domain, _, _ in both]
    own, other = (mean_by_domain([each[place] for each in both], domains) for place in (1, 2))
    saved = skill(float(own.mean()), float(other.mean()))
    p = paired_test(own - other, np.random.default_rng([_SEED, *about.encode()]))
    return None if np.isnan(saved) else saved, None if np.isnan(p) else p


def order_domains(boards: Sequence[Sequence[Point]]) -> MethodOrder | None:
    """Evaluate a method's ordering of each source's targets.

    Args:
        boards: its forecasts on each board.

    Returns: the evaluation; None if no source has two targets.
    """
    made = [_arrange(points) for points in boards if points]
    found = order_boards(made, np.random.default_rng(_SEED))
    if found is None:
        return None
    shown = found._asdict() | {"pairs": none_if_nan(found.pairs), "p_pairs": none_if_nan(found.p_pairs)}
    return MethodOrder.model_validate(shown)


def _arrange(points: Sequence[Point]) -> Board:
    """Arrange the forecasts of one board as arrays (models, sources, targets)."""
    models, sources = sorted({point.model for point in points}), sorted({point.source for point in points})
    domains = sorted({point.domain for point in points})
    names = {point.domain: point.domain.split(" ", 1)[-1] for point in points}
    arrays = np.full((3, len(models), len(sources), len(domains)), np.nan)
    for point in points:
        place = models.index(point.model), sources.index(point.source), domains.index(point.domain)
        arrays[:, *place] = point.value, point.truth, point.truth_error or 0.0
    targets = {names[domain]: number for number, domain in enumerate(domains)}
    return Board(arrays[0], arrays[1], arrays[2], np.array([targets.get(source, -1) for source in sources]))
