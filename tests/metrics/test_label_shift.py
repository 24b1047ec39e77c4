"""Adjusting to class shares, where Bayes' rule determines the result."""

import numpy as np
import pytest

from shiftbench.metrics.classification import confusion_counts
from shiftbench.metrics.priors import adjust_to_prior, fit_temperature, prior_fixed_accuracy


def world(n: int, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw two classes, each a normal distribution of its own, the second with a share of the texts."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < share).astype(int)
    return rng.normal(1.5 * labels, 1.0), labels


def posterior(x: np.ndarray, share: float) -> np.ndarray:
    odds = share / (1 - share) * np.exp(1.5 * x - 1.5**2 / 2)
    return np.stack([1 / (1 + odds), odds / (1 + odds)], axis=1)


@pytest.mark.parametrize(("before", "after"), [(0.1, 0.5), (0.5, 0.1), (0.3, 0.3)])
def test_the_adjusted_posterior_is_the_targets(before: float, after: float) -> None:
    x = np.linspace(-3, 4, 50)
    found = adjust_to_prior(posterior(x, before), [1 - before, before], [1 - after, after])
    np.testing.assert_allclose(found, posterior(x, after), atol=1e-9)


def test_a_drop_by_class_shares_alone_is_all_label_shift() -> None:
    """Test equal p(x|y): a model trained with 10% positives loses to one with 50% by class shares alone."""
    x, labels = world(40_000, 0.5, 0)

    def score(table: np.ndarray) -> float:
        return float((table.argmax(axis=1) == labels).mean())

    source, target = posterior(x, 0.1), posterior(x, 0.5)
    adjusted = adjust_to_prior(source, [0.9, 0.1], [0.5, 0.5])
    assert score(adjusted) - score(source) > 0.1
    assert score(target) == pytest.approx(score(adjusted), abs=1e-12)
    # At one test prior all of the drop is left, as the models still differ in what they were trained on.
    fixed = [
        prior_fixed_accuracy(confusion_counts(labels, table.argmax(axis=1), 2)) for table in (source, adjusted, target)
    ]
    assert fixed[2] - fixed[0] == pytest.approx(score(target) - score(source), abs=0.01)
    assert fixed[2] - fixed[1] == pytest.approx(0, abs=1e-12)


def test_a_temperature_undoes_a_sharpening() -> None:
    x, labels = world(20_000, 0.3, 1)
    true = posterior(x, 0.3)
    for temperature in (0.4, 1.0, 3.0):
        sharp = true**temperature / (true**temperature).sum(axis=1, keepdims=True)
        assert fit_temperature(sharp, labels) == pytest.approx(temperature, rel=0.05)
        found = adjust_to_prior(sharp, [0.7, 0.3], [0.5, 0.5], temperature)
        np.testing.assert_allclose(found, adjust_to_prior(true, [0.7, 0.3], [0.5, 0.5]), atol=1e-6)


def test_a_class_that_the_target_lacks_is_never_chosen() -> None:
    found = adjust_to_prior([[0.2, 0.7, 0.1], [0.0, 1.0, 0.0]], [0.2, 0.4, 0.4], [0.5, 0.0, 0.5])
    assert found[:, 1].tolist() == [0, 0]
    assert found.sum(axis=1) == pytest.approx([1, 1])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: adjust_to_prior([0.5, 0.5], [1.0, 0.0], [0.5, 0.5]), "no training examples"),
        (lambda: adjust_to_prior([0.5, 0.5], [0.5, 0.6], [0.5, 0.5]), "sum to 1"),
        (lambda: adjust_to_prior([0.5, 0.5], [1.0], [0.5, 0.5]), "2 probabilities"),
        (lambda: adjust_to_prior([0.5, 0.5], [0.5, 0.5], [0.5, 0.5], 0.0), "above 0"),
        (lambda: fit_temperature([[0.5, 0.5]], [0, 1]), "need n labels"),
    ],
)
def test_malformed_input_is_refused(call: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()  # type: ignore[operator]
