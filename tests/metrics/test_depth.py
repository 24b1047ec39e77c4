"""Depth against a pairwise reference, and the weights, cuts and sizes built on it."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cosine
from scipy.stats import mannwhitneyu, rankdata
from syrupy.assertion import SnapshotAssertion

from shiftbench.metrics.classification import accuracy, confusion_counts
from shiftbench.metrics.depth import (
    LAMBDAS,
    depth_f1,
    depth_weights,
    effective_size,
    least_deep,
    pooled_q,
    q_reference,
    q_statistic,
    rank_sum_test,
    tte_depth,
    weighted_score,
)
from tests.refusals import refusal


def pairwise_depth(source: np.ndarray, target: np.ndarray) -> list[float]:
    """Compute equation 1 of the Depth F1 paper literally."""
    return [2 - np.mean([cosine(t, s) for s in source]) for t in target]


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 12), st.integers(2, 9))
def test_depth_is_the_pairwise_mean(seed: int, n_source: int, n_target: int, dimensions: int) -> None:
    rng = np.random.default_rng(seed)
    source, target = rng.normal(size=(n_source, dimensions)), rng.normal(size=(n_target, dimensions))
    np.testing.assert_allclose(tte_depth(source, target), pairwise_depth(source, target), atol=1e-12)


def test_a_source_text_leaves_itself_out() -> None:
    source = np.random.default_rng(1).normal(size=(9, 5))
    expected = [pairwise_depth(np.delete(source, i, axis=0), source[i : i + 1])[0] for i in range(9)]
    np.testing.assert_allclose(tte_depth(source), expected, atol=1e-12)


def test_float32_stays_close() -> None:
    rng = np.random.default_rng(2)
    source, target = rng.normal(size=(500, 64)), rng.normal(size=(40, 64))
    low = tte_depth(source.astype(np.float32), target.astype(np.float32))
    np.testing.assert_allclose(low, tte_depth(source, target), atol=1e-5)


def test_weights_follow_the_paper_and_never_go_negative() -> None:
    depth, source = np.array([0.9, 1.1, 1.6]), np.array([1.2, 1.5])
    np.testing.assert_allclose(depth_weights(depth, source), [0.6, 0.4, 0.0], atol=1e-12)
    with pytest.raises(ValueError, match="weights"):
        depth_weights([1.6, 1.5], source)


@given(st.lists(st.floats(0, 2), min_size=1, max_size=50), st.sampled_from(LAMBDAS))
def test_cut_keeps_the_least_deep_share_and_ties(depths: list[float], lambda_: int) -> None:
    values = np.array(depths)
    kept = least_deep(values, lambda_)
    assert kept.sum() >= np.ceil(len(values) * (100 - lambda_) / 100 - 1e-9)
    assert kept.any()
    if not kept.all():
        assert values[kept].max() < values[~kept].min()


def test_lambda_0_keeps_all_and_100_is_refused() -> None:
    assert least_deep([1.0, 1.5, 0.2], 0).all()
    with pytest.raises(ValueError, match="percentage"):
        least_deep([1.0], 100)


def test_effective_size() -> None:
    assert effective_size(np.ones(7)) == pytest.approx(7)
    assert effective_size([5.0, 0.0]) == 1.0
    with pytest.raises(ValueError, match="weights"):
        effective_size([0.0, 0.0])


@given(st.lists(st.integers(0, 6), min_size=1, max_size=30), st.lists(st.integers(0, 6), min_size=1, max_size=30))
def test_q_counts_pairs(source: list[int], target: list[int]) -> None:
    expected = np.mean([[x <= y for y in target] for x in source])
    assert q_statistic(source, target) == pytest.approx(expected, abs=1e-12)


def test_q_is_the_rank_sum_statistic_without_ties() -> None:
    rng = np.random.default_rng(3)
    source, target = rng.normal(size=40), rng.normal(size=30)
    assert q_statistic(source, target) == pytest.approx(mannwhitneyu(target, source).statistic / 1200)


DEPTHS = st.lists(st.integers(0, 6), min_size=1, max_size=30)


@given(DEPTHS, DEPTHS)
def test_q_reference_ranks_target_texts_in_the_pool(source: list[int], target: list[int]) -> None:
    """Test the authors' procedure: average ranks of the pool, and of each target's rank the share of ranks below it."""
    ranks = rankdata([*source, *target])
    expected = np.mean([np.mean(ranks < rank) for rank in ranks[len(source) :]])
    assert q_reference(source, target) == pytest.approx(expected, abs=1e-12)


@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(1, 60))
def test_pooled_q_is_q_reference_without_ties(seed: int, n_source: int, n_target: int) -> None:
    rng = np.random.default_rng(seed)
    source, target = rng.normal(size=n_source), rng.normal(0.3, size=n_target)
    q = q_statistic(source, target)
    assert pooled_q(q, n_source, n_target) == pytest.approx(q_reference(source, target), abs=1e-12)


@pytest.mark.parametrize(
    ("q", "recomputed", "paper"),
    [(0.024, 0.341, 0.34), (0.241, 0.413, 0.42), (0.466, 0.488, 0.48), (0.135, 0.378, 0.38)],
)
def test_pooled_q_gives_the_papers_values(q: float, recomputed: float, paper: float) -> None:
    """Test SiS-3, SiS-4, MuS-3, MuS-4: equation 8 on the real genres, and the authors' value on the same draw."""
    assert pooled_q(q, 500, 1_000) == pytest.approx(recomputed, abs=0.001)
    assert recomputed == pytest.approx(paper, abs=0.01)


