"""Comparison of methods in a simulated world where the better one is known."""

import numpy as np
import pytest

from shiftbench.scoring.forecasting.comparison import Forecasted, compare_methods
from shiftbench.scoring.forecasting.errors import sort_methods
from shiftbench.scoring.forecasting.methods import TITLES
from shiftbench.scoring.forecasting.shape import Forecast, MethodErrors, ShiftForecast, TaskForecast
from shiftbench.scoring.reports.forecast import method_table


def task(domains: int, seed: int, noise: float = 0.02, level: float | None = 0.8) -> TaskForecast:
    """Forecasts of one model: 'doc' is close to the truth, 'atc' has the same error as the source score."""
    rng = np.random.default_rng(seed)
    names = [f"d{number}" for number in range(domains)]
    shifts = []
    for target in names:
        for source in names:
            if source == target:
                continue
            truth, home = rng.uniform(0.5, 0.8), 0.85
            doc = float(np.clip(truth + rng.normal(0, noise), 0, 1))
            values = {"source-accuracy": home, "mean-drop": 0.65, "doc": doc, "atc": home + rng.normal(0, 0.001)}
            made = [
                Forecast(method=name, value=value, low=value - 0.05, high=value + 0.05)
                for name, value in values.items()
            ]
            made.append(Forecast(method="cot", value=None, reason="the task's outputs are not labels"))
            shifts.append(
                ShiftForecast(
                    source=source, target=target, n_texts=100, n_runs=1, truth=truth, truth_error=0.02,
                    source_score=home, level=level, set_on=(), forecasts=tuple(made),
                )
            )  # fmt: skip
    return TaskForecast(
        task="t",
        metric="accuracy",
        domains=tuple(names),
        labelled=tuple(names),
        n_validation=0,
        shifts=tuple(shifts),
        errors=(),
        notes=(),
    )


def standings(found: list[Forecasted], place: int = 0) -> dict[str, MethodErrors]:
    return {each.method: each for each in compare_methods(found).boards[place].standings}


def test_the_better_method_is_found_and_the_equal_one_is_not() -> None:
    found = standings([Forecasted("b/t", f"model {seed}", task(7, seed)) for seed in range(3)])
    assert "cot" not in found
    doc, atc = found["doc"], found["atc"]
    assert doc.error == pytest.approx(0.02 * np.sqrt(2 / np.pi), rel=0.15)
    assert doc.skill["source-accuracy"] == pytest.approx(1 - doc.error / found["source-accuracy"].error)
    # Seven domains, in all of which it is better: 2 of 128 patterns of signs.
    assert doc.p["source-accuracy"] == pytest.approx(2 / 128)
    assert atc.skill["source-accuracy"] == pytest.approx(0, abs=0.01)
    assert atc.p["source-accuracy"] is not None
    assert (doc.n_models, doc.n_domains, doc.n_shifts) == (3, 7, 126)
    assert doc.held is not None
    assert (doc.held.held, doc.held.n_domains, doc.held.level) == (7, 7, pytest.approx(0.8))
    assert atc.held is not None
    assert atc.held.held == 0
    assert atc.held.low == 0.0
    assert doc.interval_score == pytest.approx(0.1, abs=0.01)
    assert doc.order is not None
    assert doc.order.regret < 0.03 < doc.order.chance
    assert doc.order.p_pairs is not None
    assert doc.order.p_pairs < 0.01
    assert found["source-accuracy"].order is None


def test_methods_that_lack_domains_stand_last() -> None:
    found = standings([Forecasted("b/t", "model", task(7, 0))])
    best, fewer = found["doc"], found["doc"].model_copy(update={"method": "cot", "n_domains": 6, "error": 0.0})
    assert [each.method for each in sort_methods([fewer, found["atc"], best])] == ["doc", "atc", "cot"]
    table = method_table("t", [fewer, best])
    assert [row[:2] for row in table.rows] == [[TITLES["doc"], "7"], [TITLES["cot"], "6"]]


def test_models_of_one_name_stay_apart() -> None:
    named = standings([Forecasted("b/t", f"model {seed}", task(7, seed)) for seed in range(2)])["doc"]
    found = compare_methods([Forecasted("b/t", "preds", task(7, seed)) for seed in range(2)]).boards[0]
    assert found.models == ("preds", "preds (2)")
    doc = next(each for each in found.standings if each.method == "doc")
    assert doc == named


def test_few_domains_cannot_tell_alone_but_can_over_boards() -> None:
    found = [Forecasted(f"b/{name}", "model", task(4, seed)) for seed, name in enumerate("xy")]
    assert standings(found)["doc"].p["source-accuracy"] is None
    pooled = compare_methods(found).boards[-1]
    assert pooled.board is None
    (doc,) = [each for each in pooled.standings if each.method == "doc"]
    assert doc.n_domains == 8
    assert doc.p["source-accuracy"] == pytest.approx(2 / 256)


def test_without_a_level_there_is_no_interval_score() -> None:
    doc = standings([Forecasted("b/t", "model", task(3, 0, level=None))])["doc"]
    assert doc.interval_score is None
    assert doc.held is None
