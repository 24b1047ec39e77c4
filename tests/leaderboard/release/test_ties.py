"""Places, and the leading set: entries more than a step apart keep their order, and who may be the best."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shiftbench.leaderboard.release.ladder import MIN_STEP, Measured
from shiftbench.leaderboard.release.ranking import leading_set, places, steps_between
from shiftbench.leaderboard.release.releases import Released

scores_and_steps = st.lists(st.integers(0, 60), min_size=1, max_size=9).flatmap(
    lambda scores: st.tuples(st.just([score / 1000 for score in scores]), st.integers(1, 20).map(lambda s: s / 1000))
)


@given(scores_and_steps)
def test_a_place_counts_the_entries_ahead_by_more_than_a_step(drawn: tuple[list[float], float]) -> None:
    scores, step = drawn
    steps = np.full((len(scores), len(scores)), step + 1e-9)
    for score, place in zip(scores, places(scores, steps), strict=True):
        assert place == 1 + sum(other > score + step + 1e-9 for other in scores)


def test_entries_that_differ_by_more_than_their_own_step_have_places_of_their_own() -> None:
    """Check that steps differ from pair to pair: similar files differ by a point, dissimilar ones need more."""
    scores = [0.80, 0.79, 0.77]
    steps = np.array([[0.01, 0.05, 0.05], [0.05, 0.01, 0.015], [0.05, 0.015, 0.01]])
    assert places(scores, steps) == [1, 1, 2]


def measured(right: np.ndarray[Any, Any]) -> list[Measured]:
    """Return scores on targets from which texts are right, shape (n_targets, n)."""
    return [Measured(float(row.mean()), (row.sum() - row) / (len(row) - 1)) for row in right.astype(float)]


def test_the_leading_set_holds_equal_entries_and_no_worse_ones() -> None:
    """Check that each of ten equal entries leads equally often, and is in the set in at least 95% of rounds."""
    rng = np.random.default_rng(3)
    held, within_steps = [], []
    for _ in range(100):
        entries = [measured(rng.random((2, 500)) < 0.7) for _ in range(10)]
        marks = leading_set([*entries, measured(rng.random((2, 500)) < 0.5)])
        assert not marks[-1]
        held += marks[:-1]
        scores = [float(np.mean([one.value for one in entry])) for entry in entries]
        leader = int(np.argmax(scores))
        within_steps += (scores[leader] - np.array(scores) <= steps_between(entries)[leader]).tolist()
        ranks = places(scores, steps_between(entries))
        assert all(mark for mark, place in zip(marks, ranks, strict=False) if place == 1)
    print(f"in the leading set {np.mean(held):.1%}, within a step of the leader {np.mean(within_steps):.1%}")
    assert np.mean(held) > 0.95
    assert np.mean(within_steps) < np.mean(held)


def test_copies_are_in_the_set_and_one_entry_leads_alone() -> None:
    rng = np.random.default_rng(4)
    best, worse = (measured(rng.random((2, 500)) < share) for share in (0.9, 0.6))
    assert leading_set([]) == []
    assert leading_set([best]) == [True]
    assert leading_set([worse, best, best]) == [False, True, True]


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
