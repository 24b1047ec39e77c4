"""What ``bench prompt`` measures: both sides do the same work."""

import numpy as np
import pytest

from benchmarks import prompt as bench
from shiftbench.validation.command_line import show
from shiftbench.validation.timing import timing_line


def test_both_ways_of_scoring_give_the_same() -> None:
    model, prompts = bench._model(), bench._prompts(9, np.random.default_rng(1))
    assert np.array(bench.score_together(model, prompts)) == pytest.approx(
        np.array(bench.score_apart(model, prompts)), abs=1e-4
    )


def test_both_sides_are_measured(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(bench, "ROUNDS", 1)
    asking, scoring = bench.run_prompt_bench(0.001)
    assert (asking.unit, asking.wanted, asking.met) == ("requests", 0.9, None)
    assert (scoring.unit, scoring.wanted, scoring.met) == ("prompts", 3.0, None)
    for timing in (asking, scoring):
        show([timing_line(timing)])
    said = capsys.readouterr().out
    assert "asyncio" in said
    assert "prompt" in said
