import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from shiftbench.metrics import comparison
from shiftbench.metrics.comparison import holm, rank_stability, swap_test


def rng(seed=0):
    return np.random.default_rng(seed)


def ratio(sums):
    return sums[..., 0] / sums[..., 1]


def exact_p(counts_a, counts_b, finish):
    """Compute the two-sided p value over every possible swap of every test set."""
    observed = abs(finish(*(a.sum(axis=0) for a in counts_a)) - finish(*(b.sum(axis=0) for b in counts_b)))
    hits = total = 0
    for choice in itertools.product(*(itertools.product((False, True), repeat=len(a)) for a in counts_a)):
        first, second = [], []
        for a, b, swap in zip(counts_a, counts_b, choice, strict=True):
            exchanged = np.array(swap)[:, None]
            first.append(np.where(exchanged, b, a).sum(axis=0))
            second.append(np.where(exchanged, a, b).sum(axis=0))
        hits += abs(finish(*first) - finish(*second)) >= observed - 1e-12
        total += 1
    return hits / total


def fractional(generator, n_groups):
    size = generator.integers(1, 4, n_groups)
    return [np.stack([generator.random(n_groups) * size, size], axis=1) for _ in range(2)]


def whole(seed, n_groups):
    return np.stack([rng(seed).integers(0, 4, n_groups), rng(seed + 10).integers(3, 6, n_groups)], axis=1)


def test_p_value_is_the_share_of_all_swaps():
    for seed in range(4):
        a, b = fractional(rng(seed), 9)
        found = swap_test([a], [b], ratio, rng(1), n_swaps=60_000)
        assert found.difference == pytest.approx(ratio(a.sum(axis=0)) - ratio(b.sum(axis=0)))
        assert found.p_value == pytest.approx(exact_p([a], [b], ratio), abs=0.008)


@pytest.mark.parametrize("separate", [0, 4096])
def test_groups_that_differ_alike_are_drawn_together_in_large_test_sets(monkeypatch, separate):
    monkeypatch.setattr(comparison, "SEPARATE_GROUPS", separate)
    a = np.array([[1.0, 1.0]] * 8 + [[0.0, 1.0]] * 3)
    b = np.array([[0.0, 1.0]] * 7 + [[1.0, 1.0]] * 4)
    found = swap_test([a], [b], ratio, rng(), n_swaps=60_000)
    assert found.p_value == pytest.approx(exact_p([a], [b], ratio), abs=0.008)
    # Seven groups for A, three for B, one alike: the sign test.
    assert found.p_value == pytest.approx(stats.binomtest(7, 10).pvalue, abs=0.008)


def test_drops_over_two_test_sets_swap_independently():
    source_a, source_b = fractional(rng(5), 6)
    target_a, target_b = fractional(rng(6), 6)

    def source_drop(source, target):
        return ratio(source) - ratio(target)

    found = swap_test([source_a, target_a], [source_b, target_b], source_drop, rng(), n_swaps=60_000)
    expected = exact_p([source_a, target_a], [source_b, target_b], source_drop)
    assert found.p_value == pytest.approx(expected, abs=0.008)


def test_several_statistics_share_the_swaps():
    source, target = fractional(rng(7), 8), fractional(rng(8), 10)
    in_domain = fractional(rng(9), 10)
    both = [np.hstack([cross, own]) for cross, own in zip(target, in_domain, strict=True)]

    def all_three(source_sums, target_sums):
        st_, tt, ss = ratio(target_sums[..., :2]), ratio(target_sums[..., 2:]), ratio(source_sums)
        return np.stack([st_, ss - st_, tt - st_], axis=-1)

    found = swap_test([source[0], both[0]], [source[1], both[1]], all_three, rng(), n_swaps=20_000)
    assert found.p_value.shape == (3,)
    alone = swap_test([target[0]], [target[1]], ratio, rng(1), n_swaps=20_000)
    assert found.p_value[0] == pytest.approx(float(alone.p_value), abs=0.02)


def test_p_values_do_not_depend_on_the_block_and_repeat_with_the_seed(monkeypatch):
    a, b = fractional(rng(2), 40)
    first = swap_test([a], [b], ratio, rng(3), n_swaps=5000)
    assert swap_test([a], [b], ratio, rng(3), n_swaps=5000).p_value == first.p_value
    monkeypatch.setattr(comparison, "_BLOCK_CELLS", 400)
    assert swap_test([a], [b], ratio, rng(3), n_swaps=5000).p_value == first.p_value


def test_p_values_do_not_depend_on_what_else_is_tested():
    # Whole counts beside fractional ones, some of them equal, and a second test set.
    a, b = whole(1, 70), whole(2, 70)
    a[:30] = b[:30]
    more, other = fractional(rng(3), 70), fractional(rng(4), 90)

    def both(first, second):
        return np.stack([ratio(first), ratio(second) - ratio(first[..., 2:])], axis=-1)

    alone = swap_test([a], [b], ratio, [rng(5)], n_swaps=5000)
    tables = [[np.hstack([x, y]), z] for x, y, z in zip((a, b), more, other, strict=True)]
    together = swap_test(tables[0], tables[1], both, [rng(5), rng(6)], n_swaps=5000)
    assert together.p_value[0] == alone.p_value
    assert together.p_value[1] != alone.p_value


