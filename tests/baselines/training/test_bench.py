"""What ``bench train`` measures: both sides, on the same rows."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks import train as bench
from benchmarks.train import run_training_bench, texts
from shiftbench.validation.command_line import show
from shiftbench.validation.timing import compare_rates, timing_line


@pytest.mark.long
def test_both_sides_are_measured(
    tiny_bert: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "DEFAULT_ENCODER", str(tiny_bert))
    monkeypatch.setattr(bench, "_MAX_LENGTH", 64)
    timings = list(run_training_bench(0.001))
    assert [timing.unit for timing in timings] == ["tokens", "tokens", "rows"]
    assert timings[0].rate == timings[1].rate  # one measurement of ours beside two yardsticks
    for timing in timings:
        assert timing.met is None
        assert timing.rate is not None
        assert timing.yardstick_rate is not None
        assert timing.ratio == timing.rate / timing.yardstick_rate
        show([timing_line(timing)])
    said = capsys.readouterr().out
    assert "Trainer's defaults, " in said
    assert "Trainer with train_sampling_strategy=group_by_length, " in said
    assert "target 1.4 times at --scale 1" in said
    assert "target 1 times at --scale 1" in said


def test_the_ratio_is_that_of_the_figures_shown() -> None:
    """Medians of 3 rounds: 30 beside 20 and 5; the ratios of the single rounds have other medians."""
    ours, theirs, other = iter([10.0, 30.0, 40.0]), iter([20.0, 90.0, 10.0]), iter([5.0, 5.0, 5.0])
    sides = {"": lambda: next(ours), "defaults": lambda: next(theirs), "lengths": lambda: next(other)}
    first, second = compare_rates("training", "tokens", {"defaults": 1.4, "lengths": 1.0}, 1.0, sides, 3)
    assert (first.rate, first.yardstick_rate, first.ratio, first.met) == (30, 20, 1.5, True)
    assert (second.yardstick, second.yardstick_rate, second.ratio, second.met) == ("lengths", 5, 6, True)


def test_lengths_are_those_of_language_inference() -> None:
    found = texts(2000, np.random.default_rng(0))
    words = [found[name].str.split(" ").list.len().median() for name in ("premise", "hypothesis")]
    assert 18 <= float(words[0]) <= 21  # type: ignore[arg-type]
    assert 9 <= float(words[1]) <= 11  # type: ignore[arg-type]
