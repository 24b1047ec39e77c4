"""Reaching the Hugging Face Hub: what can go wrong there, said in one line."""

from collections.abc import Iterator
from contextlib import contextmanager

from validation.report import InvalidInput, Problem


@contextmanager
def reaching_hub(what: str, cure: str) -> Iterator[None]:
    """Turn a failed request to the Hub into an InvalidInput that names what was asked for and what to do.

    Args:
        what: repository or model that the block asks for.
        cure: what to do without it.
    """
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OfflineModeIsEnabled

    refused = (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OfflineModeIsEnabled)
    try:
        yield
    except (*refused, httpx2.HTTPError) as error:
        said = str(error).strip().split("\n", maxsplit=1)[0][:200]
        raise InvalidInput(Problem("the Hugging Face Hub did not give it", what, said, cure)) from error
