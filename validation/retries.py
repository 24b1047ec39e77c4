"""How long to wait before a request is made again: what the server asks for, or longer and longer.

The loops stay with their callers, for these differ: one asks alone and counts two kinds of failure, the other has many
workers that pause together. Libraries of retries (tenacity, stamina) bring loops, and leave ``Retry-After`` to callers.
"""

import random
import time
from collections.abc import Mapping
from email.utils import mktime_tz, parsedate_tz

_MOST_DOUBLINGS = 30


def read_retry_after(headers: Mapping[str, str]) -> float | None:
    """Read how many seconds a server asks to wait, which ``Retry-After`` gives as a number or as a moment.

    >>> read_retry_after({"Retry-After": "0.5"}), read_retry_after({"Retry-After": "soon"}), read_retry_after({})
    (0.5, None, None)
    >>> read_retry_after({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"})  # that moment is past
    0.0

    Args:
        headers: of an answer; names are looked up as HTTP libraries do, in any case of letters.
    Returns: 0 or more; None where there is no such header, or it cannot be read. Source: RFC 9110, sec. 10.2.3.
    """
    text = headers.get("Retry-After", "")
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        moment = parsedate_tz(text)
        return max(0.0, mktime_tz(moment) - time.time()) if moment else None
    except (ValueError, OverflowError):  # a date that no calendar has
        return None


def draw_wait(tries: int, *, first: float, longest: float) -> float:
    """Draw how many seconds to wait where the server does not say: half to all of a time that doubles with each try.

    Two that were refused at the same moment must not come back at the same moment.

    >>> 4.0 <= draw_wait(4, first=1, longest=60) <= 8.0, 30.0 <= draw_wait(2_000, first=1, longest=60) <= 60.0
    (True, True)

    Args:
        tries: how often the request was made, from 1.
        first: the most to wait after the first try.
        longest: the most to wait after any.
    """
    most = min(longest, first * 2 ** min(tries - 1, _MOST_DOUBLINGS))
    return float(most * random.uniform(0.5, 1))
