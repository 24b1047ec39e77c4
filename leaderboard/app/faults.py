"""Faults of this server in its log: each place once in full, then counted, so that nobody can fill the log."""

import logging
import sys
import threading
import traceback
from collections import Counter

MAX_PLACES = 100
"""Places that are told apart; faults elsewhere count as one more."""

Place = tuple[str, str, int]


class FaultLog:
    """Writes faults to stderr. Safe to be used by several threads."""

    def __init__(self) -> None:
        self._counts: Counter[Place] = Counter()
        self._lock = threading.Lock()

    def write(self, fault: BaseException) -> None:
        """Write a fault with its traceback when its place is new, and a line at its 10th, 100th, ... time."""
        place = _place(fault)
        with self._lock:
            if place not in self._counts and len(self._counts) >= MAX_PLACES:
                place = ("another fault", "elsewhere", 0)
            self._counts[place] += 1
            count = self._counts[place]
        if count == 1:
            traceback.print_exception(fault)
        elif set(str(count)) <= {"1", "0"} and str(count).count("1") == 1:
            name, file, line = place
            print(f"{name} at {file}:{line}: {count:,} times by now", file=sys.stderr, flush=True)


class FaultHandler(logging.Handler):
    """Writes faults that a library logs as a ``FaultLog`` does, and nothing else of what it logs."""

    def __init__(self, faults: FaultLog) -> None:
        super().__init__(logging.ERROR)
        self._faults = faults

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record's exception, if it has one."""
        if record.exc_info and record.exc_info[1] is not None:
            self._faults.write(record.exc_info[1])


def _place(fault: BaseException) -> Place:
    """Return a fault's kind, file and line, but not the line's text, which takes long to read."""
    trace, file, line = fault.__traceback__, "nowhere", 0
    while trace is not None:
        file, line, trace = trace.tb_frame.f_code.co_filename, trace.tb_lineno, trace.tb_next
    return type(fault).__name__, file, line
