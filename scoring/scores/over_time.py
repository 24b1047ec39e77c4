"""Scores over time: a trend, a change point, and the sequential alarm against a reference (``metrics``).

All of them use the mean score over texts, because the alarm's betting test applies to means; the check's own metric
may be another one.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from shiftbench.metrics.alarm import ALARM, drop_evidence
from shiftbench.metrics.over_time import (
    LEAST_FOR_CHANGE,
    LEAST_FOR_TREND,
    Groups,
    between_variance,
    change_point,
    period_means,
    trend,
    weighted_fit,
)
from shiftbench.metrics.precision import Floats, effective_groups, effective_n, group_influences
from shiftbench.metrics.ranking import holm
from shiftbench.scoring.scores.figures import Figure, Score, estimate, refusal, single
from shiftbench.scoring.scores.outcomes import TargetRuns
from shiftbench.scoring.scores.shape import (
    AlarmFound,
    ChangeFound,
    Estimate,
    OverTime,
    PeriodGroups,
    PeriodScore,
    TrendFound,
)

LEVEL = 0.05
_MANY = 100
"""With more periods, fewer resamples are used for a change point: a year of days would take half a minute."""
WHOLE_TEXTS = "proportion of texts without an error"
"""The measure for task kinds whose metric is not a mean over texts."""


def measure_of(target: TargetRuns) -> str:
    """Return the name of the metric that is the mean of the texts' scores; ``WHOLE_TEXTS`` for kinds without one.

    Args:
        target: the runs on any target of the task.
    """
    return target.outcomes.example_metric or WHOLE_TEXTS


def period_groups(period: str, target: TargetRuns) -> PeriodGroups:
    """Summarise a period's texts by group.

    Args:
        period: its name.
        target: the runs on its texts; scores are averaged over the runs.
    """
    scores = target.outcomes.example_scores.mean(axis=0)
    sizes = np.bincount(target.groups)
    means = np.bincount(target.groups, weights=scores) / sizes
    alike, counts = np.unique(np.stack([sizes, means]), axis=1, return_counts=True)
    kinds = zip(alike[0].tolist(), alike[1].tolist(), counts.tolist(), strict=True)
    return PeriodGroups(
        period=period, n=len(scores), groups=tuple((int(size), mean, count) for size, mean, count in kinds)
    )


def period_figure(periods: Sequence[PeriodGroups]) -> Figure:
    """Return the mean score over the texts of some periods, with its precision over groups."""
    kinds = np.array([kind for period in periods for kind in period.groups], dtype=np.float64)
    counts = kinds[:, 2].astype(np.int64)
    sizes, means = np.repeat(kinds[:, 0], counts), np.repeat(kinds[:, 1], counts)
    whole, groups = sizes.sum(), np.arange(sizes.size)
    value = float(sizes @ means / whole)
    size = float(effective_groups(sizes))
    if reason := refusal(size):
        return single(Score(value, 1.0, 1.0, groups=size, no_interval=reason))
    moved = group_influences(sizes * (means - value) / whole, groups, sizes)
    holding = np.minimum(effective_groups(sizes * means), effective_groups(sizes * (1 - means)))
    n = effective_n(value, float((moved**2).sum()), value * (1 - value) / whole, size, holding)
    return single(Score(value, float(n), size - 1, groups=size, influences=moved))


def over_time(
    periods: Sequence[PeriodGroups],
    places: Mapping[str, int],
    unit: str,
    measure: str,
    reference: Sequence[str] = (),
) -> OverTime:
    """Test periods for a trend, a change point and, with a reference, a drop below it.

    Args:
        periods: in order, at least one.
        places: position of each period on the time axis.
        unit: name of the unit of time, such as month.
        measure: the metric's name.
        reference: the reference periods; only periods after the last of them are monitored.
    """
    figures = {each.period: period_figure([each]) for each in periods}
    evidence, found = _find_alarm(periods, reference)
    known = {name for name, figure in figures.items() if figure.has_interval}
    line, step, shown = _find_course([each for each in periods if each.period in known], places)
    return OverTime(
        unit=unit,
        measure=measure,
        periods=tuple(
            PeriodScore(
                period=each.period,
                place=places[each.period],
                n=each.n,
                score=estimate(figures[each.period]),
                is_reference=each.period in reference,
                evidence=evidence.get(each.period),
            )
            for each in periods
        ),
        trend=line,
        change=step,
        shown=shown,
        alarm=found,
    )


def _find_course(
    periods: Sequence[PeriodGroups], places: Mapping[str, int]
) -> tuple[TrendFound | None, ChangeFound | None, str | None]:
    """Test for a trend and a change point, Holm-corrected; also return which of them is shown."""
    names = [each.period for each in periods]
    if len(names) < LEAST_FOR_TREND:
        return None, None, None
    values, variances = period_means(_as_groups(periods))
    at = np.array([places[name] for name in names], dtype=np.float64)
    line = trend(values, variances, at)
    step = None
    if len(names) >= LEAST_FOR_CHANGE:
        step = change_point(values, variances, np.random.default_rng(0), 999 if len(names) <= _MANY else 199)
    p_values = holm([float(line.p)] + ([step.p] if step else [])).tolist()
    shown = "trend" if p_values[0] < LEVEL else None
    change = None
    if step:
        if p_values[1] < LEVEL and (shown is None or step.unexplained < _unexplained(values, variances, at)):
            shown = "change"
        ends = (names[step.places[0]], names[step.places[-1]]) if step.places else (None, None)
        change = ChangeFound(at=names[step.place], step=step.step, p=p_values[1], first=ends[0], last=ends[1])
    slope = Estimate(value=float(line.slope), low=float(line.low), high=float(line.high))
    return TrendFound(slope=slope, p=p_values[0], jitter=float(line.jitter)), change, shown


def _unexplained(values: Floats, variances: Floats, at: Floats) -> float:
    """Return the weighted sum of squared residuals of a straight line, divided by that of a constant.

    The weights are the same as in the change-point fit, so that both fits can be compared.
    """
    ones = np.ones((values.size, 1))
    weights = 1 / (variances + between_variance(values, variances, ones, values.size - 1))
    line = np.stack([ones[:, 0], at - at.mean()], axis=1)
    return float(weighted_fit(values, weights, line)[2] / weighted_fit(values, weights, ones)[2])


def _find_alarm(
    periods: Sequence[PeriodGroups], reference: Sequence[str]
) -> tuple[dict[str, float], AlarmFound | None]:
    """Compute the evidence for a drop after each period that follows the reference, and the resulting alarm."""
    chosen = [number for number, each in enumerate(periods) if each.period in reference]
    later = periods[chosen[-1] + 1 :] if chosen else ()
    if not later:
        return {}, None
    own = [periods[number] for number in chosen]
    found = drop_evidence(_as_groups(own), _as_groups(later))
    evidence = dict(zip((each.period for each in later), found.values.tolist(), strict=True))
    first = next((look for look, value in enumerate(evidence.values()) if value >= ALARM), None)
    look = len(later) - 1 if first is None else first
    return evidence, AlarmFound(
        reference=tuple(each.period for each in own),
        mean=estimate(period_figure(own)),
        n_looks=len(later),
        at=None if first is None else later[first].period,
        largest=max(evidence.values()),
        allowance=float(found.allowance[look]),
        is_assumed=len(own) == 1 and look < 2,
    )


def _as_groups(periods: Sequence[PeriodGroups]) -> Groups:
    most = max(len(each.groups) for each in periods)
    filled = np.array([[*each.groups, *[(1, 0.0, 0)] * (most - len(each.groups))] for each in periods], dtype=float)
    return Groups(filled[..., 0], filled[..., 1], filled[..., 2])
