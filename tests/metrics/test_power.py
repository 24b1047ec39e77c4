"""What a study is expected to see, against tables, drawn texts and drawn groups; the multiple of a standard error."""

import numpy as np
import pytest
from scipy.stats import norm, t

from shiftbench.metrics.classification import macro_f1
from shiftbench.metrics.power import Answers, Variance, expected_design_effect, groups_with, minimum_detectable
from shiftbench.metrics.precision import effective_groups, group_influences, slopes

SHARES = (0.1, 0.3, 0.6)


def test_the_multiple_is_that_of_the_normal_distribution_with_many_groups_and_grows_with_few() -> None:
    assert minimum_detectable(1.0) == pytest.approx(norm.ppf(0.975) + norm.ppf(0.8))
    assert minimum_detectable(1.0, 4) == pytest.approx(t.ppf(0.975, 4) + t.ppf(0.8, 4))
    assert minimum_detectable(1.0, n_tests=20) == pytest.approx(norm.ppf(1 - 0.05 / 40) + norm.ppf(0.8))
    assert np.isnan(minimum_detectable(1.0, 0.5))


def test_a_level_that_no_test_shares_is_refused() -> None:
    with pytest.raises(ValueError, match="got 0"):
        minimum_detectable(1.0, n_tests=0)


def test_variances_of_texts_and_training_add_up_with_satterthwaites_degrees_of_freedom() -> None:
    both = Variance(0.03**2, 20.0, 0.04**2, 4.0)
    assert both.se == pytest.approx(0.05)
    assert both.dof == pytest.approx(0.05**4 / (0.03**4 / 20 + 0.04**4 / 4))


def flat_macro_f1(sums: np.ndarray) -> np.ndarray:
    return macro_f1(sums.reshape(*sums.shape[:-1], 3, 4))


@pytest.mark.parametrize("recall", [0.4, 0.8, 0.97])
def test_macro_f1_of_a_recall_and_its_variance_are_those_of_the_expected_table(recall: float) -> None:
    table = np.full((3, 3), (1 - recall) / 2)
    np.fill_diagonal(table, recall)
    table = np.column_stack([table * np.array(SHARES)[:, None], np.zeros(3)])
    answers = Answers(SHARES)
    score = float(macro_f1(table))
    assert float(answers.score(recall)) == pytest.approx(score)
    assert answers.recall(score) == pytest.approx(recall, abs=1e-3)
    slope = slopes(flat_macro_f1, table.ravel())
    assert answers.variance(recall) == pytest.approx(float((table.ravel() * slope**2).sum()), rel=1e-6)


@pytest.mark.parametrize("shares", [(1.0,), SHARES])
def test_models_that_differ_have_the_covariance_of_drawn_texts(shares: tuple[float, ...]) -> None:
    rng, n, texts = np.random.default_rng(1), 4000, 400
    recall, other, discordance = 0.8, 0.7, 0.2
    kind = rng.choice(4, size=(n, texts), p=[0.65, 0.15, 0.05, 0.15])  # both, one, other, neither
    scores = []
    gold = rng.choice(len(shares), size=(n, texts), p=shares)
    for right in ((kind == 0) | (kind == 1), (kind == 0) | (kind == 2)):
        if len(shares) == 1:
            scores.append(right.mean(axis=1))
            continue
        predicted = np.where(right, gold, (gold + rng.integers(1, 3, size=gold.shape)) % 3)
        cells = gold * 4 + predicted
        scores.append(flat_macro_f1(np.stack([np.bincount(row, minlength=12) for row in cells]).astype(float)))
    answers = Answers(shares)
    found = np.cov(*scores) * texts
    # Of 4,000 studies a variance has a standard error of 2.2%; macro-F1 of 400 texts is not quite linear.
    expected = answers.variance(recall), answers.variance(other), answers.covariance(recall, other, discordance)
    assert (found[0, 0], found[1, 1], found[0, 1]) == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize(("probability", "correlation"), [(0.05, 0.0), (0.1, 0.3)])
def test_groups_that_hold_an_error_are_as_many_as_are_drawn(probability: float, correlation: float) -> None:
    rng = np.random.default_rng(2)
    sizes = np.array([1] * 10 + [5] * 20 + [8] * 5)
    spread = (1 - correlation) / correlation if correlation else np.inf
    chances = np.full((5000, sizes.size), probability)
    if correlation:
        chances = rng.beta(probability * spread, (1 - probability) * spread, size=chances.shape)
    found = effective_groups(rng.binomial(sizes, chances))
    assert groups_with(probability, sizes, correlation) == pytest.approx(found.mean(), rel=0.15)


@pytest.mark.parametrize("correlation", [0.0, 0.2])
def test_a_study_expects_a_design_effect_of_at_least_one(correlation: float) -> None:
    rng, n_groups, size = np.random.default_rng(3), 12, 20
    groups = np.repeat(np.arange(n_groups), size)
    found = []
    for _ in range(1000):
        shared = rng.normal(0, np.sqrt(correlation), n_groups)[groups]
        texts = shared + rng.normal(0, np.sqrt(1 - correlation), groups.size)
        moved = (texts - texts.mean()) / groups.size
        found.append(max((group_influences(moved, groups) ** 2).sum() / (moved**2).sum(), 1.0))
    assert expected_design_effect(size, n_groups, correlation) == pytest.approx(np.mean(found), rel=0.08)
