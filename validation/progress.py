"""Progress of long work, and notes about it: both are heard where the logger ``shiftbench`` lets INFO pass.

Commands do; a program that imports shiftbench is quiet until it asks:
``logging.getLogger("shiftbench").setLevel(logging.INFO)`` and a handler of its own.
"""

import io
import logging
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tqdm import tqdm

log = logging.getLogger(__name__)

LINE_SECONDS = 10
"""Seconds between two lines about progress where no bar can be drawn; what is done sooner has none."""


class _Lines(io.TextIOBase):
    """A file that logs what a bar draws into it."""

    def write(self, text: str, /) -> int:
        if line := text.strip():
            log.info("%s", line)
        return len(text)


def progress(
    over: Iterable[Any] | None = None,
    *,
    shown: bool = True,
    total: float | None = None,
    desc: str,
    unit: str,
    **how: Any,
) -> "tqdm[Any]":
    """Open a bar of progress on standard error; where that is no terminal, log a line now and then instead.

    Nobody sees either where notes are not heard.

    Args:
        over: what to walk through; None for a bar that is moved by hand.
        shown: False shows no bar, anywhere.
        total: the number of units; by default as many as ``over`` has.
        desc: what is done, before the bar.
        unit: what is counted.
        how: more arguments of tqdm.
    """
    from tqdm import tqdm

    heard = shown and logging.getLogger("shiftbench").isEnabledFor(logging.INFO)
    if heard and not sys.stderr.isatty():
        line = "{desc}: {percentage:3.0f}%, {n_fmt} of {total_fmt}, {rate_fmt}, {remaining} left"
        each = {"file": _Lines(), "bar_format": line, "mininterval": LINE_SECONDS, "delay": LINE_SECONDS, "miniters": 1}
        how |= {**each, "leave": False}
    return tqdm(over, total=total, desc=desc, unit=unit, disable=not heard, **{"file": sys.stderr, **how})
