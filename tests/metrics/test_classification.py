"""Classification scores against scikit-learn, and their stated edge cases."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score
from syrupy.assertion import SnapshotAssertion

from shiftbench.metrics.classification import accuracy, confusion_counts, macro_f1, per_class_f1
from tests.refusals import refusal

CLASSES = 4
LABELS = st.lists(st.tuples(st.integers(0, CLASSES - 1), st.integers(0, CLASSES)), min_size=1, max_size=60)


@given(LABELS)
def test_agrees_with_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    gold, predicted = np.array(pairs).T
    counts = confusion_counts(gold, predicted, CLASSES)
    in_gold = sorted(set(gold.tolist()))
    assert float(accuracy(counts)) == pytest.approx(accuracy_score(gold, predicted), abs=1e-12)
    expected = f1_score(gold, predicted, labels=in_gold, average="macro", zero_division=0)
    assert float(macro_f1(counts)) == pytest.approx(expected, abs=1e-12)


@given(LABELS, st.integers(0, 2**32 - 1))
def test_weighted_scores_agree_with_scikit_learn(pairs: list[tuple[int, int]], seed: int) -> None:
    gold, predicted = np.array(pairs).T
    weights = np.random.default_rng(seed).uniform(0.1, 2, len(gold))
    counts = confusion_counts(gold, predicted, CLASSES, weights=weights)
    assert float(accuracy(counts)) == pytest.approx(accuracy_score(gold, predicted, sample_weight=weights), abs=1e-12)
    expected = f1_score(
        gold, predicted, labels=sorted(set(gold.tolist())), average="macro", zero_division=0, sample_weight=weights
    )
    assert float(macro_f1(counts)) == pytest.approx(expected, abs=1e-12)


def test_cells_are_separate_tables() -> None:
    rng = np.random.default_rng(0)
    gold, predicted, cells = rng.integers(0, 3, 200), rng.integers(0, 4, 200), rng.integers(0, 5, 200)
    tables = confusion_counts(gold, predicted, 3, cells=cells, n_cells=5)
    for cell in range(5):
        alone = confusion_counts(gold[cells == cell], predicted[cells == cell], 3)
        np.testing.assert_array_equal(tables[cell], alone)
    assert macro_f1(tables).shape == (5,)


def test_class_of_the_full_split_that_is_absent_here() -> None:
    classes = [True, True, True]
    predicted_only = confusion_counts([0, 0], [0, 2], 3)
    absent = confusion_counts([0, 0], [0, 0], 3)
    # Class 2 is predicted: it scores 0. Class 1 is in neither: it is left out.
    assert float(macro_f1(predicted_only, classes)) == pytest.approx((2 / 3 + 0) / 2)
    assert float(macro_f1(absent, classes)) == 1.0
    assert np.isnan(per_class_f1(absent)[1:]).all()


def test_unusable_output_is_wrong() -> None:
    counts = confusion_counts([0, 1], [2, 1], 2)
    assert float(accuracy(counts)) == 0.5
    assert float(macro_f1(counts)) == 0.5


@pytest.mark.parametrize(
    ("gold", "predicted", "message"),
    [
        ([0, 1], [0], "of equal length"),
        ([0, 2], [0, 1], r"gold codes must lie in \[0, 2\)"),
        ([0, 1], [0, 3], r"predicted codes must lie in \[0, 3\)"),
        ([0, -1], [0, 1], "got -1 to 0"),
    ],
)
def test_malformed_labels(gold: list[int], predicted: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        confusion_counts(gold, predicted, 2)


def test_refusals(wording: SnapshotAssertion) -> None:
    said = {
        "malformed weights and counts 1": refusal(ValueError, confusion_counts, [0], [0], 1, weights=[-1.0]),
        "malformed weights and counts 2": refusal(ValueError, confusion_counts, [0], [0], 1, weights=[np.nan]),
        "malformed weights and counts 3": refusal(ValueError, accuracy, np.ones((3, 3))),
    }
    empty = confusion_counts([], [], 2)
    said["nothing to score is an error 1"] = refusal(ValueError, accuracy, empty)
    said["nothing to score is an error 2"] = refusal(ValueError, macro_f1, empty)
    assert said == wording
