"""Theorem 1, drops by difficulty and means over models, on random matrices and a counterexample."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftbench.metrics.drop_comparison import average_over_models, drops_by_difficulty, theorem_one
from shiftbench.metrics.robustness import summarise

MATRICES = st.integers(2, 7).flatmap(
    lambda n: st.lists(st.lists(st.floats(0, 1), min_size=n, max_size=n), min_size=n, max_size=n)
)


def brute_force(matrix: np.ndarray) -> dict[str, tuple[float, float]]:
    """Compute the statements by numpy's covariance over a list of shifts."""
    n = len(matrix)
    pairs = [(s, t) for s in range(n) for t in range(n) if s != t]
    st_, ss, tt = np.array([(matrix[s, t], matrix[s, s], matrix[t, t]) for s, t in pairs]).T
    sd, td, idd = ss - st_, tt - st_, ss - tt

    def cov(x: np.ndarray, y: np.ndarray) -> float:
        return float(np.cov(x, y, ddof=0)[0, 1])

    return {
        "covariance": (cov(tt, st_), cov(ss, st_)),
        "explained": (cov(idd, sd) ** 2, cov(idd, td) ** 2),
        "variance": (float(np.var(sd)), float(np.var(td))),
        "absolute": (float(np.mean(abs(sd))), float(np.mean(abs(td)))),
        "squares": (float(np.mean(sd**2)), float(np.mean(td**2))),
    }


@given(MATRICES)
def test_sides_are_what_the_statements_say(rows: list[list[float]]) -> None:
    found = theorem_one(rows)
    for name, (left, right) in brute_force(np.array(rows)).items():
        statement = getattr(found, name)
        assert statement.left == pytest.approx(left, abs=1e-12), name
        assert statement.right == pytest.approx(right, abs=1e-12), name


@given(MATRICES)
def test_all_but_the_absolute_statement_are_identities(rows: list[list[float]]) -> None:
    matrix = np.array(rows)
    found, n = theorem_one(matrix), len(matrix)
    gap = {name: float(side.left - side.right) for name, side in vars(found).items()}
    x = float(np.var(np.diagonal(matrix))) * n / (n - 1)
    y = gap["covariance"]
    assert gap["variance"] == pytest.approx(2 * y, abs=1e-12)
    assert gap["squares"] == pytest.approx(2 * y, abs=1e-12)
    assert gap["explained"] == pytest.approx(4 * x * y, abs=1e-12)
    if abs(y) > 1e-9:
        assert found.covariance.holds == found.variance.holds == found.squares.holds
    if abs(x * y) > 1e-9:
        assert found.explained.holds == found.covariance.holds


def test_the_absolute_statement_is_no_identity() -> None:
    found = theorem_one(np.random.default_rng(0).random((500, 4, 4)))
    same = found.absolute.holds == found.variance.holds
    assert same.mean() > 0.6
    assert not same.all()


def test_equal_in_domain_scores_leave_nothing_to_compare() -> None:
    found = theorem_one([[0.5, 0.4, 0.3], [0.2, 0.5, 0.1], [0.9, 0.2, 0.5]])
    for name, statement in vars(found).items():
        assert statement.left == pytest.approx(float(statement.right), abs=1e-15), name
        assert not statement.holds, name


def test_easy_targets_make_all_statements_hold() -> None:
    """Test scores that depend on the target alone: TD is 0, SD is not."""
    found = theorem_one(np.tile([0.9, 0.7, 0.4], (3, 1)))
    assert all(statement.holds for statement in vars(found).values())
    found = theorem_one(np.tile([0.9, 0.7, 0.4], (3, 1)).T)  # by the source alone
    assert not any(statement.holds for statement in vars(found).values())


def test_a_missing_score_leaves_the_statements_undefined() -> None:
    several = np.random.default_rng(1).random((2, 3, 3))
    several[1, 0, 2] = np.nan
    found = theorem_one(several)
    for statement in vars(found).values():
        assert np.isnan(statement.left).tolist() == np.isnan(statement.right).tolist() == [False, True]
        assert not statement.holds[1]
    with pytest.raises(ValueError, match="square"):
        theorem_one([[0.5, 0.5]])


@given(MATRICES)
def test_drops_by_difficulty_end_in_the_average_drop(rows: list[list[float]]) -> None:
    steps, summary = drops_by_difficulty(rows), summarise(rows)
    assert steps.n_shifts[-1] == summary.n_shifts
    assert steps.mean_sd[-1] == pytest.approx(summary.average_drop, abs=1e-12)
    assert steps.mean_td[-1] == pytest.approx(summary.average_drop, abs=1e-12)
    assert np.all(np.diff(steps.idd) < 0)
    matrix = np.array(rows)
    own = np.diagonal(matrix)
    for step in range(len(steps.idd)):
        s, t = np.nonzero((own[:, None] - own[None, :] >= steps.idd[step] - 1e-13) & ~np.eye(len(own), dtype=bool))
        assert len(s) == steps.n_shifts[step]
        assert steps.mean_sd[step] == pytest.approx((own[s] - matrix[s, t]).mean(), abs=1e-12)
        assert steps.mean_td[step] == pytest.approx((own[t] - matrix[s, t]).mean(), abs=1e-12)
        assert steps.mean_sd[step] - steps.mean_td[step] >= -1e-12  # mean IDD of the hardest is never negative


def test_drops_by_difficulty_leave_out_unknown_shifts() -> None:
    steps = drops_by_difficulty([[0.9, 0.5, np.nan], [0.6, 0.8, 0.5], [0.5, 0.6, np.nan]])
    assert steps.n_shifts.tolist() == [1, 2]  # only A to B and B to A know SS, TT and ST
    assert drops_by_difficulty([[np.nan, 0.5], [0.5, 0.8]]).idd.size == 0
    with pytest.raises(ValueError, match="square"):
        drops_by_difficulty(np.zeros((2, 3, 3)))


def test_means_over_models_are_of_figures_not_of_scores() -> None:
    models = np.random.default_rng(2).random((4, 5, 5))
    summaries = [summarise(model) for model in models]
    found = average_over_models(summaries)
    assert found["worst_sd"] == pytest.approx(np.mean([float(summary.worst_sd) for summary in summaries]), abs=1e-12)
    assert found["worst_sd"] > float(summarise(models.mean(axis=0)).worst_sd)
    assert found["mean_ss"] == pytest.approx(float(summarise(models.mean(axis=0)).mean_ss), abs=1e-12)
    models[0, 0, 1] = np.nan
    gap = average_over_models([summarise(model) for model in models])
    assert np.isnan(gap["average_drop"])
    assert not np.isnan(gap["worst_sd"])
    with pytest.raises(ValueError, match="summary"):
        average_over_models([])
    with pytest.raises(ValueError, match="separately"):
        average_over_models([summarise(models)])
