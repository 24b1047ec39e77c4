"""Figures: sums of scores, their limits and tests, against the formulas computed here."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq

from shiftbench.metrics.precision import wilson_limits
from shiftbench.scoring.scores.figures import (
    UNKNOWN,
    Figure,
    Reason,
    Runs,
    Score,
    detectable_drop,
    detectable_drops,
    difference,
    estimate,
    largest_limits,
    mean,
    on_scale,
    single,
    total_interval,
    weighted_sum,
)
from shiftbench.scoring.scores.shape import Estimate
from shiftbench.scoring.scores.summary import worst

N, HOME = 400, 0.75
REFUSED = single(Score(0.5, groups=3, no_interval=Reason.FEW_GROUPS))


def share(right: float, n: int = N, test_set: object = None) -> Figure:
    """Return an accuracy on n texts of a separate test set."""
    return single(Score(right / n, n, n - 1, test_set or object(), np.zeros(n), np.zeros(n), n))


def models(*right: np.ndarray) -> list[Figure]:
    """Return the accuracies of models on the same texts; ``right`` is 0 or 1 for each text."""
    figures = []
    for rights in right:
        n, p = rights.size, rights.mean()
        errors = min(np.count_nonzero(rights), n - np.count_nonzero(rights))
        n_eff = n - 1 if errors >= 5 else n
        moved = (rights - p) / np.sqrt(n * (n - 1))
        figures.append(single(Score(float(p), n_eff, n - 1, "shared", moved, rights / n, n)))
    return figures


def trained(values: list[float], spread: float, *, test_set: str, recipe: str) -> Figure:
    """Return the mean of runs whose group influences are identical."""
    rng = np.random.default_rng(len(values))
    moved = rng.normal(size=N) * spread / np.sqrt(N)
    runs = Runs(recipe, tuple(range(len(values))), np.array(values), np.tile(moved[:, None], len(values)))
    value = float(np.mean(values))
    return single(Score(value, value * (1 - value) / spread**2, N - 1, test_set, moved, np.zeros(N), N, None, runs))


def test_a_score_has_wilsons_interval_with_students_quantile() -> None:
    figure = share(300)
    quantile = stats.t.ppf(0.975, N - 1)
    expected = stats.binomtest(300, N).proportion_ci(method="wilson", confidence_level=2 * stats.norm.cdf(quantile) - 1)
    assert (figure.low, figure.high) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_a_drop_joins_the_lengths_of_its_scores() -> None:
    home, away = share(300), share(240)
    found = difference(home, away)
    quantile = stats.t.ppf(0.975, found.df)
    (a, b), (c, d) = (wilson_limits(right / N, quantile**2 / N) for right in (300, 240))
    assert found.low == pytest.approx(0.15 - np.hypot(0.75 - a, d - 0.6), abs=1e-12)
    assert found.high == pytest.approx(0.15 + np.hypot(b - 0.75, 0.6 - c), abs=1e-12)
    assert found.df == pytest.approx(2 * (N - 1), rel=0.02)


@pytest.mark.parametrize("right", [[300, 240], [399, 400], [20, 8]])
def test_the_test_is_the_interval_inverted(right: list[int]) -> None:
    found = difference(*(share(each) for each in right))
    p = found.p_value()
    low, high = found.limits(1 - p)
    assert min(abs(low), abs(high)) == pytest.approx(0, abs=1e-5)
    edge = brentq(lambda null: found.p_value(null) - 0.05, -1, found.value)
    assert edge == pytest.approx(found.low, abs=1e-5)


def test_the_test_of_a_single_score_takes_its_variance_at_the_limit() -> None:
    figure = share(300)
    for limit in (0.7, 0.8):
        t = (0.75 - limit) / np.sqrt(limit * (1 - limit) / N)
        assert figure.p_above(limit) == pytest.approx(stats.t.sf(t, N - 1), rel=1e-4)
    assert figure.p_above(0.75) == 0.5


def test_models_on_the_same_texts_are_paired() -> None:
    rng = np.random.default_rng(0)
    one = (rng.random(600) < 0.7).astype(float)
    other = np.where(rng.random(600) < 0.1, 1 - one, one)
    found = difference(*models(one, other))
    apart = one - other
    expected = stats.t.interval(0.95, 599, apart.mean(), stats.sem(apart))
    assert (found.low, found.high) == pytest.approx(expected, abs=0.003)
    assert found.p_value() == pytest.approx(stats.ttest_1samp(apart, 0).pvalue, rel=0.2)


def test_models_that_no_text_tells_apart_may_still_differ() -> None:
    """Tango's limit: with no discordant text of n it lies at t^2 / (n + t^2)."""
    right = np.array([1.0] * 14 + [0.0] * 6)
    found = difference(*models(right, right))
    square = stats.t.ppf(0.975, 19) ** 2
    assert (found.value, found.p_value()) == (0, 1)
    assert (found.low, found.high) == pytest.approx((-square / (20 + square), square / (20 + square)))
    assert found.p_within(0.3) < 0.05 < found.p_within(0.1)


def test_one_score_in_several_figures_counts_once() -> None:
    home, away, further = share(300), share(240), share(200)
    found = mean([difference(home, away), difference(home, further)])
    assert [part.weight for part in found.parts] == [1.0, -0.5, -0.5]
    assert found.value == pytest.approx(0.75 - 0.55)
    assert not difference(home, home).parts or difference(home, home).value == 0


