"""The simulation of tests over time: its generators, and a small part of it with fixed seeds."""

import numpy as np
import pytest

from benchmarks.drifts import Periods
from benchmarks.over_time import Share, Waiting, alarm_cell, course_cell, cusum, first_alarm

RNG = np.random.default_rng


def test_generators_draw_what_they_say() -> None:
    right = Periods(40, size=10, correlation=0.1, jitter=0.04).draw(np.full(50, 0.86), 400, RNG(1)) / 10
    weekly = right.mean(axis=2)
    assert weekly.mean() == pytest.approx(0.86, abs=0.003)
    within = right.var(axis=2, ddof=1).mean()
    assert within == pytest.approx(0.86 * 0.14 * 1.9 / 10, rel=0.06)
    assert weekly.var(axis=1, ddof=1).mean() - within / 40 == pytest.approx(0.04**2, rel=0.06)


def test_counting() -> None:
    assert str(Share.of(np.array([True] + [False] * 9))) == "10.0 [0.3, 44.5]"
    assert str(Waiting.of(np.array([1.0, 2.0, 3.0, np.inf]))) == "2 [1, never], never"
    assert first_alarm(np.array([[1.0, 21.0, 2.0], [1.0, 1.0, 1.0]]), 20).tolist() == [2.0, np.inf]
    assert cusum(np.array([[1.0, -2.0, 2.0]])).tolist() == [[0.5, 0.0, 1.5]]


@pytest.mark.parametrize(("texts", "jitter", "most"), [(100, 0.0, 6), (500, 0.02, 3)])
def test_years_without_a_drop_are_still_and_ten_points_are_found(texts: int, jitter: float, most: int) -> None:
    found = alarm_cell(texts, 20, jitter, 150, RNG(3))
    assert found.alarms.low <= 0.05
    assert found.alarms.share < found.cusum_alarms.low
    median = found.weeks["10"].median
    assert median is not None
    assert median <= most


def test_months_that_jitter_have_no_trend_and_no_step() -> None:
    found = course_cell(12, 0.04, 0.0, 150, RNG(4))
    assert found.trends.low <= 0.05 < found.trends_of_texts.low
    assert found.steps is not None
    assert found.steps.low <= 0.05


def test_the_set_of_a_steps_place_holds_it() -> None:
    found = course_cell(24, 0.02, 0.10, 100, RNG(5))
    assert found.held is not None
    assert found.held.high >= 0.95
    assert found.set_size is not None
    assert found.set_size < 12
