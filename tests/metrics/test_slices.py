"""Groups that depend on each other, halves, the search for rules, and words."""

import numpy as np
import pytest

from shiftbench.metrics.slices import draw_half, join_groups, search_rules, typical_words

RNG = np.random.default_rng


def test_pairs_join_groups_in_chains() -> None:
    codes = join_groups([7, 7, 9, 11, 13], [[1, 2], [2, 3]])
    assert codes.tolist() == [0, 0, 0, 0, 1]
    assert join_groups([3, 1, 3], np.zeros((0, 2))).tolist() == [1, 0, 1]


def test_halves_keep_groups_and_are_of_one_size() -> None:
    groups = np.repeat(np.arange(50), RNG(0).integers(1, 30, 50))
    half = draw_half(groups, RNG(1))
    assert not set(groups[half]) & set(groups[~half])
    assert abs(int(half.sum()) - int((~half).sum())) <= 30
    assert (draw_half(groups, RNG(2)) != half).any()


def test_a_rule_of_two_predicates_is_found_before_either_alone() -> None:
    rng = RNG(3)
    predicates = rng.random((4000, 6)) < 0.4
    wrong = predicates[:, 1] & predicates[:, 4] & (rng.random(4000) < 0.5)
    assert search_rules(predicates, 1.0 - wrong, 30, 1) == [(1, 4)]


def test_rules_are_large_enough_and_not_the_same_texts_again() -> None:
    rng = RNG(4)
    member = rng.random(1000) < 0.2
    predicates = np.stack([member, member, ~member, rng.random(1000) < 0.01], axis=1)
    found = search_rules(predicates, 1.0 - member * (rng.random(1000) < 0.5), 30, 5)
    assert found[0] == (0,)
    assert not {(1,), (0, 1), (2,), (3,)} & set(found[1:])
    assert search_rules(predicates, np.ones(1000), 30, 5) == []
    assert search_rules(predicates[:, :0], 1.0 - member, 30, 5) == []


def test_typical_words_are_more_frequent_in_the_slice_and_clear() -> None:
    members = np.arange(100) < 40
    # In 30 of the slice's 40 texts and 35 of all; in 1 of 1; in all texts.
    counts = np.array([[30.0, 1.0, 40.0, 2.0], [35.0, 1.0, 100.0, 60.0]])
    assert typical_words(counts, members, 4)[0] == 0
    assert 3 not in typical_words(counts, members, 4)


@pytest.mark.parametrize("seed", range(3))
def test_a_search_of_noise_returns_rules_all_the_same(seed: int) -> None:
    rng = RNG(seed)
    found = search_rules(rng.random((500, 40)) < 0.3, rng.random(500) < 0.8, 30, 5)
    assert len(found) == 5  # which is why they are tested on other texts
