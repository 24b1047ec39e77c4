"""Methods on probabilities, against values that their authors' code printed on the same arrays.

Origins: ATC, DoC and average confidence from `saurabhgarg1996/ATC_code` (`ATC_helper.py`, `predict_acc_helper.py`);
COT as in `luyuzhe111/COT` (`run_estimation.py`: `ot.emd` of POT 0.9.7 on half the L1 distances to one-hot labels, here
10, 10 and 20 of them); the nuclear norm as `torch.linalg.svdvals` gives it, over sqrt(min(n, k) n).
"""

from itertools import combinations
from statistics import NormalDist

import numpy as np
import pytest
from scipy.optimize import linprog

from shiftbench.metrics.forecasts._checks import NoForecastError
from shiftbench.metrics.forecasts.confidence import (
    accuracy_by_norm,
    average_confidence,
    difference_of_confidences,
    nuclear_norm,
    thresholded_confidence,
    transported_confidence,
)
from shiftbench.metrics.forecasts.lines import MIN_MODELS, agreement_of_seeds, agreement_on_the_line
from shiftbench.metrics.forecasts.shift import expected_confusion, expected_macro_f1
from shiftbench.metrics.forecasts.simple import average_forecast

from .conftest import Sides


def test_the_authors_values(sides: Sides) -> None:
    given = (sides.source, sides.correct, sides.target)
    assert thresholded_confidence(*given) == pytest.approx(0.725)
    assert thresholded_confidence(*given, "entropy") == pytest.approx(0.575)
    assert difference_of_confidences(*given) == pytest.approx(0.7140680666666666)
    assert average_confidence(sides.target) == pytest.approx(0.6655864499999999)
    assert transported_confidence(sides.target, [0.25, 0.25, 0.5]) == pytest.approx(0.623604325, abs=1e-7)
    assert nuclear_norm(sides.target) == pytest.approx(0.7059581762193653)


def test_on_the_source_itself_nothing_has_changed(sides: Sides) -> None:
    given = (sides.source, sides.correct, sides.source)
    assert difference_of_confidences(*given) == pytest.approx(sides.correct.mean())
    assert thresholded_confidence(*given) == pytest.approx(sides.correct.mean() + 1 / 60)
    assert thresholded_confidence(sides.source, np.ones(60), sides.target) == 1.0


def test_transport_costs_nothing_more_where_shares_fit(sides: Sides) -> None:
    own = np.bincount(sides.target.argmax(axis=1), minlength=3) / 40
    assert transported_confidence(sides.target, own) == pytest.approx(average_confidence(sides.target), abs=1e-7)


@pytest.mark.parametrize(("n", "n_classes"), [(50, 2), (200, 3), (60, 14), (5, 9)])
def test_the_transport_is_the_optimum_of_the_linear_programme(n: int, n_classes: int) -> None:
    rng = np.random.default_rng(n)
    table, prior = np.round(rng.dirichlet(np.full(n_classes, 0.5), n), 2), rng.dirichlet(np.ones(n_classes))
    table /= table.sum(axis=1, keepdims=True)
    unknown = np.arange(n * n_classes)
    sums = np.zeros((n + n_classes, unknown.size))
    sums[unknown // n_classes, unknown] = sums[n + unknown % n_classes, unknown] = 1
    optimum = linprog(-table.ravel(), A_eq=sums, b_eq=np.concatenate([np.full(n, 1 / n), prior]))
    assert transported_confidence(table, prior) == pytest.approx(-optimum.fun, abs=1e-7)


def test_a_table_with_more_classes_than_texts_has_the_same_norm() -> None:
    table = np.random.default_rng(0).dirichlet(np.ones(7), 4)
    expected = np.linalg.svd(table, compute_uv=False).sum() / np.sqrt(4 * 4)
    assert nuclear_norm(table) == pytest.approx(expected)
    with pytest.raises(NoForecastError, match="a line needs 3 labelled shifts"):
        accuracy_by_norm(0.5, [0.4, 0.6], [0.5, 0.7])


def test_two_runs_err_as_often_as_they_differ_where_their_ensemble_is_calibrated() -> None:
    """Labels and both runs are draws from the same p(y|x): agreement and accuracy have the same mean."""
    rng = np.random.default_rng(1)
    chances = rng.dirichlet(np.ones(3), 50_000)
    one, other, labels = ((rng.random((50_000, 1)) > chances.cumsum(axis=1)).sum(axis=1).clip(max=2) for _ in range(3))
    assert agreement_of_seeds(one, [other]) == pytest.approx((one == labels).mean(), abs=0.01)
    with pytest.raises(NoForecastError, match="second run"):
        agreement_of_seeds(one, [])
    with pytest.raises(NoForecastError, match="does not depend on the seed"):
        agreement_of_seeds(one, [one, one])


def test_agreement_on_the_line_by_hand() -> None:
    """Against the estimator written out with the standard library's normal distribution and numpy's polyfit."""
    rng = np.random.default_rng(2)
    labels, away_labels = rng.integers(0, 2, 400), rng.integers(0, 2, 300)
    skills = np.linspace(0.6, 0.9, MIN_MODELS)
    home = np.array([np.where(rng.random(400) < skill, labels, 1 - labels) for skill in skills])
    away = np.array([np.where(rng.random(300) < skill - 0.1, away_labels, 1 - away_labels) for skill in skills])
    accuracy = (home == labels).mean(axis=1)
    probit, phi = NormalDist().inv_cdf, NormalDist().cdf
    pairs = list(combinations(range(MIN_MODELS), 2))
    x, y = ([probit((table[a] == table[b]).mean()) for a, b in pairs] for table in (home, away))
    slope, intercept = np.polyfit(x, y, 1)
    expected = [phi(slope * probit(each) + intercept) for each in accuracy]
    np.testing.assert_allclose(agreement_on_the_line(home, accuracy, away), expected, rtol=1e-9)
    with pytest.raises(NoForecastError, match="needs 10 models"):
        agreement_on_the_line(home[:9], accuracy[:9], away[:9])


def test_expected_confusion_of_calibrated_probabilities_is_the_confusion_to_come() -> None:
    rng = np.random.default_rng(3)
    chances = rng.dirichlet([1.0, 2.0, 0.5], 60_000)
    labels = (rng.random((60_000, 1)) > chances.cumsum(axis=1)).sum(axis=1).clip(max=2)
    predicted = chances.argmax(axis=1)
    table = np.zeros((3, 4))
    np.add.at(table, (labels, predicted), 1)
    np.testing.assert_allclose(expected_confusion(chances, predicted), table, atol=400)
    f1 = [2 * table[k, k] / (table[k].sum() + table[:, k].sum()) for k in range(3)]
    assert expected_macro_f1(chances, predicted) == pytest.approx(np.mean(f1), abs=0.01)


def test_an_average_of_one_is_none() -> None:
    with pytest.raises(NoForecastError, match="2 methods"):
        average_forecast([0.7])


@pytest.mark.parametrize("bad", [[[0.5, 0.6]], [[2.0, -1.0]], [0.5, 0.5], [[float("nan"), 1.0]]])
def test_what_is_no_distribution_is_refused(bad: list) -> None:
    with pytest.raises(ValueError, match=r"distribution|shape"):
        average_confidence(bad)
