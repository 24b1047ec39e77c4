from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hub.server import LoopbackHub, running_hub
from tests.leaderboard.store.repository import REPO


@pytest.fixture
def hub(tmp_path: Path, basic_uploads: None) -> Iterator[LoopbackHub]:
    with running_hub(tmp_path / "hub") as running:
        running.stored.create(REPO, private=True)
        yield running
