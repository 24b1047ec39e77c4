"""Progress of long work, and notes about it: both are heard where the logger ``shiftbench`` lets INFO pass.

Commands do; a program that imports shiftbench is quiet until it asks:
``logging.getLogger("shiftbench").setLevel(logging.INFO)`` and a handler of its own.
"""

import logging
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tqdm import tqdm


def progress(
    over: Iterable[Any] | None = None,
    *,
    shown: bool = True,
    total: float | None = None,
    desc: str,
    unit: str,
    **how: Any,
) -> "tqdm[Any]":
    """Open a bar of progress on standard error: none where that is no terminal, or notes are not heard.

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
    return tqdm(over, total=total, desc=desc, unit=unit, disable=None if heard else True, file=sys.stderr, **how)
