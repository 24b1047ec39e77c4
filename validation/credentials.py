"""Removal of credentials from URLs in messages."""

import re

_CREDENTIALS = re.compile(r"\b([a-z][a-z0-9+.-]*://)[^\s/?#'\"<>]*@", re.IGNORECASE)


def without_credentials(text: str) -> str:
    """Mask user name and password of every URL in a text.

    >>> without_credentials("no answer from https://ada:s3cret@example.org:5000/runs?x=a@b")
    'no answer from https://***@example.org:5000/runs?x=a@b'
    >>> without_credentials("write to ada@example.org")
    'write to ada@example.org'
    """
    return _CREDENTIALS.sub(r"\1***@", text)
