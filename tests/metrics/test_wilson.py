"""Intervals of one score, on draws made here: groups differ in their share of right answers (beta-binomial)."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from shiftbench.metrics.wilson import (
    effective_n,
    intraclass_correlation,
    relative_square,
    run_moments,
    square_of_interval,
    square_of_mean,
    wilson_interval,
)

Floats = NDArray[np.float64]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def right_answers(share: float, alike: float, sizes: NDArray[np.int64], generator: np.random.Generator) -> Floats:
    """Draw 0 or 1 for every example; two examples of a group have correlation ``alike``."""
    if alike == 0:
        return (generator.random(sizes.sum()) < share).astype(float)
    of_group = generator.beta(share * (1 / alike - 1), (1 - share) * (1 / alike - 1), size=sizes.size)
    return (generator.random(sizes.sum()) < np.repeat(of_group, sizes)).astype(float)


def coverage(share: float, alike: float, sizes: NDArray[np.int64], n_tasks: int, seed: int) -> float:
    """Count how often the interval of one cell holds the share; the correlation is pooled over three test sets."""
    generator, held = rng(seed), 0
    groups = np.repeat(np.arange(sizes.size), sizes)
    effective = sizes.sum() ** 2 / (sizes**2).sum()
    for _ in range(n_tasks):
        drawn = [right_answers(share, alike, sizes, generator) for _ in range(3)]
        cells = [run_moments(scores[None], groups).of([0]) for scores in drawn]
        n = effective_n(sizes.sum(), effective, intraclass_correlation(cells))
        low, high = wilson_interval(drawn[0].mean(), relative_square(n, effective - 1))
        held += low <= share <= high
    return held / n_tasks


def test_without_groups_it_is_wilsons() -> None:
    for right, n in ((0, 10), (7, 10), (10, 10), (195, 200)):
        expected = stats.binomtest(right, n).proportion_ci(method="wilson")
        found = wilson_interval(right / n, relative_square(n, 1e12))
        assert found == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_all_right_has_width_and_few_groups_have_more() -> None:
    thirty = wilson_interval(1.0, relative_square(30, 29))
    five = wilson_interval(1.0, relative_square(5, 4))
    assert 0.85 < thirty[0] < 0.9
    assert five[0] < 0.5
    assert thirty[1] == five[1] == 1.0


def test_the_square_can_be_read_off_an_interval() -> None:
    for score in (0.0, 0.3, 0.5, 0.97, 1.0):
        low, high = wilson_interval(score, 0.07)
        assert square_of_interval(score, low, high) == pytest.approx(0.07, rel=1e-6)


def test_moments_are_those_of_the_examples() -> None:
    scores, groups = rng(1).random((3, 40)), rng(2).integers(0, 6, size=40)
    mean = scores[[0, 2]].mean(axis=0)
    found = run_moments(scores, groups).of([0, 2])
    sums = [mean[groups == group].sum() for group in range(6)]
    sizes = np.bincount(groups)
    assert found.total == pytest.approx(mean.sum())
    assert found.squares == pytest.approx((mean**2).sum())
    assert found.between == pytest.approx(sum(part**2 / size for part, size in zip(sums, sizes, strict=True)))
    assert found.dispersion == pytest.approx(mean.var() / (mean.mean() * (1 - mean.mean())))


@pytest.mark.parametrize("alike", [0.0, 0.1, 0.4])
def test_the_correlation_in_groups_is_found(alike: float) -> None:
    sizes = rng(3).integers(1, 12, size=400)
    groups = np.repeat(np.arange(400), sizes)
    cells = [run_moments(right_answers(0.7, alike, sizes, rng(seed))[None], groups).of([0]) for seed in range(4)]
    assert intraclass_correlation(cells) == pytest.approx(alike, abs=0.03)


def test_nothing_to_learn_of_groups_is_no_correlation() -> None:
    alone = run_moments(np.array([[1.0, 0.0, 1.0]]), np.arange(3)).of([0])
    never_wrong = run_moments(np.ones((1, 4)), np.array([0, 0, 1, 1])).of([0])
    one_group = run_moments(np.array([[1.0, 0.0]]), np.zeros(2, dtype=np.int64)).of([0])
    assert intraclass_correlation([alone, never_wrong, one_group]) == 0.0


def test_the_mean_of_equal_scores_is_one_larger_test_set() -> None:
    squares = [relative_square(50, 1e12)] * 4
    assert square_of_mean([0.25] * 4, squares, np.eye(4)) == pytest.approx(relative_square(200, 1e12))
    assert square_of_mean([0.25] * 4, squares, np.ones((4, 4))) == pytest.approx(squares[0])


@pytest.mark.parametrize(
    ("share", "alike", "sizes", "least"),
    [
        (0.97, 0.0, [1] * 30, 0.92),
        (0.99, 0.0, [1] * 200, 0.9),
        (0.8, 0.3, [20] * 6, 0.93),
        (0.95, 0.3, [20] * 6, 0.93),
        (0.8, 0.1, [60, 40, *[8] * 12], 0.93),
    ],
)
def test_intervals_hold_the_share(share: float, alike: float, sizes: list[int], least: float) -> None:
    assert coverage(share, alike, np.array(sizes), 400, 5) >= least


@pytest.mark.long
def test_intervals_hold_the_share_everywhere() -> None:
    """Test coverage by number and size of groups, their correlation, and the share: mean 94%, none below 90%."""
    shapes = {"30 x 1": [1] * 30, "200 x 1": [1] * 200, "5 x 20": [20] * 5, "12 x 40": [40] * 12}
    shapes["2 x 60 + 14 x 10"] = [60, 60, *[10] * 14]
    found = {}
    for name, sizes in shapes.items():
        for alike in (0.0,) if max(sizes) == 1 else (0.05, 0.2, 0.5):
            for share in (0.5, 0.7, 0.9, 0.95, 0.97, 0.99, 0.995):
                found[name, alike, share] = coverage(share, alike, np.array(sizes), 3_000, 11)
                print(f"{name:18} alike {alike:4}  p {share:5}  {100 * found[name, alike, share]:5.1f}%")
    for name, alike in dict.fromkeys(key[:2] for key in found):
        assert np.mean([share for key, share in found.items() if key[:2] == (name, alike)]) >= 0.94, (name, alike)
    for (name, alike, share), held in found.items():
        assert held >= (0.85 if share == 0.995 and sum(shapes[name]) < 50 else 0.9), (name, alike, share, held)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: wilson_interval(97.0, 0.1), "points"),
        (lambda: wilson_interval(0.5, -0.1), "0 or more"),
        (lambda: relative_square(0, 5), "above 0"),
        (lambda: relative_square(10, 5, level=95), "95% is 0.95"),
        (lambda: effective_n(10, 20, 0.5), "n_groups <= n_texts"),
    ],
)
def test_malformed_input_is_refused(call, words) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=words):
        call()
