"""A bar of progress is shown where notes are heard and somebody can see it."""

import io
import logging
import re
import sys

import pytest

from shiftbench.validation.notices import notes_on_stderr
from shiftbench.validation.progress import LINE_SECONDS, progress


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def open_terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Put a terminal in the place of standard error; in a fixture pytest would put its own back before the test."""
    stream = _Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


def walk(**how: bool) -> list[int]:
    return list(progress(range(3), desc="reading", unit="file", **how))


def test_a_program_that_imports_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch)
    assert walk() == [0, 1, 2]
    assert terminal.getvalue() == ""


def test_a_command_shows_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch)
    with notes_on_stderr():
        assert walk() == [0, 1, 2]
    assert "reading: 100%" in terminal.getvalue()
    assert "3/3" in terminal.getvalue()


def test_a_bar_that_is_moved_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch)
    with notes_on_stderr(), progress(total=2, desc="scoring", unit="entry") as bar:
        bar.update(2)
    assert "2/2" in terminal.getvalue()


def test_a_level_silences_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch)
    with notes_on_stderr():
        logging.getLogger("shiftbench").setLevel(logging.WARNING)
        assert walk() == [0, 1, 2]
    assert terminal.getvalue() == ""


def test_a_caller_can_leave_the_bar_out(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch)
    with notes_on_stderr():
        assert walk(shown=False) == [0, 1, 2]
    assert terminal.getvalue() == ""


def test_a_pipe_gets_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = io.StringIO()
    monkeypatch.setattr(sys, "stderr", pipe)
    with notes_on_stderr():
        assert walk() == [0, 1, 2]
    assert pipe.getvalue() == ""


def test_a_pipe_gets_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = io.StringIO()
    monkeypatch.setattr(sys, "stderr", pipe)
    clock = 1_000.0
    monkeypatch.setattr("tqdm.std.time", lambda: clock)
    with notes_on_stderr():
        for _ in progress(range(100), desc="encoding", unit="text"):
            clock += 1
    lines = pipe.getvalue().splitlines()
    assert len(lines) == 100 // LINE_SECONDS
    assert re.fullmatch(r"encoding: +10%, 10 of 100, +1\.00text/s, 01:30 left", lines[0])


def test_a_program_may_ask_for_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch)
    logger = logging.getLogger("shiftbench")
    level = logger.level
    logger.setLevel(logging.INFO)
    try:
        walk()
    finally:
        logger.setLevel(level)
    assert "reading: 100%" in terminal.getvalue()
