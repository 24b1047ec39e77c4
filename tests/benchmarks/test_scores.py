"""The bench: what it measures separately, and targets that hold only at the paper's size."""

from pathlib import Path

import pytest

from benchmarks import scores as bench
from benchmarks.scores import run_bench
from shiftbench.validation.timing import Timing


def test_targets_hold_at_scale_1_only(monkeypatch: pytest.MonkeyPatch) -> None:
    timing = Timing(name="scoring", seconds=1.0, wanted="under 4 s", met=True)
    monkeypatch.setattr(bench, "_timings", lambda scale: iter([timing]))
    assert [timing.met for timing in run_bench(1.0)] == [True]
    assert [timing.met for timing in run_bench(0.5)] == [None]


def test_a_speedup_is_no_cost_ratio() -> None:
    faster, within = bench._faster("a", 1.0, "b", 12.0, 10), bench._timing_beside("a", 3.0, "b", 2.0, 2)
    assert (faster.speedup, faster.cost_ratio, faster.met) == (12.0, None, True)
    assert (within.speedup, within.cost_ratio, within.met) == (None, 1.5, True)


@pytest.mark.long
def test_yardsticks_start_from_joined_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that no file of the dataset is read while a yardstick is timed."""
    folder, path = bench._submission(tmp_path / "grid", 0.01)
    timed: list[bool] = []
    joining = bench._cells

    def cells(*arguments: object) -> object:
        assert not timed
        return joining(*arguments)  # type: ignore[arg-type]

    def seconds_of(work: object) -> float:
        timed.append(True)
        work()  # type: ignore[operator]
        timed.pop()
        return 1.0

    monkeypatch.setattr(bench, "_cells", cells)
    monkeypatch.setattr(bench, "_seconds_of", seconds_of)
    names = [timing.name for timing in bench._scoring(folder, path)]
    assert len(names) == 4


@pytest.mark.long
def test_comparisons_are_timed(tmp_path: Path) -> None:
    folder, _ = bench._submission(tmp_path / "grid", 0.01)
    timings = list(bench.compare_timings(folder, tmp_path))
    assert [timing.wanted for timing in timings] == ["under 3 s", "under 15 s", None]
    assert all(timing.cpu_seconds for timing in timings)
