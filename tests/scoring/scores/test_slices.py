"""Slices against the rest: hand-computed values, groups, the correction, and overlapping slices."""

import numpy as np
import pytest
from scipy.stats import hypergeom

from shiftbench.scoring.scores.slices import (
    LEAST_GROUPS,
    SEARCHED,
    Candidate,
    Texts,
    compare_slice,
    find_slices,
    is_candidate,
    mean_score,
    slice_p,
)

RNG = np.random.default_rng
N = 1000


def texts_of(wrong: np.ndarray, groups: np.ndarray | None = None) -> Texts:
    return Texts("accuracy", 1.0 - wrong, np.arange(wrong.size) if groups is None else groups)


def cluster(members: np.ndarray, name: str = "a") -> Candidate:
    return Candidate(name, "cluster", members)


def test_means_and_their_difference_are_those_of_the_texts() -> None:
    rng = RNG(0)
    members, wrong = np.arange(N) < 300, rng.random(N) < 0.2
    own, rest, apart = compare_slice(texts_of(wrong), members)
    assert own.value == pytest.approx(1 - wrong[:300].mean())
    assert apart.value == pytest.approx(wrong[300:].mean() - wrong[:300].mean())
    assert apart.se == pytest.approx(np.sqrt(own.se**2 + rest.se**2), rel=0.02)


def test_groups_widen_the_interval_and_shared_ones_narrow_a_difference() -> None:
    rng = RNG(1)
    groups = np.repeat(np.arange(100), 10)
    wrong = rng.random(N) < rng.beta(1, 4, 100)[groups]
    whole = groups < 40
    apart = compare_slice(texts_of(wrong, groups), whole).apart
    assert apart.se > 1.2 * compare_slice(texts_of(wrong), whole).apart.se
    halves = np.arange(N) % 2 == 0  # half of every group
    within = compare_slice(texts_of(wrong, groups), halves).apart
    apart_of_two = np.hypot(*(mean_score(texts_of(wrong, groups), each).se for each in (halves, ~halves)))
    assert within.se < 0.9 * apart_of_two


def test_the_null_holds_with_groups_that_a_slice_follows() -> None:
    rng = RNG(2)
    groups = np.repeat(np.arange(100), 10)
    members = groups < 40
    p_values = [
        compare_slice(texts_of(rng.random(N) < rng.beta(1, 6, 100)[groups], groups), members).apart.p_value()
        for _ in range(400)
    ]
    assert np.mean(np.array(p_values) < 0.05) < 0.085  # 0.05 and three standard errors
    assert np.mean(np.array(p_values) < 0.5) > 0.35


def test_a_planted_slice_is_named_and_its_copies_are_not() -> None:
    rng = RNG(3)
    members = rng.random(N) < 0.3
    wrong = rng.random(N) < np.where(members, 0.5, 0.1)
    part = members & (rng.random(N) < 0.7)
    found, masks = find_slices(texts_of(wrong), [cluster(members), cluster(part, "b"), cluster(~members, "c")])
    assert [each.name for each in found.slices] == ["a"]
    assert (masks[0] == members).all()
    assert found.slices[0].difference.value == pytest.approx(wrong[~members].mean() - wrong[members].mean())
    assert found.n_candidates == 3
    assert found.n_searched == SEARCHED


def test_two_planted_slices_are_named_each() -> None:
    rng = RNG(4)
    fifth = rng.integers(0, 5, N)
    wrong = rng.random(N) < np.array([0.1, 0.1, 0.1, 0.4, 0.6])[fifth]
    found, _ = find_slices(texts_of(wrong), [cluster(fifth == number, str(number)) for number in range(5)])
    assert [each.name for each in found.slices] == ["4", "3"]


