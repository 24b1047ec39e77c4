"""Depths by two encoders, on the synthetic corpus with stub encoders, against the same figures by hand."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from shiftbench.baselines.depth_encoders import compare, depth_f1_difference, main, shared_tenth
from shiftbench.builders.encoder import Vectors, encoder_texts
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.metrics.depth import depth_weights, least_deep, tte_depth
from shiftbench.validation.report import InvalidInput


class LetterEncoder:
    """Another stub: how often each letter is in a text."""

    def encode(self, texts: list[str], description: str = "") -> Vectors:
        counts = np.array([[1 + text.count(letter) for letter in "aeioutnsr"] for text in texts], dtype=np.float32)
        return counts / np.linalg.norm(counts, axis=1, keepdims=True)


def test_what_differs_is_the_weights_alone(synthetic: DatasetFolder, word_encoder: Any) -> None:
    inputs = synthetic.task("nli").inputs
    train, test = synthetic.split("nli", "harbour", "train"), synthetic.split("nli", "orchard", "test")
    encoders: Any = (word_encoder, LetterEncoder())
    found = compare(train, test, inputs, encoders)
    source, target = (encoder_texts(rows, inputs) for rows in (train, test))
    depths = [tte_depth(each.encode(source), each.encode(target)) for each in encoders]
    assert found.rank == pytest.approx(spearmanr(*depths).statistic)
    low = [set(np.flatnonzero(least_deep(depth, 90))) for depth in depths]
    assert found.shared == pytest.approx(len(low[0] & low[1]) / len(low[0]))
    assert list(found.f1) == ["TF-IDF + LR", "A + LR", "B + LR"]
    assert all(0.2 < value < 1 for value in found.f1.values())
    assert {len(values) for values in found.depth_f1.values()} == {4}
    for name, (all_a, all_b, few_a, few_b) in found.depth_f1.items():
        assert found.differences[name][0] == pytest.approx(few_b - few_a)
        assert max(abs(all_a - found.f1[name]), abs(all_b - found.f1[name])) < 0.15
    twice = compare(train, test, inputs, (word_encoder, word_encoder))
    assert (twice.rank, twice.shared) == pytest.approx((1, 1))
    assert all(values == pytest.approx((0, 0, 0)) for values in twice.differences.values())
    assert twice.f1["A + LR"] == twice.f1["B + LR"] == found.f1["A + LR"]


def test_a_tenth_by_chance_is_shared_by_unrelated_depths() -> None:
    rng = np.random.default_rng(0)
    assert shared_tenth(rng.normal(size=20_000), rng.normal(size=20_000)) == pytest.approx(0.1, abs=0.02)


def test_a_difference_has_the_interval_of_a_normal_approximation() -> None:
    """Equal weights on either half of independent texts: the variance of a difference of two proportions."""
    rng = np.random.default_rng(1)
    n = 1000
    correct = rng.random(n) < np.where(np.arange(n) < n // 2, 0.3, 0.5)
    a = np.where(np.arange(n) < n // 2, 2 / n, 0.0)
    found, low, high = depth_f1_difference(correct, a, 2 / n - a)
    p, q = correct[: n // 2].mean(), correct[n // 2 :].mean()
    half = 1.96 * np.sqrt((p * (1 - p) + q * (1 - q)) / (n // 2))
    assert found == pytest.approx(q - p)
    assert (low, high) == pytest.approx((q - p - half, q - p + half), abs=0.006)


def test_weights_are_the_papers(word_encoder: Any, synthetic: DatasetFolder) -> None:
    """Depth F1 at lambda 0 by A, from the model's predictions by hand."""
    from shiftbench.baselines.sbert_lr import classifier

    inputs = synthetic.task("nli").inputs
    train, test = synthetic.split("nli", "harbour", "train"), synthetic.split("nli", "orchard", "test")
    found = compare(train, test, inputs, (word_encoder, word_encoder))
    right = classifier(train, word_encoder, inputs, 0).predict(test)[0] == test["label"].to_numpy()
    x, y = (word_encoder.encode(encoder_texts(rows, inputs)) for rows in (train, test))
    assert found.depth_f1["A + LR"][0] == pytest.approx(float(depth_weights(tte_depth(x, y), tte_depth(x)) @ right))


@pytest.mark.parametrize(
    ("encoders", "message"),
    [
        (["a"], "--encoder: two encoders are compared; found 1 of them; give --encoder twice"),
        (["a", "b"], "the folder has no pairings; give a folder that 'shiftbench build df1' wrote"),
    ],
)
def test_what_cannot_be_compared_is_refused(encoders: list[str], message: str, synthetic: DatasetFolder) -> None:
    with pytest.raises(InvalidInput, match=message):
        main(synthetic.path, encoders)
