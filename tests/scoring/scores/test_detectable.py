"""The smallest detectable drop: found in four studies of five, and made of the standard error alone."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from shiftbench.scoring.scores.figures import (
    Figure,
    Reason,
    Runs,
    Score,
    detectable_drop,
    detectable_drops,
    difference,
    single,
)

N, HOME = 400, 0.75


def score(right: int, test_set: str, df: float = N - 1.0, runs: Runs | None = None) -> Score:
    """Return an accuracy on N texts."""
    return Score(right / N, N, df, test_set, np.zeros(N), groups=N, runs=runs)


def drop_of(home: int, away: int, df: float = N - 1.0) -> Figure:
    return difference(single(score(home, "A", df)), single(score(away, "B", df)))


def test_is_the_two_quantiles_times_the_standard_error() -> None:
    found = detectable_drop(drop_of(300, 300), n_tests=20)
    se, df = np.sqrt(2 * HOME * (1 - HOME) / N), 2 * (N - 1)
    one, shared = ((stats.t.ppf(1 - 0.025 / tests, df) + stats.t.ppf(0.8, df)) * se for tests in (1, 20))
    assert found is not None
    assert found.models == pytest.approx(one, rel=0.01)  # Wilson's interval is a little shorter
    assert found.models_corrected == pytest.approx(shared, rel=0.01)
    assert found.recipe is None
    assert found.recipe_corrected is None


def test_a_drop_of_that_size_is_found_in_four_studies_of_five() -> None:
    found = detectable_drop(drop_of(200, 200))
    assert found is not None
    rng = np.random.default_rng(1)
    # Around 50% a score's variance hardly depends on the score, so that the drop leaves it as it is.
    home, away = (rng.binomial(N, 0.5 + sign * found.models / 2, 1_000) for sign in (1, -1))
    studies = [drop_of(int(one), int(other)) for one, other in zip(home, away, strict=True)]
    share = np.mean([study.low is not None and study.low > 0 for study in studies])
    assert share == pytest.approx(0.8, abs=0.04)  # three standard errors of 1,000 studies


def test_the_observed_drop_has_no_part_in_it() -> None:
    found, mirrored = (detectable_drop(drop_of(*right)) for right in ((300, 100), (300, 300)))
    assert found is not None
    assert mirrored is not None
    # 25% varies as 75% does; limits that are added up as squares differ a little.
    assert found.models == pytest.approx(mirrored.models, rel=0.005)


def test_training_runs_add_to_it() -> None:
    moved = np.array([-2.0, -1.0, 0.0, 1.0, 2.0]) * 0.02 * np.sqrt(2)  # a mean of 5 with a standard error of 2 points
    runs = Runs("A", tuple(range(5)), HOME + moved, np.zeros((N, 5)))
    steady = runs._replace(recipe="B", values=np.full(5, HOME))
    drop = difference(single(score(300, "A", runs=runs)), single(score(300, "B", runs=steady)))
    found = detectable_drop(drop, n_tests=20)
    assert found is not None
    assert found.recipe is not None
    assert found.recipe_corrected is not None
    texts = 2 * HOME * (1 - HOME) / N
    se = np.hypot(np.sqrt(texts), 0.02)
    dof = se**4 / (0.02**4 / 4 + texts**2 / (2 * (N - 1)))
    assert found.recipe == pytest.approx((stats.t.ppf(0.975, dof) + stats.t.ppf(0.8, dof)) * se, rel=0.01)
    assert found.models < found.recipe < found.recipe_corrected


def test_few_degrees_of_freedom_of_the_interval_count() -> None:
    """Check that an interval made with t(18) is taken apart with t(18), however many texts there are."""
    drop = drop_of(200, 200, df=9.0)
    assert drop.low is not None
    assert drop.high is not None
    se = (drop.high - drop.low) / 2 / stats.t.ppf(0.975, 18)
    found = detectable_drop(drop)
    assert found is not None
    assert found.models == pytest.approx(float(stats.t.ppf(0.975, 18) + stats.t.ppf(0.8, 18)) * se)


def test_without_an_interval_there_is_none() -> None:
    few = single(replace(score(300, "A"), no_interval=Reason.FEW_GROUPS))
    drops = {"sd": difference(few, single(score(300, "B"))), "td": drop_of(300, 300)}
    assert detectable_drops(drops).keys() == {"td"}
