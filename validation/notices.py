"""Categories of warnings, so that a caller can filter them: about data, models, cards, and names of former versions."""

import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class ShiftbenchWarning(UserWarning):
    """What a caller may want to change; every warning of shiftbench is one."""


class DataWarning(ShiftbenchWarning):
    """Rows were left out, or do not say what was asked of them."""


class ModelWarning(ShiftbenchWarning):
    """A model, or how it was loaded, leaves a doubt about its predictions."""


class CardWarning(ShiftbenchWarning):
    """A card was left out."""


class FormerName(ShiftbenchWarning, FutureWarning):
    """A name of a former version was used; the text says the name of today and the version that ends the former one."""


def warn(text: str, category: type[ShiftbenchWarning]) -> None:
    """Warn where the caller called shiftbench, however deep inside it the warning is raised."""
    level, frame, inside = 2, sys._getframe(1), ("shiftbench", "contextlib")
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).split(".")[0] in inside:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)


class _Lines(logging.Handler):
    """Write each record as a line on standard error, with its level before it where it is a warning."""

    def emit(self, record: logging.LogRecord) -> None:
        level = "" if record.levelno < logging.WARNING else f"{record.levelname.lower()}: "
        line = f"{level}{record.getMessage()}"
        if "tqdm" in sys.modules:  # a bar may be there, which the line would go through
            sys.modules["tqdm"].tqdm.write(line, file=sys.stderr)
        else:
            print(line, file=sys.stderr)


@contextmanager
def heard_notes() -> Iterator[None]:
    """Write what shiftbench logs, and every warning of its own, as lines on standard error, as commands do."""
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
