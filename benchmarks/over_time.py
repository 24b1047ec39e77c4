"""Error rates of tests over time on simulated data: alarms, weeks until a drop is detected, trends, change points.

Texts are in groups of 10 with correlation 0.1, and the model's accuracy is 86%. The betting tests of
``check --history`` look for a drop every week for a year, compared with a reference of 2,000 texts in 20 weeks, or
in 4. For comparison, a plain CUSUM (k = 1/2 on weekly means) treats the reference's mean and between-group variance as
known; if they were, its false-alarm rate would be 5% per year.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from benchmarks.drifts import Floats, Periods
from shiftbench.metrics.alarm import ALARM, drop_evidence
from shiftbench.metrics.over_time import Groups, change_point, period_means, trend, weighted_fit

ACCURACY, YEAR, DROPS = 0.86, 52, (0.05, 0.10)
REFERENCE = 2000
"""Texts of the reference."""
_CHUNK = 250
"""Histories simulated at a time, to limit memory."""
_MONTH = 20
"""Groups per month in trends and changes: 200 texts."""
_SEVERAL = 20_000
"""Simulated years from which the CUSUM's limit is computed."""


@dataclass(frozen=True)
class Share:
    """A share of draws with its 95% Monte Carlo limits (Clopper and Pearson)."""

    share: float
    low: float
    high: float

    @classmethod
    def of(cls, hits: NDArray[np.bool_]) -> "Share":
        """Compute the share of hits, shape (n,)."""
        from scipy.special import betaincinv

        n, right = hits.size, int(np.count_nonzero(hits))
        low = float(betaincinv(right, n - right + 1, 0.025)) if right else 0.0
        high = float(betaincinv(right + 1, n - right, 0.975)) if right < n else 1.0
        return cls(right / n, low, high)

    def __str__(self) -> str:
        """Format the share in percent."""
        return f"{100 * self.share:.1f} [{100 * self.low:.1f}, {100 * self.high:.1f}]"


@dataclass(frozen=True)
class Waiting:
    """Quantiles of the weeks until an alarm; None if a quantile is not reached within the year.

    Attributes:
        median, low, high: median with its distribution-free 95% limits.
        most: 90% quantile.
    """

    median: int | None
    low: int | None
    high: int | None
    most: int | None

    @classmethod
    def of(cls, weeks: Floats) -> "Waiting":
        """Summarise the weeks until an alarm, shape (n,); infinite without an alarm."""
        n, ordered = weeks.size, np.sort(weeks)
        # Ranks n/2 +- 1.96 sqrt(n)/2: the binomial limits of the median.
        reach = 0.98 * np.sqrt(n)
        ranks = (n / 2, n / 2 - reach, n / 2 + reach, 0.9 * n)
        ends = (ordered[int(np.clip(np.ceil(rank) - 1, 0, n - 1))] for rank in ranks)
        return cls(*(int(each) if np.isfinite(each) else None for each in ends))

    def __str__(self) -> str:
        """Format as ``median [limits], 90% quantile``."""
        median, low, high, most = ("never" if each is None else str(each) for each in vars(self).values())
        return f"{median} [{low}, {high}], {most}"


@dataclass(frozen=True)
class AlarmCell:
    """Alarms in one setting, by betting tests and by a CUSUM.

    Attributes:
        texts: labelled texts per week.
        reference_weeks: number of weeks of the reference.
        jitter: standard deviation of the weeks' accuracies, a fraction.
        alarms, cusum_alarms: share of years without a drop that have a false alarm.
        weeks, cusum_weeks: weeks until an alarm, by kind of drop.
    """

    texts: int
    reference_weeks: int
    jitter: float
    alarms: Share
    cusum_alarms: Share
    weeks: dict[str, Waiting]
    cusum_weeks: dict[str, Waiting]


@dataclass(frozen=True)
class CourseCell:
    """Tests of a trend and of a change point in one setting of months.

    Attributes:
        months: number of months.
        jitter: standard deviation of the months' accuracies, a fraction.
        step: true drop after a third of the months.
        trends: share of histories with a significant trend.
        trends_of_texts: the same for a test that ignores the variation between months.
        steps: share of histories with a significant change point; None for less than a year.
        held: share of histories whose confidence set contains the true change point; None without a step.
        set_size: median number of months in the confidence set; None without a step.
    """

    months: int
    jitter: float
    step: float
    trends: Share
    trends_of_texts: Share
    steps: Share | None
    held: Share | None
    set_size: float | None


def as_groups(right: Floats, size: int) -> Groups:
    """Count groups by their number of correct texts.

    Args:
        right: correct texts per group, shape (..., n_groups).
        size: texts per group, the same for all.
    """
    kinds = np.arange(size + 1.0)
    counts = np.stack([(right == kind).sum(axis=-1) for kind in kinds], axis=-1).astype(np.float64)
    return Groups(np.full(counts.shape, float(size)), np.broadcast_to(kinds / size, counts.shape), counts)


def first_alarm(values: Floats, limit: float) -> Floats:
    """Return the 1-based index of the first value that reaches a limit, infinite without one; shape (n_draws,)."""
    hits = values >= limit
    return np.where(hits.any(axis=1), hits.argmax(axis=1) + 1.0, np.inf)


def cusum(deviations: Floats) -> Floats:
    """Compute the one-sided CUSUM with allowance k = 1/2.

    Args:
        deviations: by how many standard deviations each week's mean is below the reference, shape (n, n_weeks).
    Returns: the statistic after each week, at least 0, shape (n, n_weeks).
    """
    total, sums = np.zeros(len(deviations)), []
    for look in range(deviations.shape[1]):
        total = np.maximum(total + deviations[:, look] - 0.5, 0.0)
        sums.append(total)
    return np.stack(sums, axis=1)


