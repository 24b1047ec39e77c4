"""What comes after training: a layer fitted anew, and the mean of weights over a valley."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import softmax

from shiftbench.baselines.robust.dfr import fit_balanced_layer
from shiftbench.baselines.robust.last_layer import fit_layer, set_last_layer
from shiftbench.baselines.robust.swad import Stretches, find_valley
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
    with pytest.raises(InvalidInput, match=r"validation rows lack a label.*; found labels \[2\]"):
        fit_balanced_layer(features.astype(np.float32), labels, domains, 3, np.random.default_rng(0))


def test_a_set_layer_has_the_given_weights(bert: Any) -> None:
    set_last_layer(bert, np.ones((3, 32)), np.array([1.0, 2.0, 3.0]))
    assert bert.classifier.bias.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("losses", "first_last"),
    [
        ([5, 4, 3, 2, 1], (4, 4)),  # still falling: the last stretch
        ([3, 2, 1, 1.1, 1.2, 1.0], (2, 5)),  # 1 is the lowest of three; the threshold is 1.3 * 1.1 = 1.43
        ([3, 1, 1.1, 1.2, *[1.5] * 6, 1.0], (1, 3)),  # six looks above 1.43 end it before them
        ([3, 1, 1.1, 1.2, *[1.5] * 5, 1.4, 1.5], (1, 10)),  # five do not
        ([1], (0, 0)),
    ],
)
def test_the_valley_starts_and_ends_as_in_the_papers_algorithm(
    losses: list[float], first_last: tuple[int, int]
) -> None:
    assert find_valley(losses) == first_last


LATE = [9, 8, 7, 6, 5, 1, 1.1, 1.2]
"""The loss falls to its lowest at the sixth look."""


@pytest.mark.parametrize(
    ("losses", "first_last"),
    [
        ([*LATE, 1.15, 1.3, 1.25, 1.4, *[1.6] * 6, 1.0], (5, 11)),
        ([*LATE, 1.15, 1.3, 1.25, 1.4, 1.35], (5, 12)),
        ([*LATE, 1.9, 1.3, 1.9, 1.9, 1.2, *[1.9] * 6, 1.0, 1.0], (5, 12)),
    ],
)
def test_the_mean_over_a_valley_is_that_of_the_authors_code(
    losses: list[float], first_last: tuple[int, int], tmp_path: Path
) -> None:
    """``LossValley`` of khanrc/swad with its 3, 6 and 0.3: steps and mean weights, where look n's weights are e_n."""
    model, n = torch.nn.Linear(len(losses), 1, bias=False), len(losses)
    remaining = iter(losses)
    stretches = Stretches(model, tmp_path, lambda _: next(remaining))
    for step in range(n):
        model.load_state_dict({"weight": torch.eye(n)[step : step + 1]}, strict=False)
        stretches.on_step_end(None, SimpleNamespace(global_step=step + 1, max_steps=n), None)
    first, last = first_last
    mean, begins, ends = stretches.mean()
    assert (begins, ends) == (first, last + 1)
    n_looks = last + 1 - first
    shares = [0.0] * first + [1 / n_looks] * n_looks + [0.0] * (n - 1 - last)
    torch.testing.assert_close(mean["weight"], torch.tensor([shares]))


@pytest.mark.parametrize(
    ("losses", "first_last"),
    [
        # The authors' valley is looks 3 to 5 of six; their mean covers looks 2 to 5, look 4 twice.
        ([3, 2, 1, 1.1, 1.2, 1.0], (2, 5)),
        # The authors' mean covers looks 2 to 8, from where the loss falls below the threshold; the lowest counts twice.
        ([9, 1.3, 1.2, 1.1, 1.0, 1.05, 1.1, 1.2, 1.0], (4, 8)),
        # The authors' mean leaves out the last look, which is above the threshold, although fewer than six looks are.
        ([3, 1, 1.1, 1.2, *[1.5] * 5, 1.4, 1.5], (1, 10)),
    ],
)
def test_where_the_authors_code_departs_from_their_algorithm(losses: list[float], first_last: tuple[int, int]) -> None:
    assert find_valley(losses) == first_last


def test_the_mean_over_a_valley_counts_each_step_alike(bert: Any, tmp_path: Path) -> None:
    """Weights grow by 1 a step; of 41 steps each stretch has two, the last one has one; the loss falls until step 8."""
    start = bert.classifier.bias.detach().clone()
    losses = iter([5, 4, 3, 1, *[1.1] * 17])
    stretches = Stretches(bert, tmp_path, lambda model: next(losses))
    for step in range(1, 42):
        with torch.no_grad():
            bert.classifier.bias += 1
        stretches.on_step_end(None, SimpleNamespace(global_step=step, max_steps=41), None)
    mean, begins, ends = stretches.mean()
    assert (begins, ends) == (6, 41)
    torch.testing.assert_close(mean["classifier.bias"], start + sum(range(7, 42)) / 35)
    assert set(mean) == {name for name, _ in bert.named_parameters()}
    assert "stretch_mean.mean_0" in bert.state_dict()  # a checkpoint holds the stretch under way