@pytest.mark.parametrize("scale", [0.5, 2.0**22])
def test_whole_counts_in_single_precision_give_what_double_precision_gives(scale):
    a, b = whole(1, 300), whole(2, 300)
    # Scaled counts are no whole ones, or too large for single precision; their ratio is the same.
    single, double = (swap_test([a * by], [b * by], ratio, rng(), n_swaps=5000) for by in (1.0, scale))
    assert single.p_value == double.p_value
    assert 0 < single.p_value < 1


def test_equal_entries_are_uniform_and_identical_ones_have_p_1():
    generator = rng(4)
    values = []
    for _ in range(300):
        a, b = (np.stack([generator.normal(size=30), np.ones(30)], axis=1) for _ in range(2))
        values.append(float(swap_test([a], [b], ratio, generator, n_swaps=199).p_value))
    assert stats.kstest(values, "uniform").pvalue > 0.001
    assert swap_test([a], [a], ratio, generator).p_value == 1.0


def test_clear_differences_reach_the_smallest_p_value():
    a = np.ones((200, 2))
    b = a * [0.0, 1.0]
    found = swap_test([a], [b], ratio, rng())
    assert found.n_swaps >= 20_000
    assert found.p_value == pytest.approx(1 / (1 + found.n_swaps))


def test_undefined_statistics_are_not_significant():
    a, b = np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 0.0], [0.0, 0.0]])
    with np.errstate(invalid="ignore", divide="ignore"):
        assert np.isnan(swap_test([a], [b], ratio, rng(), n_swaps=100).p_value)
        same = np.zeros((2, 2))
        assert np.isnan(swap_test([same], [same], ratio, rng(), n_swaps=100).p_value)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_rejects_what_the_step_down_procedure_rejects(values):
    p = np.array(values)
    corrected = holm(p)
    assert (corrected >= p).all()
    order = np.argsort(p, kind="stable")
    for level in (0.01, 0.05, 0.3):
        rejected = np.zeros(p.size, dtype=bool)
        for step, test in enumerate(order):
            if p[test] * (p.size - step) > level:
                break
            rejected[test] = True
        np.testing.assert_array_equal(corrected <= level, rejected)


def test_holm_leaves_comparisons_out_that_could_not_be_made():
    corrected = holm([[0.02, np.nan], [0.5, 0.03]])
    np.testing.assert_allclose(corrected, [[0.06, np.nan], [0.5, 0.06]], atol=1e-12)
    assert holm([]).shape == (0,)


def test_rank_stability_agrees_with_a_loop():
    scores = rng(3).random((4, 5, 5))
    stability = rank_stability(scores)
    for domain in range(5):
        rest = [d for d in range(5) if d != domain]
        means = [np.mean([entry[s, t] for s in rest for t in rest if s != t]) for entry in scores]
        expected = stats.rankdata([-mean for mean in means], method="min")
        np.testing.assert_array_equal(stability.left_out[domain], expected)
    every = np.vstack([stability.ranks, stability.left_out])
    np.testing.assert_array_equal(stability.best, every.min(axis=0))
    np.testing.assert_array_equal(stability.worst, every.max(axis=0))
    in_domain = rank_stability(scores, lambda table: np.diagonal(table, axis1=1, axis2=2).mean(axis=1))
    diagonal = scores.diagonal(axis1=1, axis2=2)
    np.testing.assert_array_equal(in_domain.ranks, stats.rankdata(-diagonal.mean(axis=1), method="min"))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: swap_test([np.ones((2, 2))], [], ratio, rng()), "the same test sets"),
        (
            lambda: swap_test([np.ones((2, 2))], [np.ones((3, 2))], ratio, rng()),
            "test set 0: counts of A and B",
        ),
        (lambda: swap_test(np.ones((2, 2)), np.ones((2, 2)), ratio, rng()), "instead of a list of them"),
        (lambda: swap_test([[[np.inf, 1]]], [[[0, 1]]], ratio, rng()), "must be finite"),
        (lambda: swap_test([[[1, 1]]], [[[0, 1]]], ratio, rng(), n_swaps=0), "n_swaps must be at least 1"),
        (lambda: holm([0.1, 1.2]), r"in \[0, 1\]"),
        (lambda: rank_stability(np.ones((2, 2, 2))), "at least 3 domains, got 2"),
        (lambda: rank_stability(np.ones((2, 3, 4))), r"\(n_entries, n_domains, n_domains\)"),
        (lambda: rank_stability(np.full((2, 3, 3), np.nan)), "ranks need every score"),
    ],
)
def test_malformed_input_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
