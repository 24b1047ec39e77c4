"""Trends and change points: against scipy, on planted courses, and on what merely jitters."""

import numpy as np
import pytest
from scipy.stats import linregress

from shiftbench.metrics.over_time import Groups, between_variance, change_point, period_means, trend, weighted_fit

RNG = np.random.default_rng


def test_a_planted_decline_is_found() -> None:
    found = trend([0.86, 0.80, 0.74, 0.67, 0.58], np.full(5, 6e-4), np.arange(5))
    assert found.slope == pytest.approx(-0.069, abs=1e-3)
    assert found.high < 0
    assert found.p < 0.01


def test_with_jitter_alone_the_trend_is_scipys() -> None:
    y = 0.8 + 0.05 * RNG(0).standard_normal(12)
    found, ours = linregress(np.arange(12), y), trend(y, np.full(12, 1e-9), np.arange(12))
    assert ours.slope == pytest.approx(found.slope)
    assert ours.p == pytest.approx(found.pvalue, rel=1e-4)


def test_errors_are_never_below_what_texts_give() -> None:
    line = 0.8 + 0.01 * np.arange(6)  # no residuals at all
    found = trend(line, np.full(6, 1e-3), np.arange(6))
    assert found.high - found.low == pytest.approx(2 * 2.7764 * np.sqrt(1e-3 / 17.5), rel=1e-3)
    assert found.jitter == 0


def test_a_gap_counts_as_its_length() -> None:
    places = np.array([0, 1, 2, 6, 7])
    assert trend(0.9 - 0.02 * places, np.full(5, 1e-4), places).slope == pytest.approx(-0.02)


def test_the_variance_between_periods_is_found() -> None:
    y = 0.8 + RNG(1).normal(0, np.sqrt(4e-4 + 9e-4), 4000)
    found = between_variance(y, np.full(4000, 4e-4), np.ones((4000, 1)), 3999)
    assert found == pytest.approx(9e-4, rel=0.15)
    assert between_variance([0.8, 0.8, 0.81], np.full(3, 1e-2), np.ones((3, 1)), 2) == 0


def test_weights_enter_the_fit() -> None:
    fitted, inverse, rest = weighted_fit([1.0, 3.0], [3.0, 1.0], np.ones((2, 1)))
    assert (fitted[0], inverse[0, 0], rest) == pytest.approx((1.5, 0.25, 3.0))


def test_periods_means_are_over_texts_and_their_variances_over_groups() -> None:
    groups = Groups(np.array([[1.0, 3.0]]), np.array([[0.0, 1.0]]), np.array([[1.0, 1.0]]))
    assert period_means(groups).means[0] == 0.75
    even = Groups(np.full((1, 2), 1.0), np.array([[0.0, 1.0]]), np.array([[20.0, 80.0]]))
    assert period_means(even).variances[0] == pytest.approx(0.8 * 0.2 / 99)
    perfect = Groups(np.ones((1, 1)), np.ones((1, 1)), np.full((1, 1), 50.0))
    assert period_means(perfect).variances[0] > 0


def test_a_step_is_found_with_its_place() -> None:
    y = np.where(np.arange(16) < 10, 0.86, 0.74) + 0.01 * RNG(2).standard_normal(16)
    found = change_point(y, np.full(16, 1e-4), RNG(0))
    assert found.place == 10
    assert found.places == (10,)
    assert found.step == pytest.approx(-0.12, abs=0.02)
    assert found.p == 0.001


def test_two_steps_down_have_no_one_place() -> None:
    y = np.repeat([0.9, 0.8, 0.6], 8) + 0.002 * RNG(3).standard_normal(24)
    assert change_point(y, np.full(24, 1e-6), RNG(0)).places == ()


def test_a_single_odd_period_is_no_change() -> None:
    y = 0.8 + 0.001 * RNG(4).standard_normal(14)
    y[-1] = 0.5
    assert change_point(y, np.full(14, 1e-4), RNG(0)).place <= 12


def test_too_few_periods_are_refused() -> None:
    with pytest.raises(ValueError, match="3 periods"):
        trend([0.8, 0.9], [1e-4, 1e-4], [0, 1])
    with pytest.raises(ValueError, match=r"12 periods.*11"):
        change_point(np.full(11, 0.8), np.full(11, 1e-4), RNG(0))
