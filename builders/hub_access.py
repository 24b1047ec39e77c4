"""Access to the Hugging Face Hub: one-line error messages, and retries of transient errors."""

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
"""Maximum number of tries of a request after transient errors, or after another publisher's commit."""
LONGEST_WAIT = 300
"""Longest wait in seconds; the Hub's rate limits apply to windows of five minutes."""
_FIRST_WAIT, _LONGEST_UNASKED = 0.5, 16.0
"""Seconds before a retry if the Hub does not say how long to wait: the first, and the longest."""
_FOR_NOW = (408, 429, 500, 502, 503, 504)
"""HTTP status codes of temporary errors."""
_OVERTAKEN = (409, 412)
"""HTTP status codes for a commit whose parent is no longer the head: another publisher was faster."""
_WRITE_CURE = "run the command again; uploaded files are not sent again, and incomplete versions are never visible"

_TOKEN_CURE = "give a token with write access: HF_TOKEN, or 'hf auth login'"
_OVERTAKEN_WORDS = ("another publisher is writing to this repository", "try again when that is finished")
_BY_STATUS: dict[int | None, tuple[str, str]] = {
    401: ("the Hub received no valid token", _TOKEN_CURE),
    403: ("the token has no write access to this repository", _TOKEN_CURE),
    404: ("there is no such repository, or the token has no access to it", "check the name and the token"),
    **dict.fromkeys(_OVERTAKEN, _OVERTAKEN_WORDS),
}
"""Error message for the publisher, and suggested fix, by HTTP status of the rejected request."""


@contextmanager
def reaching_hub(what: str, cure: str) -> Iterator[None]:
    """Convert a failed request to the Hub into an InvalidInput with the requested object and a suggested fix.

    Args:
        what: repository or model that the block requests.
        cure: suggested fix.
    Raises: InvalidInput in place of errors of the Hub or the network; other errors propagate.
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
    """Convert a failed write request to the Hub into an InvalidInput with a suggested fix.

    Args:
        repo_id: the repository.
        cure: suggested fix if the Hub fails for a reason not due to token, name or another publisher.
    Raises: InvalidInput in place of errors of the Hub or the network; other errors propagate.
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
        what, cure = "this cannot be the name of a Hub repository", "write ORG/NAME"
        raise InvalidInput(Problem(what, repo_id, first_line(error), cure)) from error
    except OfflineModeIsEnabled as error:
        what, cure = "access to the Hub is disabled on this machine", "unset HF_HUB_OFFLINE"
        raise InvalidInput(Problem(what, repo_id, first_line(error), cure)) from error


def cause(error: BaseException | None) -> Exception | None:
    """Return the failed request that caused an error.

    Args:
        error: the error raised; uploads wrap their failed request in a RuntimeError.
    Returns: the first error of the Hub or the network in the chain; None if there is none.
    """
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError

    while error is not None and not isinstance(error, (HfHubHTTPError, httpx2.HTTPError)):
        error = error.__cause__
    return error


def is_transient(error: BaseException) -> bool:
    """Return whether an error of the Hub or the network is transient.

    Args:
        error: the error raised.
    Returns: True if the Hub could not be reached or refuses temporarily; False if it refuses permanently.
    """
    from huggingface_hub.errors import OfflineModeIsEnabled

    failed = cause(error)
    if failed is None:
        return isinstance(error.__cause__, OfflineModeIsEnabled)
    return _status(failed) in (None, *_FOR_NOW)


def is_unreachable(error: BaseException | None) -> bool:
    """Return whether an error means that the Hub could not be reached: no network, or offline mode."""
    import httpx2
    from huggingface_hub.errors import OfflineModeIsEnabled

    return isinstance(error, OfflineModeIsEnabled) or isinstance(cause(error), httpx2.TransportError)


def retry(attempt: Callable[[int], T], *, overtaken_tries: int = TRIES) -> T:
    """Retry an attempt while its errors are transient, logging each retry; then raise the last error.

    Args:
        attempt: called with the number of the try, from 1.
        overtaken_tries: maximum number of tries if other publishers commit first.
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
    """Return the seconds to wait before a retry; None if a retry is useless.

    Args:
        error: the error raised by the request.
        tries: number of tries so far.
        at_most: maximum number of tries.
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
    """Return the seconds to wait as requested by the Hub; None if it sets none."""
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
    """Return the message and suggested fix for a failed write request; ``cure`` if the Hub itself failed."""
    import httpx2

    asked = _requested_wait(error)
    if isinstance(error, httpx2.ConnectError):
        return "the Hub cannot be reached", f"check the network, then {cure}"
    if asked is not None:
        return f"the Hub asks to wait {asked:,.0f} seconds", f"wait, then {cure}"
    return _BY_STATUS.get(_status(error), ("the Hub refused the request", cure))
