"""Minimum detectable drops against simulated tests: found in 80% of cases, whatever the design."""

import numpy as np
import pytest
from scipy.stats import norm, t

from shiftbench.metrics.power import (
    EvaluationSet,
    mean_drop_variance,
    minimum_detectable,
    source_drop_variance,
    target_drop_variance,
)

ALONE = EvaluationSet(1000, 1000, 1000)
N_STUDIES = 2000


def test_the_multiple_is_that_of_the_normal_distribution_with_many_groups_and_grows_with_few() -> None:
    assert minimum_detectable(1.0) == pytest.approx(norm.ppf(0.975) + norm.ppf(0.8))
    assert minimum_detectable(1.0, 4) == pytest.approx(t.ppf(0.975, 4) + t.ppf(0.8, 4))
    assert minimum_detectable(1.0, n_tests=20) == pytest.approx(norm.ppf(1 - 0.05 / 40) + norm.ppf(0.8))
    assert np.isnan(minimum_detectable(1.0, 0.5))


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1 test, found 0"):
        minimum_detectable(1.0, n_tests=0)
    with pytest.raises(ValueError, match="one training run says nothing"):
        target_drop_variance(ALONE, 0.2, 0.01, 1)
    with pytest.raises(ValueError, match="at least 2 domains"):
        mean_drop_variance([ALONE], 0.2)


def paired_texts(n: int, drop: float, discordance: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw how two models score n texts in each study: equal but for ``discordance``, the first better by ``drop``."""
    draw = rng.random((N_STUDIES, n))
    only_first = draw < (discordance + drop) / 2
    only_second = (draw >= (discordance + drop) / 2) & (draw < discordance)
    both = (draw >= discordance) & (rng.random(draw.shape) < 0.8)
    return only_first | both, only_second | both


def share_found(differences: np.ndarray) -> float:
    """Test each study's mean difference against 0 by Student's t, and count those found; shape (n_studies, n)."""
    n = differences.shape[1]
    statistic = differences.mean(axis=1) / (differences.std(axis=1, ddof=1) / np.sqrt(n))
    return float((np.abs(statistic) > t.ppf(0.975, n - 1)).mean())


def test_a_target_drop_of_that_size_is_found_in_80_percent_of_studies() -> None:
    rng = np.random.default_rng(5)
    test_set = EvaluationSet(800, 800, 800)
    variance = target_drop_variance(test_set, 0.25)
    drop = float(minimum_detectable(variance.se, variance.dof))
    own, cross = paired_texts(800, drop, 0.25, rng)
    assert share_found(own.astype(float) - cross) == pytest.approx(0.80, abs=0.035)


def test_a_source_drop_of_that_size_is_found_in_80_percent_of_studies() -> None:
    rng = np.random.default_rng(6)
    source, target = EvaluationSet(900, 900, 900), EvaluationSet(500, 500, 500)
    variance = source_drop_variance(source, target, 0.7)
    drop = float(minimum_detectable(variance.se, variance.dof))
    home = rng.binomial(source.n, 0.7 + drop / 2, N_STUDIES) / source.n
    away = rng.binomial(target.n, 0.7 - drop / 2, N_STUDIES) / target.n
    errors = np.sqrt(home * (1 - home) / source.n + away * (1 - away) / target.n)
    assert float((np.abs(home - away) > 1.96 * errors).mean()) == pytest.approx(0.80, abs=0.035)


def test_an_average_drop_of_that_size_is_found_in_80_percent_of_studies() -> None:
    rng = np.random.default_rng(7)
    k, n = 4, 150
    # A text's score by model: a common part and one of the model's own, so two models differ on 2 own^2.
    own = 0.3
    variance = mean_drop_variance([EvaluationSet(n, n, n)] * k, 2 * own**2)
    drop = float(minimum_detectable(variance.se, variance.dof))
    found = []
    for _ in range(N_STUDIES):
        scores = rng.normal(0, 1, (k, 1, n)) + rng.normal(0, own, (k, k, n))  # (target, model, text)
        at_home = np.arange(k)
        scores[at_home, at_home] += drop
        others = (scores.sum(axis=1) - scores[at_home, at_home]) / (k - 1)
        texts = scores[at_home, at_home] - others
        error = np.sqrt((texts.var(axis=1, ddof=1) / n).sum()) / k
        found.append(abs(texts.mean(axis=1).mean()) > t.ppf(0.975, k * (n - 1)) * error)
    assert float(np.mean(found)) == pytest.approx(0.80, abs=0.035)


def test_runs_count_too() -> None:
    rng = np.random.default_rng(8)
    runs, run_sd = 5, 0.02
    variance = target_drop_variance(EvaluationSet(100_000, 100_000, 100_000), 0.2, run_sd, runs)
    drop = float(minimum_detectable(variance.se, variance.dof))
    own, cross = (rng.normal(mean, run_sd, (N_STUDIES, runs)) for mean in (drop, 0.0))
    errors = np.sqrt(own.var(axis=1, ddof=1) / runs + cross.var(axis=1, ddof=1) / runs)
    found = np.abs(own.mean(axis=1) - cross.mean(axis=1)) > t.ppf(0.975, 2 * (runs - 1)) * errors
    assert float(found.mean()) == pytest.approx(0.80, abs=0.04)
