"""The slope of correctness on depth: against least squares, its coverage, and its power beside Depth F1 at 90."""

import numpy as np
import pytest
from numpy.typing import NDArray

from shiftbench.metrics.depth import depth_slope, depth_weights, effective_size, least_deep, mean_slope, weighted_score

Floats = NDArray[np.float64]


def texts(
    rng: np.random.Generator, n: int, slope: float, per_group: int = 2
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Draw right and wrong texts whose chance rises by ``slope`` per standard deviation of depth, by group."""
    depth = rng.normal(1.4, 0.05, n)
    groups = np.arange(n) // per_group
    luck = rng.normal(size=n // per_group + 1)[groups]
    chance = np.clip(0.75 + slope * (depth - 1.4) / 0.05 + 0.1 * luck, 0, 1)
    return (rng.random(n) < chance).astype(float), depth, groups


def test_the_slope_is_that_of_least_squares() -> None:
    right, depth, groups = texts(np.random.default_rng(1), 400, 0.05)
    found = depth_slope(right[None], depth, groups)
    assert found is not None
    assert found.slopes[0] == pytest.approx(np.polyfit(depth, right, 1)[0] * depth.std())
    assert found.influences.sum() == pytest.approx(0, abs=1e-12)
    # An influence is what leaving the group out changes, for many groups.
    without = groups != 7
    less = np.polyfit(depth[without], right[without], 1)[0] * depth.std()
    assert found.slopes[0] - less == pytest.approx(found.influences[0, 7], rel=0.1)


def test_the_interval_holds_the_slope_and_sees_what_depth_f1_does_not() -> None:
    rng = np.random.default_rng(2)
    times, held, seen, seen_f1, widths = 400, 0, 0, 0, []
    for _ in range(times):
        right, depth, groups = texts(rng, 1000, 0.04)
        found = depth_slope(right[None], depth, groups)
        assert found is not None
        _, low, high = mean_slope([[(found, [0])]])
        held += low <= 0.04 <= high
        seen += low > 0
        weights = depth_weights(depth, 1.4 + 3.5 * 0.05) * least_deep(depth, 90)
        score = float(weighted_score(right, weights))
        # Of independent texts, which is kind to Depth F1.
        reach = 1.96 * np.sqrt(score * (1 - score) / effective_size(weights))
        seen_f1 += score + reach < right.mean()
        widths.append((high - low, 2 * reach))
    slope_width, f1_width = 100 * np.mean(widths, axis=0)
    print(
        f"1,000 texts, 4 points per sd: slope's interval {slope_width:.1f} points wide, holds it in "
        f"{100 * held / times:.1f}%, above 0 in {100 * seen / times:.1f}%; that of Depth F1 at 90 {f1_width:.1f} wide, "
        f"below accuracy in {100 * seen_f1 / times:.1f}%"
    )
    assert 0.92 <= held / times <= 0.98
    assert seen / times > seen_f1 / times + 0.2
    assert slope_width < f1_width / 2


def test_shifts_into_one_target_are_not_independent() -> None:
    rng = np.random.default_rng(4)
    right, depth, groups = texts(rng, 600, 0.03)
    found = depth_slope(np.stack([right, right]), depth, groups)
    right, depth, groups = texts(rng, 600, 0.03)
    other = depth_slope(right[None], depth, groups)
    assert found is not None
    assert other is not None
    one = mean_slope([[(found, [0])]])
    assert mean_slope([[(found, [0, 1]), (found, [1])]]) == pytest.approx(one), "the same model twice is one"
    two = mean_slope([[(found, [0])], [(other, [0])]])
    assert two.high - two.low < 0.85 * (one.high - one.low), "another target's texts add what they know"


def test_what_has_no_slope_or_interval() -> None:
    assert depth_slope([[1.0, 0.0]], [1.0, 1.0], np.array([0, 1])) is None
    assert depth_slope([[1.0, 0.0]], [1.0, 1.1], np.array([0, 0])) is None
    few = depth_slope([[1.0, 0.0, 1.0]], [1.0, 1.1, 1.3], np.arange(3))
    assert few is not None
    assert np.isnan(mean_slope([[(few, [0])]]).low)
    with pytest.raises(ValueError, match="slopes"):
        mean_slope([])
    with pytest.raises(ValueError, match="share n"):
        depth_slope([[1.0]], [1.0, 1.1], np.arange(2))