def cusum_limit(rng: np.random.Generator) -> float:
    """Return the CUSUM's alarm limit: it is reached in 5% of years with independent normal weekly means."""
    return float(np.quantile(cusum(rng.standard_normal((_SEVERAL, YEAR))).max(axis=1), 0.95))


def alarm_cell(texts: int, reference_weeks: int, jitter: float, n_draws: int, rng: np.random.Generator) -> AlarmCell:
    """Simulate alarms in one setting: in a year without a drop, and after drops.

    Args:
        texts: labelled texts per week.
        reference_weeks: number of weeks of the reference's 2,000 texts.
        jitter: standard deviation of the weeks' accuracies, a fraction.
        n_draws: histories of each kind.
        rng: the generator.
    """
    before = Periods(REFERENCE // reference_weeks // 10, jitter=jitter)
    after, limit = Periods(texts // 10, jitter=jitter), cusum_limit(rng)
    steady, half = np.full(YEAR, ACCURACY), YEAR // 2
    courses = {"none": steady}
    for drop in DROPS:
        courses[f"{100 * drop:g}"] = steady - drop
        courses[f"{100 * drop:g} after half a year"] = np.concatenate([steady[:half], steady[half:] - drop])
    found: dict[str, list[Floats]] = {name: [] for name in courses}
    plain: dict[str, list[Floats]] = {name: [] for name in courses}
    for start in range(0, n_draws, _CHUNK):
        n = min(_CHUNK, n_draws - start)
        reference = as_groups(before.draw(np.full(reference_weeks, ACCURACY), n, rng), before.size)
        means, variances = period_means(reference)
        one_week = np.sqrt(variances.mean(axis=1) * before.n_groups / after.n_groups)
        for name, course in courses.items():
            right = after.draw(course, n, rng)
            found[name].append(drop_evidence(reference, as_groups(right, after.size)).values)
            weekly = right.mean(axis=2) / after.size
            plain[name].append(cusum((means.mean(axis=1)[:, None] - weekly) / one_week[:, None]))
    weeks = {name: _weeks(np.concatenate(each), ALARM, name, half) for name, each in found.items()}
    cusum_weeks = {name: _weeks(np.concatenate(each), limit, name, half) for name, each in plain.items()}
    none, cusum_none = (np.isfinite(each.pop("none")) for each in (weeks, cusum_weeks))
    return AlarmCell(
        texts,
        reference_weeks,
        jitter,
        Share.of(none),
        Share.of(cusum_none),
        {name: Waiting.of(each) for name, each in weeks.items()},
        {name: Waiting.of(each) for name, each in cusum_weeks.items()},
    )


def _weeks(values: Floats, limit: float, name: str, half: int) -> Floats:
    """Return the weeks from the drop until the first alarm; histories with an alarm before the drop are excluded."""
    first = first_alarm(values, limit)
    return first[first > half] - half if name.endswith("half a year") else first


def course_cell(months: int, jitter: float, step: float, n_draws: int, rng: np.random.Generator) -> CourseCell:
    """Simulate tests of trends and change points in one setting of months with 200 texts each.

    Args:
        months: number of periods.
        jitter: standard deviation of the months' accuracies, a fraction.
        step: drop after a third of the months; 0: every trend or step found is false.
        n_draws: number of histories.
        rng: generator of the histories and of the tests' randomness.
    """
    from scipy.special import ndtr

    periods, at = Periods(_MONTH, jitter=jitter), np.arange(months)
    place = months // 3
    right = periods.draw(np.where(at >= place, ACCURACY - step, ACCURACY), n_draws, rng)
    values, own = period_means(as_groups(right, periods.size))
    design = np.stack([np.ones(months), at - (months - 1) / 2], axis=1)
    fitted, inverse, _ = weighted_fit(values, 1 / own, design)
    of_texts = 2 * ndtr(-np.abs(fitted[:, 1]) / np.sqrt(inverse[:, 1, 1])) < 0.05
    trends = Share.of(trend(values, own, at).p < 0.05), Share.of(of_texts)
    if months < 12:
        return CourseCell(months, jitter, step, *trends, None, None, None)
    found = [change_point(row, spread, rng, 399) for row, spread in zip(values, own, strict=True)]
    shown = np.array([each.p < 0.05 for each in found])
    if not step:
        return CourseCell(months, jitter, step, *trends, Share.of(shown), None, None)
    held = Share.of(np.array([place in each.places for each in found]))
    sizes = float(np.median([len(each.places) for each in found]))
    return CourseCell(months, jitter, step, *trends, Share.of(shown), held, sizes)


def alarm_cells(n_draws: int, seed: int) -> Iterator[AlarmCell]:
    """Simulate ``alarm_cell`` for several numbers of texts, lengths of the reference and amounts of jitter."""
    for number, (texts, weeks, jitter) in enumerate(product((100, 500), (20, 4), (0.0, 0.02, 0.04))):
        if (texts, weeks) != (100, 4):
            yield alarm_cell(texts, weeks, jitter, n_draws, np.random.default_rng([seed, number]))


def course_cells(n_draws: int, seed: int) -> Iterator[CourseCell]:
    """Simulate ``course_cell`` for several numbers of months, amounts of jitter and drops."""
    settings = [*product((6, 12, 24), (0.0, 0.02, 0.04), (0.0,)), *product((12, 24), (0.0, 0.02, 0.04), DROPS)]
    for number, (months, jitter, step) in enumerate(settings):
        yield course_cell(months, jitter, step, n_draws, np.random.default_rng([seed, 100 + number]))
