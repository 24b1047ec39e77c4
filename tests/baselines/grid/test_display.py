"""What a grid shows while it works, by a clock that the test turns."""

import io
import sys

import pytest

from shiftbench.baselines.grid.display import GridProgress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_lines_tell_what_runs_and_when_it_ends(capsys: pytest.CaptureFixture[str]) -> None:
    now = 100.0
    with GridProgress(5, 1, lambda: now) as shown:
        shown.running("m on nli (a, seed 0)")
        now += 60
        shown.ended("done: m on nli (a, seed 0)")
        now += 30
        shown.ended("done: m on nli (b, seed 0)")
        shown.ended("done: m on nli (c, seed 0)")
        shown.ended("failed: m on nli (d, seed 0): it broke")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "running: m on nli (a, seed 0)"
    assert lines[1] == "done: m on nli (a, seed 0) (2 of 5 trials; 1 min so far, about 3 min left)"
    assert lines[2] == "done: m on nli (b, seed 0) (3 of 5 trials; 1 min 30 s so far, about 1 min 30 s left)"
    assert lines[4] == "failed: m on nli (d, seed 0): it broke (5 of 5 trials; 1 min 30 s so far)"


def test_a_terminal_keeps_a_line_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "xterm")
    with GridProgress(2, 0, lambda: 0.0) as shown:
        shown.running("m on nli [a, seed 0]")
        shown.ended("done: m on nli [a, seed 0]")
    text = stream.getvalue()
    assert "1/2" in text
    assert "running m on nli [a, seed 0]" in text
    assert "done: m on nli [a, seed 0] (1 of 2 trials" in text
