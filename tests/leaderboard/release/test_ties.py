"""Places and tie groups: what is further apart than a step keeps its order, what is closer is tied."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.release.ladder import MIN_STEP, Measured
from leaderboard.release.ties import places, steps_between, tie_groups

scores_and_steps = st.lists(st.integers(0, 60), min_size=1, max_size=9).flatmap(
    lambda scores: st.tuples(st.just([score / 1000 for score in scores]), st.integers(1, 20).map(lambda s: s / 1000))
)


@given(scores_and_steps)
def test_entries_share_a_letter_exactly_when_they_are_no_step_apart(drawn: tuple[list[float], float]) -> None:
    scores, step = drawn
    steps = np.full((len(scores), len(scores)), step + 1e-9)
    groups, ranks = tie_groups(scores, steps), places(scores, steps)
    for one, (score, place) in enumerate(zip(scores, ranks, strict=True)):
        assert groups[one]
        assert place == 1 + sum(other > score + step + 1e-9 for other in scores)
        for other, against in enumerate(scores):
            assert bool(set(groups[one]) & set(groups[other])) == (abs(score - against) <= step + 1e-9)


def test_entries_that_differ_by_more_than_their_own_step_share_no_letter() -> None:
    """Steps differ from pair to pair: alike files are told apart by a point, unlike ones need more."""
    scores = [0.80, 0.79, 0.77]
    steps = np.array([[0.01, 0.05, 0.05], [0.05, 0.01, 0.015], [0.05, 0.015, 0.01]])
    groups = tie_groups(scores, steps)
    assert set(groups[0]) & set(groups[1])
    assert not set(groups[1]) & set(groups[2])
    assert places(scores, steps) == [1, 1, 2]


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
