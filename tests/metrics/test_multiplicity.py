import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftbench.metrics.comparison import flip_signs
from shiftbench.metrics.multiplicity import draw_sizes, least_draws, normal_sizes, pass_on, step_down

P = st.floats(0, 1)


def graphical(main, others, level):
    """Run the procedure as published: reject, pass on, repeat. ``others`` are corrected among themselves."""
    shares = {"main": 0.8 * level, "others": 0.2 * level}
    rejected = set()
    while True:
        new = set()
        if "main" not in rejected and main <= shares["main"]:
            new.add("main")
            shares["others"] = level
        new |= {i for i, p in enumerate(others) if i not in rejected and p <= shares["others"]}
        if not new:
            return rejected
        rejected |= new
        if len(rejected - {"main"}) == len(others):
            shares["main"] = level


@given(P, st.lists(P, min_size=1, max_size=5), st.sampled_from([0.01, 0.05, 0.2]))
def test_corrected_p_values_are_those_of_the_procedure(main, others, level):
    found = pass_on(main, others)
    # Away from the level itself, where sides of a rounding error decide.
    every = np.append(found.others, found.main)
    if np.any(np.abs(every - level) < 1e-9):
        return
    rejected = graphical(main, others, level)
    assert (found.main <= level) == ("main" in rejected)
    assert [p <= level for p in found.others] == [i in rejected for i in range(len(others))]


def test_comparisons_share_the_level_and_a_missing_mean_leaves_it_to_the_others():
    assert pass_on(0.001, [0.01], 3).main == pytest.approx(3 * 0.00125)
    assert pass_on(0.001, [0.01], 3).others[0] == pytest.approx(0.03)
    found = pass_on(float("nan"), [0.03, float("nan")])
    assert np.isnan(found.main)
    np.testing.assert_allclose(found.others, [0.03, np.nan])


def test_step_down_agrees_with_a_loop():
    rng = np.random.default_rng(0)
    drawn = np.abs(rng.normal(size=(400, 5)) @ rng.normal(size=(5, 5)))
    observed = np.array([2.0, 0.1, 3.0, np.nan, 1.0])
    left = [i for i in np.argsort(-np.nan_to_num(observed)) if not np.isnan(observed[i])]
    expected, last = np.full(5, np.nan), 0.0
    for place, test in enumerate(left):
        hits = (drawn[:, left[place:]].max(axis=1) >= observed[test] * (1 - 1e-5)).sum()
        last = expected[test] = max(last, (1 + hits) / 401)
    np.testing.assert_allclose(step_down(observed, drawn), expected)


def test_draws_have_the_correlation_and_sizes_the_p_values():
    drawn = draw_sizes([[1, 0.999], [0.999, 1]], 4000, np.random.default_rng(0))
    assert np.corrcoef(drawn.T)[0, 1] > 0.98
    assert (drawn > normal_sizes(0.05)).mean() == pytest.approx(0.05, abs=0.01)


def test_few_draws_cannot_reach_the_level():
    for n in (1, 3):
        least = least_draws(n)
        for n_draws, reached in ((least, True), (least - 1, False)):
            smallest = step_down([9.0], np.zeros((n_draws, 1)))
            assert (pass_on(1.0, [*smallest, 1.0], n).others[0] < 0.05) == reached


def test_flipped_signs_are_all_that_exchanging_gives():
    contributions = np.array([[1.0, 2.0], [0.5, -1.0], [0.25, 0.0]])
    drawn = {tuple(row) for row in flip_signs(contributions, 500, np.random.default_rng(0)).tolist()}
    signs = np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, -1).T
    assert drawn == {tuple(row) for row in (signs @ contributions).tolist()}
    first, again = (flip_signs(contributions[:, :k], 50, np.random.default_rng(1)) for k in (1, 2))
    np.testing.assert_array_equal(first[:, 0], again[:, 0])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: step_down([1.0], np.zeros((4, 2))), r"\(n_draws, n_tests\)"),
        (lambda: pass_on(1.5, [0.1]), r"in \[0, 1\]"),
        (lambda: pass_on(0.5, [0.1], 0), "n_comparisons must be at least 1"),
        (lambda: flip_signs(np.zeros((0, 1)), 5, np.random.default_rng(0)), r"\(n_groups, n_differences\)"),
    ],
)
def test_malformed_input_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
