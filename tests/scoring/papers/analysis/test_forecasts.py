"""Forecasts against truth: simulated shifts of known cause, and entries with their predictions."""

from dataclasses import replace

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.board.analysed import find_results
from shiftbench.scoring.forecasting.methods import METHODS, chosen_methods
from shiftbench.scoring.forecasting.run import forecast_task
from shiftbench.scoring.papers.analysis.forecasts import BOARDS, CAUSES, draw_forecasts, find_forecasts, known_shifts
from shiftbench.scoring.scores.shape import Scores
from shiftbench.validation.predictions import check_predictions

from .conftest import both_tasks, entry


@pytest.fixture(scope="module")
def errors() -> dict[str, dict[str, float]]:
    """Mean absolute error by cause and method."""
    found: dict[str, dict[str, float]] = {}
    for cause, samples in known_shifts():
        made = forecast_task(samples, chosen_methods(list(METHODS)))
        found[cause] = {each.method: each.error for each in made.errors}
    return found


def test_each_method_sees_the_shift_that_it_assumes(errors: dict[str, dict[str, float]]) -> None:
    for method in ("doc", "cot"):
        assert errors["subpopulation"][method] < 0.02
    changed = errors["label shift"]
    assert min(changed[method] for method in ("doc", "cot", "source-accuracy")) > 0.03


def test_no_method_sees_concept_shift(errors: dict[str, dict[str, float]]) -> None:
    """Check that methods that use only the target's texts and predictions miss the whole drop."""
    found = errors["concept shift"]
    seen = {name: error for name, error in found.items() if name in METHODS}
    assert set(seen) == set(METHODS)
    assert min(seen.values()) > 0.15


def test_entries_stand_beside_simulated_shifts(dealt: DatasetFolder, good: Scores, wording: SnapshotAssertion) -> None:
    rows = check_predictions(
        both_tasks(dealt, 0.15), [dealt.prediction_task(task) for task in dealt.manifest.tasks], "p"
    )
    known = replace(entry(dealt, good, "Good"), rows=lambda: rows)
    bare = entry(dealt, good, "Bare")
    found = find_forecasts(find_results([known, bare], [dealt]))
    assert set(found.rows["cause"]) == {BOARDS, *CAUSES}
    mine = found.rows.filter(cause=BOARDS)
    assert set(mine["entry"]) == {"Good"}
    assert {"source-accuracy", "mean-drop"} <= set(mine["method"])
    assert found.left_out == wording
    assert draw_forecasts(found.rows, ["A note."]).startswith(b"\x89PNG")


def test_without_predictions_at_hand_there_is_no_figure(
    dealt: DatasetFolder, good: Scores, wording: SnapshotAssertion
) -> None:
    found = find_forecasts(find_results([entry(dealt, good, "Bare")], [dealt]))
    assert found.rows.is_empty()
    assert found.left_out == wording
    assert found.rows.schema["truth"] == pl.Float64
