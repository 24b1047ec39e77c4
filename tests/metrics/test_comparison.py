import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from shiftbench.metrics.ranking import RUNS_OF_RARE_FAILURES, failed_runs, holm, rank_stability, share_at_most


def rng(seed=0):
    return np.random.default_rng(seed)


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


def test_a_run_fails_that_is_more_than_the_margin_below_the_best():
    assert failed_runs([0.9, 0.8, 0.799, 0.5]) == 2
    assert failed_runs([0.7, 0.6 + 1e-15, 0.6 - 1e-15]) == 0, "sums of other orders"
    assert failed_runs([0.9, 0.86], margin=0.03) == 1


@pytest.mark.parametrize(("n_failed", "n_runs"), [(0, 1), (0, 5), (1, 5), (4, 29), (9, 10)])
def test_at_the_bound_so_few_failures_have_a_chance_of_one_in_twenty(n_failed, n_runs):
    assert stats.binom.cdf(n_failed, n_runs, share_at_most(n_failed, n_runs)) == pytest.approx(0.05)


def test_29_runs_without_a_failure_are_the_fewest_that_exclude_a_tenth():
    assert share_at_most(0, RUNS_OF_RARE_FAILURES) < 0.1 < share_at_most(0, RUNS_OF_RARE_FAILURES - 1)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: holm([0.1, 1.2]), r"in \[0, 1\]"),
        (lambda: rank_stability(np.ones((2, 2, 2))), "at least 3 domains, got 2"),
        (lambda: rank_stability(np.ones((2, 3, 4))), r"\(n_entries, n_domains, n_domains\)"),
        (lambda: rank_stability(np.full((2, 3, 3), np.nan)), "ranks need every score"),
    ],
)
def test_malformed_input_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
