"""Coverage of the interval for the next domain, and of the interval of the mean, which covers less."""

import numpy as np
import pytest

from shiftbench.metrics.new_domain import next_domain


@pytest.mark.parametrize("k", [3, 6, 10])
def test_the_next_domain_lies_in_its_interval(k: int) -> None:
    rng = np.random.default_rng(k)
    times, inside, of_mean = 2000, 0, 0
    for _ in range(times):
        # True scores by domain, each seen with the noise of its own test set; so is the next one.
        seen = rng.normal(0.75, 0.06, k + 1) + rng.normal(0, 0.02, k + 1)
        mean, low, high = next_domain(seen[:k])
        inside += low <= seen[k] <= high
        half = (high - mean) / np.sqrt(k + 1)  # the reach of the mean's own t interval
        of_mean += abs(seen[k] - mean) <= half
    print(f"{k} domains: the next lies in its interval in {100 * inside / times:.1f}%, in the mean's own in "
          f"{100 * of_mean / times:.1f}%")  # fmt: skip
    assert 0.94 <= inside / times <= 0.96
    assert of_mean / times < 0.9


def test_ends_and_refusals() -> None:
    mean, low, high = next_domain([0.9, 0.98], bounds=(0.0, 1.0))
    assert mean == pytest.approx(0.94)
    assert high == 1.0
    assert low == pytest.approx(0.94 - 12.7062 * 0.0565685 * np.sqrt(1.5), abs=1e-4)
    assert np.isnan(next_domain([0.9])[1:]).all()
    with pytest.raises(ValueError, match="finite"):
        next_domain([0.9, np.nan])
    with pytest.raises(ValueError, match=r"0\.95"):
        next_domain([0.9, 0.8], level=95)
