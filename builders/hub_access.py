"""Reaching the Hugging Face Hub: what can go wrong there, said in one line, and what is worth another try."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from shiftbench.validation.report import InvalidInput, Problem, first_line
from shiftbench.validation.retries import draw_wait, read_retry_after

log = logging.getLogger(__name__)

T = TypeVar("T")

TRIES = 5
"""How often a request is made that the Hub refuses for now, or that another publisher got ahead of."""
LONGEST_WAIT = 300
"""Seconds; the Hub's rate limits are counted in windows of five minutes."""
_FIRST_WAIT, _LONGEST_UNASKED = 0.5, 16.0
_FOR_NOW = (408, 429, 500, 502, 503, 504)
_OVERTAKEN = (409, 412)
_WRITE_CURE = "run the command again; uploaded files are not sent again, and nobody sees half a version"

_TOKEN_CURE = "give a token with write access: HF_TOKEN, or 'hf auth login'"
_OVERTAKEN_WORDS = ("others keep publishing there", "try again when they are done")
_BY_STATUS: dict[int | None, tuple[str, str]] = {
    401: ("the Hub got no valid token", _TOKEN_CURE),
    403: ("the token may not write there", _TOKEN_CURE),
    404: ("there is no such repository, or the token may not see it", "check name and token"),
    **dict.fromkeys(_OVERTAKEN, _OVERTAKEN_WORDS),
}
"""What a refused request means to the person who publishes, and what to do."""


@contextmanager
def reaching_hub(what: str, cure: str) -> Iterator[None]:
    """Turn a failed request to the Hub into an InvalidInput that names what was asked for and what to do.

    Args:
        what: repository or model that the block asks for.
        cure: what to do without it.
    Raises: InvalidInput in place of what the block raises when the Hub or the network fails; other errors pass.
    """
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OfflineModeIsEnabled

    refused = (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OfflineModeIsEnabled)
    try:
        yield
    except (*refused, httpx2.HTTPError) as error:
        raise InvalidInput(Problem("the Hugging Face Hub could not be read", what, first_line(error), cure)) from error


@contextmanager
def writing_to_hub(repo_id: str, cure: str = _WRITE_CURE) -> Iterator[None]:
    """Turn a failed write request to the Hub into an InvalidInput: what was refused, and what to do about it.

    Args:
        repo_id: the repository.
        cure: what to do where the Hub failed, and not the request.
    Raises: InvalidInput in place of what the block raises when the Hub or the network fails; other errors pass.
    """
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, OfflineModeIsEnabled

    try:
        yield
    except (HfHubHTTPError, httpx2.HTTPError, RuntimeError) as error:
        failed = cause(error)
        if failed is None:
            raise
        what, cure = _describe_refusal(failed, cure)
        raise InvalidInput(Problem(what, repo_id, first_line(failed), cure)) from error
    except HFValidationError as error:
        what, cure = "this cannot be the name of a Hub repository", "name it ORG/NAME"
        raise InvalidInput(Problem(what, repo_id, first_line(error), cure)) from error
    except OfflineModeIsEnabled as error:
        what, cure = "access to the Hub is switched off here", "unset HF_HUB_OFFLINE"
        raise InvalidInput(Problem(what, repo_id, first_line(error), cure)) from error


def cause(error: BaseException | None) -> Exception | None:
    """Return the failed request that caused an error.

    Args:
        error: what was raised; uploads wrap their failed request in a RuntimeError.
    Returns: the first error in the chain that is the Hub's or the network's; None where there is none.
    """
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError

    while error is not None and not isinstance(error, (HfHubHTTPError, httpx2.HTTPError)):
        error = error.__cause__
    return error


def is_transient(error: BaseException) -> bool:
    """Check whether an error is the Hub's own, or the network's.

    Args:
        error: what was raised.
    Returns: True where the Hub could not be asked, or refuses for now; False where it refuses for good.
    """
    from huggingface_hub.errors import OfflineModeIsEnabled

    failed = cause(error)
    if failed is None:
        return isinstance(error.__cause__, OfflineModeIsEnabled)
    return _status(failed) in (None, *_FOR_NOW)


def is_unreachable(error: BaseException | None) -> bool:
    """Check whether an error says that the Hub could not be asked at all: no network, or access switched off."""
    import httpx2
    from huggingface_hub.errors import OfflineModeIsEnabled

    return isinstance(error, OfflineModeIsEnabled) or isinstance(cause(error), httpx2.TransportError)


def retry(attempt: Callable[[int], T], *, overtaken_tries: int = TRIES) -> T:
    """Retry an attempt while its errors are transient, each retry with a log line, then raise the last one.

    Args:
        attempt: gets the number of this try, from 1.
        overtaken_tries: how often it is made where others got ahead of it: each time, one of them was done.
    """
    tries = failures = overtaken = 0
    while True:
        tries += 1
        try:
            return attempt(tries)
        except Exception as error:
            failed = cause(error)
            if failed is not None and _status(failed) in _OVERTAKEN:
                overtaken += 1
                pause = seconds_to_wait(error, overtaken, overtaken_tries)
            else:
                failures += 1
                pause = seconds_to_wait(error, failures)
            if pause is None:
                raise
            log.info("the Hub is busy; trying again in %.1f s", pause)
        time.sleep(pause)


def seconds_to_wait(error: Exception, tries: int, at_most: int = TRIES) -> float | None:
    """Return how many seconds to wait before a request is made again; None where a retry is of no use.

    Args:
        error: what the request raised.
        tries: how often it was made.
        at_most: how often it may be.
    """
    import httpx2

    failed = cause(error)
    if failed is None or tries >= at_most or isinstance(failed, httpx2.ConnectError):
        return None
    asked = _requested_wait(failed)
    if asked is not None:
        return asked if asked <= LONGEST_WAIT else None
    status = _status(failed)
    if status is not None and status not in (*_FOR_NOW, *_OVERTAKEN):
        return None
    return draw_wait(tries, first=_FIRST_WAIT, longest=_LONGEST_UNASKED)


def _requested_wait(error: Exception) -> float | None:
    """Read how many seconds the Hub asks to wait; None where it does not."""
    from huggingface_hub.utils._http import parse_ratelimit_headers

    response = getattr(error, "response", None)
    if response is None or response.status_code not in (429, 503):
        return None
    limit = parse_ratelimit_headers(response.headers)
    if limit is not None and limit.remaining == 0:
        return float(limit.reset_in_seconds)
    return read_retry_after(response.headers)


def _status(error: Exception) -> int | None:
    response = getattr(error, "response", None)
    return None if response is None else int(response.status_code)


def _describe_refusal(error: Exception, cure: str) -> tuple[str, str]:
    """Describe a failed write request: what it means and what to do; ``cure`` where the Hub itself failed."""
    import httpx2

    asked = _requested_wait(error)
    if isinstance(error, httpx2.ConnectError):
        return "the Hub cannot be reached", f"check the network, then {cure}"
    if asked is not None:
        return f"the Hub asks to wait {asked:,.0f} seconds", f"wait, then {cure}"
    return _BY_STATUS.get(_status(error), ("the Hub refused it", cure))
