"""The shiftbench command as a user types it: in a process of its own or, where that is not the point, in this one."""

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from shiftbench.cli.command import main

COMMAND = Path(sys.executable).with_name("shiftbench")
_WIDTH = {"COLUMNS": "160"}
"""Help and errors are wrapped at the width of the terminal."""


def run_process(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the installed command in a process of its own, which takes a second to start."""
    command = [str(COMMAND), *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=cwd, timeout=120, env=os.environ | _WIDTH
    )


def run(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run what the installed command runs, with the same exit code and output, in this process.

    An error that the command does not answer is raised, where in a process of its own it would print a traceback.
    """
    words = ["shiftbench", *map(str, arguments)]
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    code = 0
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        patch.setattr(sys, "argv", words)
        patch.setenv("COLUMNS", _WIDTH["COLUMNS"])
        if cwd is not None:
            patch.chdir(cwd)
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
    printed, said = (stream.buffer.getvalue().decode() for stream in (out, err))  # type: ignore[attr-defined]
    return subprocess.CompletedProcess(words, code, printed, said)
