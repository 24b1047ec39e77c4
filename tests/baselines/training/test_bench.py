"""What ``bench train`` measures: both sides, on the same rows."""

from pathlib import Path

import numpy as np
import pytest

from baselines.training import bench
from baselines.training.bench import run_training_bench, texts
from validation.command_line import console
from validation.timing import print_timing


@pytest.mark.long
def test_both_sides_are_measured(
    tiny_bert: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "DEFAULT_ENCODER", str(tiny_bert))
    monkeypatch.setattr(bench, "_MAX_LENGTH", 64)
    training, prediction = run_training_bench(0.001)
    assert (training.unit, prediction.unit) == ("tokens", "rows")
    for timing in (training, prediction):
        assert timing.met is None
        assert min(timing.rate, timing.yardstick_rate, timing.ratio) > 0
        print_timing(timing, console())
    said = capsys.readouterr().out
    assert "training: " in said
    assert "wanted 1.4 times at --scale 1" in said


def test_lengths_are_those_of_language_inference() -> None:
    found = texts(2000, np.random.default_rng(0))
    words = [found[name].str.split(" ").list.len().median() for name in ("premise", "hypothesis")]
    assert 18 <= float(words[0]) <= 21  # type: ignore[arg-type]
    assert 9 <= float(words[1]) <= 11  # type: ignore[arg-type]
