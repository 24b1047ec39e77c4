"""The exact test of a share against a limit."""

import pytest
from scipy.stats import binomtest

from shiftbench.metrics.precision import exact_p


@pytest.mark.parametrize(("right", "n", "limit"), [(0, 7, 0.3), (5, 12, 0.7), (12, 12, 0.9), (40, 60, 0.5)])
def test_the_exact_test_is_that_of_the_binomial(right: int, n: int, limit: float) -> None:
    found = exact_p(right / n, n, limit)
    assert found.below == pytest.approx(binomtest(right, n, limit, alternative="less").pvalue)
    assert found.above == pytest.approx(binomtest(right, n, limit, alternative="greater").pvalue)
