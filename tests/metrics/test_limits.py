"""One-sided tests of a paired difference against a limit."""

import numpy as np
import pytest
from scipy.stats import binomtest

from shiftbench.metrics.limits import exact_p, limit_p


def test_the_two_sides_sum_to_one_and_order_by_the_difference() -> None:
    found = [limit_p(value, 0.01, 300, 0.02) for value in (-0.02, 0.02, 0.06)]
    assert [each.above + each.below for each in found] == pytest.approx([1, 1, 1])
    assert [each.above for each in found] == sorted((each.above for each in found), reverse=True)
    assert found[1].above == pytest.approx(0.5)


def test_no_differing_text_shows_as_much_as_the_rule_of_three() -> None:
    # Were a share L lost, n texts without a loss would have probability (1 - L)^n: 5% at n = 298 for L = 1%.
    enough = next(n for n in range(2, 1000) if limit_p(0.0, 0.0, n, 0.01).below < 0.05)
    exact = np.log(0.05) / np.log(0.99)
    assert 0.8 * exact < enough < 1.2 * exact


def test_a_limit_of_zero_needs_a_spread() -> None:
    assert limit_p(0.0, 0.0, 50, 0.0).above == 0.5
    assert limit_p(0.01, 0.0, 50, 0.0).above == 0.0
    with pytest.raises(ValueError, match="2 groups"):
        limit_p(0.0, 0.1, 1, 0.01)


@pytest.mark.parametrize(("right", "n", "limit"), [(0, 7, 0.3), (5, 12, 0.7), (12, 12, 0.9), (40, 60, 0.5)])
def test_the_exact_test_is_that_of_the_binomial(right: int, n: int, limit: float) -> None:
    found = exact_p(right / n, n, limit)
    assert found.below == pytest.approx(binomtest(right, n, limit, alternative="less").pvalue)
    assert found.above == pytest.approx(binomtest(right, n, limit, alternative="greater").pvalue)
