"""Progress bars, shown if the level of the logger ``shiftbench`` is INFO or lower.

Commands set this level. Programs that import shiftbench see no progress until they call
``logging.getLogger("shiftbench").setLevel(logging.INFO)`` and add a handler.
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
"""Seconds between log lines about progress if there is no terminal; shorter work logs none."""


class _Lines(io.TextIOBase):
    """A text file that logs the lines a progress bar writes to it."""

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
    """Open a progress bar on standard error; without a terminal, log progress periodically instead.

    Neither is shown if the logger ``shiftbench`` does not pass INFO.

    Args:
        over: the iterable; None for a bar that is updated manually.
        shown: False disables the bar.
        total: total number of units. Default: the length of ``over``.
        desc: description before the bar.
        unit: name of the unit.
        how: further arguments of tqdm.
    """
    from tqdm import tqdm

    heard = shown and logging.getLogger("shiftbench").isEnabledFor(logging.INFO)
    if heard and not sys.stderr.isatty():
        line = "{desc}: {percentage:3.0f}%, {n_fmt} of {total_fmt}, {rate_fmt}, {remaining} left"
        each = {"file": _Lines(), "bar_format": line, "mininterval": LINE_SECONDS, "delay": LINE_SECONDS, "miniters": 1}
        how |= {**each, "leave": False}
    return tqdm(over, total=total, desc=desc, unit=unit, disable=not heard, **{"file": sys.stderr, **how})
