"""Waiting times before a request is retried: the server's ``Retry-After``, or exponential backoff.

The retry loops are in the callers, because they differ: one is sequential and counts two kinds of failure, the other
has many workers that pause together. Retry libraries (tenacity, stamina) provide loops but do not handle
``Retry-After``.
"""

import random
import time
from collections.abc import Mapping
from email.utils import mktime_tz, parsedate_tz

_MOST_DOUBLINGS = 30


def read_retry_after(headers: Mapping[str, str]) -> float | None:
    """Parse the ``Retry-After`` header, a number of seconds or a date, and return the seconds to wait.

    >>> read_retry_after({"Retry-After": "0.5"}), read_retry_after({"Retry-After": "soon"}), read_retry_after({})
    (0.5, None, None)
    >>> read_retry_after({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"})  # that moment is past
    0.0

    Args:
        headers: headers of a response, a case-insensitive mapping as in HTTP libraries.
    Returns: 0 or more; None if the header is missing or invalid. Source: RFC 9110, sec. 10.2.3.
    """
    text = headers.get("Retry-After", "")
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        moment = parsedate_tz(text)
        return max(0.0, mktime_tz(moment) - time.time()) if moment else None
    except (ValueError, OverflowError):  # an impossible date
        return None


def draw_wait(tries: int, *, first: float, longest: float) -> float:
    """Sample the waiting time before a retry: exponential backoff with jitter.

    The maximum doubles with each attempt, and the wait is uniform between half of it and all of it. The jitter prevents
    clients that were refused at the same time from retrying at the same time.

    >>> 4.0 <= draw_wait(4, first=1, longest=60) <= 8.0, 30.0 <= draw_wait(2_000, first=1, longest=60) <= 60.0
    (True, True)

    Args:
        tries: number of attempts so far, from 1.
        first: maximum wait after the first attempt, in seconds.
        longest: upper limit of the maximum, in seconds.
    Returns: seconds to wait.
    """
    most = min(longest, first * 2 ** min(tries - 1, _MOST_DOUBLINGS))
    return float(most * random.uniform(0.5, 1))
