"""What comes after training: a layer fitted anew."""

from typing import Any

import numpy as np
import pytest
from scipy.special import softmax

from shiftbench.baselines.robust.dfr import fit_balanced_layer
from shiftbench.baselines.robust.last_layer import fit_layer, set_last_layer
from shiftbench.validation.report import InvalidInput


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_fitted_layer_predicts_as_the_regression_on_standardised_features(n_classes: int) -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(0)
    features = (rng.normal(size=(90, 5)) * [1, 10, 0.1, 3, 0] + 4).astype(np.float32)
    labels = rng.integers(0, n_classes, 90)
    weights, biases = fit_layer(features, labels, n_classes)
    expected = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(features, labels)
    np.testing.assert_allclose(
        softmax(features @ weights.T + biases, axis=1), expected.predict_proba(features), atol=2e-3
    )


def test_dfr_gives_each_label_in_each_domain_as_much_weight() -> None:
    """One feature is the label, the other follows it in nine of ten rows: balanced, the second is worth nothing."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 4000)
    domains = np.where(rng.random(4000) < 0.9, labels, 1 - labels)
    features = np.stack([labels + rng.normal(size=4000), domains + rng.normal(size=4000) * 0.3], axis=1)
    plain, _ = fit_layer(features.astype(np.float32), labels, 2)
    balanced, _ = fit_balanced_layer(features.astype(np.float32), labels, domains, 2, np.random.default_rng(0))
    learnt = [weights[1] - weights[0] for weights in (plain, balanced)]
    assert learnt[0][1] > 3 * learnt[0][0]
    assert abs(learnt[1][1]) < 0.2 * learnt[1][0]
    with pytest.raises(InvalidInput, match=r"labels \[2\]"):
        fit_balanced_layer(features.astype(np.float32), labels, domains, 3, np.random.default_rng(0))


def test_a_set_layer_has_the_given_weights(bert: Any) -> None:
    set_last_layer(bert, np.ones((3, 32)), np.array([1.0, 2.0, 3.0]))
    assert bert.classifier.bias.tolist() == [1, 2, 3]
