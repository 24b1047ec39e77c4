"""Forecasts over a grid: the target's labels are not used, and intervals are calibrated on other domains."""

from dataclasses import replace

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.scoring.forecasting.methods import GONE, TITLES, chosen_methods
from shiftbench.scoring.forecasting.run import Cell, Grid
from shiftbench.scoring.forecasting.shape import ShiftForecast
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal

DOMAINS = tuple("abcdef")
METHODS = ("source-accuracy", "mean-drop", "doc", "cot", "cot-corrected")


def grid(seed: int = 0, unknown: tuple[str, ...] = (), sources: tuple[str, ...] = DOMAINS) -> Grid:
    rng = np.random.default_rng(seed)
    cells = []
    for target in DOMAINS:
        for source in sources:
            if source == target:
                continue
            home, truth = rng.uniform(0.7, 0.9), rng.uniform(0.5, 0.8)
            doc = truth + rng.normal(0, 0.05)
            own = {"source-accuracy": home, "doc": doc, "cot": truth + rng.normal(0.1, 0.05), "atc": "not here"}
            truth = None if target in unknown else truth
            cells.append(Cell(source, target, 100, 1, truth, None if truth is None else 0.01, home, own))
    return Grid(cells, METHODS)


def shifts(made: Grid, target: str) -> list[ShiftForecast]:
    return [made.shift(cell) for cell in made.cells if cell.target == target]


def test_labels_of_the_target_move_no_forecast_and_no_interval() -> None:
    """The target's labels are not used as a source's either: accuracies of models trained on it are unknown."""
    made = grid()
    spoilt = Grid(
        [replace(cell, truth=0.0) if cell.involves({"c"}) else cell for cell in made.cells],
        METHODS,
    )
    for before, after in zip(shifts(made, "c"), shifts(spoilt, "c"), strict=True):
        assert before.forecasts == after.forecasts
    assert shifts(made, "a")[0].forecasts != shifts(spoilt, "a")[0].forecasts


def test_five_other_domains_give_80_percent_and_are_named() -> None:
    (first, *_) = shifts(grid(unknown=("f",)), "f")
    assert first.level == 0.8
    assert first.set_on == tuple("abcde")
    assert first.truth is None
    doc = first.of("doc")
    assert doc.low is not None
    assert doc.high is not None
    assert doc.value is not None
    assert doc.low < doc.value < doc.high


def test_the_reach_is_the_largest_error_where_four_domains_set_it() -> None:
    made = grid(unknown=("e", "f"))
    (first, *_) = shifts(made, "f")
    assert first.set_on == tuple("abcd")
    sizes = [
        abs(float(cell.own["doc"]) - cell.truth)
        for cell in made.cells
        if cell.truth is not None and not cell.involves({"f"})
    ]
    doc = first.of("doc")
    assert doc.value is not None
    assert doc.high == pytest.approx(min(doc.value + max(sizes), 1.0))


def test_with_three_other_domains_there_is_no_interval() -> None:
    (first, *_) = shifts(grid(unknown=("d", "e", "f")), "f")
    assert first.level is None
    assert all(each.low is None for each in first.forecasts)


def test_one_source_alone_is_no_target_and_sets_nothing() -> None:
    made = grid(unknown=("f",), sources=("a",))
    (first,) = shifts(made, "f")
    assert first.set_on == tuple("bcde")
    assert first.level == 0.8
    held = made.errors("doc").held  # type: ignore[union-attr]
    assert held is not None
    assert held.n_domains == 4
    # Each of the four is tested on the three others, which allow 75% at most.
    assert held.level == pytest.approx(0.75)


def test_a_method_that_knows_the_truth_errs_nowhere_and_saves_all() -> None:
    made = grid()
    oracle = Grid(
        [replace(cell, own={**cell.own, "doc": cell.truth}) for cell in made.cells if cell.truth is not None], METHODS
    )
    found = oracle.errors("doc")
    assert found is not None
    assert found.error == 0.0
    assert found.skill == {"source-accuracy": 1.0, "mean-drop": 1.0}
    assert found.held is not None
    assert (found.held.held, found.held.n_domains) == (6, 6)


def test_reasons_stand_where_there_is_no_forecast(wording: SnapshotAssertion) -> None:
    made = grid()
    cell = made.cells[0]
    assert Grid(made.cells, ("atc",)).value(cell, "atc") == cell.own["atc"]
    lonely = Grid([cell], METHODS)
    assert [lonely.value(cell, method) for method in ("mean-drop", "cot-corrected")] == wording


def test_a_method_is_corrected_by_its_errors_of_the_same_source() -> None:
    made = grid()
    cell = next(each for each in made.cells if (each.source, each.target) == ("a", "f"))
    own = [each for each in made.cells if each.source == "a" and each.target != "f"]
    off = np.mean([float(each.own["cot"]) - float(each.truth or 0) for each in own])
    assert made.value(cell, "cot-corrected") == pytest.approx(float(cell.own["cot"]) - off)
    # Without labelled shifts of the same source, the others' are used, except those that involve the target.
    alone = [each for each in made.cells if each.source != "a" or each.target == "f"]
    others = [each for each in alone if each.source != "a" and not each.involves({"f"})]
    off = np.mean([float(each.own["cot"]) - float(each.truth or 0) for each in others])
    assert Grid(alone, METHODS).value(cell, "cot-corrected") == pytest.approx(float(cell.own["cot"]) - off)


def test_an_order_is_judged_from_six_labelled_domains_on() -> None:
    cells = [
        Cell("home", f"d{n}", 500, 1, 0.5 + 0.05 * n, 0.01, 0.9, {"cot": 0.7, "doc": 0.6 + 0.03 * n, "atc": "not here"})
        for n in range(6)
    ]
    cells.append(replace(cells[0], target="new", truth=None, truth_error=None))
    found = Grid(cells, ("doc", "cot", "atc")).order("home")
    assert (found.method, found.n_domains, found.n_methods) == ("doc", 6, 2)
    assert (found.right, found.n_pairs) == (15.0, 15)
    assert found.p is not None
    assert found.p < 0.01
    few = Grid(cells[1:], ("doc", "cot")).order("home")
    assert (few.method, few.n_domains, few.right, few.p) == ("cot", 5, None, None)
    assert Grid(cells, ("atc",)).order("home").method is None


def test_methods_that_do_not_exist_are_refused(wording: SnapshotAssertion) -> None:
    assert chosen_methods(["atc"]) == ("source-accuracy", "mean-drop", "atc")
    assert len(TITLES) == 6
    assert {name: refusal(InvalidInput, chosen_methods, [name]) for name in ("cott", *GONE)} == wording