def test_runs_add_a_variance_of_their_own() -> None:
    values = [0.7, 0.72, 0.68, 0.71, 0.69]
    drop = difference(
        trained(values, 0.01, test_set="a", recipe="home"), trained([0.6] * 5, 0.01, test_set="b", recipe="home")
    )
    assert drop.training is not None
    # Only the in-domain score varies between runs here, so the variance is that of the mean of five runs.
    assert drop.training.variance == pytest.approx(np.var(values, ddof=1) / 5)
    assert drop.training.df == 4
    interval = total_interval(drop)
    assert interval is not None
    assert interval.low < drop.low
    assert interval.high > drop.high
    assert drop.p_value(0.07, recipes=True) > drop.p_value(0.07)


def test_what_texts_make_of_runs_is_no_training_variance() -> None:
    rng = np.random.default_rng(3)
    own = rng.normal(size=(N, 5)) * 0.02 / np.sqrt(N)
    runs = Runs("one", tuple(range(5)), 0.7 + own.sum(axis=0), own)
    figure = single(Score(0.7, N, N - 1, "a", own.mean(axis=1), np.zeros(N), N, None, runs))
    assert figure.training is not None
    assert figure.training.variance < np.var(runs.values, ddof=1) / 5 + 1e-12


def test_fewer_runs_or_other_seeds_measure_nothing() -> None:
    four = trained([0.7] * 4, 0.01, test_set="a", recipe="home")
    five = trained([0.7] * 5, 0.01, test_set="a", recipe="home")
    others = five.parts[0].score
    moved = single(replace(others, test_set="b", runs=others.runs._replace(seeds=(5, 6, 7, 8, 9))))  # type: ignore[union-attr]
    assert four.training is None
    assert difference(five, moved).training is None
    assert total_interval(four) is None


def test_a_reason_passes_on_to_what_is_made_of_a_figure() -> None:
    known = share(200)
    for found in (difference(known, REFUSED), mean([known, REFUSED])):
        assert (found.low, found.no_interval) == (None, Reason.FEW_GROUPS)
        assert np.isnan(found.p_value())
    assert worst([known, REFUSED]).no_interval == Reason.FEW_GROUPS
    assert estimate(difference(known, UNKNOWN)) == Estimate(value=None)


def test_a_scale_bends_the_limits() -> None:
    def logit(values: np.ndarray) -> np.ndarray:
        return np.log(values / (1 - values))

    found = on_scale(share(300), logit)
    low, high = share(300).limits()
    assert (found.low, found.high) == pytest.approx((logit(low), logit(high)))
    assert on_scale(share(N), logit).no_interval == Reason.NO_LOGARITHM


def test_the_largest_of_several_is_held_all_at_once() -> None:
    figures = [difference(share(300), share(right)) for right in (240, 235, 290)]
    low, high = largest_limits(figures)
    own = figures[1]
    assert low < own.low < own.value < own.high < high


def test_a_drop_is_detectable_at_the_two_quantiles_times_its_error() -> None:
    drop = difference(share(300), share(300))
    found = detectable_drop(drop, n_tests=20)
    se = np.sqrt(2 * HOME * (1 - HOME) / N)
    one, shared = ((stats.t.ppf(1 - 0.025 / k, drop.df) + stats.t.ppf(0.8, drop.df)) * se for k in (1, 20))
    assert found is not None
    assert found.models == pytest.approx(one, rel=0.01)  # Wilson's interval is a little shorter
    assert found.models_corrected == pytest.approx(shared, rel=0.01)
    assert (found.recipe, found.recipe_corrected) == (None, None)
    assert detectable_drops({"sd": difference(REFUSED, share(300)), "td": drop}).keys() == {"td"}


def test_a_drop_of_that_size_is_found_in_four_studies_of_five() -> None:
    found = detectable_drop(difference(share(200), share(200)))
    assert found is not None
    rng = np.random.default_rng(1)
    # Around 50% a score's variance hardly depends on the score, so the drop does not affect it.
    home, away = (rng.binomial(N, 0.5 + sign * found.models / 2, 1_000) for sign in (1, -1))
    studies = [difference(share(one), share(other)) for one, other in zip(home, away, strict=True)]
    assert np.mean([study.low > 0 for study in studies]) == pytest.approx(0.8, abs=0.04)  # three standard errors


def test_training_runs_raise_the_detectable_drop() -> None:
    values = [0.7, 0.72, 0.68, 0.71, 0.69]
    found = detectable_drop(trained(values, 0.01, test_set="a", recipe="home"))
    assert found is not None
    assert found.recipe is not None
    se, training = 0.01, np.std(values, ddof=1) / np.sqrt(5)
    total = np.hypot(se, training)
    dof = total**4 / (training**4 / 4 + se**4 / (N - 1))
    assert found.recipe == pytest.approx((stats.t.ppf(0.975, dof) + stats.t.ppf(0.8, dof)) * total, rel=0.02)


def test_a_difference_of_drops_may_lie_beyond_a_drop() -> None:
    gains, loses = (difference(*(share(right) for right in pair)) for pair in ((40, 360), (360, 40)))
    apart = difference(loses, gains)
    assert apart.value == pytest.approx(1.6)
    assert 1.5 < apart.low < apart.value < apart.high < 1.7
    assert difference(share(300), share(200)).bounds == (-1.0, 1.0)


def test_weights_of_a_sum_may_be_anything() -> None:
    one, other = share(300), share(200)
    found = weighted_sum([one, other], [2.0, -1.0])
    assert found.value == pytest.approx(1.0)
    assert found.bounds == (-1.0, 1.0)
