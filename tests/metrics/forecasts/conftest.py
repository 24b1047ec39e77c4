"""Fixed probabilities on which the authors' code was run once; its values stand in the tests."""

from typing import NamedTuple

import numpy as np
import pytest


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
