"""The smallest detectable drop: found in four studies of five, and made of the standard error alone."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from shiftbench.metrics.wilson import relative_square, wilson_interval
from shiftbench.scoring.scores.intervals import (
    Figure,
    Reason,
    TotalBounds,
    detectable_drop,
    detectable_drops,
    difference,
)

from tests.close_figures import assert_close

N, HOME = 400, 0.75


def score(right: int) -> Figure:
    """Return an accuracy on N texts with its interval, and replicates that are unrelated to anything."""
    square = relative_square(N, N - 1)
    low, high = wilson_interval(right / N, square)
    return Figure(np.array([right / N, *[right / N] * 3]), N, low=low, high=high, square=square)


def test_is_the_two_quantiles_times_the_standard_error() -> None:
    found = detectable_drop(difference(score(300), score(300)), n_tests=20)
    se = np.sqrt(2 * HOME * (1 - HOME) / N)
    one, shared = ((stats.t.ppf(1 - 0.025 / tests, N - 1) + stats.t.ppf(0.8, N - 1)) * se for tests in (1, 20))
    assert found is not None
    assert found.models == pytest.approx(one, rel=0.01)  # Wilson's interval is a little shorter
    assert found.models_corrected == pytest.approx(shared, rel=0.01)
    assert found.recipe is None
    assert found.recipe_corrected is None


def test_a_drop_of_that_size_is_found_in_four_studies_of_five() -> None:
    found = detectable_drop(difference(score(200), score(200)))
    assert found is not None
    rng = np.random.default_rng(1)
    # Around 50% a score's variance hardly depends on the score, so that the drop leaves it as it is.
    home, away = (rng.binomial(N, 0.5 + sign * found.models / 2, 1_000) for sign in (1, -1))
    studies = [difference(score(int(one)), score(int(other))) for one, other in zip(home, away, strict=True)]
    share = np.mean([study.low is not None and study.low > 0 for study in studies])
    assert share == pytest.approx(0.8, abs=0.04)  # three standard errors of 1,000 studies


def test_the_observed_drop_has_no_part_in_it() -> None:
    drop = difference(score(300), score(300))
    moved = replace(drop, values=drop.values + 0.2, low=(drop.low or 0) + 0.2, high=(drop.high or 0) + 0.2)
    assert_close(detectable_drop(moved), detectable_drop(drop))


def test_training_runs_add_to_it() -> None:
    drop = difference(score(300), score(300))
    found = detectable_drop(drop, TotalBounds(-0.1, 0.1, training_variance=0.02**2, training_df=4.0), n_tests=20)
    assert found is not None
    assert found.recipe is not None
    assert found.recipe_corrected is not None
    se = np.hypot(np.sqrt(2 * HOME * (1 - HOME) / N), 0.02)
    dof = se**4 / (0.02**4 / 4 + (2 * HOME * (1 - HOME) / N) ** 2 / (N - 1))
    assert found.recipe == pytest.approx((stats.t.ppf(0.975, dof) + stats.t.ppf(0.8, dof)) * se, rel=0.01)
    assert found.models < found.recipe < found.recipe_corrected


def test_few_degrees_of_freedom_of_the_interval_count() -> None:
    """Check that an interval made with t(9) is taken apart with t(9), however many groups there are."""
    se, reach = 0.02, 0.02 * float(stats.t.ppf(0.975, 9))
    drop = Figure(np.array([0.1, 0.1]), 500, low=0.1 - reach, high=0.1 + reach, own_df=9)
    found = detectable_drop(drop)
    assert found is not None
    assert found.models == pytest.approx(float(stats.t.ppf(0.975, 9) + stats.t.ppf(0.8, 9)) * se)


def test_without_an_interval_there_is_none() -> None:
    few = replace(score(300), low=None, high=None, no_interval=Reason.FEW_GROUPS)
    assert detectable_drops({"sd": difference(few, score(300)), "td": difference(score(300), score(300))}).keys() == {
        "td"
    }