def test_refusals(wording: SnapshotAssertion) -> None:
    said = {
        "q of nothing is refused 1": refusal(ValueError, q_reference, [], [1.0]),
        "q of nothing is refused 2": refusal(ValueError, pooled_q, 0.5, 0, 1),
        "rank sum refuses what it cannot rank 1": refusal(ValueError, rank_sum_test, [1.0], []),
        "rank sum refuses what it cannot rank 2": refusal(
            ValueError, rank_sum_test, [1.0], [1.0], alternative="greater"
        ),
        "rank sum refuses what it cannot rank 3": refusal(ValueError, rank_sum_test, [1.0], [np.nan]),
        "depth f1 takes right or wrong only": refusal(ValueError, depth_f1, [0.5, 1.0], [1.0, 1.0]),
    }
    for case, (scores, weights) in {
        "weights of 0": ([1.0, 0.0], [0.0, 0.0]),
        "no text": ([], []),
        "a negative weight": ([1.0, 0.0], [1.0, -0.5]),
        "a missing score": ([1.0, np.nan], [1.0, 1.0]),
        "an infinite weight": ([1.0, 0.0], [1.0, np.inf]),
        "a weight too few": ([1.0, 0.0], [1.0]),
    }.items():
        said[case] = refusal(ValueError, weighted_score, scores, weights)
    for case, (source, target) in {
        "a zero vector": ([[0.0, 0.0]], [[1.0, 0.0]]),
        "a missing number": ([[1.0, 0.0]], [[np.nan, 0.0]]),
        "other encoders": ([[1.0, 0.0]], [[1.0]]),
        "no matrix": ([1.0], [[1.0]]),
        "one vector": ([[1.0]], None),
    }.items():
        said[case] = refusal(ValueError, tte_depth, source, target)
    assert said == wording


@given(DEPTHS, DEPTHS)
def test_rank_sum_agrees_with_scipy_ties_included(source: list[int], target: list[int]) -> None:
    found = rank_sum_test(source, target)
    tied = np.mean([[x == y for y in target] for x in source])
    assert found.effect == pytest.approx(q_statistic(source, target) - tied / 2, abs=1e-12)
    if len({*source, *target}) == 1:
        assert found.u == len(source) * len(target) / 2
        assert np.isnan(found.p_value)
        return
    for alternative in ("two-sided", "less"):
        expected = mannwhitneyu(target, source, alternative=alternative, method="asymptotic")
        found = rank_sum_test(source, target, alternative=alternative)  # type: ignore[arg-type]
        assert found.u == expected.statistic
        assert found.p_value == pytest.approx(expected.pvalue, rel=1e-9, abs=1e-12)


WEIGHTED = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.floats(0, 1e6)), min_size=1, max_size=40)


