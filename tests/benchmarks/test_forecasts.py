"""The benchmark of forecasts, in worlds where it is known which method is better and where labels decide."""

import numpy as np

from benchmarks.forecasts import (
    judge,
    judged_tables,
    real_models,
    simulate_orders,
    simulated_models,
    spend,
    spent_table,
)
from shiftbench.scoring.forecasting.comparison import Forecasted
from shiftbench.scoring.forecasting.methods import TITLES
from tests.scoring.forecasting.test_comparison import task


def test_the_better_method_errs_less_than_the_mean_drop_and_orders() -> None:
    found = [Forecasted(f"b/{name}", "model", task(4, seed)) for seed, name in enumerate("xyz")]
    judged = {each.errors.method: each for each in judge(found)}
    doc, floor = judged["doc"], judged["mean-drop"]
    assert doc.n_compared == 12
    assert doc.less is not None
    assert doc.less[2] < 0
    assert doc.p is not None
    assert doc.p < 0.01
    assert doc.p_pairs is not None
    assert doc.p_pairs < 0.01
    assert floor.p is None
    assert floor.errors.order is None
    errors, orders = judged_tables(list(judged.values()), "boards")
    assert errors.rows[0][0] in TITLES.values()
    assert {row[0] for row in orders.rows} == {TITLES["doc"], TITLES["atc"]}


def test_orders_are_shown_where_forecasts_know_and_hardly_elsewhere() -> None:
    cells = {(cell.domains, cell.correlation): cell.shown for cell in simulate_orders(60, 1)}
    assert cells[12, 0.9].share > 0.8
    assert cells[12, 0.0].share < 0.15


def test_labels_where_a_decision_hangs_decide_no_worse() -> None:
    cells = spend("simulated", simulated_models(6, 0), 10, 0)
    assert [cell.budget for cell in cells] == [50, 100, 200]
    assert cells[2].less[0] < 0.02
    assert cells[0].evenly > cells[2].evenly
    assert len(spent_table(cells).rows) == 3
    found = [Forecasted("b/t", "model", task(4, 0)), Forecasted("b/u", "model", task(6, 0))]
    assert {len(shifts) for shifts in real_models(found)} == {5}  # of four domains a source has three targets
    assert np.isfinite([cell.less_lost[0] for cell in cells]).all()
