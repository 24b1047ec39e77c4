"""Scores at a fixed prior against scikit-learn with sample weights."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score, f1_score
from syrupy.assertion import SnapshotAssertion

from shiftbench.metrics.classification import accuracy, confusion_counts, macro_f1
from shiftbench.metrics.priors import (
    NO_ANSWER_SHARE,
    counts_at_prior,
    prior_fixed_accuracy,
    prior_fixed_macro_f1,
    prior_fixed_mean,
    prior_fixed_qa,
)
from shiftbench.metrics.robustness import target_drop
from tests.refusals import refusal

# Every class occurs in gold; a prediction of 3 is an unusable output.
LABELS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=40).map(
    lambda rows: np.array([(0, 1), (1, 1), (2, 0), *rows])
)
PRIORS = st.tuples(*[st.floats(0.05, 1)] * 3).map(lambda shares: np.array(shares) / sum(shares))


@pytest.mark.filterwarnings("ignore:y_pred contains classes")
@given(LABELS, PRIORS)
def test_scores_agree_with_scikit_learn(labels: np.ndarray, prior: np.ndarray) -> None:
    gold, predicted = labels.T
    counts = confusion_counts(gold, predicted, 3)
    sample_weight = (prior / np.bincount(gold))[gold]
    assert prior_fixed_accuracy(counts, prior) == pytest.approx(
        np.average(gold == predicted, weights=sample_weight), abs=1e-12
    )
    expected = f1_score(
        gold, predicted, labels=[0, 1, 2], average="macro", sample_weight=sample_weight, zero_division=0
    )
    assert prior_fixed_macro_f1(counts, prior) == pytest.approx(expected, abs=1e-12)
    assert prior_fixed_accuracy(counts) == pytest.approx(balanced_accuracy_score(gold, predicted), abs=1e-12)


@given(LABELS)
def test_the_observed_prior_changes_nothing(labels: np.ndarray) -> None:
    counts = confusion_counts(*labels.T, 3)
    observed = counts.sum(axis=1) / counts.sum()
    np.testing.assert_allclose(counts_at_prior(counts, observed), counts / counts.sum(), atol=1e-15)
    assert prior_fixed_accuracy(counts, observed) == pytest.approx(float(accuracy(counts)), abs=1e-12)
    assert prior_fixed_macro_f1(counts, observed) == pytest.approx(float(macro_f1(counts)), abs=1e-12)


@given(LABELS, st.integers(1, 9), st.integers(1, 9))
def test_class_shares_of_the_test_set_do_not_matter(labels: np.ndarray, times: int, others: int) -> None:
    """Test a change of class shares alone: the plain score moves, the prior-fixed one does not."""
    counts = confusion_counts(*labels.T, 3)
    resampled = counts * np.array([times, others, 1])[:, None]
    for score in (prior_fixed_accuracy, prior_fixed_macro_f1):
        drop = target_drop(score(resampled), score(counts))
        assert drop == pytest.approx(0, abs=1e-12)


def test_an_absent_class_is_a_gap_unless_it_has_no_share() -> None:
    tables = np.array([[[3, 1, 0], [0, 4, 0]], [[3, 1, 0], [0, 0, 0]]], dtype=float)
    for score in (prior_fixed_accuracy, prior_fixed_macro_f1):
        values = score(tables)
        assert np.isnan(values).tolist() == [False, True]
        assert values[0] == pytest.approx(float(score(tables[0])), abs=1e-12)
    assert np.isnan(counts_at_prior(tables)[1]).all()
    assert prior_fixed_accuracy(tables, [1.0, 0.0]).tolist() == [0.75, 0.75]
    # Class 1 has no share, so it has no F1 in the mean: class 0 has recall 3/4 and precision 1.
    assert prior_fixed_macro_f1(tables, [1.0, 0.0]).round(12).tolist() == [0.857142857143] * 2


def test_question_answering_at_the_papers_share() -> None:
    assert NO_ANSWER_SHARE == 0.2
    rng = np.random.default_rng(0)
    scores, answerable = rng.random((3, 50)), rng.random(50) < 0.6
    expected = 0.8 * scores[:, answerable].mean(axis=1) + 0.2 * scores[:, ~answerable].mean(axis=1)
    np.testing.assert_allclose(prior_fixed_qa(scores, answerable), expected, atol=1e-12)
    sums = np.stack([scores[:, answerable].sum(axis=1), scores[:, ~answerable].sum(axis=1)], axis=1)
    sizes = np.broadcast_to([answerable.sum(), (~answerable).sum()], sums.shape)
    np.testing.assert_allclose(prior_fixed_mean(sums, sizes, [0.8, 0.2]), expected, atol=1e-12)
    weights = rng.random(50)
    weighted = [np.average(scores[0][kind], weights=weights[kind]) for kind in (answerable, ~answerable)]
    found = prior_fixed_qa(scores[0], answerable, no_answer=0.4, weights=weights)
    assert found == pytest.approx(0.6 * weighted[0] + 0.4 * weighted[1], abs=1e-12)


def test_a_kind_of_question_that_does_not_occur() -> None:
    assert np.isnan(prior_fixed_qa([1.0, 0.5], [True, True]))
    assert prior_fixed_qa([1.0, 0.5], [True, True], no_answer=0.0) == 0.75
    assert np.isnan(prior_fixed_qa([[1.0, 0.5]] * 2, [True, False], weights=[1.0, 0.0])).all()
    assert np.isnan(prior_fixed_qa([], np.zeros(0, dtype=bool)))


def test_uniform_is_the_default_prior() -> None:
    assert prior_fixed_mean([1.0, 0.0, 4.0], [1.0, 5.0, 4.0]) == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("prior", "word"), [([50.0, 50.0], "percent"), ([1.0], "shape"), ([1.5, -0.5], "sum"), ([np.nan, 1.0], "sum")]
)
def test_malformed_priors(prior: list[float], word: str) -> None:
    for score in (prior_fixed_accuracy, prior_fixed_macro_f1, counts_at_prior):
        with pytest.raises(ValueError, match=word):
            score(np.ones((2, 3)), prior)
    with pytest.raises(ValueError, match=word):
        prior_fixed_mean([1.0, 1.0], [2.0, 2.0], prior)


def test_malformed_input_is_refused(wording: SnapshotAssertion) -> None:
    said = {
        "malformed counts 1": refusal(ValueError, counts_at_prior, np.ones((2, 2))),
        "malformed counts 2": refusal(ValueError, counts_at_prior, [[1, -1, 0], [0, 1, 0]]),
        "malformed counts 3": refusal(ValueError, prior_fixed_mean, [1.0, 1.0], [1.0]),
        "malformed counts 4": refusal(ValueError, prior_fixed_mean, [1.0, 1.0], [1.0, -1.0]),
        "malformed counts 5": refusal(ValueError, prior_fixed_mean, [1.0, np.nan], [1.0, 1.0]),
        "malformed counts 6": refusal(ValueError, prior_fixed_qa, [1.0, 0.0], [1, 0]),
        "malformed counts 7": refusal(ValueError, prior_fixed_qa, [1.0], [True], no_answer=20),
        "malformed counts 8": refusal(ValueError, prior_fixed_qa, [1.0], [True], weights=[1.0, 2.0]),
        "malformed counts 9": refusal(ValueError, prior_fixed_qa, [1.0], [True], weights=[-1.0]),
    }
    assert said == wording
