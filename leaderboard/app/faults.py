"""Log of server faults: each location once in full, then only counted, so that nobody can fill the log."""

import logging
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Iterator

from shiftbench.leaderboard.app.request_log import escaped, write_line

MAX_PLACES = 100
"""Number of locations counted separately; faults at further locations share one counter."""
MAX_LINE = 300
"""Maximum length of a library's message, which may contain request data."""

Place = tuple[str, str, int]


class FaultLog:
    """Writes faults to stderr with each line escaped, or as JSON objects (``as_json``). Thread-safe."""

    def __init__(self, *, as_json: bool = False) -> None:
        self._as_json = as_json
        self._counts: Counter[Place] = Counter()
        self._lock = threading.Lock()

    def write(self, fault: BaseException) -> None:
        """Write a fault: the first at a location with its traceback, the 10th, 100th, ... as one line."""
        if self._count(_place(fault)) != 1:
            return
        if self._as_json:
            facts = {"kind": type(fault).__name__, "message": str(fault)[:MAX_LINE], "trace": list(_lines(fault))}
            write_line("error", "fault", facts, as_json=True)
        else:
            print("Traceback (most recent call last):", *_lines(fault), sep="\n", file=sys.stderr, flush=True)

    def write_record(self, record: logging.LogRecord) -> None:
        """Write a library's log record: a fault as ``write`` does, a message in full only once per location."""
        if record.exc_info and record.exc_info[1] is not None:
            self.write(record.exc_info[1])
        elif self._count((record.name, record.pathname, record.lineno)) == 1:
            # The message may contain visitor input with any character.
            level, text = record.levelname.lower(), record.getMessage()[:MAX_LINE]
            if self._as_json:
                write_line(level, "message", {"of": record.name, "message": text}, as_json=True)
            else:
                print(f"{level} of {record.name}: {escaped(text)}", file=sys.stderr, flush=True)

    def _count(self, place: Place) -> int:
        """Count one more fault at a location, with a line at the 10th, 100th, ... time; return the count."""
        with self._lock:
            if place not in self._counts and len(self._counts) >= MAX_PLACES:
                place = ("a further error", "elsewhere", 0)
            self._counts[place] += 1
            count = self._counts[place]
        if count > 1 and set(str(count)) <= {"1", "0"} and str(count).count("1") == 1:
            name, file, line = place
            if self._as_json:
                write_line("error", "again", {"kind": name, "where": f"{file}:{line}", "times": count}, as_json=True)
            else:
                print(f"{name} at {file}:{line}: {count:,} times so far", file=sys.stderr, flush=True)
        return count


class FaultHandler(logging.Handler):
    """Passes library log records to a ``FaultLog``, since anybody can trigger any number of warnings."""

    def __init__(self, faults: FaultLog) -> None:
        super().__init__(logging.WARNING)
        self._faults = faults

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record if it is the first from its location."""
        self._faults.write_record(record)


def write_logs_to(faults: FaultLog) -> None:
    """Redirect all log records of libraries in this process to a ``FaultLog``.

    The handler is the root logger's. Some libraries log by name, others by ``logging.warning``, which would otherwise
    give the root logger a handler that writes each message in full.
    """
    root = logging.getLogger()
    for handler in [each for each in root.handlers if isinstance(each, FaultHandler)]:
        root.removeHandler(handler)  # left by an earlier server in this process
    root.addHandler(FaultHandler(faults))


def _lines(fault: BaseException) -> Iterator[str]:
    """Format a fault and its causes, one line each; a message may contain visitor input."""
    behind = fault.__cause__ or (None if fault.__suppress_context__ else fault.__context__)
    if behind is not None:
        yield from _lines(behind)
    for frame in traceback.extract_tb(fault.__traceback__):
        yield f'  File "{frame.filename}", line {frame.lineno}, in {frame.name}: {frame.line}'
    yield f"{type(fault).__name__}: {escaped(str(fault)[:MAX_LINE])}"


def _place(fault: BaseException) -> Place:
    """Return a fault's type, and the file and line number where it was raised, without looking up the line's text."""
    trace, file, line = fault.__traceback__, "nowhere", 0
    while trace is not None:
        file, line, trace = trace.tb_frame.f_code.co_filename, trace.tb_lineno, trace.tb_next
    return type(fault).__name__, file, line
