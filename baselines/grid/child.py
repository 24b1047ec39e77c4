"""The process of one trial: runs a ``shiftbench`` command, and terminates with the process that started it.

The arguments are the folder of the trial, and those of the command.

    python -m shiftbench.baselines.grid.child FOLDER train majority nli --data build/dr --out FOLDER/predictions.parquet
"""

import os
import runpy
import sys
import threading
from pathlib import Path

from filelock import FileLock

from shiftbench.baselines.grid.own import CODE_FOLDER, check_files
from shiftbench.validation.operating_system import kill_own_group
from shiftbench.validation.report import InvalidInput


def main(folder: Path, arguments: list[str]) -> None:
    """Run the ``shiftbench`` command with these arguments, holding the lock of the trial's folder."""
    threading.Thread(target=_end_with_starter, daemon=True).start()
    # An earlier process of the same trial may still be shutting down.
    with FileLock(folder / ".lock"):
        _check_own_code(folder)
        sys.argv[1:] = arguments
        runpy.run_module("shiftbench", run_name="__main__", alter_sys=True)


def _check_own_code(folder: Path) -> None:
    """Exit with an error message if the user's code differs from the trial's record."""
    code = os.environ.get(CODE_FOLDER)
    if code is not None:
        from shiftbench.baselines.grid.trial import RECORD, Trial

        try:
            check_files(Trial.read(folder / RECORD).files, Path(code))
        except InvalidInput as refused:
            sys.exit(f"error: {refused}")


def _end_with_starter() -> None:
    """Kill this process and its children when standard input closes, which means that the parent process has exited."""
    # Not through sys.stdin, whose lock would still be held at interpreter shutdown.
    while os.read(0, 1):
        pass
    kill_own_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
