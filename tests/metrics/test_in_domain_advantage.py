"""Home advantage: its weights, its scales, and how often it is claimed without being there (``pytest -m long -s``)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftbench.metrics.in_domain_advantage import home_advantage, home_weights, on_scale
from shiftbench.metrics.robustness import summarise
from tests.metrics.at_home import WITH, WITHOUT, claimed_shares


@given(st.integers(3, 7), st.integers(0, 2**32 - 1))
def test_rows_and_columns_cancel_and_the_rest_is_found(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, columns, own = rng.uniform(0.2, 0.4, n), rng.uniform(0.1, 0.3, n), rng.uniform(-0.1, 0.2, n)
    found = home_advantage(rows[:, None] + columns + np.diag(own))
    assert found.by_domain == pytest.approx(own, abs=1e-12)
    assert found.mean == pytest.approx(own.mean(), abs=1e-12)


@given(st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_the_raw_mean_is_the_average_drop_and_the_mean_of_the_domains(n: int, seed: int) -> None:
    scores = np.random.default_rng(seed).random((5, n, n))
    found = home_advantage(scores)
    assert found.mean == pytest.approx(np.asarray(summarise(scores).average_drop), abs=1e-12)
    if n > 2:
        assert found.by_domain.mean(axis=-1) == pytest.approx(found.mean, abs=1e-12)
        off = scores[0][~np.eye(n, dtype=bool)]
        design = np.array([np.r_[np.eye(n)[i], np.eye(n)[j]] for i in range(n) for j in range(n) if i != j])
        fit = np.linalg.lstsq(design, off, rcond=None)[0]
        assert found.by_domain[0] == pytest.approx(np.diag(scores[0]) - fit[:n] - fit[n:], abs=1e-9)
    else:
        assert np.isnan(found.by_domain).all()


def test_a_product_has_no_advantage_on_the_scale_of_logarithms_and_odds_none_on_that_of_logits() -> None:
    product, odds = WITHOUT[0].truth, WITHOUT[2].truth
    assert home_advantage(product, "log").mean == pytest.approx(0, abs=1e-12)
    assert home_advantage(odds, "logit").mean == pytest.approx(0, abs=1e-12)
    assert home_advantage(product).mean > 0.005
    assert home_advantage(product, "logit").mean > 0.1


def test_scores_of_0_and_1_and_gaps() -> None:
    perfect = np.full((3, 3), 0.8) + 0.2 * np.eye(3)
    assert not np.isfinite(home_advantage(perfect, "logit").mean)
    perfect[0, 1] = np.nan
    assert np.isnan(home_advantage(perfect).mean)
    with pytest.raises(ValueError, match="got 'odds'"):
        on_scale([0.5], "odds")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="points"):
        home_advantage([[90.0, 50.0], [60.0, 80.0]])
    with pytest.raises(ValueError, match="at least 2 domains, got 1"):
        home_weights(1)


def test_no_advantage_is_claimed_of_a_product_and_one_that_is_there_is_found() -> None:
    found = claimed_shares(WITHOUT[0], 60, 1)
    assert found["exchanged"] > 0.5, "exchanging sources takes a product for an advantage"
    assert found["all three"] <= 0.1
    assert claimed_shares(WITH[0], 40, 1)["all three"] > 0.8
    # With 3 domains exchanged sources can never show anything.
    found = claimed_shares(WITH[2], 40, 1)
    assert (found["exchanged"], found["all three"] > 0.8) == (0, True)


@pytest.mark.long
def test_table_of_claims() -> None:
    print("\n| truth | exchanged sources, p < .05 | raw | log | logit | all three |")
    print("|---|---:|---:|---:|---:|---:|")
    for grid in (*WITHOUT, *WITH):
        found = claimed_shares(grid, 500, 1)
        print(f"| {grid.name} | {' | '.join(f'{100 * share:.1f}' for share in found.values())} |")
        if grid in WITHOUT:
            assert found["all three"] < 0.06
