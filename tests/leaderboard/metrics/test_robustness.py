"""Drops, scenarios and summaries: the paper's toy example and its identities."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.metrics.robustness import (
    in_domain_difference,
    scenario,
    scenario_shares,
    source_drop,
    summarise,
    target_drop,
)

# Domain Robustness paper, Table 7: source, target, ST, SS, TT, IDD, SD, TD (points) and scenario.
TOY = [
    ("A", "B", 75, 90, 80, 10, 15, 5, "Classic"),
    ("A", "C", 75, 90, 70, 20, 15, -5, "Observed"),
    ("B", "A", 95, 80, 90, -10, -15, -5, "No Challenge"),
    ("B", "C", 65, 80, 70, 10, 15, 5, "Classic"),
    ("C", "A", 80, 70, 90, -20, -10, 10, "Unobserved"),
    ("C", "B", 75, 70, 80, -10, -5, 5, "Unobserved"),
]
TOY_MATRIX = [[0.90, 0.75, 0.75], [0.95, 0.80, 0.65], [0.80, 0.75, 0.70]]

MATRICES = st.integers(2, 7).flatmap(
    lambda n: st.lists(st.lists(st.floats(0, 1), min_size=n, max_size=n), min_size=n, max_size=n)
)


@pytest.mark.parametrize("row", TOY, ids=lambda row: f"{row[0]}-{row[1]}")
def test_toy_example_of_the_paper(row: tuple) -> None:
    _, _, st_, ss, tt, idd, sd, td, name = row
    found_sd, found_td = source_drop([st_ / 100], [ss / 100]), target_drop([st_ / 100], [tt / 100])
    np.testing.assert_allclose(100 * found_sd, [sd], atol=1e-12)
    np.testing.assert_allclose(100 * found_td, [td], atol=1e-12)
    np.testing.assert_allclose(100 * in_domain_difference([ss / 100], [tt / 100]), [idd], atol=1e-12)
    assert scenario(found_sd, found_td) == [name]


def test_toy_summary() -> None:
    summary = summarise(TOY_MATRIX)
    assert summary.complete
    assert (summary.n_domains, summary.n_shifts) == (3, 6)
    points = {name: round(100 * float(getattr(summary, name)), 10) for name in ("mean_ss", "mean_st", "average_drop")}
    assert points == {"mean_ss": 80, "mean_st": 77.5, "average_drop": 2.5}
    assert float(summary.worst_sd) == pytest.approx(0.15)
    assert float(summary.worst_td) == pytest.approx(0.1)
    assert float(summary.average_worst_sd) == pytest.approx((0.15 + 0.15 - 0.05) / 3)
    assert scenario_shares([row[-1] for row in TOY]) == {
        "Classic": pytest.approx(2 / 6),
        "Observed": pytest.approx(1 / 6),
        "Unobserved": pytest.approx(2 / 6),
        "No Challenge": pytest.approx(1 / 6),
        "Tie": 0,
    }


@given(MATRICES)
def test_mean_drops_are_one_on_a_complete_grid(matrix: list[list[float]]) -> None:
    summary = summarise(matrix)
    assert summary.mean_sd == pytest.approx(summary.average_drop, abs=1e-12)
    assert summary.mean_td == pytest.approx(summary.average_drop, abs=1e-12)
    assert summary.worst_sd >= summary.average_worst_sd - 1e-12


@given(MATRICES)
def test_replicates_are_summarised_each_like_one(matrix: list[list[float]]) -> None:
    one = np.array(matrix)
    several = np.stack([one, one.T, 1 - one])
    together = summarise(several)
    for replicate, alone in enumerate(several):
        for name, figure in vars(summarise(alone)).items():
            if isinstance(figure, np.ndarray):
                np.testing.assert_allclose(getattr(together, name)[replicate], figure, atol=1e-12, err_msg=name)


@given(st.lists(st.tuples(*[st.floats(0, 1)] * 3), min_size=1, max_size=20))
def test_source_drop_is_target_drop_plus_difference(scores: list[tuple[float, float, float]]) -> None:
    st_, ss, tt = np.array(scores).T
    np.testing.assert_allclose(
        source_drop(st_, ss), target_drop(st_, tt) + in_domain_difference(ss, tt), rtol=0, atol=1e-15
    )


def test_unknown_scores_stay_unknown() -> None:
    matrix = np.array(TOY_MATRIX)
    matrix[2, 2] = np.nan
    matrix[0, 1] = np.nan
    summary = summarise(matrix)
    assert not summary.complete
    assert summary.n_shifts == 5
    assert np.isnan(summary.average_drop)
    # Known drops: SD of A->C, B->A, B->C; TD of B->A, C->A, C->B.
    assert summary.mean_sd == pytest.approx((0.15 - 0.15 + 0.15) / 3)
    assert summary.mean_td == pytest.approx((-0.05 + 0.10 + 0.05) / 3)
    assert scenario([np.nan], [0.1]) == ["Unknown"]
    assert scenario([0.0], [0.1]) == ["Tie"]


@pytest.mark.parametrize(
    ("matrix", "message"),
    [([[0.5]], "at least two domains"), ([[0.5, 0.5]], "square matrices"), ([[50.0, 60.0], [70.0, 80.0]], "points")],
)
def test_malformed_matrices(matrix: list[list[float]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        summarise(matrix)
