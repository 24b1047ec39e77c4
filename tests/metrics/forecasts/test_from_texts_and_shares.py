"""Methods on class shares, embeddings, depths and other domains, in worlds where the truth is known."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from shiftbench.metrics.forecasts._checks import NoForecastError, fit_shift_line
from shiftbench.metrics.forecasts.lines import score_by_depth, score_by_divergence
from shiftbench.metrics.forecasts.shift import accuracy_at_shares, black_box_shares, importance_weighted, shares_by_em
from shiftbench.metrics.forecasts.simple import less_mean_drop, source_accuracy

from .conftest import Sides


def test_black_box_shares_by_hand() -> None:
    """Recalls 0.75 and 0.5: with shares q predicted 0 are 0.75 q + 0.5 (1 - q), which is 0.55 at q = 0.2."""
    labels, predicted = [0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 0, 1]
    found = black_box_shares(labels, predicted, [0] * 11 + [1] * 9, 2)
    np.testing.assert_allclose(found, [0.2, 0.8])
    assert accuracy_at_shares(labels, predicted, found) == pytest.approx(0.2 * 0.75 + 0.8 * 0.5)


def test_label_shift_alone_is_found_and_its_accuracy_forecast() -> None:
    rng = np.random.default_rng(0)

    def draw(n: int, shares: list[float]) -> tuple[np.ndarray, np.ndarray]:
        labels = rng.choice(3, n, p=shares)
        logits = rng.normal(0, 1, (n, 3))
        logits[np.arange(n), labels] += 1.5
        # p(y|x) under equal shares: the densities differ by the shifted coordinate alone.
        return labels, softmax(1.5 * logits, axis=1)

    equal, moved = [1 / 3] * 3, [0.1, 0.3, 0.6]
    labels, source = draw(40_000, equal)
    away, target = draw(40_000, moved)
    # Recalls differ between classes because predictions favour the first one.
    home_codes, away_codes = (np.argmax(table * [1.6, 1, 1], axis=1) for table in (source, target))
    truth = (away_codes == away).mean()
    assert abs((home_codes == labels).mean() - truth) > 0.02
    by_box = black_box_shares(labels, home_codes, away_codes, 3)
    by_em = shares_by_em(target, equal)
    for found in (by_box, by_em):
        np.testing.assert_allclose(found, moved, atol=0.015)
        assert accuracy_at_shares(labels, home_codes, found) == pytest.approx(truth, abs=0.01)


def test_em_finds_the_shares_of_greatest_likelihood(sides: Sides) -> None:
    prior = np.array([0.3, 0.3, 0.4])

    def loss(free: np.ndarray) -> float:
        return -float(np.log((sides.target / prior) @ softmax([0.0, *free])).sum())

    expected = softmax([0.0, *minimize(loss, [0.0, 0.0], tol=1e-12).x])
    np.testing.assert_allclose(shares_by_em(sides.target, prior), expected, atol=1e-5)


def test_one_class_predicted_only_has_no_inverse() -> None:
    with pytest.raises(NoForecastError, match="no inverse"):
        black_box_shares([0, 1, 0, 1], [0, 0, 0, 0], [0, 0], 2)
    with pytest.raises(NoForecastError, match="no label among"):
        accuracy_at_shares([0, 0], [0, 1], [0.5, 0.5])


def test_a_model_that_is_never_wrong_stays_at_one_whatever_shares_round_to() -> None:
    assert accuracy_at_shares([0, 1, 2], [0, 1, 2], [0.1 + 0.2, 0.3, 0.4 + 2e-16]) == 1.0


def test_true_density_ratios_give_the_targets_accuracy() -> None:
    """x is normal around 0 at home and around 0.7 in the target; the chance to be right falls with x in both."""
    rng = np.random.default_rng(1)
    x, away = rng.normal(0, 1, 50_000), rng.normal(0.7, 1, 50_000)

    def right(values: np.ndarray) -> np.ndarray:
        return rng.random(values.size) < 1 / (1 + np.exp(2 * values - 1))

    correct, truth = right(x), right(away).mean()
    ratio = np.exp(0.7 * x - 0.7**2 / 2)
    n_target = 20_000
    odds = ratio * n_target / 50_000
    found = importance_weighted(correct, odds / (1 + odds), n_target)
    assert correct.mean() - truth > 0.1
    assert found.value == pytest.approx(truth, abs=0.01)
    assert found.effective_size == pytest.approx(50_000 / np.exp(0.7**2), rel=0.1)


def test_a_handful_of_texts_is_no_forecast() -> None:
    with pytest.raises(NoForecastError, match="1 source texts are effectively left"):
        importance_weighted([1] * 100, [0.999999] + [1e-6] * 99, 100)


def test_depth_curve_is_a_logistic_regression() -> None:
    rng = np.random.default_rng(2)
    depth = rng.normal(1.2, 0.1, 500)
    right = rng.random(500) < 1 / (1 + np.exp(-8 * (depth - 1.1)))
    away = rng.normal(1.0, 0.1, 300)
    scaled = (depth - depth.mean()) / depth.std()
    oracle = LogisticRegression(C=1e6, tol=1e-10).fit(scaled[:, None], right)
    expected = oracle.predict_proba(((away - depth.mean()) / depth.std())[:, None])[:, 1].mean()
    assert score_by_depth(depth, right, away) == pytest.approx(expected, abs=1e-4)
    with pytest.raises(NoForecastError, match="equally deep"):
        score_by_depth([1.0, 1.0], [0, 1], [1.0])


def test_a_curve_of_a_model_that_is_always_right_stays_finite() -> None:
    assert score_by_depth([1.0, 1.1, 1.2], [1, 1, 1], [0.5]) == pytest.approx(1.0, abs=1e-3)


def test_floors_and_lines() -> None:
    assert source_accuracy([0.5, 1.0]) == 0.75
    assert less_mean_drop(0.05, [0.9], [0.1]) == 0.0
    slope, intercept = np.polyfit([0.1, 0.5, 0.2, 0.9], [0.3, 0.1, 0.2, 0.0], 1)
    assert fit_shift_line([0.1, 0.5, 0.2, 0.9], [0.3, 0.1, 0.2, 0.0]) == pytest.approx((slope, intercept))
    with pytest.raises(NoForecastError, match="differ"):
        score_by_divergence(0.8, 0.2, [0.3, 0.3, 0.3], [0.1, 0.2, 0.1])
    with pytest.raises(NoForecastError, match="no shift"):
        less_mean_drop(0.8, [], [])
    with pytest.raises(ValueError, match="points"):
        source_accuracy([80.0])
