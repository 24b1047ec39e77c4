"""Methods on probabilities, against values that their authors' code printed on the same arrays.

Origins: ATC and DoC from `saurabhgarg1996/ATC_code` (`ATC_helper.py`, `predict_acc_helper.py`); COT as in
`luyuzhe111/COT` (`run_estimation.py`: `ot.emd` of POT 0.9.7 on half the L1 distances to one-hot labels, here 10, 10
and 20 of them).
"""

from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import linprog

from shiftbench.metrics.forecasts import (
    NoForecastError,
    difference_of_confidences,
    less_mean_error,
    source_accuracy,
    thresholded_confidence,
    transported_confidence,
)


class Sides(NamedTuple):
    """Probabilities and labels of 60 source and 40 target texts, 3 classes."""

    source: np.ndarray
    source_labels: np.ndarray
    target: np.ndarray
    target_labels: np.ndarray

    @property
    def correct(self) -> np.ndarray:
        return self.source.argmax(axis=1) == self.source_labels


@pytest.fixture(scope="session")
def sides() -> Sides:
    rng = np.random.default_rng(23)

    def side(n: int, signal: float) -> tuple[np.ndarray, np.ndarray]:
        labels = rng.integers(0, 3, n)
        logits = rng.normal(0, 1, (n, 3))
        logits[np.arange(n), labels] += signal
        table = np.exp(1.2 * logits)
        table = np.round(table / table.sum(axis=1, keepdims=True), 6)
        table[:, 2] = 1 - table[:, 0] - table[:, 1]
        return table, labels

    found = Sides(*side(60, 1.5), *side(40, 0.6))
    # The arrays that the authors' code saw; a change of numpy's generator would show here.
    np.testing.assert_allclose(found.source[0], [0.955864, 0.01307, 0.031066], atol=1e-9)
    assert found.correct.mean() == pytest.approx(47 / 60)
    return found


def test_the_authors_values(sides: Sides) -> None:
    given = (sides.source, sides.correct, sides.target)
    assert thresholded_confidence(*given) == pytest.approx(0.725)
    assert difference_of_confidences(*given) == pytest.approx(0.7140680666666666)
    assert transported_confidence(sides.target, [0.25, 0.25, 0.5]) == pytest.approx(0.623604325, abs=1e-7)


def test_on_the_source_itself_nothing_has_changed(sides: Sides) -> None:
    given = (sides.source, sides.correct, sides.source)
    assert difference_of_confidences(*given) == pytest.approx(sides.correct.mean())
    assert thresholded_confidence(*given) == pytest.approx(sides.correct.mean() + 1 / 60)
    assert thresholded_confidence(sides.source, np.ones(60), sides.target) == 1.0


def test_transport_costs_nothing_more_where_shares_fit(sides: Sides) -> None:
    own = np.bincount(sides.target.argmax(axis=1), minlength=3) / 40
    assert transported_confidence(sides.target, own) == pytest.approx(sides.target.max(axis=1).mean(), abs=1e-7)


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


@pytest.mark.parametrize("bad", [[[0.5, 0.6]], [[2.0, -1.0]], [0.5, 0.5], [[float("nan"), 1.0]]])
def test_what_is_no_distribution_is_refused(bad: list) -> None:
    with pytest.raises(ValueError, match=r"distribution|shape"):
        transported_confidence(bad, [0.5, 0.5])


def test_floors_and_corrections() -> None:
    assert source_accuracy([0.5, 1.0]) == 0.75
    assert less_mean_error(0.05, [0.9], [0.1]) == 0.0
    assert less_mean_error(0.7, [0.6, 0.8], [0.65, 0.85]) == pytest.approx(0.75)
    with pytest.raises(NoForecastError, match="labelled"):
        less_mean_error(0.8, [], [])
    with pytest.raises(ValueError, match="points"):
        source_accuracy([80.0])
