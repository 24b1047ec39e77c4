"""What a round tells apart: cuts proposed by one half, confirmed by the other, and places."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftbench.leaderboard.release.ladder import MIN_STEP, Measured
from shiftbench.leaderboard.release.ranking import (
    AnswersGiven,
    Cut,
    answers_per_round,
    highest_gain,
    propose_cuts,
    rank_ranges,
    steps_between,
)
from shiftbench.leaderboard.release.releases import Released


@given(st.lists(st.integers(0, 60), min_size=1, max_size=9), st.integers(1, 20), st.integers(0, 4))
def test_a_proposed_cut_has_entries_half_a_step_apart_on_both_sides(points: list[int], step: int, limit: int) -> None:
    scores, steps = np.array(points) / 1000, np.full((len(points), len(points)), step / 1000)
    cuts = propose_cuts(scores, steps, limit)
    assert len(cuts) <= limit
    for cut in cuts:
        assert cut.above
        assert cut.below
        assert min(scores[list(cut.above)]) > max(scores[list(cut.below)]) + step / 2000 - 1e-9
    told = rank_ranges(len(points), cuts)
    for (first, last), score in zip(told, scores, strict=True):
        # An entry that is told to be better has a higher score.
        assert first <= 1 + sum(other > score for other in scores)
        assert last >= sum(other >= score for other in scores)


def test_a_cut_that_one_pair_contradicts_is_not_confirmed() -> None:
    cut, steps = Cut((0, 1), (2, 3)), np.full((4, 4), 0.02)
    assert cut.is_confirmed(np.array([0.8, 0.75, 0.7, 0.6]), steps)
    assert not cut.is_confirmed(np.array([0.8, 0.715, 0.7, 0.6]), steps)
    assert not cut.is_confirmed(np.array([0.8, 0.65, 0.7, 0.6]), steps)


def test_entries_between_two_groups_do_not_keep_them_from_being_told_apart() -> None:
    """Check a chain of entries, each half a step from the next: the first and the last are told apart."""
    scores, steps = np.linspace(0.8, 0.7, 11), np.full((11, 11), 0.02)
    (cut,) = propose_cuts(scores, steps, 1)
    assert 0 in cut.above
    assert 10 in cut.below
    assert len(cut.above) + len(cut.below) < 11
    told = rank_ranges(11, [cut])
    assert told[0] == (1, 11 - len(cut.below))
    assert told[10] == (1 + len(cut.above), 11)
    assert told[len(cut.above)] == (1, 11)


def test_the_bound_is_kept_by_the_best_use_of_one_answer() -> None:
    """Test one answer on binary labels: whether a file is above half tells no more than half of sums; it is exact."""
    rng = np.random.default_rng(0)
    gained = []
    for _ in range(4_000):
        right = rng.random(200) < 0.5
        gained.append(abs(right.mean() - 0.5))
    assert np.mean(gained) == pytest.approx(1 / np.sqrt(2 * np.pi * 200), rel=0.05)
    assert np.mean(gained) < highest_gain(1, 200)
    assert highest_gain(4 * answers_per_round(2_000), 2_000) == pytest.approx(0.0372, abs=1e-4)


def test_answers_count_where_labels_are_shared() -> None:
    given_so_far = AnswersGiven()
    given_so_far.add(np.array([1, 2, 3], dtype=np.uint64), 2)
    given_so_far.add(np.array([3, 4], dtype=np.uint64), 1)
    shared = [given_so_far.on(np.array(keys, dtype=np.uint64)) for keys in ([1, 9], [3], [4, 5], [5])]
    assert shared == [2, 3, 1, 0]


def test_a_round_of_before_is_read_without_its_letters() -> None:
    facts = {"entry": "e", "account": "a", "targets": {}, "mean": 0.5, "place": 1, "since": "2026-Q1",
             "metric_version": "4"}  # fmt: skip
    assert Released.model_validate({**facts, "ties": ["a"]}) == Released.model_validate(facts)


def test_steps_are_two_errors_of_the_mean_over_targets() -> None:
    rng = np.random.default_rng(0)

    def entry(share: float) -> list[Measured]:
        right = (rng.random((3, 500)) < share).astype(float)
        return [Measured(float(row.mean()), (row.sum() - row) / 499) for row in right]

    entries = [entry(0.7), entry(0.7)]
    steps = steps_between(entries)
    assert steps[0, 0] == MIN_STEP
    # Independent files: the variance of a difference is 2 x 0.7 x 0.3 / (3 x 500).
    assert steps[0, 1] == steps[1, 0]
    assert abs(steps[0, 1] - 2 * np.sqrt(2 * 0.21 / 1500)) < 0.002
