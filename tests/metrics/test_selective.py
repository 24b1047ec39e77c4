"""Failure AUROC and excess AURC against scikit-learn, plain sums and permutations; influences against the jackknife."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from shiftbench.metrics.selective import Ranked, excess_aurc, failure_auroc, risk_coverage

ROWS = st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=30)


def aurc(errors: np.ndarray) -> float:
    return float(np.mean([errors[: k + 1].mean() for k in range(errors.size)]))


@given(ROWS)
def test_auroc_is_that_of_scikit_learn(rows: list[tuple[int, bool]]) -> None:
    sure, right = (np.array(column) for column in zip(*rows, strict=True))
    assume(0 < right.sum() < right.size)
    assert failure_auroc(sure, right).value == pytest.approx(roc_auc_score(right, sure), abs=1e-12)


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=6))
def test_ties_count_as_the_mean_over_their_orders(rows: list[tuple[int, bool]]) -> None:
    sure, right = (np.array(column) for column in zip(*rows, strict=True))
    areas = []
    for order in permutations(range(sure.size)):
        if all(sure[a] >= sure[b] for a, b in pairwise(order)):
            areas.append(aurc(1.0 - right[list(order)]))
    best = aurc(np.sort(1.0 - right))
    assert excess_aurc(sure, right).value == pytest.approx(np.mean(areas) - best, abs=1e-12)


def test_the_best_order_has_no_excess_and_the_worst_the_most() -> None:
    right = np.array([1, 1, 1, 0, 0])
    assert excess_aurc([5, 4, 3, 2, 1], right).value == pytest.approx(0)
    assert failure_auroc([5, 4, 3, 2, 1], right).value == 1
    assert excess_aurc([1, 2, 3, 4, 5], right).value == pytest.approx(aurc(np.array([1, 1, 0, 0, 0])) - 0.13)
    assert risk_coverage([5, 4, 3, 2, 1], right).tolist() == pytest.approx([0, 0, 0, 0.25, 0.4])


@pytest.mark.parametrize("right", [[1, 1], [0, 0]])
def test_one_fate_leaves_nothing_to_tell_apart(right: list[int]) -> None:
    assert np.isnan(failure_auroc([0.5, 0.6], right).value)
    assert excess_aurc([0.5, 0.6], right).value == pytest.approx(0)


@pytest.mark.parametrize("figure", [failure_auroc, excess_aurc])
@pytest.mark.parametrize("digits", [1, 9])
def test_influences_are_what_leaving_an_example_out_does(figure: object, digits: int) -> None:
    rng = np.random.default_rng(0)
    sure = rng.random(500).round(digits)
    right = rng.random(500) < 0.4 + 0.5 * sure
    found: Ranked = figure(sure, right)  # type: ignore[operator]
    left_out = [
        figure(np.delete(sure, row), np.delete(right, row)).value  # type: ignore[operator]
        for row in range(0, 500, 7)
    ]
    jackknife = 499 * (found.value - np.array(left_out))
    assert found.influence.mean() == pytest.approx(0, abs=1e-9)
    assert np.corrcoef(jackknife, found.influence[::7])[0, 1] > 0.995
    assert found.influence[::7].std() == pytest.approx(jackknife.std(), rel=0.05)


@pytest.mark.parametrize("figure", [failure_auroc, excess_aurc])
def test_malformed_input_is_refused(figure: object) -> None:
    for sure, right in (([], []), ([0.5], [0.5, 1]), ([np.nan], [1]), ([[0.5]], [[1]])):
        with pytest.raises(ValueError, match="shape"):
            figure(sure, right)  # type: ignore[operator]
    with pytest.raises(ValueError, match="labels"):
        figure([0.5], [3])  # type: ignore[operator]
