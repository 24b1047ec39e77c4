"""Intervals whose unit is the domain: their level where errors into one domain are alike."""

import numpy as np
import pytest

from shiftbench.metrics.new_domain import coverage_by_domain, domain_quantile, interval_level


@pytest.mark.parametrize("k", [4, 5, 9])
def test_the_interval_holds_for_a_new_domain(k: int) -> None:
    """Test errors with a large part shared by domain, for which intervals over single shifts would be too short."""
    rng = np.random.default_rng(k)
    level = interval_level(k)
    assert level is not None
    n_draws = 4_000
    held = naive = 0
    for _ in range(n_draws):
        shared = rng.standard_t(2, (k + 1, 1))
        errors = np.abs(shared + 0.2 * rng.normal(size=(k + 1, 6)))
        held += errors[-1, 0] <= domain_quantile(list(errors[:-1]), level)
        naive += errors[-1, 0] <= np.quantile(errors[:-1], level)
    assert held / n_draws >= level - 3 * np.sqrt(level * (1 - level) / n_draws)
    assert held / n_draws < level + 0.1
    assert naive / n_draws < held / n_draws


def test_one_domain_of_many_shifts_counts_as_one() -> None:
    many = [[0.01] * 1000, [0.2], [0.3], [0.4]]
    assert domain_quantile(many, 0.8) == 0.4
    assert domain_quantile(many, 0.4) == 0.2


def test_a_level_that_so_few_domains_do_not_allow_is_refused() -> None:
    with pytest.raises(ValueError, match=r"0\.750"):
        domain_quantile([[0.1], [0.2], [0.3]], 0.8)
    with pytest.raises(ValueError, match="known"):
        domain_quantile([[0.1], []], 0.5)


def test_coverage_counts_domains_and_not_shifts() -> None:
    found = coverage_by_domain([[True] * 100, [True, False], [False]], 0.8)
    assert (found.held, found.n_domains) == (1, 3)
    assert found.share == pytest.approx(0.5)
    assert found.low < 0.2
    assert found.high > 0.8
