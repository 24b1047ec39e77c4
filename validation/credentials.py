"""Addresses with a user's name and password in them, which no message may show."""

import re

_CREDENTIALS = re.compile(r"\b([a-z][a-z0-9+.-]*://)[^\s/?#'\"<>]*@", re.IGNORECASE)


def without_credentials(text: str) -> str:
    """Return a text with what stands before the host of each address left out.

    >>> without_credentials("no answer from https://ada:s3cret@example.org:5000/runs?x=a@b")
    'no answer from https://***@example.org:5000/runs?x=a@b'
    >>> without_credentials("write to ada@example.org")
    'write to ada@example.org'
    """
    return _CREDENTIALS.sub(r"\1***@", text)
