"""Drops, scenarios and summaries: the paper's toy example and its identities."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from shiftbench.metrics.drop_comparison import drops_by_difficulty
from shiftbench.metrics.robustness import (
    in_domain_difference,
    reference_target_drop,
    scenario,
    scenario_shares,
    shift_scores,
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


def test_toy_table_as_printed(reported: Callable[[str], list[dict[str, str]]]) -> None:
    """Test every printed cell of Table 7, and the figures of its caption."""
    rows = reported("dr_table7_toy")
    names = sorted({row["source"] for row in rows})
    matrix = np.zeros((3, 3))
    for row in rows:
        matrix[names.index(row["source"]), names.index(row["target"])] = float(row["st"] or row["ss"]) / 100
    st_, ss, tt = shift_scores(matrix)
    sd, td = source_drop(st_, ss), target_drop(st_, tt)
    found = {"st": st_, "ss": ss, "tt": tt, "idd": in_domain_difference(ss, tt), "sd": sd, "td": td}
    shifts = sorted((row for row in rows if row["st"]), key=lambda row: (row["source"], row["target"]))
    for name, values in found.items():
        np.testing.assert_allclose(100 * values, [float(row[name]) for row in shifts], atol=1e-12, err_msg=name)
    assert scenario(sd, td) == [row["scenario"] for row in shifts]
    summary = summarise(matrix)
    caption = {"mean_ss": 80, "mean_st": 77.5, "average_drop": 2.5, "worst_sd": 15, "worst_td": 10, "mean_td": 2.5}
    assert {name: round(100 * float(getattr(summary, name)), 9) for name in caption} == caption
    steps = drops_by_difficulty(matrix)
    challenging = np.flatnonzero(steps.idd > 0)[-1]
    assert 100 * steps.mean_sd[challenging] == pytest.approx(15)


def test_figures_of_tables_6_and_8_by_other_means() -> None:
    matrix = np.random.default_rng(3).random((5, 5))
    summary = summarise(matrix)
    sides = [(matrix[s, t], matrix[s, s], matrix[t, t]) for s in range(5) for t in range(5) if s != t]
    st_, ss, tt = np.array(sides).T
    np.testing.assert_array_equal(shift_scores(matrix), [st_, ss, tt])
    sd, td, idd = ss - st_, tt - st_, ss - tt
    expected = {
        "sd_std": np.std(sd, ddof=1),
        "td_std": np.std(td, ddof=1),
        "spearman_st_ss": stats.spearmanr(st_, ss).statistic,
        "spearman_st_tt": stats.spearmanr(st_, tt).statistic,
        "pearson_st_ss": stats.pearsonr(st_, ss).statistic,
        "pearson_st_tt": stats.pearsonr(st_, tt).statistic,
        "spearman_idd_sd": stats.spearmanr(idd, sd).statistic,
        "spearman_idd_td": stats.spearmanr(idd, td).statistic,
        "r2_idd_sd": stats.linregress(idd, sd).rvalue ** 2,
        "r2_idd_td": stats.linregress(idd, td).rvalue ** 2,
    }
    for name, value in expected.items():
        assert float(getattr(summary, name)) == pytest.approx(value, abs=1e-12), name


@given(MATRICES)
def test_drops_leave_the_same_residuals_over_the_in_domain_difference(matrix: list[list[float]]) -> None:
    """Check that (1 - R2) Var is one number for both, since SD - TD = IDD: Table 6's last columns are one finding."""
    summary = summarise(matrix)
    if np.isnan(summary.r2_idd_sd) or np.isnan(summary.r2_idd_td):
        return
    left = (1 - summary.r2_idd_sd) * summary.sd_std**2
    assert left == pytest.approx((1 - summary.r2_idd_td) * summary.td_std**2, abs=1e-12)


@pytest.mark.parametrize(("n", "share"), [(3, 0.37), (5, 0.29), (6, 0.27), (40, 0.25)])
def test_pure_noise_explains_a_quarter_or_more(n: int, share: float) -> None:
    noise = summarise(np.random.default_rng(0).random((6000 // n, n, n)))
    assert noise.r2_idd_sd.mean() == pytest.approx(share, abs=0.015)
    assert noise.r2_idd_td.mean() == pytest.approx(share, abs=0.015)


def test_a_single_shift_has_no_sample_spread() -> None:
    summary = summarise([[0.9, 0.5], [np.nan, 0.8]])
    assert np.isnan(summary.sd_std)


def test_reference_target_drop() -> None:
    np.testing.assert_allclose(reference_target_drop([0.5, 0.9], [0.75, np.nan]), [0.25, np.nan])
    with pytest.raises(ValueError, match="points"):
        reference_target_drop([0.5], [75.0])