@given(WEIGHTED)
def test_depth_f1_is_equation_6_read_literally(rows: list[tuple[int, int, float]]) -> None:
    gold, predicted, weights = (np.array(column) for column in zip(*rows, strict=True))
    if not weights.any():
        with pytest.raises(ValueError, match="weights"):
            depth_f1(gold == predicted, weights)
        return
    true = sum(weights[(gold == c) & (predicted == c)].sum() for c in range(3))
    false_positive = sum(weights[(gold != c) & (predicted == c)].sum() for c in range(3))
    false_negative = sum(weights[(gold == c) & (predicted != c)].sum() for c in range(3))
    expected = 2 * true / (2 * true + false_positive + false_negative)
    assert depth_f1(gold == predicted, weights) == pytest.approx(expected, abs=1e-12)


def test_weighted_score_is_a_weighted_mean_of_each_run() -> None:
    rng = np.random.default_rng(5)
    scores, weights = rng.random((4, 30)), rng.random(30)
    np.testing.assert_allclose(weighted_score(scores, weights), np.average(scores, axis=1, weights=weights), atol=1e-12)
    np.testing.assert_allclose(weighted_score(scores, weights * 1e-310), weighted_score(scores, weights), atol=1e-9)


def test_demonstration_models_of_the_paper() -> None:
    """Test sec.

    4.3 in expectation. A is right with 0.83 anywhere, B with 0.95 at the most source-similar text and ever less further
    out. Read literally (B's chance falls as depth grows), Depth F1 would favour B.
    """
    n = 1001
    depth = np.linspace(0.9, 1.3, n)
    weights = depth_weights(depth, 1.45)
    model_a = np.full(n, 0.83)
    model_b = np.linspace(2 * 0.83 - 0.95, 0.95, n)
    as_printed = model_b[::-1]

    def by_lambda(chance: np.ndarray) -> list[float]:
        return [float(weighted_score(chance, weights * least_deep(depth, lambda_))) for lambda_ in LAMBDAS]

    a, b, literal = by_lambda(model_a), by_lambda(model_b), by_lambda(as_printed)
    assert model_b.mean() == pytest.approx(0.83, abs=1e-12)  # near-equal F1
    assert a == pytest.approx([0.83] * len(LAMBDAS), abs=1e-12)
    assert b == sorted(b, reverse=True)
    assert b[0] == pytest.approx(0.809, abs=0.015)  # the paper's figure of its own data
    assert b[LAMBDAS.index(50)] == pytest.approx(0.744, abs=0.03)
    assert literal == sorted(literal)
    assert literal[0] > a[0]


def test_two_models_with_equal_f1_part_in_depth_f1() -> None:
    """Test the Depth F1 paper, sec. 4.3: model B fails on source-dissimilar texts, model A errs anywhere."""
    rng = np.random.default_rng(4)
    depth = np.sort(rng.normal(1.2, 0.1, 5000))[::-1]
    weights = depth_weights(depth, 1.6)
    gold = np.zeros(5000, dtype=int)
    chance_of_error = np.linspace(0, 0.36, 5000)  # B: grows towards the shallow end
    model_b = (rng.random(5000) < chance_of_error).astype(int)
    model_a = rng.permutation(model_b)

    def depth_f1(predicted: np.ndarray, lambda_: int) -> float:
        kept = weights * least_deep(depth, lambda_)
        return float(accuracy(confusion_counts(gold, predicted, 2, weights=kept)))

    plain = [float(accuracy(confusion_counts(gold, model, 2))) for model in (model_a, model_b)]
    assert plain[0] == pytest.approx(plain[1], abs=1e-12)
    gaps = [depth_f1(model_a, lambda_) - depth_f1(model_b, lambda_) for lambda_ in LAMBDAS]
    assert gaps[0] > 0.005
    assert gaps == sorted(gaps)


def test_depth_holds_little_beside_its_inputs():
    source, target = np.random.default_rng(0).normal(size=(2, 20_000, 64)).astype(np.float32)
    tracemalloc.start()
    try:
        tte_depth(source, target)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.1 * (source.nbytes + target.nbytes)
