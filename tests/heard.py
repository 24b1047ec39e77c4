"""The lines that shiftbench logs while a block runs."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager


class _Lines(logging.Handler):
    def __init__(self, lines: list[str]) -> None:
        super().__init__()
        self.lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@contextmanager
def heard() -> Iterator[list[str]]:
    """Hear what shiftbench logs, as a program does that asks for it."""
    log, lines = logging.getLogger("shiftbench"), _Lines([])
    level = log.level
    log.addHandler(lines)
    log.setLevel(logging.INFO)
    try:
        yield lines.lines
    finally:
        log.removeHandler(lines)
        log.setLevel(level)
