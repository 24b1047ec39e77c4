"""Placebo domains: equal sizes, whole groups, chance alone."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftbench.metrics.placebo import placebo_domains


@st.composite
def pooled_rows(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int, int]:
    """Build rows of groups that each lie in one of three splits, in any order."""
    n_domains = draw(st.integers(2, 5))
    groups, splits = [], []
    for split in (0, 1, 2):
        sizes = draw(st.lists(st.integers(1, 9), min_size=n_domains, max_size=25))
        for size in sizes:
            code = 3 + (groups[-1] if groups else 0)  # codes with gaps
            groups += [code] * size
            splits += [split] * size
    order = draw(st.permutations(range(len(groups))))
    return np.array(groups)[list(order)], np.array(splits)[list(order)], n_domains, draw(st.integers(0, 2**32 - 1))


@given(pooled_rows())
def test_domains_are_equal_and_groups_whole(rows: tuple[np.ndarray, np.ndarray, int, int]) -> None:
    groups, splits, n_domains, seed = rows
    domains = placebo_domains(groups, splits, n_domains, np.random.default_rng(seed))
    for group in np.unique(groups):
        assert np.unique(domains[groups == group]).size == 1
    for split in (0, 1, 2):
        rows_per_domain = np.bincount(domains[splits == split], minlength=n_domains)
        largest = np.bincount(groups[splits == split]).max()
        assert np.ptp(rows_per_domain) <= largest
        assert rows_per_domain.min() > 0
    order = np.random.default_rng(0).permutation(len(groups))
    again = placebo_domains(groups[order], splits[order], n_domains, np.random.default_rng(seed))
    np.testing.assert_array_equal(again, domains[order])  # the order of the rows does not matter


def test_single_rows_are_dealt_evenly_and_by_seed() -> None:
    groups, splits = np.arange(100), np.repeat([0, 1], [70, 30])
    first, again, other = (placebo_domains(groups, splits, 4, np.random.default_rng(seed)) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    assert sorted(np.bincount(first[:70]).tolist()) == [17, 17, 18, 18]
    assert sorted(np.bincount(first[70:]).tolist()) == [7, 7, 8, 8]


def test_every_group_comes_to_every_domain() -> None:
    """Test groups of different sizes: neither the largest group nor a pair of groups has a fixed domain."""
    sizes = np.arange(1, 11)
    groups = np.repeat(np.arange(10), sizes)
    first = np.cumsum(sizes) - sizes
    dealt = np.array(
        [placebo_domains(groups, np.zeros(55, int), 3, np.random.default_rng(seed))[first] for seed in range(900)]
    )
    for domain in range(3):
        np.testing.assert_allclose((dealt == domain).mean(axis=0), 1 / 3, atol=0.06)
    together = (dealt[:, 9] == dealt[:, 0]).mean()
    assert 0.25 < together < 0.42


def test_groups_of_one_size_meet_at_random() -> None:
    dealt = np.array(
        [placebo_domains(np.arange(20), np.zeros(20, int), 2, np.random.default_rng(seed)) for seed in range(400)]
    )
    together = (dealt[:, :1] == dealt[:, 1:]).mean(axis=0)
    np.testing.assert_allclose(together, 9 / 19, atol=0.1)


def test_a_group_in_two_splits_is_dealt_as_a_whole() -> None:
    groups, splits = np.array([0, 0, 1, 1, 2, 3, 4, 5]), np.array([0, 1, 0, 1, 0, 0, 1, 1])
    domains = placebo_domains(groups, splits, 2, np.random.default_rng(0))
    assert domains[0] == domains[1] != domains[2] == domains[3]


def test_a_domain_without_a_row_of_a_split_is_refused() -> None:
    # Two groups a split, one of them shared: with some seeds the deal leaves a domain empty.
    groups, splits = np.array([0, 0, 1, 2]), np.array([0, 1, 0, 1])
    refused = 0
    for seed in range(40):
        deal = partial(placebo_domains, groups, splits, 2)
        try:
            domains = deal(np.random.default_rng(seed))
        except ValueError:
            refused += 1
            with pytest.raises(ValueError, match="row"):
                deal(np.random.default_rng(seed))
        else:
            assert {*domains[[0, 2]]} == {*domains[[1, 3]]} == {0, 1}
    assert 0 < refused < 40


@pytest.mark.parametrize(
    ("groups", "splits", "n_domains", "message"),
    [
        ([0, 1, 2], [0, 0, 1], 2, "split 1 has 1 groups, fewer than the 2 placebo domains"),
        ([0, 1], [0], 2, "of equal length"),
        ([0, 1], [0, 0], 1, "at least 2, got 1"),
        ([0.0, 1.0], [0, 0], 2, "groups must be integer codes"),
        ([], [], 2, "n >= 1"),
        ([-1, 1], [0, 0], 2, "groups codes must not be negative, got -1"),
    ],
)
def test_malformed_rows(groups: list[int], splits: list[int], n_domains: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        placebo_domains(groups, splits, n_domains, np.random.default_rng(0))
