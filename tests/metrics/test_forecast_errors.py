"""Errors of forecasts, and tests over target domains."""

import numpy as np
import pytest
from scipy.stats import wilcoxon

from shiftbench.metrics.new_domain import (
    MIN_DOMAINS,
    interval_score,
    mean_by_domain,
    paired_test,
    skill,
)


def test_five_domains_cannot_tell() -> None:
    assert np.isnan(paired_test([0.1] * (MIN_DOMAINS - 1), np.random.default_rng(0)))
    assert paired_test([0.1] * MIN_DOMAINS, np.random.default_rng(0)) == 2 / 64


def test_flipped_ranks_are_the_signed_rank_test() -> None:
    """Check that exact sign flips of ranks, in the place of differences, are Wilcoxon's signed-rank test."""
    rng = np.random.default_rng(1)
    for n in (7, 10):
        d = rng.normal(0.5, 1, n)
        ranks = np.sign(d) * (np.abs(d).argsort().argsort() + 1)
        assert paired_test(ranks, rng) == pytest.approx(wilcoxon(d, method="exact").pvalue)


def test_many_domains_are_drawn_and_p_is_never_0() -> None:
    p = paired_test(np.full(30, 0.1), np.random.default_rng(2))
    assert 0 < p < 0.001


def test_the_true_interval_has_the_best_score_on_average() -> None:
    rng = np.random.default_rng(3)
    y = rng.normal(size=200_000)
    reach = 1.2816  # 80% of a normal variable
    scores = [interval_score([-r] * y.size, [r] * y.size, y, 0.8).mean() for r in (0.8 * reach, reach, 1.2 * reach)]
    assert scores[1] == min(scores)


def test_skill_and_means() -> None:
    assert skill(0.06, 0.04) == pytest.approx(-0.5)
    assert np.isnan(skill(0.01, 0.0))
    assert mean_by_domain([1, 2, 6], ["b", "a", "b"]).tolist() == [2.0, 3.5]
    with pytest.raises(ValueError, match="upper"):
        interval_score([0.5], [0.4], [0.5], 0.8)