def test_rules_of_a_search_are_tested_on_the_other_half_alone() -> None:
    rng = RNG(5)
    members, half = rng.random(N) < 0.3, rng.random(N) < 0.5
    wrong = members & ~half  # right in the tested half
    rule = Candidate("r", "errors", members)
    assert find_slices(texts_of(wrong), [], [rule], half)[0].slices == ()
    named = find_slices(texts_of(wrong), [], [rule], ~half)[0].slices
    assert [each.n_tested for each in named] == [int((members & ~half).sum())]
    assert named[0].n == int(members.sum())


def test_the_correction_counts_all_that_were_looked_at() -> None:
    rng = RNG(6)
    members = rng.random(N) < 0.3
    wrong = rng.random(N) < np.where(members, 0.16, 0.1)
    alone = find_slices(texts_of(wrong), [cluster(members)])[0].slices
    noise = [cluster(rng.random(N) < 0.3, f"n{number}") for number in range(60)]
    among = find_slices(texts_of(wrong), [cluster(members), *noise])[0].slices
    p = slice_p(compare_slice(texts_of(wrong), members))
    assert [each.p for each in alone] == [pytest.approx(p * (1 + SEARCHED))]
    assert [each.p for each in among] == [pytest.approx(p * (61 + SEARCHED))]


def test_few_texts_or_groups_are_no_candidate_whatever_they_score() -> None:
    groups = np.arange(N)
    assert not is_candidate(groups < 29, groups, 30)
    assert not is_candidate(groups >= 29, groups, 30)
    assert is_candidate(groups < 30, groups, 30)
    few = np.where(groups < 100, groups // 10, groups)  # 10 groups of 10
    assert LEAST_GROUPS > 10
    assert not is_candidate(groups < 100, few, 30)


def test_slices_above_the_rest_are_listed_where_none_is_below_it() -> None:
    rng = RNG(7)
    easy = rng.random(N) < 0.2
    wrong = rng.random(N) < np.where(easy, 0.05, 0.4)
    hard = [cluster(~easy & (rng.integers(0, 4, N) == number), str(number)) for number in range(4)]
    found = find_slices(texts_of(wrong), [cluster(easy, "easy")])[0].slices
    assert [each.name for each in found] == ["easy"]
    assert (found[0].difference.low or 0) > 0
    worst = ~easy & (rng.random(N) < 0.8)
    found = find_slices(texts_of(wrong), [cluster(easy, "easy"), cluster(worst, "hard"), *hard])[0].slices
    names = [each.name for each in found]
    assert names[0] == "hard"
    assert "easy" not in names


def test_few_errors_are_tested_exactly_too() -> None:
    members = np.arange(N) < 50
    wrong = np.zeros(N, dtype=bool)
    wrong[:5] = wrong[100:125] = True  # 5 of 50 wrong, and 25 of 950
    tested = compare_slice(texts_of(wrong), members)
    hypergeometric = hypergeom(N, 30, 50)
    mid = hypergeometric.sf(5) + hypergeometric.pmf(5) / 2
    assert slice_p(tested) == pytest.approx(2 * mid, rel=0.4)
    assert slice_p(tested) >= tested.apart.p_value()
    swapped = compare_slice(Texts("accuracy", wrong.astype(float), np.arange(N)), members)
    assert slice_p(swapped) == pytest.approx(slice_p(tested))
    assert slice_p(compare_slice(texts_of(np.zeros(N, dtype=bool)), members)) == 1.0


def test_a_slice_whose_difference_another_one_explains_is_left_out() -> None:
    rng = RNG(8)
    bad = rng.random(N) < 0.2
    half_bad = bad | (rng.random(N) < 0.15)
    noise = np.where(bad, 0.6, np.where(half_bad, 0.12, 0.1))
    wrong = rng.random(N) < noise
    mixed = (bad & (rng.random(N) < 0.4)) | (half_bad & ~bad)
    found, _ = find_slices(texts_of(wrong), [cluster(bad, "bad"), cluster(mixed, "mixed")])
    assert compare_slice(texts_of(wrong), mixed).apart.p_value() < 0.01
    assert [each.name for each in found.slices] == ["bad"]
