"""The message of a refusal, to be listed in a table that is compared with a snapshot (``wording`` in conftest.py)."""

from collections.abc import Callable

import pytest


def refusal(kind: type[Exception], function: Callable[..., object], /, *args: object, **kwargs: object) -> str:
    """Return the message with which a function refuses its arguments; fail if it accepts them."""
    with pytest.raises(kind) as caught:
        function(*args, **kwargs)
    return str(caught.value)
