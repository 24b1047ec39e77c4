"""Warning categories for filtering (data, models, cards, deprecated names), and their output in commands."""

import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class ShiftbenchWarning(UserWarning):
    """Base class of all warnings of shiftbench."""


class DataWarning(ShiftbenchWarning):
    """Rows were excluded, or do not contain the requested information."""


class ModelWarning(ShiftbenchWarning):
    """A model, or the way it was loaded, makes its predictions doubtful."""


class CardWarning(ShiftbenchWarning):
    """A card was ignored."""


class FormerName(ShiftbenchWarning, FutureWarning):
    """A deprecated name was used; the text states the new name and the version that removes the old one."""


def warn(text: str, category: type[ShiftbenchWarning]) -> None:
    """Issue a warning that points to the user's code: the innermost caller outside shiftbench.

    Args:
        text: the warning.
        category: its category, by which users can filter it.
    """
    # Context managers of ours are entered through contextlib, so its frames are skipped, too.
    level, frame, inside = 2, sys._getframe(1), ("shiftbench", "contextlib")
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).split(".")[0] in inside:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)


class _Lines(logging.Handler):
    """Write each record as a line on standard error; warnings are prefixed with their level."""

    def emit(self, record: logging.LogRecord) -> None:
        level = "" if record.levelno < logging.WARNING else f"{record.levelname.lower()}: "
        line = f"{level}{record.getMessage()}"
        if "tqdm" in sys.modules:  # do not break a progress bar
            sys.modules["tqdm"].tqdm.write(line, file=sys.stderr)
        else:
            print(line, file=sys.stderr)


@contextmanager
def notes_on_stderr() -> Iterator[None]:
    """Write log records and warnings of shiftbench as lines on standard error, as commands do."""
    log, lines, show = logging.getLogger("shiftbench"), _Lines(), warnings.showwarning

    def show_line(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, ShiftbenchWarning):
            log.warning("%s", message)
        else:
            show(message, category, *where, **more)

    level, propagate = log.level, log.propagate
    log.addHandler(lines)
    log.setLevel(logging.INFO)
    log.propagate = False  # another handler, such as a server's, would write each line again
    with warnings.catch_warnings():
        warnings.simplefilter("always", ShiftbenchWarning)
        warnings.showwarning = show_line
        try:
            yield
        finally:
            log.removeHandler(lines)
            log.setLevel(level)
            log.propagate = propagate
