"""Models on the same items: tests against an exhaustive permutation test, intervals, ranks, corrections."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import ttest_rel

from shiftbench.metrics.precision import student, wilson_limits
from shiftbench.metrics.ranking import holm
from shiftbench.scoring.comparing.item_scores import ItemComparison, ItemScores, compare_items
from shiftbench.validation.report import InvalidInput


def items(
    scores: object,
    clusters: object = None,
    domains: tuple[str, ...] = (),
    domain_of: object = None,
    *,
    lower_is_better: bool = False,
) -> ItemScores:
    table = np.asarray(scores, dtype=np.float64)
    n = table.shape[1]
    codes = np.arange(n) if clusters is None else np.asarray(clusters)
    of = np.zeros(n, dtype=np.int64) if domain_of is None else np.asarray(domain_of)
    names = [f"m{number}" for number in range(len(table))]
    return ItemScores(names, table, codes, domains, of, lower_is_better)


def drawn(n_models: int, n_items: int, seed: int = 0) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    rng = np.random.default_rng(seed)
    return (rng.random((n_models, n_items)) < np.linspace(0.8, 0.5, n_models)[:, None]).astype(np.float64)


def p_value(found: ItemComparison) -> float:
    p = found.overall[0].p
    assert p is not None
    return p


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("seed", [3, 4, 5])
def test_p_is_near_the_share_of_all_exchanges_that_reach_as_far(size: int, seed: int) -> None:
    scores = drawn(2, 16 * size, seed=seed)
    clusters = np.arange(16 * size) // size
    moved = np.bincount(clusters, weights=scores[0] - scores[1])
    signs = np.array(list(product((1, -1), repeat=16)))
    reached = np.abs(signs @ moved)
    # Ties count half: the mid-p value, which the interval approximates.
    mid = np.mean((reached > abs(moved.sum()) + 0.5) + 0.5 * (np.abs(reached - abs(moved.sum())) < 0.5))
    (found,) = compare_items(items(scores, clusters)).overall
    assert found.p == pytest.approx(mid, abs=0.03)
    assert found.difference.value == pytest.approx(abs(scores.mean(axis=1) @ [1, -1]))


def test_items_of_a_cluster_that_are_alike_count_as_one() -> None:
    once = drawn(2, 40)
    alone, repeated = (
        compare_items(items(np.repeat(once, times, axis=1), np.repeat(np.arange(40), times))) for times in (1, 5)
    )
    assert repeated.overall[0].p == pytest.approx(p_value(alone), abs=0.03)
    by_item = compare_items(items(np.repeat(once, 5, axis=1)))
    assert p_value(by_item) < p_value(alone) / 2
    widths = [found.models[0].score.high - found.models[0].score.low for found in (alone, repeated, by_item)]  # type: ignore[operator]
    assert widths[1] == pytest.approx(widths[0], rel=0.1)
    assert widths[2] < 0.6 * widths[0]


def test_a_score_of_single_items_has_wilsons_interval() -> None:
    scores = drawn(2, 200)
    found = compare_items(items(scores))
    for model in found.models:
        value = scores[int(model.name[1])].mean()
        expected = wilson_limits(value, student(199) ** 2 / 199)
        assert (model.score.low, model.score.high) == pytest.approx(expected, rel=1e-6)


def test_each_family_is_corrected_by_holm() -> None:
    scores, of = drawn(3, 120), np.arange(120) % 2
    found = compare_items(items(scores, None, ("verse", "prose"), of))
    for family in (found.overall, found.by_domain):
        assert [each.p_corrected for each in family] == holm(np.array([each.p for each in family], float)).tolist()
    assert (len(found.overall), len(found.by_domain)) == (3, 6)
    for model in found.models:
        row = scores[int(model.name[1])]
        means = {name: row[of == number].mean() for number, name in enumerate(("verse", "prose"))}
        assert {name: each.value for name, each in model.domains.items()} == pytest.approx(means)
    assert [(size.domain, size.n_items, size.n_clusters) for size in found.domains] == [
        ("verse", 60, 60),
        ("prose", 60, 60),
    ]


def test_tiny_domains_are_shown_and_cost_the_others_nothing() -> None:
    scores = drawn(2, 120)
    of = np.where(np.arange(120) < 3, 0, 1)
    found = compare_items(items(scores, None, ("tiny", "large"), of))
    tiny, large = found.by_domain
    assert (tiny.p, tiny.p_corrected, tiny.is_significant) == (None, None, False)
    assert tiny.difference.value is not None
    assert (large.p_corrected, found.n_domain_tests) == (large.p, 1)


def test_a_pair_s_p_does_not_depend_on_the_others() -> None:
    scores = drawn(3, 80)
    of_all = {(each.a, each.b): each.p for each in compare_items(items(scores)).overall}
    (alone,) = compare_items(items(scores[:2])).overall
    assert of_all[alone.a, alone.b] == alone.p


def test_ranks_hold_those_that_are_not_told_apart() -> None:
    rng = np.random.default_rng(1)
    scores = (rng.random((3, 400)) < np.array([0.9, 0.5, 0.5])[:, None]).astype(float)
    found = compare_items(items(scores))
    assert [(model.best_rank, model.worst_rank) for model in found.models] == [(1, 1), (2, 3), (2, 3)]
    assert found.models[0].name == "m0"


def test_more_items_make_smaller_differences_detectable() -> None:
    few, many = (compare_items(items(drawn(2, n))).overall[0].detectable for n in (100, 1600))
    assert few is not None
    assert many is not None
    assert many == pytest.approx(few / 4, rel=0.25)


def test_scores_beyond_1_stand_as_they_are_and_lower_may_be_better() -> None:
    rng = np.random.default_rng(0)
    losses = rng.gamma(4, 2, (2, 200)) + np.array([[0.0], [2.0]])
    found = compare_items(items(losses, lower_is_better=True))
    assert not found.is_bounded
    assert [model.name for model in found.models] == ["m0", "m1"]
    (pair,) = found.overall
    assert pair.is_significant
    expected = ttest_rel(*losses)
    assert pair.p == pytest.approx(expected.pvalue)
    ends = expected.confidence_interval()
    assert (pair.difference.low, pair.difference.high) == pytest.approx((ends.low, ends.high))
    assert ends.high < 0


def test_few_clusters_give_no_interval_and_no_test() -> None:
    found: ItemComparison = compare_items(items([[1, 1, 1, 1], [0, 0, 0, 0]]))
    assert found.models[0].score.no_interval
    assert found.models[0].best_rank is None
    (pair,) = found.overall
    assert (pair.p, pair.p_corrected, pair.detectable, pair.is_significant) == (None, None, None, False)
    assert pair.difference.value == 1.0
    (enough,) = compare_items(items([[1] * 5, [0] * 5])).overall
    assert enough.p is not None


def test_equal_models_do_not_differ() -> None:
    scores = drawn(1, 50)
    (pair,) = compare_items(items(np.vstack([scores, scores]))).overall
    assert (pair.difference.value, pair.p) == (0.0, 1.0)


def test_what_cannot_tell_anything_is_refused() -> None:
    with pytest.raises(InvalidInput, match="cluster"):
        compare_items(items(drawn(2, 10), np.zeros(10, dtype=np.int64)))
