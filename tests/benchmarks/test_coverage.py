"""The simulations of ``python -m benchmarks coverage``: tasks drawn example by example, scored like submissions."""

import io

import numpy as np
import pytest
from rich.console import Console

from benchmarks.coverage import SIMULATIONS, coverage_lines, measure_coverage, simulate_intervals
from benchmarks.interval_settings import SETTINGS
from benchmarks.simulated_tasks import Setting, simulate_task
from shiftbench.validation.plain_console import print_parts
from shiftbench.validation.report import InvalidInput


def test_a_small_simulation_of_the_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check 30 texts of which 97% are right: intervals of replicates alone would cover that in 60% of tasks."""
    monkeypatch.setitem(SETTINGS, "edges", [Setting("n = 30", 0.97, 0.97, (1,) * 30)])
    rows = {row.figure: row for row in simulate_intervals("edges", 60, 1, lambda: None)}
    for figure in ("SS", "ST", "SD", "TD", "mean ST", "average drop", "worst SD"):
        assert rows[figure].share is not None
        assert rows[figure].share >= 0.88, figure
        assert rows[figure].width > 0.01, figure  # type: ignore[operator]
        assert rows[figure].without == 0


def test_three_groups_and_two_rare_examples_have_no_interval() -> None:
    few = Setting("few", 0.8, 0.8, (20,) * 3, 0.1)
    rare = Setting("rare", 0.8, 0.8, (1,) * 100, metric="macro_f1", rare=0.02)
    for setting in (few, rare):
        assert all(checked.low is None for checked in simulate_task(setting, np.random.default_rng(3)))


def test_every_simulation_runs_and_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, settings in SETTINGS.items():
        monkeypatch.setitem(SETTINGS, name, [settings[0], settings[-1]])
    rows = measure_coverage(2, 1)
    assert {row.simulation for row in rows} == set(SIMULATIONS)
    out = io.StringIO()
    print_parts(coverage_lines(rows, 2), Console(file=out, width=200))
    for name, settings in SETTINGS.items():
        assert f"{name}: % of 95% intervals" in out.getvalue()
        assert all(setting.name in out.getvalue() for setting in settings)


def test_an_unknown_simulation_is_refused() -> None:
    with pytest.raises(InvalidInput, match="edge"):
        measure_coverage(1, 1, ["edge"])


@pytest.mark.long
@pytest.mark.parametrize("name", SETTINGS)
def test_intervals_hold_the_truth(name: str) -> None:
    """Check that mean coverage over p is at least 94%, no cell's below 90% (85% at p = 0.995 of 30 texts)."""
    rows = simulate_intervals(name, 400, 1, lambda: None)
    print_parts(coverage_lines(rows, 400), Console(width=240))
    shares = [row.share for row in rows if row.share is not None]
    assert np.mean(shares) >= 0.94
    for row in rows:
        # The standard error of a share of 400 tasks is 1.5 points at 90%.
        assert row.share is None or row.share >= row.wanted[0] - 0.03, row
