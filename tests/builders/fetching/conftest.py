"""A server of invented releases for the tests of fetching, and no waiting between tries."""

from collections.abc import Iterator

import pytest

from shiftbench.builders.fetching import transfer
from tests.builders.fetching.server import Release, running_release


@pytest.fixture
def release() -> Iterator[Release]:
    with running_release() as running:
        yield running


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "FIRST_WAIT", 0.01)
